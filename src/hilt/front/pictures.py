"""Plots on matplotlib axes, and a report's pictures and tables for a notebook.

The user's backend and style are left alone: reports are drawn on figures that are not attached to a window.
"""

import html
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from hilt.core.faults import InputError
from hilt.front.signal import Signal, axes_of

if TYPE_CHECKING:  # importing it takes 0.5 s; programs without pictures do not need it
    from matplotlib.axes import Axes

    from hilt.report.figure import Picture


def plot(signals: Iterable[Signal], axes: "Axes | None") -> "Axes":
    """Draw signals of one unit over time, on these axes or on new ones."""
    shown = list(signals)
    units = {each.unit: each.name for each in shown}
    if len(units) != 1:
        raise InputError(f"one plot has one unit; plot {' and '.join(units.values())} on separate axes")
    if axes is None:
        import matplotlib.pyplot as plt

        axes = plt.subplots(layout="constrained")[1]
    for each in shown:
        _draw(axes, each, len(shown) > 1)
    one = shown[0]
    label = one.name if len(shown) == 1 else ", ".join(each.name for each in shown)
    axes.set(xlabel="t [s]", ylabel=f"{label} [{one.unit}]")
    if len(shown) == 1:
        axes.set_title(one.meaning, fontsize="medium")
    if len(shown) > 1 or one.ndim > 1:
        axes.legend()
    return axes


def _draw(axes: "Axes", values: Signal, named: bool) -> None:
    if values.ndim == 1:
        axes.plot(values.t, values[:], label=values.name)
        return
    for n, letter in enumerate(axes_of(values.name, values.shape[1])):
        axes.plot(values.t, values[:, n], label=f"{values.name}.{letter}" if named else letter)


def block(picture: "Picture") -> str:
    """Return a report's picture as HTML."""
    return (
        f'<figure style="margin:8px 0"><img style="max-width:860px" alt="{html.escape(picture.title)}" src="{picture.svg()}">'
        f'<figcaption style="max-width:860px">{html.escape(picture.caption)}</figcaption></figure>'
    )


def cells(lines: Iterable[Iterable[Any]]) -> str:
    """Return a table as HTML; its first row is the head."""
    head, *rest = ([html.escape(str(cell)) for cell in line] for line in lines)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in line)}</tr>" for line in rest)
    return f"<table><thead><tr>{''.join(f'<th>{cell}</th>' for cell in head)}</tr></thead><tbody>{body}</tbody></table>"
