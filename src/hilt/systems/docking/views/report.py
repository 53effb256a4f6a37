"""What a report of `docking` shows, and which method it recommends."""

import html
import math
from collections.abc import Iterator

import numpy as np
from matplotlib.axes import Axes

from hilt.job import Result
from hilt.report import figure
from hilt.report.figure import CONTROLLER, IDEAL, MEASURED, Picture, line, mark_fault, panels
from hilt.report.pictures import energy_made, lateness
from hilt.report.words import si
from hilt.systems.docking.analysis.beside import ideal_beside, methods_of, space_of
from hilt.systems.docking.metrics import Ideal
from hilt.systems.docking.views.advice import section, warnings
from hilt.systems.docking.views.bound import bound_of
from hilt.systems.docking.views.comparison import comparison_sentence
from hilt.systems.docking.views.contacts import (
    Collision,
    along,
    coefficients,
    collisions_of,
    flights,
    forces,
    free_way,
    identified,
    scenario_of,
    tip_position,
    velocity_in_contact,
)
from hilt.systems.docking.views.methods import as_run, comparison_picture, methods_picture
from hilt.systems.docking.views.still import side_view

__all__ = ["advice", "comparison_picture", "comparison_sentence", "pictures"]

RUNAWAY = 10.0  # times the ideal speed: from here on a logarithmic axis


def advice(result: Result) -> Iterator[str]:
    scenario = scenario_of(result)
    yield f"<b>Seen.</b> {_seen(result)} {_made_where(result)}"
    methods = methods_of(result)
    if methods:
        yield section(result, methods)
    yield from warnings(scenario, ideal_beside(result))


def _seen(result: Result) -> str:
    m, scenario = result.metrics, scenario_of(result)
    method = f"With <b>{html.escape(scenario.compensate.method)}</b> the loop"
    if result.fault is not None:
        method += f" was stopped at {result.fault.t:.3g} s"
    elif m["diverged"]:
        method += f" <b>diverged</b> at {m['diverged_at_s']:.3g} s"
    else:
        method += " did not diverge"
    if not m["cov"]:
        return method + "; no collision was completed."
    count = f"{len(m['cov'])} collision{'s' if len(m['cov']) > 1 else ''}"
    return (
        f"{method}. Over {count} the speed was at worst {as_run(result).cov:.4g} times the ideal (CoV), the largest force on "
        f"average {m['mean_cof']:.4g} times the ideal (CoF)."
    )


def _made_where(result: Result) -> str:
    """Which parts of the loop made or took energy, largest first."""
    least = 1e-3 * max(float(result.ledger["exchanged_J"]), 1e-12)
    parts = [row for row in result.ledger["rows"] if row["port"] != "environment" and abs(row["net_J"]) > least]
    if not parts:
        return "No part of the loop made energy worth mentioning."
    parts.sort(key=lambda row: -abs(row["net_J"]))
    said = [f"{row['port']} {'made' if row['net_J'] > 0 else 'took'} {si(abs(row['net_J']), 'J', 3)}" for row in parts]
    return f"Energy: {', '.join(said)}."


def pictures(result: Result) -> Iterator[Picture]:
    t, scenario = result.rows["t"], scenario_of(result)
    if len(t) < 3:  # stopped at once: nothing moved
        return
    stop = result.fault.t if result.fault else None
    found, wanted, ideal = collisions_of(result), ideal_beside(result), space_of(result)
    yield _velocities(result, ideal, found, wanted, stop)
    if found:
        yield forces(result, ideal)
        known = identified(result)
        if known is not None:
            yield known
    if result.metrics["cov"]:
        yield coefficients(result, bound_of(scenario))
    found_by = methods_of(result)
    if any(math.isfinite(prediction.first_cof) for prediction in found_by.values()):
        yield methods_picture(scenario, found_by)
    yield _phase_plane(result, ideal)
    yield _energy(result, found, wanted, stop)
    if result.ledger["exchanged_J"] > 0:
        yield energy_made(result, t, stop)
    if found:
        yield side_view(result, wanted)
    yield lateness(result.rows, t)


def mark_collisions(axes: list[Axes], t: np.ndarray, found: list[Collision]) -> None:
    """A grey stripe for each contact, its number above the first panel."""
    for collision in found:
        begin, end = t[collision.first], t[collision.last]
        for panel in axes:
            panel.axvspan(begin, end, color="0.88", linewidth=0)
        place = axes[0].get_xaxis_transform()
        axes[0].text(0.5 * (begin + end), 1.01, str(collision.number), transform=place, ha="center", fontsize=8)


def ideal_levels(axes: Axes, t: np.ndarray, found: list[Collision], levels: list[float]) -> None:
    """One dashed level for each flight."""
    for n, ((begin, end), level) in enumerate(zip(flights(found, len(t)), levels, strict=False)):
        axes.plot([t[begin], t[end]], [level, level], label="ideal" if n == 0 else None, zorder=3, **IDEAL)


def _velocities(result: Result, ideal: Result | None, found: list[Collision], wanted: Ideal, stop: float | None) -> Picture:
    t, v = result.rows["t"], 1e3 * along(result, "v_C_des_W")
    fig, spread = figure.plt.subplots(2 if found else 1, 1, figsize=(7.2, 4.6 if found else 2.8), squeeze=False)
    axes = [spread[0][0]]
    line(axes[0], t, v, "simulated", color=MEASURED)
    signs = (-1.0 if v[0] < 0 else 1.0) * (-1.0) ** np.arange(len(wanted.speeds) + 1)
    levels = signs * np.array([abs(v[0]), *(1e3 * speed for speed in wanted.speeds)])
    ideal_levels(axes[0], t, found, list(levels))
    mark_collisions(axes, t, found)
    axes[0].set(ylabel="velocity [mm/s]", xlabel="time [s]")
    axes[0].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8)
    mark_fault(axes, stop)
    if found:
        axes.append(spread[1][0])
        velocity_in_contact(axes[1], result, ideal)
    caption = "Speed of the simulated rod against the frames, along their normal; the contacts are numbered."
    if np.abs(v).max() > RUNAWAY * np.abs(levels).max():
        for panel in axes:
            panel.set_yscale("symlog", linthresh=float(np.abs(levels).max()))
        caption += " The axes are logarithmic beyond the ideal speed."
    return Picture("Contact velocity", caption, fig)


def _phase_plane(result: Result, ideal: Result | None) -> Picture:
    rows, scenario = result.rows, scenario_of(result)
    normal = np.array(scenario.frames.n_W)
    arm = rows["p_C_true_W"] - rows["X_WB_true"]["p"]
    true_v = (rows["V_WB_true"]["v"] + np.cross(rows["V_WB_true"]["w"], arm)) @ normal
    fig, axes = figure.plt.subplots(figsize=(7.2, 3.6))
    axes.plot(1e3 * tip_position(result, "p_C_true_W"), 1e3 * true_v, color=CONTROLLER, linewidth=3.5, alpha=0.5, label="robot")
    for run, label, style in ((result, "simulated", {"color": MEASURED, "linewidth": 1.2}), (ideal, "ideal", IDEAL)):
        if run is None:
            continue
        axes.plot(1e3 * tip_position(run, "p_C_des_W"), 1e3 * along(run, "v_C_des_W"), label=label, **style)
    free = 1e3 * free_way(scenario)
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
        "One turn is two collisions. A loop that makes energy spirals out, one that loses it spirals in.",
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
    caption = "Kinetic energy of both bodies with the ideal of each flight" + (
        ", and the contact's energy as the observer counts it." if observed else "; this method observes no energy."
    )
    return Picture("Energy", caption, fig)


def _ideal_energies(result: Result, wanted: Ideal) -> list[float]:
    """Before the first collision and after each; the closed form where the contact is a line, else only where none is lost."""
    scenario, start = scenario_of(result), float(result.rows["H"][0] + result.rows["H_rot"][0])
    if scenario.dof == 1:
        first = scenario.approach.speed
        return [start - 0.5 * scenario.reduced_mass * (first**2 - v**2) for v in (first, *wanted.speeds)]
    lossless = scenario.contact.damping == 0.0 and scenario.contact.friction == 0.0
    return [start, *([start] * len(wanted.speeds) if lossless else [])]
