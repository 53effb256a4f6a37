"""Method twin: its figures. `python -m hilt.systems.docking.paper.twin_figures docs` writes those of docs/twin.md."""

import sys
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from hilt.report import figure
from hilt.report.colours import CONTROLLER, IDEAL, LIMIT, MEASURED
from hilt.report.figure import Picture, line
from hilt.systems.docking.analysis.bound import least_cof, touch_of
from hilt.systems.docking.analysis.space import ideal_run
from hilt.systems.docking.paper import twin_grid as grid
from hilt.systems.docking.paper import twin_runs
from hilt.systems.docking.views.choices import COLOUR_OF_METHOD
from hilt.systems.docking.views.contacts import (
    BOUND,
    along,
    collisions_of,
    scenario_of,
    simulated_touch,
)

METHODS = {
    "none": ("none", "guarded"),
    "pida": ("pida", "guarded"),
    "twin realtime": ("twin", "realtime"),
    "twin guarded": ("twin", "guarded"),
}
TARGET, LEAST = 0.035, 1e-4
SHOWN = (-30, 230)  # ms around the touch


def pictures() -> list[Picture]:
    return [_touch(), _collisions(), _bound(), _robots(), _troubles()]


def _legend(axes: Axes, columns: int = 5) -> None:
    """Put the legend above the panel, clear of the curves."""
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=columns, fontsize=8)


def _touch() -> Picture:
    fig, (force, speed) = figure.subplots(2, 1, figsize=(7.2, 5.2), sharex=True)
    results = {name: grid.trace(*choice) for name, choice in METHODS.items()}
    for name, result in results.items():
        first = collisions_of(result)[0]
        t = 1e3 * (result.rows["t"] - simulated_touch(result, first))
        part = (t >= SHOWN[0]) & (t <= SHOWN[1])
        line(force, t[part], along(result, "F_C_true_W")[part], name, color=COLOUR_OF_METHOD[name])
        line(speed, t[part], 1e3 * along(result, "v_C_des_W")[part], name, color=COLOUR_OF_METHOD[name])
    space = ideal_run(scenario_of(results["none"]))
    first = collisions_of(space)[0]
    t = 1e3 * (space.rows["t"] - simulated_touch(space, first))
    part = (t >= SHOWN[0]) & (t <= SHOWN[1])
    line(force, t[part], along(space, "F_C_true_W")[part], "space", **IDEAL)
    line(speed, t[part], 1e3 * along(space, "v_C_des_W")[part], "space", **IDEAL)
    peak = float(along(space, "F_C_true_W")[: first.last].max())
    force.axhline(peak * grid.bound_at(40, 5), **BOUND)
    force.annotate("least peak in real time", (-28, peak * grid.bound_at(40, 5)), color=LIMIT, fontsize=8, va="bottom")
    force.set(ylabel="true force [N]", xlim=SHOWN, ylim=(-0.1 * peak, 2.1 * peak))
    speed.set(ylabel="simulated speed [mm/s]", xlabel="time from the touch of the simulated rod [ms]")
    _legend(force)
    return Picture(
        "First touch at 40 ms",
        "Pure delay of 40 ms, 0.5 N of noise, priors wrong. Untreated, the body leaves nearly four times as fast as it came. PIDA keeps the "
        "speed but presses too hard. The twin in real time reaches the lowest possible peak; guarded, with a slower clock, the peak is as in space and the contact a little longer.",
        fig,
    )


def _collisions() -> Picture:
    fig, axes = figure.subplots(figsize=(7.2, 3.2))
    shift = -0.2
    for name in ("pida", "twin realtime", "twin guarded"):
        runs = grid.on_pure_delay(40, *METHODS[name])
        cof = runs.cof[0]
        numbers = np.arange(1, cof.shape[1] + 1) + shift
        spread = [cof.mean(axis=0) - cof.min(axis=0), cof.max(axis=0) - cof.mean(axis=0)]
        axes.errorbar(numbers, cof.mean(axis=0), spread, fmt="o", capsize=3, label=name, color=COLOUR_OF_METHOD[name])
        shift += 0.2
    axes.axhline(1.0, label="space", **IDEAL)
    axes.axhline(grid.bound_at(40, 5), **BOUND, label="bound, unknown surface")
    axes.set(
        xlabel="collision (1 and 2 are the first touches of the two frames)", ylabel="CoF: force / ideal", xticks=range(1, 6)
    )
    axes.grid(visible=False, axis="x")
    _legend(axes)
    return Picture(
        "CoF of each collision at 40 ms",
        f"Pure delay of 40 ms, n = 5, 0.5 N, {grid.SIZE.seeds} seeds: mean, lowest and highest. The bound is for an untouched surface, i.e. for "
        "collisions 1 and 2; afterwards the twin knows both frames.",
        fig,
    )


def _bound() -> Picture:
    fig, axes = figure.subplots(figsize=(7.2, 3.4))
    angle = np.linspace(0.0, 1.25, 200)
    for n, colour in ((3, CONTROLLER), (5, MEASURED)):
        axes.plot(angle, [least_cof(1.0, at, n) for at in angle], color=colour, label=f"least CoF, n = {n}")
        at, found = [], []
        for delay in grid.DELAYS:
            values = twin_runs.scenario("table1", "compensate.method=twin", f"robot.delay={delay} ms", "sensor.noise=0.5 N")
            touch, cof = touch_of(values), grid.touches(delay, n).cof[0, :, 0]
            at.append(touch.omega * touch.t_b)
            found.append((cof.mean(), cof.mean() - cof.min(), cof.max() - cof.mean()))
        mean, below, above = np.array(found).T
        axes.errorbar(
            at, mean, [below, above], fmt="o" if n == 5 else "s", capsize=3, color=colour, label=f"twin realtime, n = {n}"
        )
    axes.plot(angle, np.hypot(1.0, angle), color="0.45", linestyle=":", label="PIDA, √(1 + (ωτ)²), τ = t_b")
    axes.axhline(1.0, label="space", **IDEAL)
    axes.set(xlabel="ωt_b [rad]", ylabel="CoF of the first touch", xlim=(0.0, 1.25))
    _legend(axes, 3)
    return Picture(
        "The bound and what reaches it",
        f"Pure delays of 10, 20, 30 and 40 ms at 4 Hz, real time, {grid.SIZE.touches} seeds: mean, lowest and highest. Below ωt_b = 1 - 1/(2n) no excess "
        "force is unavoidable; above it no method in real time can be better than the line.",
        fig,
    )


def _robots() -> Picture:
    fig, axes = figure.subplots(figsize=(7.2, 5.6))
    shown = {"pida": grid.pida(), "twin realtime": grid.realtime(), "twin guarded": grid.guarded()}
    count = len(next(iter(shown.values())).cof)
    for name, runs in shown.items():
        worst, colour = np.abs(runs.cof - 1).max(axis=(1, 2)), COLOUR_OF_METHOD[name]
        ring = (
            {"markersize": 8, "fillstyle": "none", "markeredgewidth": 1.3} if name == "twin realtime" else {"markersize": 4.5}
        )
        axes.plot(worst, range(count), "o", label=name, color=colour, **ring)
    axes.axvline(TARGET, color="black", linewidth=1.0, linestyle=":", label=f"target: {TARGET}")
    axes.set(xscale="log", xlabel="worst |CoF - 1| of five collisions", ylim=(count - 0.5, -0.5))
    axes.set_yticks(range(count), twin_runs.NAMES[:count], fontsize=7.5)
    axes.set_ylabel("robot: total delay, damping ratio, pure delay")
    _legend(axes)
    return Picture("The robots", f"Each of {count} robots, worst of {grid.SIZE.seeds} seeds, n = 5, 0.5 N, ideal 0.", fig)


def _troubles() -> Picture:
    fig, axes = figure.subplots(figsize=(7.2, 4.8))
    found = grid.troubles()
    places = np.arange(len(found))
    axes.plot(
        [max(each.speed, LEAST) for each in found],
        places - 0.14,
        "s",
        markersize=5,
        color=CONTROLLER,
        label="|CoV - 1|; six degrees: kinetic energy",
    )
    axes.plot([max(each.force, LEAST) for each in found], places + 0.14, "o", markersize=5, color=MEASURED, label="|CoF - 1|")
    for colour, which, words in ((CONTROLLER, 0, "its limit"), (MEASURED, 1, "its limit")):
        limits = [each.limits[which] for each in found]
        axes.step([*limits, limits[-1]], [*(places - 0.5), places[-1] + 0.5], color=colour, linewidth=1.0, label=words)
    axes.set_yticks(places, [each.trouble.name for each in found], fontsize=8)
    axes.set(
        xscale="log",
        xlabel=f"worst, ideal 0; below {LEAST:g} drawn there",
        xlim=(0.7 * LEAST, 1.0),
        ylim=(len(found) - 0.5, -0.5),
    )
    _legend(axes, 2)
    return Picture(
        "What each trouble costs",
        f"Guarded, n = 5, 0.5 N, {grid.SIZE.troubled} robots, {grid.SIZE.seeds} seeds ({grid.SIZE.six_seeds} in six degrees of freedom): worst case. Lines: the two limits. {'Some make' if any(each.makes_energy for each in found) else 'None of them makes'} energy.",
        fig,
    )


def write(folder: Path) -> None:
    """Write the figures of docs/twin.md."""
    for name, draw in (("touch", _touch), ("bound", _bound), ("troubles", _troubles)):
        draw().figure.savefig(folder / f"twin-{name}.svg", metadata={"Date": None})


if __name__ == "__main__":
    write(Path(sys.argv[1] if len(sys.argv) > 1 else "docs"))
