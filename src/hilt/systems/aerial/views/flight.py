"""Pictures of the flying base and its arm: its displacement, what the estimator saw, the loads on the joints."""

from collections.abc import Iterator

import numpy as np

from hilt.job import Result
from hilt.report import colours, figure
from hilt.report.colours import BOUND, IDEAL, MADE, MEASURED
from hilt.report.figure import Picture, hide_rounding, legend, line, mark_fault, panels
from hilt.report.words import si
from hilt.systems.aerial.views.traces import scenario_of, stage, stop_of, three

BEHIND = 1e-5  # m: a tool closer than this to its compliant pose has reached it


def displacement(result: Result, title: str = "Displacement of the base") -> Picture:
    """[Fig. 2, Fig. 7] of the paper."""
    fig, axes = stage(result, 1, 2.6)
    displacement_curves(axes[0], result)
    mark_fault(axes, stop_of(result))
    caption = "How far the simulated base is from its planned position; the hardware shows this to the human."
    return Picture(title, caption, fig)


def displacement_curves(axes: figure.Axes, result: Result) -> None:
    t, e = result.rows["t"], 1e3 * result.rows["e_p_N"]
    three(axes, t, e)
    box = 1e3 * scenario_of(result).hardware.base_box
    if box and np.abs(e).max() > 0.5 * box:
        for side in (-box, box):
            axes.axhline(side, label="hardware shows\nat most" if side > 0 else None, **BOUND)
    axes.set(ylabel="displacement\nof the base [mm]")
    hide_rounding(axes, 0.1)
    legend(axes)


def _along(result: Result) -> tuple[np.ndarray, str]:
    """Main direction of the disturbance, and its name."""
    force = np.array(scenario_of(result).push.force)
    if not force.any():
        axis = int(np.abs(result.rows["e_p_N"]).max(axis=0).argmax())
        return np.eye(3)[axis], "xyz"[axis]
    return force / np.linalg.norm(force), "along the push"


def with_and_without(result: Result, other: Result) -> Picture:
    """The same run with and without the estimator."""
    on = scenario_of(result).estimator.enabled
    fig, axes = panels(3, 1.4)
    for run, enabled in ((result, on), (other, not on)):
        label, colour = ("with the\nestimator", MEASURED) if enabled else ("without", MADE)
        for i, panel in enumerate(axes):
            line(panel, run.rows["t"], 1e3 * run.rows["e_p_N"][:, i], label, color=colour)
    for name, panel in zip("xyz", axes, strict=True):
        panel.set(ylabel=f"e_p, {name} [mm]")
        hide_rounding(panel, 0.1)
    axes[-1].set(xlabel="time [s]")
    _mark_push(axes, result)
    legend(axes[0])
    mark_fault(axes, stop_of(result))
    end = {enabled: run.metrics["base_final_error_m"] for run, enabled in ((result, on), (other, not on))}
    caption = (
        f"Displacement of the base; at the end it is {si(end[True], 'm', 3)} off with the estimator and "
        f"{si(end[False], 'm', 3)} without: nothing else compensates a steady load."
    )
    return Picture("With and without the estimator", caption, fig)


def _mark_push(axes: list[figure.Axes], result: Result) -> None:
    push = scenario_of(result).push
    if any(push.force):
        for panel in axes:
            panel.axvspan(push.start, push.start + push.duration, color=colours.STRIPE, linewidth=0)


def estimate_curves(axes: figure.Axes, result: Result) -> None:
    """Estimated and true force, and the ideal response of the filter."""
    rows, scenario, t = result.rows, scenario_of(result), result.rows["t"]
    direction, name = _along(result)
    push = scenario.push
    true = (rows["push_N"] + rows["F_E_N"]["f"] + rows["wind_N"]) @ direction
    line(axes, t, true, "true external\nforce", color=colours.TRUTH, linewidth=2.2)
    line(axes, t, rows["f_hat_N"] @ direction, "estimated", color=MEASURED)
    if any(push.force) and scenario.estimator.enabled:
        w, size = scenario.estimator.bandwidth, float(np.linalg.norm(push.force))

        def response(since: np.ndarray) -> np.ndarray:
            late = w * np.maximum(since, 0.0)
            return np.asarray(1.0 - (1.0 + late) * np.exp(-late))

        ideal = size * (response(t - push.start) - response(t - push.start - push.duration))
        line(axes, t, ideal, "ideal:\nw²/(s + w)²", **IDEAL)
    axes.set(ylabel=f"force on the vehicle,\n{name} [N]")
    hide_rounding(axes, 0.1)
    legend(axes)


def estimate(result: Result, force_too: bool) -> Iterator[Picture]:
    """Force and torque as the estimator sees them; the force only where it is not in the first figure, or close up."""
    rows, push, t = result.rows, scenario_of(result).push, result.rows["t"]
    pushed = any(push.force)
    fig, axes = panels(2 if force_too or pushed else 1)
    if len(axes) > 1:
        estimate_curves(axes[0], result)
    three(axes[-1], t, rows["tau_hat_b"])
    axes[-1].set(ylabel="estimated torque,\nbase [N·m]", xlabel="time [s]")
    hide_rounding(axes[-1], 0.1)
    legend(axes[-1])
    if pushed:
        axes[0].set_xlim(push.start - 0.3, push.start + push.duration + 1.5)
    mark_fault(axes, stop_of(result))
    caption = "Estimated from momentum alone. The arm adds to it: it swings, and its off-centre weight exerts a torque."
    yield Picture("Estimated force and torque", caption, fig)


def joints(result: Result) -> Picture:
    """Torques of the flying arm against their limit, and the remaining error of its inverse kinematics."""
    rows, t, arm = result.rows, result.rows["t"], scenario_of(result).flying_arm
    behind = bool(np.abs(rows["ik_error"]).max() > BEHIND)
    fig, axes = panels(1 + behind, 1.9 if behind else 2.4)
    for i in range(6):
        line(axes[0], t, rows["tau_uam"][:, i], f"joint {i + 1}", color=colours.of(i))
    for side in (-arm.torque, arm.torque):
        axes[0].axhline(side, label="limit" if side > 0 else None, **BOUND)
    axes[0].set(ylabel="torque [N·m]")
    if behind:
        line(axes[1], t, 1e3 * rows["ik_error"], color=MADE)
        axes[1].set(ylabel="tool from its\ncompliant pose [mm]")
    axes[-1].set(xlabel="time [s]")
    legend(axes[0])
    mark_fault(axes, stop_of(result))
    worst = result.metrics["ik_error_max_m"]
    caption = "Torques of the joints. "
    caption += (
        "Below, how far the tool is from the pose that the admittance requests."
        if behind
        else "They hold the tool in the pose that the admittance requests."
    )
    if worst > 1e-3:
        caption += f" The {1e3 * worst:.0f} mm arise because such soft gains demand more than reach and joint speeds allow."
    return Picture("The flying arm", caption, fig)
