"""All methods on one scenario of `docking`, and one figure that compares them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from hilt.job import Result
from hilt.report import colours, figure
from hilt.report.colours import IDEAL
from hilt.report.figure import Picture, line
from hilt.report.words import si
from hilt.systems.docking.analysis.beside import space_of
from hilt.systems.docking.analysis.methods import Prediction
from hilt.systems.docking.docking import Docking
from hilt.systems.docking.views.bound import bound_of
from hilt.systems.docking.views.choices import COLOUR_OF_METHOD
from hilt.systems.docking.views.contacts import (
    along,
    bound_line,
    collisions_of,
    error_bars,
    ideal_force,
    scenario_of,
    window,
)


def as_run(result: Result) -> Prediction:
    return Prediction((result.metrics,), scenario_of(result))


def colours_of(names: Mapping[str, Any]) -> dict[str, str]:
    """Colours: each method has its own; other choices, such as delays, take them from a cycle."""
    return {name: COLOUR_OF_METHOD.get(name, colours.of(n)) for n, name in enumerate(names)}


_BOUND = "Dotted: the lowest possible force at a first touch just after a tick, in real time. "


def bars(cov: Axes, cof: Axes, found: Mapping[str, Prediction], bound: float | None) -> str:
    """Draw the worst speed error of each method and its force error: first touch as a bar, worst later touch as a mark.

    Returns the caption text on the bound, if the bound is within the axis.
    """
    colours, goal = list(colours_of(found).values()), next(iter(found.values())).goal
    error_bars(cov, list(found), [prediction.cov for prediction in found.values()], colours, 100.0 * goal.cov)
    error_bars(cof, list(found), [prediction.first_cof for prediction in found.values()], colours, 100.0 * goal.cof)
    later = [(100.0 * abs(prediction.later_cof - 1.0), n) for n, prediction in enumerate(found.values())]
    shown = [(error, n) for error, n in later if error <= cof.get_xlim()[1]]
    cof.plot(*zip(*shown, strict=True) if shown else ((), ()), "D", color="white", markeredgecolor="black", markersize=4.5)
    cov.set_xlabel("speed: |CoV - 1| [%]")
    cof.set_xlabel("force: |CoF - 1| [%]")
    return _BOUND if bound_line(cof, bound) else ""


def methods_picture(scenario: Docking, found: Mapping[str, Prediction]) -> Picture:
    fig, (left, right) = figure.subplots(1, 2, figsize=(7.2, 0.3 * len(found) + 1.0), sharey=True)
    dotted = bars(left, right, found, bound_of(scenario))
    return Picture(
        "Methods on this scenario",
        "Error of each method: speed on the left, peak force on the right (bar: first touch, mark: worst "
        f"later touch). Dash-dotted: the goals. {dotted}Hatched bars are cut.",
        fig,
    )


def comparison_picture(results: Mapping[str, Result]) -> Picture:
    """Velocity over time, forces of the first two collisions, and CoV and CoF of each method."""
    first = next(iter(results.values()))
    ideal = space_of(first)
    fig = figure.blank(10.0, 6.4)
    places = fig.add_gridspec(2, 4, height_ratios=(1.1, 1.0))
    top = fig.add_subplot(places[0, :])
    _velocities(top, results, ideal)
    one = fig.add_subplot(places[1, 0])
    two = fig.add_subplot(places[1, 1], sharey=one)
    cov = fig.add_subplot(places[1, 2])
    cof = fig.add_subplot(places[1, 3], sharey=cov)
    for number, axes in ((1, one), (2, two)):
        _forces(axes, results, ideal, number)
    one.set_ylabel("true contact force [N]")
    bounds = {bound_of(scenario_of(result)) for result in results.values()}
    runs = {name: as_run(result) for name, result in results.items()}
    dotted = bars(cov, cof, runs, bounds.pop() if len(bounds) == 1 else None)
    cof.tick_params(labelleft=False)
    delays = sorted({scenario_of(result).robot.delay for result in results.values()})
    caption = (
        f"Total delay {', '.join(si(delay, 's') for delay in delays)}. Top: speed of the simulated rod relative to the frames. "
        "Bottom: force in the first two collisions; worst errors of speed and peak force (mark: worst force of the "
        f"later touches). Dashed: ideal, as in space. Dash-dotted: the goals. {dotted}Hatched bars are cut."
    )
    if len({_physics(result) for result in results.values()}) > 1:
        caption += f" The dashed lines belong to {next(iter(results))}."
    return Picture(f"Side by side: {first.name or 'one scenario'}", caption, fig)


def _physics(result: Result) -> str:
    """The settings that determine the ideal, as text."""
    scenario = scenario_of(result)
    return str((scenario.servicer, scenario.target, scenario.approach, scenario.frames, scenario.rod, scenario.contact))


def _velocities(axes: Axes, results: Mapping[str, Result], ideal: Result | None) -> None:
    longest = ideal or max(results.values(), key=lambda result: float(result.rows["t"][-1]))
    speed = 1e3 * max(abs(along(longest, "v_C_des_W")[0]), 1e-9)
    end = max((float(r.rows["t"][-1]) for r in results.values() if not r.metrics["diverged"]), default=longest.rows["t"][-1])
    for method, result in results.items():
        v = 1e3 * along(result, "v_C_des_W")
        inside = result.rows["t"] <= end
        label = (
            method
            if not np.abs(v[inside]).max() > 2.2 * speed
            else f"{method}: up to {si(1e-3 * float(np.abs(v).max()), 'm/s', 3)}"
        )
        line(axes, result.rows["t"][inside], v[inside], label, color=colours_of(results)[method])
    if ideal is not None:
        shown = ideal.rows["t"] <= end
        line(axes, ideal.rows["t"][shown], 1e3 * along(ideal, "v_C_des_W")[shown], "ideal", **IDEAL)
    axes.set(xlabel="time [s]", ylabel="velocity along the normal [mm/s]", ylim=(-2.2 * speed, 2.2 * speed))
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(results) + 1)


def _forces(axes: Axes, results: Mapping[str, Result], ideal: Result | None, number: int) -> None:
    drawn: Result | None = None
    for method, result in results.items():
        for collision in collisions_of(result):
            if collision.number == number:
                part = window(result, collision)
                ms = 1e3 * (result.rows["t"][part] - result.rows["t"][collision.first])
                force = collision.side * along(result, "F_C_true_W")[part]
                axes.plot(ms, force, color=colours_of(results)[method])
                drawn = result
    if drawn is not None and ideal is not None:
        touch = collisions_of(ideal)
        if len(touch) >= number:
            ideal_force(axes, ideal, ideal, touch[number - 1])
    axes.set_title(f"collision {number}", fontsize=9)
    axes.set_xlabel("time since the touch [ms]", fontsize=8)
