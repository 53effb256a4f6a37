"""A table in a few lines: of each metric its smallest, middle and largest value."""

from collections.abc import Iterator

import numpy as np

from hilt.report import words
from hilt.sweeps.table import Table, base_name

MOST = 12  # lines


def lines(table: Table) -> Iterator[tuple[str, str, str, str, str]]:
    """A metric in words, three values, and how many runs have one; of a list of ratios the largest error."""
    system = table.space.system
    names = [name for name in table.names() if name not in ("ticks", "fault") and not _entry(name, system.metric_words)]
    shown = 0
    for name in names:
        values = table.columns([name])[name]  # one at a time: a table may be larger than the memory
        if shown == MOST:
            return
        if not np.nan_to_num(values).any():
            continue
        shown += 1
        base = name if name in system.metric_words else base_name(name)
        what = system.metric_words.get(base, base) + (", largest error" if base != name else "")
        there = values[np.isfinite(values)] if values.dtype.kind == "f" else values
        if values.dtype.kind == "b":
            yield what, "", "", "", f"{np.count_nonzero(values):,} of {len(values):,}"
        elif len(there):
            figures = (float(np.min(there)), float(np.median(there)), float(np.max(there)))
            told = (words.off_one(1.0 + each) if base != name else words.metric(name, each) for each in figures)
            yield what, *told, f"{len(there):,}"  # type: ignore[misc]


def _entry(name: str, known: dict[str, str]) -> bool:
    """One entry of a list, as cov_3."""
    return name not in known and name.rpartition("_")[2].isdigit()
