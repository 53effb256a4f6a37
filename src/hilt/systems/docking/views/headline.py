"""The headline figure of a docking report: speed over the run and force in the contacts, each with the ideal in space."""

import math

import numpy as np
from matplotlib.axes import Axes

from hilt.job import Result
from hilt.report import colours, figure, words
from hilt.report.colours import IDEAL, MEASURED
from hilt.report.figure import Picture, legend, line, mark_fault
from hilt.systems.docking.analysis.beside import ideal_beside, space_of
from hilt.systems.docking.metrics import Ideal
from hilt.systems.docking.views.contacts import (
    Collision,
    along,
    collisions_of,
    flights,
    ideal_begins,
    ideal_contact,
    window,
)

RUNAWAY = 10.0  # times the ideal: above this the axis is logarithmic
MOST_LABELLED = 6  # contacts: with more there is no room for labels


def headline(result: Result) -> Picture:
    found, wanted = collisions_of(result), ideal_beside(result)
    fig, axes = figure.subplots(2 if found else 1, 1, figsize=(10.0, 5.2 if found else 2.8), squeeze=False)
    top = axes[0][0]
    speeds(top, result, found, wanted)
    mark_fault([top], result.fault.t if result.fault else None)
    if found:
        _forces(axes[1][0], result, found, wanted)
    caption = "Speed of the simulated rod along the frames' normal"
    if found:
        caption += f"; below, the force in the contacts, one after the other. {ideal_begins(result)}"
    return Picture("Speed and force", f"{caption.removesuffix('.')}.", fig)


def speeds(axes: Axes, result: Result, found: list[Collision], wanted: Ideal) -> None:
    """Speed over the whole run, with one dashed level for each flight."""
    t, v = result.rows["t"], 1e3 * along(result, "v_C_des_W")
    line(axes, t, v, "this run", color=MEASURED)
    signs = (-1.0 if v[0] < 0 else 1.0) * (-1.0) ** np.arange(len(wanted.speeds) + 1)
    levels = signs * np.array([abs(v[0]), *(1e3 * speed for speed in wanted.speeds)])
    ideal_levels(axes, t, found, list(levels))
    mark_collisions([axes], t, found)
    axes.set(ylabel="speed [mm/s]", xlabel="time [s]")
    legend(axes)
    runaway(axes, float(np.abs(v).max()), float(np.abs(levels).max()))


def runaway(axes: Axes, largest: float, ideal: float) -> None:
    """Switch to a logarithmic axis for values far above the ideal."""
    if 0.0 < RUNAWAY * ideal < largest:
        axes.set_yscale("symlog", linthresh=ideal)
        axes.yaxis.get_major_locator().set_params(numticks=5)  # type: ignore[call-arg]


def mark_collisions(axes: list[Axes], t: np.ndarray, found: list[Collision]) -> None:
    """Draw a grey stripe for each contact, with its number above the first panel if there is room."""
    for collision in found:
        for panel in axes:
            panel.axvspan(t[collision.first], t[collision.last], color=colours.STRIPE, linewidth=0)
    room = 0.02 * (t[-1] - t[0])
    last = -math.inf
    for collision in found:
        middle = 0.5 * (t[collision.first] + t[collision.last])
        if middle - last > room:
            place = axes[0].get_xaxis_transform()
            axes[0].text(middle, 1.01, str(collision.number), transform=place, ha="center", fontsize=8)
            last = middle


def ideal_levels(axes: Axes, t: np.ndarray, found: list[Collision], levels: list[float]) -> None:
    """One dashed level for each flight."""
    for n, ((begin, end), level) in enumerate(zip(flights(found, len(t)), levels, strict=False)):
        axes.plot([t[begin], t[end]], [level, level], label="ideal" if n == 0 else None, zorder=3, **IDEAL)


def _forces(axes: Axes, result: Result, found: list[Collision], wanted: Ideal) -> None:
    """Force contact after contact, flights left out; the errors of speed and force are above each."""
    t, space, begin, largest = result.rows["t"], space_of(result), 0.0, 0.0
    place = axes.get_xaxis_transform()
    signal = "F_C_true_W" if result.rows["F_C_true_W"].any() else "F_mea_W"  # on devices only the measured force is known
    for collision in found:
        part = window(result, collision)
        s = 1e3 * (t[part] - t[part][0]) + begin
        force = collision.side * along(result, signal)[part]
        first = collision is found[0]
        axes.plot(s, force, color=MEASURED, label="this run" if first else None)
        largest = max(largest, float(np.abs(force).max()))
        if space is not None:
            at, same = ideal_contact(result, space, collision)
            ideal = collision.side * along(space, "F_C_true_W")[same]
            axes.plot(1e3 * (at - t[part][0]) + begin, ideal, label="ideal" if first else None, **IDEAL)
        elif collision.number <= len(wanted.peaks):
            level = wanted.peaks[collision.number - 1]
            axes.plot([s[0], s[-1]], [level, level], label="ideal peak" if first else None, **IDEAL)
        if len(found) <= MOST_LABELLED:
            axes.text(0.5 * (s[0] + s[-1]), 1.01, _label(result, collision), transform=place, ha="center", fontsize=8)
        begin = s[-1] + 1e3 * (t[1] - t[0])
        if collision is not found[-1]:
            axes.axvline(begin, color="0.8", linewidth=0.8)
    axes.set(ylabel="contact force [N]", xlabel="time in contact [ms], flights left out")
    legend(axes)
    runaway(axes, largest, max(wanted.peaks, default=0.0))


def _label(result: Result, collision: Collision) -> str:
    """Label of a contact: number, frame and both errors."""
    lines = [f"{collision.number}, {'front' if collision.side > 0 else 'rear'} frame"]
    for name, word in (("cov", "speed"), ("cof", "force")):
        values = result.metrics[name]
        if collision.number <= len(values) and math.isfinite(values[collision.number - 1]):
            lines.append(f"{word} {words.off_one(values[collision.number - 1])}")
    return "\n".join(lines)
