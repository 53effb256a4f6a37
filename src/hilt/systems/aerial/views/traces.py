"""Curves of an `aerial` run, per axis and in the world, and the states of its task as bars with names."""

import itertools
from collections.abc import Iterator

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hilt.job import Result
from hilt.report import colours, figure
from hilt.report.colours import AXES
from hilt.report.figure import line
from hilt.systems.aerial.aerial import Aerial
from hilt.systems.aerial.hand import HOLDS
from hilt.systems.aerial.task import STATES

STATE_HEIGHT = 0.17  # inches of a state's line
LARGEST = 1e30


def scenario_of(result: Result) -> Aerial:
    assert isinstance(result.scenario, Aerial)
    return result.scenario


def stop_of(result: Result) -> float | None:
    return result.fault.t if result.fault else None


def in_world(result: Result, vectors_H: np.ndarray) -> np.ndarray:
    """From the frame of the hardware's base into the world."""
    w, *u = scenario_of(result).frames.attitude
    with np.errstate(invalid="ignore", over="ignore"):
        side = 2.0 * np.cross(u, vectors_H)
        turned: np.ndarray = vectors_H + w * side + np.cross(u, side)
    return np.where(np.abs(turned) < LARGEST, turned, np.nan)


def human_force(result: Result) -> np.ndarray:
    """Measured at the hardware's tool, unfiltered, in the world."""
    return in_world(result, result.rows["F_h_raw_H"]["f"])


def three(axes: Axes, t: np.ndarray, vectors: np.ndarray, scale: float = 1.0, **style: object) -> None:
    for i, name in enumerate("xyz"):
        line(axes, t, scale * vectors[:, i], name, color=AXES[i], **style)


def spans(values: np.ndarray) -> Iterator[tuple[int, int, int]]:
    """Value, first and one past the last row of every stretch of equal values."""
    edges = [0, *(np.flatnonzero(np.diff(values)) + 1), len(values)]
    for begin, end in itertools.pairwise(edges):
        yield int(values[begin]), int(begin), int(end)


def _true_lines(result: Result) -> dict[str, np.ndarray]:
    """What really happened, for the lines below the task's."""
    rows, scenario = result.rows, scenario_of(result)
    found = {}
    if scenario.hand.stiffness > 0.0:
        found["true: a hand holds"] = rows["hand_state"] == HOLDS
    if scenario.hand.tool_mass > 0.0:
        found["true: tool on the arm"] = rows["t"] >= scenario.hand.handover
    if scenario.cable.present:
        found["true: hook closed"] = rows["latched_true"] == 1
    return found


def with_task(result: Result, count: int, height: float = 1.9, width: float = 7.2) -> tuple[Figure, list[Axes]]:
    """Panels above each other, and below them what the task concluded and what really happened, a line each."""
    rows = result.rows
    order = list(dict.fromkeys(int(code) for code in rows["task_state"]))
    true = _true_lines(result)
    below = STATE_HEIGHT * (len(order) + len(true)) + 0.35
    fig, spread = figure.subplots(
        count + 1, 1, figsize=(width, height * count + below + 0.4), sharex=True, height_ratios=[*[height] * count, below]
    )
    axes, strip = list(spread[:-1]), spread[-1]
    t, period = rows["t"], scenario_of(result).loop.period
    for code, begin, end in spans(rows["task_state"]):
        place = order.index(code)
        colour = colours.STATES[place % len(colours.STATES)]
        strip.barh(
            place, t[end - 1] + period - t[begin], left=t[begin], height=0.8, color=colour, edgecolor=colour, linewidth=1.2
        )
        for panel in axes:
            panel.axvspan(t[begin], t[end - 1] + period, color=colour, alpha=0.15, linewidth=0)
    for n, holds in enumerate(true.values()):
        for value, begin, end in spans(holds.astype(int)):
            if value:
                strip.barh(len(order) + n, t[end - 1] + period - t[begin], left=t[begin], height=0.8, color=colours.TRUTH)
    strip.set_yticks(range(len(order) + len(true)), [*(STATES[code] for code in order), *true], fontsize=7)
    strip.set_ylim(len(order) + len(true) - 0.4, -0.6)
    strip.set(xlabel="time [s]")
    strip.grid(visible=False, axis="y")
    return fig, [*axes, strip]


def has_states(result: Result) -> bool:
    """Whether the task had more than one state."""
    return len(set(result.rows["task_state"])) > 1


def stage(result: Result, count: int, height: float = 1.9, width: float = 7.2) -> tuple[Figure, list[Axes]]:
    """Panels with the task's states below them, if it has any; the first `count` are for curves."""
    if has_states(result):
        return with_task(result, count, height, width)
    fig, axes = figure.panels(count, height, width)
    axes[-1].set(xlabel="time [s]")
    return fig, axes
