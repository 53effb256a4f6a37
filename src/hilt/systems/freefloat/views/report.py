"""What a report of `freefloat` shows, and which integrator it recommends."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from hilt.dynamics.integrators import CODES, EXTRA_DELAY
from hilt.job import Result
from hilt.report import figure
from hilt.report.figure import AXES, CONTROLLER, IDEAL, MADE, MEASURED, Picture, line, mark_fault, panels
from hilt.report.page import table
from hilt.report.pictures import energy_made, lateness
from hilt.report.words import si
from hilt.systems.freefloat.analysis.reference import continuous
from hilt.systems.freefloat.freefloat import FreeFloat, drift, held_force_position


def predicted_gain(scenario: FreeFloat, kind: str) -> float:
    """Growth of the speed per contact, exp(π ω τ_eff / 2)."""
    assert scenario.wall is not None
    omega = math.sqrt(scenario.wall.stiffness / scenario.body.mass)
    tau = (
        scenario.robot.delay + scenario.sensor.lateness + scenario.force_filter.delay + EXTRA_DELAY[kind] * scenario.loop.period
    )
    return math.exp(0.5 * math.pi * omega * tau)


def compare_integrators(scenario: FreeFloat, results: dict[str, Any]) -> tuple[str, str, list[tuple[str, float]], list[str]]:
    """What counts in this scenario, its unit, that figure for every integrator (best first), and which are best."""
    rivals = list(CODES)
    if scenario.wall is not None:
        words, unit, floor = "energy made per contact, share of the kinetic energy", "", 1e-4
        value = {
            k: float(np.mean(np.square(m["rebound_gain"])) - 1.0) if m["rebound_gain"] else math.nan for k, m in results.items()
        }
    elif scenario.body.dof == 6 and not _pushed_only_in_translation(scenario):
        words, unit, floor = "energy made by the rotation", "J", 1e-9
        value = {k: float(m["rotation_energy_drift_J"]) for k, m in results.items()}
        # Only those that also move the centre of mass rightly.
        least = min(m["position_error_m"] for m in results.values())
        rivals = [k for k, m in results.items() if m["position_error_m"] <= 1.02 * least + 1e-9]
    else:
        words, unit, floor = "distance from the exact solution", "m", 1e-9
        value = {k: float(m["position_error_m"]) for k, m in results.items()}
    order = sorted(value.items(), key=lambda item: (abs(item[1]) if math.isfinite(item[1]) else math.inf, item[0]))
    # Equal is what differs by less than 2 %, or by rounding.
    bound = 1.02 * min(abs(value[k]) for k in rivals) + floor
    return words, unit, order, [kind for kind, made in order if kind in rivals and abs(made) <= bound]


def _pushed_only_in_translation(scenario: FreeFloat) -> bool:
    return not any(scenario.body.angular_velocity) and all(push.point is None for push in scenario.push)


def advice(result: Result) -> Iterator[str]:
    scenario: FreeFloat = result.scenario  # type: ignore[assignment]
    if result.beside is not None:
        words, unit, order, best = compare_integrators(scenario, result.beside.figures["integrators"])
        rows = [(kind, si(value, unit) if unit else f"{value:+.2%}") for kind, value in order]
        chosen = scenario.integrator.kind
        verdict = "is among them" if chosen in best else "is not among them"
        yield (
            f"<b>Integrator.</b> All of them were run on this scenario. Best here: <b>{', '.join(best)}</b>; the chosen "
            f"<b>{chosen}</b> {verdict}.<br>{table(('integrator', words), rows)}"
        )
    if scenario.wall is not None:
        yield (
            "<b>Contact.</b> The controller of De Stefano 2017 makes the integrator passive at its own port, not the loop: "
            "against a spring each rebound grows by exp(π ω τ_eff / 2), and the passive integrator adds half a sample to "
            "τ_eff, where eq. 5 as printed adds nothing."
        )


def pictures(result: Result) -> Iterator[Picture]:
    rows, scenario = result.rows, result.scenario
    assert isinstance(scenario, FreeFloat)
    t, names = rows["t"], "x" if scenario.body.dof == 1 else "xyz"
    stop = result.fault.t if result.fault else None
    ideal = continuous(scenario, t)
    if rows["H"].any():  # a body that only turns has nothing to show here
        yield _forces(result, t, names, stop)
        yield _positions(rows, scenario, t, names, stop)
        yield _velocities(rows, t, names, stop, ideal)
        yield _observer(rows, t, names, stop)
    yield _energy(rows, t, stop, ideal)
    yield energy_made(result, t, stop)
    if scenario.body.dof == 6:
        yield _rotation(rows, t, stop, ideal)
    if scenario.wall is not None and result.metrics["rebound_gain"]:
        yield _rebounds(result, scenario)
    yield lateness(rows, t)


def _legend(axes: Axes) -> None:
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8)


def _forces(result: Result, t: np.ndarray, names: str, stop: float | None) -> Picture:
    rows = result.rows
    fig, axes = panels(1, 2.6)
    for i, name in enumerate(names):
        line(axes[0], t, rows["F_Bcm_W"]["f"][:, i], f"measured {name}", color=AXES[i])
    for i, _ in enumerate(names):
        line(axes[0], t, rows["F_Bcm_true_W"]["f"][:, i], "true" if i == 0 else None, **{**IDEAL, "linewidth": 0.8})
    axes[0].set(ylabel="force at the centre of mass [N]", xlabel="time [s]")
    _legend(axes[0])
    mark_fault(axes, stop)
    return Picture("Force", "What the sensor measured, shifted to the centre of mass, and what really acted.", fig)


def _positions(rows: np.ndarray, scenario: FreeFloat, t: np.ndarray, names: str, stop: float | None) -> Picture:
    exact = held_force_position(rows, scenario.body.mass, scenario.loop.period)
    fig, axes = panels(2)
    for i, name in enumerate(names):
        line(axes[0], t, rows["X_WBcm"]["p"][:, i], f"simulated {name}", color=AXES[i])
        line(axes[0], t, exact[:, i], "exact" if i == 0 else None, **IDEAL)
    line(axes[1], t, drift(rows, scenario), "drift", color=MEASURED)
    figure.hide_rounding(axes[1], 1e-6 * float(np.abs(exact).max()))
    axes[0].set(ylabel="position [m]")
    axes[1].set(ylabel="drift [m]", xlabel="time [s]")
    _legend(axes[0])
    mark_fault(axes, stop)
    return Picture("Position", "Against the exact motion of the mass under the measured force, held over each tick.", fig)


def _velocities(rows: np.ndarray, t: np.ndarray, names: str, stop: float | None, ideal: dict[str, np.ndarray]) -> Picture:
    fig, axes = panels(2)
    for i, name in enumerate(names):
        line(axes[0], t, rows["v_c"][:, i], f"commanded {name}", color=AXES[i])
        line(axes[0], t, ideal["v"][:, i], "continuous" if i == 0 else None, **IDEAL)
        line(axes[1], t, rows["v_pc"][:, i], f"v_pc {name}", color=CONTROLLER, alpha=1.0 - 0.3 * i)
    axes[0].set(ylabel="velocity [m/s]")
    axes[1].set(ylabel="correction v_pc [m/s]", xlabel="time [s]")
    _legend(axes[0])
    _legend(axes[1])
    mark_fault(axes, stop)
    return Picture("Velocity", "Commanded velocity, and what the passivity controller took off it.", fig)


def _energy(rows: np.ndarray, t: np.ndarray, stop: float | None, ideal: dict[str, np.ndarray]) -> Picture:
    simulated, exact = rows["H"] + rows["H_rot"], ideal["H"] + ideal["H_rot"]
    fig, axes = panels(2)
    line(axes[0], t, simulated, "simulated body", color=MEASURED)
    line(axes[0], t, exact, "continuous", **IDEAL)
    line(axes[1], t, simulated - exact, "difference", color=MADE)
    axes[0].set(ylabel="kinetic energy [J]")
    axes[1].set(ylabel="difference [J]", xlabel="time [s]")
    figure.widen(axes[0])
    _legend(axes[0])
    mark_fault(axes, stop)
    return Picture("Energy", "Kinetic energy against the continuous case: same body, no samples, no delay, no sensor.", fig)


def _observer(rows: np.ndarray, t: np.ndarray, names: str, stop: float | None) -> Picture:
    fig, axes = panels(2)
    for i, name in enumerate(names):
        line(axes[0], t, rows["E_obs_free"][:, i], name, color=AXES[i])
        line(axes[1], t, rows["E_obs"][:, i], name, color=AXES[i])
    axes[0].set(ylabel="E_obs without [J]")
    axes[1].set(ylabel="E_obs with [J]", xlabel="time [s]")
    _legend(axes[0])
    for panel in axes:
        panel.axhline(0.0, color="black", linewidth=0.6)
    axes[1].set_ylim(axes[0].get_ylim())
    mark_fault(axes, stop)
    caption = "Observed energy without and with the controller, in one run. Below zero is active."
    if not rows["v_pc"].any():
        caption += " The chosen integrator has no controller, so both are the same."
    return Picture("Passivity observer", caption, fig)


def _rotation(rows: np.ndarray, t: np.ndarray, stop: float | None, ideal: dict[str, np.ndarray]) -> Picture:
    fig, axes = panels(2)
    turned_back = _to_body(rows["X_WBcm"]["q"], rows["V_WBcm"]["w"])
    for i, name in enumerate("xyz"):
        line(axes[0], t, turned_back[:, i], f"simulated {name}", color=AXES[i])
        line(axes[0], t, ideal["w_B"][:, i], "continuous" if i == 0 else None, **IDEAL)
    line(axes[1], t, rows["H_rot"] - ideal["H_rot"], color=MADE)
    axes[0].set(ylabel="body rates [rad/s]")
    axes[1].set(ylabel="energy of rotation,\nsimulated - continuous [J]", xlabel="time [s]")
    _legend(axes[0])
    mark_fault(axes, stop)
    return Picture("Rotation", "Rates in the body frame beside the continuous case, and the energy between them.", fig)


def _to_body(q: np.ndarray, a: np.ndarray) -> np.ndarray:
    u = -q[:, 1:]
    twice = 2.0 * np.cross(u, a)
    rotated: np.ndarray = a + q[:, :1] * twice + np.cross(u, twice)
    return rotated


def _rebounds(result: Result, scenario: FreeFloat) -> Picture:
    gains = result.metrics["rebound_gain"]
    fig, axes = figure.plt.subplots(figsize=(7.2, 2.7))
    numbers = np.arange(1, len(gains) + 1)
    axes.bar(numbers, gains, color=MEASURED, width=0.5, label="measured")
    axes.axhline(1.0, **IDEAL, label="perfect spring")
    expected = predicted_gain(scenario, scenario.integrator.kind)
    axes.axhline(expected, color=MADE, linewidth=1.2, label=f"exp(π ω τ_eff / 2) = {expected:.3f}")
    axes.set(xlabel="contact", ylabel="speed after / before", ylim=(min(0.9, *gains), None))
    axes.set_xticks(numbers)
    _legend(axes)
    return Picture(
        "Rebounds", "Each contact with a delayed force gives back more than it took; the closed form says how much.", fig
    )
