"""All methods on one scenario of `docking`: which one to take, and one picture that shows why."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from hilt import job
from hilt.job import Result
from hilt.report import figure
from hilt.report.docking_contacts import (
    COLOUR_OF_METHOD,
    along,
    capped_bars,
    collisions_of,
    ideal_force,
    ideal_run,
    scenario_of,
    window,
)
from hilt.report.figure import IDEAL, Picture, line
from hilt.report.words import si
from hilt.systems.docking import DOCKING

METHODS = ("none", "pic", "dac", "pida")
CAP = 2.0  # of the bars


def all_methods(result: Result) -> dict[str, Result]:
    """The same scenario with every method; the one that was run is not run again."""
    scenario = scenario_of(result)
    own = scenario.compensate.method
    results = {}
    for method in METHODS if own in METHODS else (*METHODS, own):
        changed = scenario.compensate.model_copy(update={"method": method})
        results[method] = (
            result if method == own else job.simulate(DOCKING, scenario.model_copy(update={"compensate": changed}), result.name)
        )
    return results


def worst_cov(result: Result) -> float:
    """The CoV farthest from 1; not a number without a completed collision."""
    return float(max(result.metrics["cov"], key=lambda value: abs(value - 1.0), default=math.nan))


def recommended(results: Mapping[str, Result]) -> str | None:
    """Least error of speed and force together; the simpler method where they are equal."""
    cost = {
        method: round(abs(worst_cov(r) - 1.0) + abs(r.metrics["mean_cof"] - 1.0), 3)
        for method, r in results.items()
        if not r.metrics["diverged"] and r.metrics["cov"]
    }
    return min(cost, key=lambda method: (cost[method], list(results).index(method)), default=None)


def colours_of(results: Mapping[str, Result]) -> dict[str, str]:
    """A method has its own colour; other choices, such as delays, get those of a cycle."""
    return {name: COLOUR_OF_METHOD.get(name, f"C{n}") for n, name in enumerate(results)}


def bars(cov: Axes, cof: Axes, results: Mapping[str, Result]) -> None:
    """Worst CoV and mean CoF of each method."""
    colours = list(colours_of(results).values())
    at = list(range(len(results)))
    for axes, values, words in (
        (cov, [worst_cov(r) for r in results.values()], "worst CoV"),
        (cof, [float(r.metrics["mean_cof"]) for r in results.values()], "mean CoF"),
    ):
        capped_bars(axes, at, values, colours, CAP, 0.65)
        axes.set_xticks(at, list(results), fontsize=8)
        if len(results) > 4:  # no room side by side
            axes.tick_params(axis="x", rotation=40)
            for text in axes.texts:
                text.set_rotation(90)
        axes.set_ylabel(words)


def methods_picture(results: Mapping[str, Result]) -> Picture:
    fig, (left, right) = figure.plt.subplots(1, 2, figsize=(7.2, 2.6))
    bars(left, right, results)
    return Picture(
        "Methods on this scenario",
        "Speed that is farthest from the ideal, and mean of the largest forces; 1 is space. Hatched bars are cut.",
        fig,
    )


def comparison_picture(results: Mapping[str, Result]) -> Picture:
    """At a glance: velocity over time, forces of the first two collisions, CoV and CoF of each method."""
    first = next(iter(results.values()))
    scenario = scenario_of(first)
    ideal = ideal_run(scenario)
    fig = figure.plt.figure(figsize=(10.0, 6.4))
    places = fig.add_gridspec(2, 4, height_ratios=(1.1, 1.0))
    top = fig.add_subplot(places[0, :])
    _velocities(top, results, ideal)
    one = fig.add_subplot(places[1, 0])
    two = fig.add_subplot(places[1, 1], sharey=one)
    for number, axes in ((1, one), (2, two)):
        _forces(axes, results, ideal, number)
    one.set_ylabel("true contact force [N]")
    bars(fig.add_subplot(places[1, 2]), fig.add_subplot(places[1, 3]), results)
    delays = sorted({scenario_of(result).robot.delay for result in results.values()})
    caption = (
        f"Whole delay {', '.join(si(delay, 's') for delay in delays)}. Above: speed of the simulated rod against the frames. "
        "Below: force in the first two collisions, worst speed and mean largest force over the ideal. Dashed is what space "
        "would give; hatched bars are cut."
    )
    if len({_physics(result) for result in results.values()}) > 1:
        caption += f" The dashed lines belong to {next(iter(results))}."
    return Picture(f"Side by side: {first.name or 'one scenario'}", caption, fig)


def _physics(result: Result) -> str:
    """What the ideal depends on."""
    scenario = scenario_of(result)
    return str((scenario.servicer, scenario.target, scenario.approach, scenario.frames, scenario.rod, scenario.contact))


def _velocities(axes: Axes, results: Mapping[str, Result], ideal: Result) -> None:
    speed = 1e3 * max(abs(along(ideal, "v_C_des_W")[0]), 1e-9)
    end = max((float(r.rows["t"][-1]) for r in results.values() if not r.metrics["diverged"]), default=ideal.rows["t"][-1])
    for method, result in results.items():
        v = 1e3 * along(result, "v_C_des_W")
        inside = result.rows["t"] <= end
        label = (
            method
            if not np.abs(v[inside]).max() > 2.2 * speed
            else f"{method}: up to {si(1e-3 * float(np.abs(v).max()), 'm/s', 3)}"
        )
        line(axes, result.rows["t"][inside], v[inside], label, color=colours_of(results)[method])
    shown = ideal.rows["t"] <= end
    line(axes, ideal.rows["t"][shown], 1e3 * along(ideal, "v_C_des_W")[shown], "ideal", **IDEAL)
    axes.set(xlabel="time [s]", ylabel="velocity along the normal [mm/s]", ylim=(-2.2 * speed, 2.2 * speed))
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(results) + 1)


def _forces(axes: Axes, results: Mapping[str, Result], ideal: Result, number: int) -> None:
    drawn: Result | None = None
    for method, result in results.items():
        for collision in collisions_of(result):
            if collision.number == number:
                part = window(result, collision)
                ms = 1e3 * (result.rows["t"][part] - result.rows["t"][collision.first])
                force = collision.side * along(result, "F_C_true_W")[part]
                axes.plot(ms, force, color=colours_of(results)[method])
                drawn = result
    if drawn is not None:
        touch = collisions_of(ideal)
        if len(touch) >= number:
            ideal_force(axes, ideal, ideal, touch[number - 1])
    axes.set_title(f"collision {number}", fontsize=9)
    axes.set_xlabel("time since the touch [ms]", fontsize=8)


def comparison_table(results: Mapping[str, Result], best: str | None) -> Sequence[Sequence[str]]:
    rows = []
    for method, result in results.items():
        cov = worst_cov(result)
        cells = (
            method,
            f"{100 * abs(cov - 1.0):.{2 if abs(cov - 1.0) < 1 else 0}f} %" if math.isfinite(cov) else "-",
            f"{result.metrics['mean_cof']:.3f}" if math.isfinite(result.metrics["mean_cof"]) else "-",
            "stopped" if result.fault else "yes" if result.metrics["diverged"] else "no",
        )
        rows.append([f"<b>{cell}</b>" for cell in cells] if method == best else cells)
    return rows
