"""How hilt's pictures are drawn; their colours are in colours.py."""

import base64
import io
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hilt.report.colours import MADE

POINTS = 1500

_STYLE: Any = {
    "font.size": 9,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "lines.linewidth": 1.5,
    "axes.formatter.useoffset": False,
    "figure.constrained_layout.use": True,
    "svg.hashsalt": "hilt",
    "svg.fonttype": "path",
}


@contextmanager
def styled() -> Iterator[None]:
    """Draw in hilt's style; a notebook's settings and windows are left alone."""
    with matplotlib.rc_context(_STYLE):
        yield


def blank(width: float, height: float) -> Figure:
    """Return a figure that is not attached to a window; width and height in inches."""
    return Figure(figsize=(width, height), dpi=72, layout="constrained")


def subplots(rows: int = 1, columns: int = 1, *, figsize: tuple[float, float], **options: Any) -> tuple[Figure, Any]:
    """Return a new figure and its panels, like pyplot."""
    figure = blank(*figsize)
    return figure, figure.subplots(rows, columns, **options)


@dataclass(frozen=True)
class Picture:
    """A figure with its title and a sentence on what it shows."""

    title: str
    caption: str
    figure: Figure

    def svg(self) -> str:
        """Return the figure as a data URL, so that a page needs no other file."""
        buffer = io.BytesIO()
        with styled():
            self.figure.savefig(buffer, format="svg", metadata={"Date": None})
        return "data:image/svg+xml;base64," + base64.b64encode(buffer.getvalue()).decode()


def panels(count: int, height: float = 1.9, width: float = 7.2) -> tuple[Figure, list[Axes]]:
    """Return panels above each other with one time axis."""
    figure, axes = subplots(count, 1, figsize=(width, height * count + 0.4), sharex=True, squeeze=False)
    return figure, [row[0] for row in axes]


def thin(t: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return at most 2 · POINTS points that keep every peak: smallest and largest value per interval."""
    if len(t) <= 2 * POINTS:
        return t, y
    edges = np.linspace(0, len(t), POINTS + 1).astype(int)
    picked: list[int] = []
    for a, b in itertools.pairwise(edges):
        low, high = a + int(np.argmin(y[a:b])), a + int(np.argmax(y[a:b]))
        picked += sorted({low, high})
    return t[picked], y[picked]


def line(axes: Axes, t: np.ndarray, y: np.ndarray, label: str | None = None, **style: Any) -> None:
    axes.plot(*thin(t, y), label=label, **style)


def hide_rounding(axes: Axes, floor: float) -> None:
    """Do not blow up a panel whose values are rounding errors."""
    low, high = axes.get_ylim()
    if max(abs(low), abs(high)) < floor:
        axes.set_ylim(-floor, floor)


def widen(axes: Axes, share: float = 0.1) -> None:
    """Keep a nearly constant curve flat: show at least this share of its size."""
    low, high = axes.get_ylim()
    middle, span = 0.5 * (low + high), share * max(abs(low), abs(high))
    if high - low < span:
        axes.set_ylim(middle - 0.5 * span, middle + 0.5 * span)


def mark_fault(axes: list[Axes], t: float | None) -> None:
    """Mark where the run was stopped, in every panel."""
    if t is None:
        return
    for panel in axes:
        panel.axvline(t, color=MADE, linewidth=1.2)
    axes[0].annotate("stopped ", (t, 1), xycoords=("data", "axes fraction"), color=MADE, ha="right", va="top", fontsize=8)


def legend(axes: Axes) -> None:
    """Put the legend beside the panel, where it hides no curve."""
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8)
