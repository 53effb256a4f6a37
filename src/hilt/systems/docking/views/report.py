"""What a report of `docking` shows, and which method it recommends."""

import math
from collections.abc import Iterator

import numpy as np

from hilt.job import Result
from hilt.report import figure
from hilt.report.colours import CONTROLLER, IDEAL, MEASURED
from hilt.report.figure import Picture, line, mark_fault, panels
from hilt.report.numbers import named
from hilt.report.pictures import energy_made, lateness
from hilt.report.words import off_one, si
from hilt.systems.docking.analysis.beside import ideal_beside, methods_of, space_of
from hilt.systems.docking.analysis.methods import METHODS, Prediction, name_of
from hilt.systems.docking.metrics import Ideal
from hilt.systems.docking.views.advice import needed, section, warnings, why
from hilt.systems.docking.views.bound import bound_of
from hilt.systems.docking.views.comparison import comparison_sentence
from hilt.systems.docking.views.contacts import (
    Collision,
    along,
    coefficients,
    collisions_of,
    forces,
    free_travel,
    identified,
    scenario_of,
    tip_position,
    velocity_in_contact,
)
from hilt.systems.docking.views.headline import RUNAWAY, headline, ideal_levels, mark_collisions, runaway
from hilt.systems.docking.views.methods import as_run, comparison_picture, methods_picture
from hilt.systems.docking.views.still import side_view

__all__ = ["advice", "comparison_picture", "comparison_sentence", "details", "headline", "numbers", "pictures"]


SEEN = 5e-4  # relative: smaller errors show as 0.0 %


def advice(result: Result) -> Iterator[str]:
    """What to change, as sentences."""
    methods = methods_of(result)
    if methods:
        yield f"<b>Method.</b> {_keep(result, methods)}{why(methods, needed(methods), bound_of(scenario_of(result)))}"
    yield from warnings(scenario_of(result), ideal_beside(result))


def _keep(result: Result, methods: dict[str, Prediction]) -> str:
    """Say whether the method of this run is good enough, or which one to set."""
    own = methods.get(name_of(scenario_of(result)))
    fine = result.verdict.kind == "met" and own is not None and own.meets
    if fine:
        return "No change needed: the method of this run meets the goal. "
    best = needed(methods)
    if best is None or not methods[best].meets or best not in METHODS:
        return ""
    method, mode = METHODS[best]
    modes = f" and compensate.mode = {mode}" if method == "twin" else ""
    return f"Set compensate.method = {method}{modes}. "


def details(result: Result) -> Iterator[tuple[str, str]]:
    """How every method performs on this scenario."""
    if methods_of(result):
        yield "Which method", section(result, methods_of(result))


def numbers(result: Result) -> Iterator[tuple[str, str]]:
    """Key numbers, ten at most."""
    m, wanted = result.metrics, ideal_beside(result)
    if m["cov"]:
        yield "speed after a collision, worst, relative to ideal", off_one(as_run(result).cov)
        yield "peak force of the first touch, relative to ideal", off_one(as_run(result).first_cof)
        if len(m["cof"]) > 1:
            yield "peak force of later touches, worst, relative to ideal", off_one(as_run(result).later_cof)
        peak = f", ideal {si(max(wanted.peaks), 'N', 3)}" if wanted.peaks else ""
        yield "largest contact force", si(float(np.linalg.norm(result.rows["F_C_true_W"], axis=1).max()), "N", 3) + peak
        yield "final kinetic energy, relative to ideal", off_one(m["kinetic_energy_ratio"])
    made = sum(row["net_J"] for row in result.ledger["rows"] if row["port"] != "environment")
    yield "energy made by the loop", _joules(result, made)
    if (bound := bound_of(scenario_of(result))) is not None:
        yield "lowest possible first peak in real time, touch just after a tick, relative to ideal", off_one(max(bound, 1.0))
    yield from named(result, "diverged_at_s", "time_slip_s")
    if m["robot_delay_s"] > scenario_of(result).loop.period:
        yield from named(result, "robot_delay_s")


def _joules(result: Result, made: float) -> str:
    return "0 J" if abs(made) < 1e-4 * float(result.ledger["exchanged_J"]) else si(made, "J", 3)


def pictures(result: Result) -> Iterator[Picture]:
    t, scenario = result.rows["t"], scenario_of(result)
    if len(t) < 3:  # stopped at once, nothing moved
        return
    stop = result.fault.t if result.fault else None
    found, wanted, ideal = collisions_of(result), ideal_beside(result), space_of(result)
    if found:
        yield _velocities(result, ideal)
        yield forces(result, ideal)
        known = identified(result)
        if known is not None:
            yield known
    if any(abs(ratio - 1.0) > SEEN for name in ("cov", "cof") for ratio in result.metrics[name]):
        yield coefficients(result, bound_of(scenario))
    found_by = methods_of(result)
    if any(math.isfinite(prediction.first_cof) for prediction in found_by.values()):
        yield methods_picture(scenario, found_by)
    yield _phase_plane(result, ideal)
    yield _energy(result, found, wanted, stop)
    yield from energy_made(result, t, stop)
    if found:
        yield side_view(result, wanted)
    yield from lateness(result.rows, t)


def _velocities(result: Result, ideal: Result | None) -> Picture:
    fig, axes = figure.subplots(figsize=(7.2, 2.6))
    velocity_in_contact(axes, result, ideal)
    v = 1e3 * np.abs(along(result, "v_C_des_W"))
    runaway(axes, float(v.max()), float(v[0]))
    return Picture(
        "Speed in the contacts", "Speed of the simulated rod along the frames' normal; the contacts are numbered.", fig
    )


def _phase_plane(result: Result, ideal: Result | None) -> Picture:
    rows, scenario = result.rows, scenario_of(result)
    normal = np.array(scenario.frames.n_W)
    arm = rows["p_C_true_W"] - rows["X_WB_true"]["p"]
    true_v = (rows["V_WB_true"]["v"] + np.cross(rows["V_WB_true"]["w"], arm)) @ normal
    fig, axes = figure.subplots(figsize=(7.2, 3.6))
    axes.plot(1e3 * tip_position(result, "p_C_true_W"), 1e3 * true_v, color=CONTROLLER, linewidth=3.5, alpha=0.5, label="robot")
    for run, label, style in ((result, "simulated", {"color": MEASURED, "linewidth": 1.2}), (ideal, "ideal", IDEAL)):
        if run is None:
            continue
        axes.plot(1e3 * tip_position(run, "p_C_des_W"), 1e3 * along(run, "v_C_des_W"), label=label, **style)
    free = 1e3 * free_travel(scenario)
    for side, name, place in ((-1, "rear frame", "right"), (1, "front frame", "left")):
        axes.axvline(side * free, color="0.35", linewidth=2.0)
        axes.annotate(
            name,
            (side * free, 0.5),
            (4 * side, 0),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            ha=place,
            va="center",
            rotation=90,
            fontsize=8,
        )
    axes.set(xlabel="position of the rod along the normal [mm]", ylabel="velocity [mm/s]")
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8)
    return Picture(
        "Phase plane",
        "One turn is two collisions. A loop that generates energy spirals outwards, one that loses energy spirals inwards.",
        fig,
    )


def _energy(result: Result, found: list[Collision], wanted: Ideal, stop: float | None) -> Picture:
    rows, t = result.rows, result.rows["t"]
    kinetic = rows["H"] + rows["H_rot"]
    observed = bool(rows["E_contact"].any())
    fig, axes = panels(2 if observed else 1, 1.9 if observed else 2.6)
    line(axes[0], t, kinetic, "kinetic energy", color=MEASURED)
    ideal_levels(axes[0], t, found, _ideal_energies(result, wanted))
    if observed:
        line(axes[1], t, rows["E_contact"], color=CONTROLLER)
        axes[1].axhline(0.0, color="black", linewidth=0.6)
        axes[1].set(ylabel="stored in the contact,\nas observed [J]")
    if kinetic.max() > RUNAWAY * kinetic[0]:
        axes[0].set_yscale("log")
    axes[0].set(ylabel="both bodies [J]")
    axes[-1].set(xlabel="time [s]")
    figure.widen(axes[0])
    mark_collisions(axes, t, found)
    axes[0].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8)
    mark_fault(axes, stop)
    caption = "Kinetic energy of both bodies, with the ideal for each flight" + (
        ", and the contact energy as observed by the controller." if observed else "; this method does not observe energy."
    )
    return Picture("Energy", caption, fig)


def _ideal_energies(result: Result, wanted: Ideal) -> list[float]:
    """Ideal energies [J] before the first collision and after each: in one degree of freedom, else only without losses."""
    scenario, start = scenario_of(result), float(result.rows["H"][0] + result.rows["H_rot"][0])
    if scenario.dof == 1:
        first = scenario.approach.speed
        return [start - 0.5 * scenario.reduced_mass * (first**2 - v**2) for v in (first, *wanted.speeds)]
    return [start, *([start] * len(wanted.speeds) if scenario.contact.is_lossless else [])]
