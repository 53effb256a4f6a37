"""What orbit identifies about the payload, compared with the true values, and forces on it that the wrist does not feel."""

import numpy as np

from hilt.job import Result
from hilt.report.colours import CONTROLLER, FROZEN, IDEAL, MADE, MEASURED
from hilt.report.figure import Picture, legend, line, mark_fault, panels
from hilt.report.words import si
from hilt.systems.payload.payload import Payload
from hilt.systems.payload.views.traces import part, projected, scenario_of, shade


def true_bias(scenario: Payload) -> float:
    """Bias of the wrist sensor along the operator's direction [N]."""
    direction = np.array(scenario.operator.direction)
    return float(np.array(scenario.arm.force_bias) @ direction / np.linalg.norm(direction))


def true_grip(scenario: Payload) -> float:
    """Stiffness of the grips of all hands together [N/m]."""
    return float(scenario.arm.count * scenario.grip.stiffness)


def identified_words(result: Result) -> str:
    """The estimates at the end, in words."""
    rows, scenario = result.rows, scenario_of(result)
    mass, doubt = float(rows["m_hat"][-1]), float(rows["m_var"][-1]) ** 0.5
    off = mass / scenario.payload.mass - 1.0
    grip, grip_true = 1e-3 * rows["k_grip_hat"][-1], 1e-3 * true_grip(scenario)
    words = (
        f"At the end orbit estimates {mass:.0f} ± {doubt:.0f} kg (true {scenario.payload.mass:g} kg, {off:+.2%}), a bias of "
        f"the wrist sensor of {rows['b_hat'][-1]:+.2f} N (true {true_bias(scenario):+.2f} N) and a grip of {grip:.3g} kN/m "
        f"(true {grip_true:.3g} kN/m); the virtual payload on the ground has {rows['m_vir'][-1]:.0f} kg."
    )
    frozen = float(np.mean(rows["identify_frozen"] > 0)) * len(rows) * scenario.loop.period
    if frozen > 0:
        words += f" For {frozen:.3g} s something other than the arm moved the payload, and the estimate was frozen."
    if not scenario.identify.push:
        words += " There was no push beforehand: the estimates come from the transport alone."
    return words


def identify_picture(result: Result, stop: float | None) -> Picture:
    """Mass, bias and grip over time."""
    rows, t, scenario = result.rows, result.rows["t"], scenario_of(result)
    fig, axes = panels(3, 1.6)
    doubt = np.sqrt(np.maximum(rows["m_var"], 0.0))
    step = max(1, len(t) // 1500)
    low, high = (rows["m_hat"] - doubt)[::step], (rows["m_hat"] + doubt)[::step]
    axes[0].fill_between(t[::step], low, high, color=MEASURED, alpha=0.2, linewidth=0, label="± deviation")
    line(axes[0], t, rows["m_hat"], "orbit", color=MEASURED)
    line(axes[0], t, rows["m_vir"], "virtual payload", color=CONTROLLER)
    line(axes[1], t, rows["b_hat"], color=MEASURED)
    line(axes[2], t, 1e-3 * rows["k_grip_hat"], color=MEASURED)
    for panel, truth in zip(axes, (scenario.payload.mass, true_bias(scenario), 1e-3 * true_grip(scenario)), strict=True):
        panel.axhline(truth, label="truth", **IDEAL)
        panel.axvline(
            scenario.transport_start, color="0.5", linewidth=0.9, label="operator begins" if panel is axes[0] else None
        )
        shade(panel, t, rows["identify_frozen"] > 0, FROZEN, "frozen" if panel is axes[0] else None)
    axes[0].set(ylabel="mass [kg]")
    axes[1].set(ylabel="bias of the\nwrist sensor [N]")
    axes[2].set(ylabel="grip [kN/m]", xlabel="time [s]")
    legend(axes[0])
    mark_fault(axes, stop)
    return Picture("Identification", identified_words(result), fig)


def hindered(scenario: Payload) -> bool:
    return scenario.hindrance.drag > 0 or scenario.hindrance.obstacle_distance is not None


def hindrance_words(result: Result) -> str:
    hindrance = scenario_of(result).hindrance
    force = projected(result, result.rows["hindrance_W"])
    most = si(float(np.nanmax(np.abs(force))), "N", 3)
    kinds = []
    if hindrance.drag > 0:
        kinds.append(f"a drag of {hindrance.drag:g} N·s/m")
    if hindrance.obstacle_distance is not None:
        kinds.append(f"an obstacle {si(hindrance.obstacle_distance, 'm', 3)} from the start")
    return f"The payload is hindered by {' and '.join(kinds)}, at most {most}; the slave arm's wrist does not feel it directly."


def hindrance_picture(result: Result, stop: float | None) -> Picture:
    """Hindering force, force of the arm, and motion of the payload."""
    t = result.rows["t"]
    fig, axes = panels(2)
    line(axes[0], t, part(result, "f_s"), "slave arm", color=MEASURED)
    line(axes[0], t, projected(result, result.rows["hindrance_W"]), "hindrance", color=MADE)
    line(axes[1], t, 1e3 * projected(result, result.rows["V_WBcm"]["v"]), "payload", color=MEASURED)
    line(axes[1], t, 1e3 * part(result, "v_r_orbit"), "reference", **IDEAL)
    axes[0].set(ylabel="force on the\npayload [N]")
    axes[1].set(ylabel="velocity [mm/s]", xlabel="time [s]")
    for panel in axes:
        legend(panel)
    mark_fault(axes, stop)
    return Picture("What hinders the payload", hindrance_words(result), fig)
