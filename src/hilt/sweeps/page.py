"""The report of a sweep: one HTML file in its folder, in the style of all reports."""

import html
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from hilt.core.faults import InputError
from hilt.report import figure, page, scenario_text
from hilt.report.table import table as lines_of
from hilt.sweeps import pictures, scales, sides
from hilt.sweeps import summary as summaries
from hilt.sweeps.space import Axis, unit_of
from hilt.sweeps.sweep import Done
from hilt.sweeps.table import Table

FIRST, MORE = 2, 4  # pictures shown, and folded away
FILE = "report.html"
NIL = 1e-3  # relative: a metric that varies by less is not worth a picture


def write(done: Done, path: Path | None = None) -> Path:
    """Write the report into the folder of the table, or to `path`; return where it is."""
    path, text = path or done.table.folder / FILE, render(done)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"the report {path} cannot be written: {error.strerror}; the table in {done.table.chunks} is complete"
        ) from None
    return path


def render(done: Done) -> str:
    with figure.styled():
        return _render(done)


def _render(done: Done) -> str:
    table, space = done.table, done.table.space
    title = f"{space.system.name} · {space.name}: {', '.join(space.keys)}"
    rate = f", {done.scenarios / done.seconds:,.0f} a second" if done.seconds > 0.0 else ""
    made = f"hilt sweep: {done.scenarios:,} scenarios in {done.seconds:.3g} s with {html.escape(done.engine)}{rate}"
    failed = f" · {done.failed:,} ended with a fault" if done.failed else ""
    body = (
        f"<h1>{html.escape(title)}</h1><p class='sub'>{html.escape(space.base.summary)}</p><p class='made'>{made}{failed}</p>"
    )
    names = worth(table)
    body += page.figures(pictures.picture(table, name) for name in names[:FIRST])
    body += f"<h2>Axes</h2>{_axes(table)}<h2>Numbers</h2>{_numbers(table)}"
    body += page.fold("More metrics", page.figures(pictures.picture(table, name) for name in names[FIRST : FIRST + MORE]))
    text = f"<p class='sub'>Hash {space.base.hash()}.</p><pre>{html.escape(scenario_text.text(space.base))}</pre>"
    return page.document(title, body + page.fold("Scenario", text))


def worth(table: Table) -> list[str]:
    """Return the columns worth a picture, the most telling first: errors against the ideal, whether it diverged, the rest."""
    errors, others = [], []
    for name, values in summaries.telling(table).items():
        there = values[np.isfinite(values)] if values.dtype.kind == "f" else values
        if sides.is_error(table.space.system, name):
            errors += [name] if there.max() > pictures.FLOOR else []
        elif np.ptp(there.astype(float)) > NIL * np.abs(there.astype(float)).max():
            others += [name]
    return sorted(errors + others, key=lambda name: (name not in errors, name != sides.DIVERGED))


def _axes(table: Table) -> str:
    return lines_of(("key", "values", ""), [tuple(map(html.escape, line)) for line in _axis_lines(table)], numbers=3)


def _axis_lines(table: Table) -> Iterator[tuple[str, str, str]]:
    for axis in table.space.axes:
        for key in axis.keys:
            yield key, _values(table, axis, key), "drawn" if axis.drawn else "logarithmic" if axis.log else ""


def _values(table: Table, axis: Axis, key: str) -> str:
    column = axis.column(key)
    if column.dtype.kind not in "if" or len(column) == 1:
        return ", ".join(map(str, column.tolist()))
    factor, unit = scales.readable(float(abs(column).max()), unit_of(table.space.system, key))
    if len(column) <= 6:
        return f"{', '.join(f'{factor * value:.4g}' for value in column.tolist())} {unit}".rstrip()
    return f"{len(column)} from {factor * column.min():.4g} to {factor * column.max():.4g} {unit}".rstrip()


def _numbers(table: Table) -> str:
    lines = [tuple(map(html.escape, line)) for line in summaries.lines(table)]
    return lines_of(("", "smallest", "median", "largest", "runs"), lines)
