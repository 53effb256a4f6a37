"""What a report of `freefloat` shows, and which integrator it recommends."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from hilt.dynamics.integrators import CODES, EXTRA_DELAY
from hilt.job import Result
from hilt.report import figure
from hilt.report.colours import AXES, IDEAL, MADE, MEASURED
from hilt.report.figure import Picture, legend, line, mark_fault, panels
from hilt.report.numbers import named
from hilt.report.page import table
from hilt.report.pictures import energy_made, lateness
from hilt.report.words import off_one, prefixed, si
from hilt.systems.freefloat.analysis.reference import continuous
from hilt.systems.freefloat.freefloat import FreeFloat, drift, held_force_position

ROUNDING = 1e-6  # of the largest value: smaller errors are rounding


def predicted_gain(scenario: FreeFloat, kind: str) -> float:
    """Growth of the speed per contact, exp(π ω τ_eff / 2)."""
    assert scenario.wall is not None
    omega = math.sqrt(scenario.wall.stiffness / scenario.body.mass)
    tau = (
        scenario.robot.delay + scenario.sensor.lateness + scenario.force_filter.delay + EXTRA_DELAY[kind] * scenario.loop.period
    )
    return math.exp(0.5 * math.pi * omega * tau)


def compare_integrators(scenario: FreeFloat, results: dict[str, Any]) -> tuple[str, str, list[tuple[str, float]], list[str]]:
    """The criterion for this scenario, its unit, its value for every integrator (best first), and which are best."""
    rivals = list(CODES)
    if scenario.wall is not None:
        words, unit, floor = "energy made per contact, share of the kinetic energy", "", 1e-4
        value = {
            k: float(np.mean(np.square(m["rebound_gain"])) - 1.0) if m["rebound_gain"] else math.nan for k, m in results.items()
        }
    elif scenario.body.dof == 6 and not _pushed_only_in_translation(scenario):
        words, unit, floor = "energy made by the rotation", "J", 1e-9
        value = {k: float(m["rotation_energy_drift_J"]) for k, m in results.items()}
        # Only those that also move the centre of mass correctly.
        least = min(m["position_error_m"] for m in results.values())
        rivals = [k for k, m in results.items() if m["position_error_m"] <= 1.02 * least + 1e-9]
    else:
        words, unit, floor = "distance from the exact motion under the measured force", "m", 1e-9
        value = {k: float(m["position_error_m"]) for k, m in results.items()}
    order = sorted(value.items(), key=lambda item: (abs(item[1]) if math.isfinite(item[1]) else math.inf, item[0]))
    # Values that differ by less than 2 %, or by rounding, count as equal.
    bound = 1.02 * min(abs(value[k]) for k in rivals) + floor
    return words, unit, order, [kind for kind, made in order if kind in rivals and abs(made) <= bound]


def _pushed_only_in_translation(scenario: FreeFloat) -> bool:
    return not any(scenario.body.angular_velocity) and all(push.point is None for push in scenario.push)


def advice(result: Result) -> Iterator[str]:
    """Say what to change."""
    scenario: FreeFloat = result.scenario  # type: ignore[assignment]
    if result.beside is None or scenario.body_fmu is not None:
        return
    words, _, _, best = compare_integrators(scenario, result.beside.numbers["integrators"])
    chosen = scenario.integrator.kind
    if not best:
        yield "<b>Integrator.</b> The run ended before the body left a wall, so integrators cannot be compared."
    elif chosen in best:
        yield f"<b>Integrator.</b> Nothing has to change: no integrator does better than <b>{chosen}</b> here ({words})."
    else:
        yield f"<b>Integrator.</b> Set integrator.kind = <b>{best[0]}</b> instead of {chosen}: best here ({words})."


def details(result: Result) -> Iterator[tuple[str, str]]:
    scenario: FreeFloat = result.scenario  # type: ignore[assignment]
    if result.beside is not None and scenario.body_fmu is None:
        words, unit, order, best = compare_integrators(scenario, result.beside.numbers["integrators"])
        rows = [
            (f"<b>{kind}</b>" if kind in best else kind, si(value, unit, 3) if unit else f"{100 * value:+.2f} %")
            for kind, value in order
        ]
        if best:
            yield "Integrators on this scenario", table(("integrator", words), rows)
    if scenario.wall is not None:
        yield (
            "Why a rebound grows",
            "<p>The controller of De Stefano 2017 makes the integrator passive at its own port, not the loop: "
            "against a spring each rebound grows by exp(π ω τ_eff / 2), and the passive integrator adds half a sample to "
            "τ_eff, where eq. 5 as printed adds nothing.</p>",
        )


def numbers(result: Result) -> Iterator[tuple[str, str]]:
    scenario: FreeFloat = result.scenario  # type: ignore[assignment]
    yield from named(result, "rebound_gain")
    if scenario.wall is not None:
        yield "rebound by the closed form exp(π ω τ_eff / 2)", off_one(predicted_gain(scenario, scenario.rule))
    yield from named(result, "position_error_m", "drift_m", "largest_speed_m_s")
    if result.rows["H"].any():
        yield from named(result, "e_obs_min_J", "e_obs_uncontrolled_min_J", "largest_v_pc_m_s")
    yield from named(result, "rotation_energy_drift_J", "angular_momentum_error")


def headline(result: Result) -> Picture:
    """Speed and force; for a body that only rotates, its rates and the energy that the integrator made."""
    rows, scenario, t = result.rows, result.scenario, result.rows["t"]
    assert isinstance(scenario, FreeFloat)
    ideal, stop = continuous(scenario, t), result.fault.t if result.fault else None
    fig, axes = panels(2, 2.3, 10.0)
    if rows["H"].any():
        names = "x" if scenario.body.dof == 1 else "xyz"
        _speed_curves(axes[0], rows, t, names, ideal)
        _force_curves(axes[1], rows, t, names)
        caption = "Above, the velocity of the simulated body and of the same body without sampling, delay or sensor. "
        caption += "Below, the force at its centre of mass as measured, and the true force."
    else:
        _rate_curves(axes[0], rows, t, ideal)
        _rotation_error(axes[1], rows, t, ideal)
        caption = "Rates of the body and of the same body without sampling, and the energy that the integrator made."
    axes[1].set(xlabel="time [s]")
    mark_fault(axes, stop)
    return Picture("Speed and force", caption, fig)


def pictures(result: Result) -> Iterator[Picture]:
    rows, scenario = result.rows, result.scenario
    assert isinstance(scenario, FreeFloat)
    t, names = rows["t"], "x" if scenario.body.dof == 1 else "xyz"
    stop = result.fault.t if result.fault else None
    ideal = continuous(scenario, t)
    if rows["H"].any():  # a body that only rotates has nothing to show here
        yield _positions(rows, scenario, t, names, stop)
        if rows["v_pc"].any():
            yield _correction(rows, t, names, stop)
        if rows["E_obs_free"].any():
            yield _observer(rows, t, names, stop)
    yield _energy(rows, t, stop, ideal)
    yield from energy_made(result, t, stop)
    if scenario.body.dof == 6 and rows["H"].any() and rows["H_rot"].any():
        yield _rotation(rows, t, stop, ideal)
    if scenario.wall is not None and result.metrics["rebound_gain"]:
        yield _rebounds(result, scenario)
    yield from lateness(rows, t)


def _speed_curves(axes: Axes, rows: np.ndarray, t: np.ndarray, names: str, ideal: dict[str, np.ndarray]) -> None:
    scale, unit = prefixed(float(np.abs(rows["v_c"]).max()), "m/s")
    for i, name in enumerate(names):
        line(axes, t, scale * rows["v_c"][:, i], _called("this run", name, names), color=AXES[i])
    for i, _ in enumerate(names):
        line(axes, t, scale * ideal["v"][:, i], "ideal" if i == 0 else None, **IDEAL)
    axes.set(ylabel=f"velocity [{unit}]")
    legend(axes)


def _force_curves(axes: Axes, rows: np.ndarray, t: np.ndarray, names: str) -> None:
    for i, name in enumerate(names):
        line(axes, t, rows["F_Bcm_W"]["f"][:, i], _called("measured", name, names), color=AXES[i])
    for i, _ in enumerate(names):
        line(axes, t, rows["F_Bcm_true_W"]["f"][:, i], "true" if i == 0 else None, **IDEAL)
    axes.set(ylabel="force [N]")
    legend(axes)


def _called(words: str, name: str, names: str) -> str:
    return f"{words}, {name}" if len(names) > 1 else words


def _positions(rows: np.ndarray, scenario: FreeFloat, t: np.ndarray, names: str, stop: float | None) -> Picture:
    exact = held_force_position(rows, scenario.body.mass, scenario.loop.period)
    fig, axes = panels(2)
    for i, name in enumerate(names):
        line(axes[0], t, rows["X_WBcm"]["p"][:, i], f"simulated {name}", color=AXES[i])
        line(axes[0], t, exact[:, i], "exact" if i == 0 else None, **IDEAL)
    off = drift(rows, scenario)
    floor = ROUNDING * float(np.abs(exact).max())
    scale, unit = prefixed(max(float(np.abs(off).max()), floor), "m")
    line(axes[1], t, scale * off, "drift", color=MADE)
    figure.hide_rounding(axes[1], scale * floor)
    axes[0].set(ylabel="position [m]")
    axes[1].set(ylabel=f"drift [{unit}]", xlabel="time [s]")
    legend(axes[0])
    mark_fault(axes, stop)
    return Picture("Position", "Compared with the exact motion of the mass under the measured force, held over each tick.", fig)


def _correction(rows: np.ndarray, t: np.ndarray, names: str, stop: float | None) -> Picture:
    scale, unit = prefixed(float(np.abs(rows["v_pc"]).max()), "m/s")
    fig, axes = panels(1, 2.2)
    for i, name in enumerate(names):
        line(axes[0], t, scale * rows["v_pc"][:, i], name if len(names) > 1 else None, color=AXES[i])
    axes[0].set(ylabel=f"correction v_pc [{unit}]", xlabel="time [s]")
    if len(names) > 1:
        legend(axes[0])
    mark_fault(axes, stop)
    return Picture("Correction", "What the passivity controller subtracted from the commanded velocity.", fig)


def _energy(rows: np.ndarray, t: np.ndarray, stop: float | None, ideal: dict[str, np.ndarray]) -> Picture:
    simulated, exact = rows["H"] + rows["H_rot"], ideal["H"] + ideal["H_rot"]
    fig, axes = panels(2)
    line(axes[0], t, simulated, "simulated body", color=MEASURED)
    line(axes[0], t, exact, "continuous", **IDEAL)
    scale, unit = prefixed(max(float(np.abs(simulated - exact).max()), ROUNDING * float(exact.max())), "J")
    line(axes[1], t, scale * (simulated - exact), color=MADE)
    figure.hide_rounding(axes[1], scale * ROUNDING * float(exact.max()))
    axes[0].set(ylabel="kinetic energy [J]")
    axes[1].set(ylabel=f"difference [{unit}]", xlabel="time [s]")
    figure.widen(axes[0])
    legend(axes[0])
    mark_fault(axes, stop)
    return Picture(
        "Energy", "Kinetic energy and that of the continuous case: same body, no sampling, no delay, no sensor.", fig
    )


def _observer(rows: np.ndarray, t: np.ndarray, names: str, stop: float | None) -> Picture:
    fig, axes = panels(2)
    for i, name in enumerate(names):
        line(axes[0], t, rows["E_obs_free"][:, i], name, color=AXES[i])
        line(axes[1], t, rows["E_obs"][:, i], name, color=AXES[i])
    axes[0].set(ylabel="E_obs without [J]")
    axes[1].set(ylabel="E_obs with [J]", xlabel="time [s]")
    legend(axes[0])
    for panel in axes:
        panel.axhline(0.0, color="black", linewidth=0.6)
    axes[1].set_ylim(axes[0].get_ylim())
    mark_fault(axes, stop)
    caption = "Observed energy without and with the controller, in one run. Below zero means active."
    if not rows["v_pc"].any():
        caption += " The chosen integrator has no controller, so both are the same."
    return Picture("Passivity observer", caption, fig)


def _rate_curves(axes: Axes, rows: np.ndarray, t: np.ndarray, ideal: dict[str, np.ndarray]) -> None:
    turned_back = _to_body(rows["X_WBcm"]["q"], rows["V_WBcm"]["w"])
    for i, name in enumerate("xyz"):
        line(axes, t, turned_back[:, i], f"this run, {name}", color=AXES[i])
    for i in range(3):
        line(axes, t, ideal["w_B"][:, i], "ideal" if i == 0 else None, **IDEAL)
    axes.set(ylabel="body rates [rad/s]")
    legend(axes)


def _rotation_error(axes: Axes, rows: np.ndarray, t: np.ndarray, ideal: dict[str, np.ndarray]) -> None:
    error = rows["H_rot"] - ideal["H_rot"]
    scale, unit = prefixed(max(float(np.abs(error).max()), ROUNDING * float(ideal["H_rot"].max())), "J")
    line(axes, t, scale * error, color=MADE)
    figure.hide_rounding(axes, scale * ROUNDING * float(ideal["H_rot"].max()))
    axes.set(ylabel=f"rotational energy\nminus ideal [{unit}]", xlabel="time [s]")


def _rotation(rows: np.ndarray, t: np.ndarray, stop: float | None, ideal: dict[str, np.ndarray]) -> Picture:
    fig, axes = panels(2)
    _rate_curves(axes[0], rows, t, ideal)
    _rotation_error(axes[1], rows, t, ideal)
    mark_fault(axes, stop)
    return Picture("Rotation", "Rates in the body frame and those of the continuous case, and the difference in energy.", fig)


def _to_body(q: np.ndarray, a: np.ndarray) -> np.ndarray:
    u = -q[:, 1:]
    twice = 2.0 * np.cross(u, a)
    rotated: np.ndarray = a + q[:, :1] * twice + np.cross(u, twice)
    return rotated


def _rebounds(result: Result, scenario: FreeFloat) -> Picture:
    gains = result.metrics["rebound_gain"]
    expected = predicted_gain(scenario, scenario.rule)
    fig, axes = figure.subplots(figsize=(7.2, 2.7))
    numbers = np.arange(1, len(gains) + 1)
    axes.bar(numbers, [100.0 * (gain - 1.0) for gain in gains], color=MEASURED, width=0.5, label="measured")
    axes.axhline(0.0, color="black", linewidth=0.8)
    axes.axhline(100.0 * (expected - 1.0), label=f"closed form,\n{off_one(expected)}", **IDEAL)
    axes.set(xlabel="contact", ylabel="speed gained [%]")
    axes.xaxis.get_major_locator().set_params(integer=True)
    legend(axes)
    caption = "A contact with a delayed force returns more energy than it took: the speed grows by exp(π ω τ_eff / 2)."
    return Picture("Rebounds", caption, fig)
