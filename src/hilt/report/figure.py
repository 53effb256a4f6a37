"""How hilt's pictures look: the ideal black and dashed, the measured blue, the controller orange, made energy red."""

import base64
import io
import itertools
from dataclasses import dataclass
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

IDEAL: dict[str, Any] = {"color": "black", "linestyle": (0, (3, 5)), "linewidth": 1.1}
MEASURED = "#1f6fb2"
CONTROLLER = "#e07b00"
MADE = "#c0392b"
LOST = "#5b8db8"
AXES = ("#1f6fb2", "#2a9d5c", "#8e5bb5")
POINTS = 1500

STYLE: Any = {
    "figure.max_open_warning": 0,  # a paper has more than twenty figures, and each is closed when it has been drawn
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
plt.rcParams.update(STYLE)


@dataclass(frozen=True)
class Picture:
    """A figure with its title and one sentence that says what to see in it."""

    title: str
    caption: str
    figure: Figure

    def svg(self) -> str:
        """The figure as a data address, so that a page needs no other file."""
        buffer = io.BytesIO()
        self.figure.savefig(buffer, format="svg", metadata={"Date": None})
        plt.close(self.figure)
        return "data:image/svg+xml;base64," + base64.b64encode(buffer.getvalue()).decode()


def panels(count: int, height: float = 1.9, width: float = 7.2) -> tuple[Figure, list[Axes]]:
    """Panels above each other with one time axis."""
    figure, axes = plt.subplots(count, 1, figsize=(width, height * count + 0.4), sharex=True, squeeze=False)
    return figure, [row[0] for row in axes]


def thin(t: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """At most 2 · POINTS points that keep every peak: smallest and largest value of each stretch."""
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
    """A nearly constant curve stays nearly constant: show at least this share of its size."""
    low, high = axes.get_ylim()
    middle, span = 0.5 * (low + high), share * max(abs(low), abs(high))
    if high - low < span:
        axes.set_ylim(middle - 0.5 * span, middle + 0.5 * span)


def mark_fault(axes: list[Axes], t: float | None) -> None:
    """Where the run was stopped, in every panel."""
    if t is None:
        return
    for panel in axes:
        panel.axvline(t, color=MADE, linewidth=1.2)
    axes[0].annotate("stopped", (t, 1), xycoords=("data", "axes fraction"), color=MADE, ha="right", va="top", fontsize=8)
