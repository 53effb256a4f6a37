"""A table in a few lines: the smallest, median and largest value of each metric."""

from collections.abc import Iterator

import numpy as np

from hilt.report import words
from hilt.sweeps.table import Table, base_name

MOST = 12  # lines
NIL = 1e-9  # less is rounding


def telling(table: Table) -> dict[str, np.ndarray]:
    """Return the columns worth showing: not the entries of lists, and none that is 0 everywhere."""
    known = table.space.system.metric_words
    found = {}
    for name in table.names():
        entry = name not in known and name.rpartition("_")[2].isdigit()
        if entry or name in ("ticks", "fault"):
            continue
        values = table.columns([name])[name]  # one at a time: a table may be larger than the memory
        if np.abs(np.nan_to_num(values.astype(float))).max() > NIL:
            found[name] = values
            if len(found) == MOST:
                break
    return found


def lines(table: Table) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield a metric in words, three values, and how many runs have one; for a list of ratios the largest error."""
    known = table.space.system.metric_words
    for name, values in telling(table).items():
        base = name if name in known else base_name(name)
        what = known.get(base, base) + (", largest error" if base != name else "")
        if values.dtype.kind == "b":
            yield what, "", "", "", f"{np.count_nonzero(values):,} of {len(values):,}"
            continue
        there = values[np.isfinite(values)]
        low, middle, high = (
            words.off_one(1.0 + each) if base != name else words.metric(name, each)
            for each in (float(np.min(there)), float(np.median(there)), float(np.max(there)))
        )
        yield what, low, middle, high, f"{len(there):,}"
