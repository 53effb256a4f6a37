"""Curves of a `payload` run along the operator's direction, and how their panels are drawn."""

import itertools

import numpy as np
from matplotlib.axes import Axes

from hilt.job import Result
from hilt.report import colours
from hilt.report.figure import widen
from hilt.systems.payload.metrics import shift
from hilt.systems.payload.outage import BACK, SILENT
from hilt.systems.payload.payload import Payload

BANDS = {SILENT: (colours.SILENT, "link silent"), BACK: (colours.RETURNING, "coming back")}
RUNAWAY = 1e4  # times the usual size (median): above this the axis is logarithmic
LARGEST = 1e30  # a diverged virtual arm grows beyond what can be drawn


def scenario_of(result: Result) -> Payload:
    assert isinstance(result.scenario, Payload)
    return result.scenario


def projected(result: Result, vectors: np.ndarray) -> np.ndarray:
    """Along the operator's direction."""
    direction = np.array(scenario_of(result).operator.direction)
    with np.errstate(invalid="ignore", over="ignore"):
        value: np.ndarray = vectors @ (direction / np.linalg.norm(direction))
    return drawable(value)


def drawable(value: np.ndarray) -> np.ndarray:
    """Replace what cannot be drawn by a gap."""
    return np.where(np.abs(value) < LARGEST, value, np.nan)


def part(result: Result, signal: str) -> np.ndarray:
    return projected(result, result.rows[signal])


def distance(result: Result, signal: str) -> np.ndarray:
    """Distance from the start along the operator's direction [m]."""
    value = part(result, signal)
    moved: np.ndarray = value - value[0]
    return moved


def virtual(result: Result, signal: str) -> tuple[np.ndarray, np.ndarray]:
    """A signal of the ground against the time at which orbit gets it; positions from the start.

    Rows of the virtual arm hold the values at the end of their tick.
    """
    late = shift(scenario_of(result)) + 1
    value = distance(result, signal) if signal.startswith("x_") else part(result, signal)
    t = result.rows["t"]
    return t[late:], value[: max(len(t) - late, 0)]


def outside(axes: Axes, t: np.ndarray, result: Result, labels: bool = False) -> None:
    """A band while the link is silent, while the slave comes back, and while its hand is open."""
    opened(axes, t, result.rows, "hand open" if labels else None)
    state = result.rows["link_state"]
    edges = [0, *(np.flatnonzero(np.diff(state)) + 1), len(state)]
    named: set[int] = set()
    for begin, end in itertools.pairwise(edges):
        code = int(state[begin])
        if code in BANDS:
            colour, words = BANDS[code]
            label = words if labels and code not in named else None
            named.add(code)
            axes.axvspan(t[begin], t[end - 1], color=colour, linewidth=0, alpha=0.6, label=label)


def opened(axes: Axes, t: np.ndarray, rows: np.ndarray, label: str | None) -> None:
    """A band while the slave hand is open, wholly or in part."""
    shade(axes, t, rows["grip_open"] > 0.0, colours.FROZEN, label)


def shade(axes: Axes, t: np.ndarray, acts: np.ndarray, colour: str, label: str | None) -> None:
    """A band wherever something acts."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], acts.astype(int), [0]])))
    for n, (begin, end) in enumerate(zip(edges[::2], edges[1::2], strict=True)):
        axes.axvspan(t[begin], t[min(end, len(t) - 1)], color=colour, linewidth=0, label=label if n == 0 else None)


def runaway(axes: list[Axes]) -> None:
    """A logarithmic axis for curves that explode, enough room for those that do not move."""
    for panel in axes:
        values = np.concatenate([np.asarray(curve.get_ydata(), float) for curve in panel.lines] or [np.zeros(1)])
        sizes = np.abs(values[np.isfinite(values)])
        sizes = sizes[sizes > 0]
        if len(sizes) and sizes.max() > max(RUNAWAY * float(np.median(sizes)), 1e3):
            panel.set_yscale("symlog", linthresh=max(float(np.median(sizes)), 1e-3 * float(sizes.max())))
            panel.yaxis.get_major_locator().set_params(numticks=5)  # type: ignore[call-arg]
        else:
            widen(panel, 1e-6)


def zoom(axes: list[Axes], result: Result) -> None:
    """If the guard stopped a run that had only just begun to diverge, show that part."""
    if result.fault is None:
        return
    t, size = result.rows["t"], np.abs(part(result, "f_s"))
    begin = float(t[np.argmax(size > 0.02 * np.nanmax(size))])
    if t[-1] - begin < 0.1 * t[-1]:
        for panel in axes:
            panel.set_xlim(begin - (t[-1] - begin), t[-1] + 0.05 * (t[-1] - begin) + 1e-3 * t[-1])
