"""The two case studies in a report: forces, gains, tank, the snap of the hook, and what the task concluded."""

import numpy as np
from matplotlib.axes import Axes

from hilt.core.gravity import STANDARD_GRAVITY
from hilt.job import Result
from hilt.report.colours import AXES, BOUND, CONTROLLER, IDEAL, MEASURED
from hilt.report.figure import Picture, hide_rounding, legend, line, mark_fault, panels
from hilt.report.page import table
from hilt.report.words import si
from hilt.systems.aerial.task import BACK, FAILED, INSTALLED, RAISED, RELEASED, RISE, STATES, TOUCHED, TUG
from hilt.systems.aerial.views.traces import has_states, human_force, scenario_of, spans, stage, stop_of, three

PAPER_DISPLACEMENT = 0.1  # m, in x, of experiment B
ROUNDING = -1e-9  # J


def forces(result: Result) -> Picture:
    """[Fig. 3, Fig. 6] of the paper."""
    fig, axes = stage(result, 1, 2.6)
    force_curves(axes[0], result)
    mark_fault(axes, stop_of(result))
    who = "cable" if scenario_of(result).cable.present else "human"
    caption = f"Of the {who} on the tool, as the hardware's sensor measures it: bias removed, rotated into the world frame."
    return Picture(f"Force of the {who}", caption, fig)


def force_curves(axes: Axes, result: Result) -> None:
    rows, scenario, t = result.rows, scenario_of(result), result.rows["t"]
    three(axes, t, human_force(result))
    if scenario.link.delay > 0.0:
        line(axes, t, rows["F_E_N"]["f"][:, 0], "x, as it\nreaches the\nsimulation", color="0.5", linewidth=0.9)
    if scenario.hand.tool_mass > 0.0:
        weight = -scenario.hand.tool_mass * STANDARD_GRAVITY
        axes.axhline(weight, label=f"tool's weight,\n{-weight:.2f} N", **IDEAL)
    axes.set(ylabel="force on\nthe tool [N]")
    hide_rounding(axes, 0.1)
    legend(axes)


def gains(result: Result) -> Picture:
    """[Fig. 4] of the paper: desired dashed, actual solid."""
    rows, t = result.rows, result.rows["t"]
    fig, axes = stage(result, 3, 1.25)
    shown = [0, 1] if np.any(rows["K_arm_des"][:, 0] != rows["K_arm_des"][:, 1]) else [0]
    for i in shown:
        name = "actual" if len(shown) == 1 else f"actual, {'front (x)' if i == 0 else 'y, z'}"
        for panel, actual, wanted in zip(
            axes, ("K_arm", "D_arm_des", "M_arm"), ("K_arm_des", "D_arm_des", "M_arm_des"), strict=False
        ):
            line(panel, t, rows[actual][:, i], name, color=AXES[i])
            line(panel, t, rows[wanted][:, i], "desired" if i == 0 else None, **IDEAL)
    for panel, words in zip(axes, ("K [N/m]", "D [N·s/m]", "M [kg]"), strict=False):
        panel.set(ylabel=words)
        panel.set_ylim(bottom=0.0)
    legend(axes[0])
    mark_fault(axes, stop_of(result))
    behind = float((rows["K_arm_des"] - rows["K_arm"])[:, :3].max())
    caption = "Gains of the arm's admittance; damping costs the tank nothing and is never held back. "
    caption += (
        f"The tank held the stiffness back by up to {behind:.3g} N/m."
        if behind > 0.01
        else "The tank let them all through at once."
    )
    return Picture("Gains", caption, fig)


def tank(result: Result) -> Picture:
    """[Fig. 5] of the paper, with the bounds, and the audit that must not be negative."""
    rows, t, given = result.rows, result.rows["t"], scenario_of(result).tank
    fig, axes = stage(result, 2, 1.7)
    line(axes[0], t, rows["E_tank"], "in the tank", color=MEASURED)
    for bound, words in ((given.high, "bounds"), (given.low, None)):
        axes[0].axhline(bound, label=words, **BOUND)
    line(axes[1], t, rows["E_audit"], "audit", color=CONTROLLER)
    axes[1].axhline(0.0, label="lower bound", **BOUND)
    axes[0].set(ylabel="in the tank [J]" if given.enabled else "in the tank,\nwhich is off [J]")
    axes[1].set(ylabel="passivity\naudit [J]")
    hide_rounding(axes[1], 1e-6)
    for panel in axes[:2]:
        legend(panel)
    mark_fault(axes, stop_of(result))
    caption = "Rising gains are paid from the tank, dissipation refills it. The audit is what a full tank has discarded."
    return Picture("Energy tank", caption, fig)


def snap(result: Result) -> Picture | None:
    """The hook over the cable, close up."""
    rows, cable, t = result.rows, scenario_of(result).cable, result.rows["t"]
    near = np.flatnonzero((rows["task_state"] == RISE) | (rows["task_state"] == BACK) | (rows["task_state"] == TUG))
    if not cable.present or not len(near):
        return None
    depth = 1e3 * (rows["X_WB_true"]["p"][:, 2] + cable.hook[2] - rows["p_cable_true_H"][:, 2])
    fig, axes = panels(2)
    line(axes[0], t, depth, color=MEASURED)
    for level, words, style in (
        (-1e3 * cable.mouth_height, "mouth of the hook", {"color": "0.6", "linewidth": 0.9}),
        (1e3 * cable.gate_latch, "gate closes behind it", IDEAL),
        (1e3 * cable.bottom, "bottom of the slot", {"color": "0.3", "linewidth": 1.2}),
    ):
        axes[0].axhline(level, label=words, **style)
    line(axes[1], t, rows["F_cable_true_H"][:, 2], "cable on the tool, true", color=MEASURED)
    line(axes[1], t, rows["F_h_H"]["f"][:, 2], "as the task sees it", color=CONTROLLER)
    axes[0].set(ylabel="cable below the\nhook's throat [mm]")
    axes[1].set(ylabel="vertical force [N]", xlabel="time [s]")
    for panel in axes:
        panel.set_xlim(t[near[0]], t[near[-1]] + 1.0)
        for code, begin, end in spans(rows["task_state"]):
            if code in (RISE, BACK, TUG):
                panel.axvline(t[begin], color="0.4", linewidth=0.7)
                if panel is axes[0] and t[end - 1] - t[begin] > 0.1:
                    place = (t[begin], 1.02)
                    panel.annotate(STATES[code], place, xycoords=("data", "axes fraction"), fontsize=8)
    inside = (t >= t[near[0]]) & (t <= t[near[-1]] + 1.0)
    axes[0].set_ylim(max(-60.0, depth[inside].min() - 3.0), 1e3 * cable.bottom + 8.0)
    for panel in axes:
        legend(panel)
    mark_fault(axes, stop_of(result))
    caption = "The hook rises over the cable until the gate snaps, backs off, and tugs: a cable pulls up only a closed hook."
    if not rows["latched_true"].any():
        caption = "The hook rises and does not close over the cable."
        caption += "" if rows["F_cable_true_H"].any() else " The cable passes beside its mouth and never touches it."
    return Picture("Hook and cable", caption, fig)


def tank_words(result: Result) -> str:
    scenario, m, rows = scenario_of(result), result.metrics, result.rows
    audit = m["passivity_audit_min_J"]
    form = scenario.tank.form if scenario.tank.enabled else "off"
    said = (
        f"it holds (minimum {si(audit, 'J', 2) if audit < ROUNDING / 10 else '0 J'})"
        if audit >= ROUNDING
        else f"<b>it fails: {si(-audit, 'J', 3)} came from nothing</b>"
    )
    words = f"Passivity audit of arm and tank ({form}): {said}. "
    if scenario.tank.enabled:
        behind = float((rows["K_arm_des"] - rows["K_arm"])[:, :3].max())
        words += f"The tank had at least {si(m['tank_min_J'], 'J', 3)}"
        words += f" and held the stiffness back by up to {behind:.3g} N/m. " if behind > 0.01 else " and held nothing back. "
    return words + "The tank guards the gains, not the human: the loop can become unstable at the hand while this audit holds."


def _handover_words(result: Result) -> str:
    rows, hand, task = result.rows, scenario_of(result).hand, scenario_of(result).task.handover
    entered = {code: float(rows["t"][begin]) for code, begin, _ in spans(rows["task_state"]) if code >= TOUCHED}
    seen = ", ".join(f"{STATES[code]} at {t:.1f} s" for code, t in sorted(entered.items())) or "nothing was recognised"
    words = (
        f"The task ended in “{STATES[int(rows['task_state'][-1])]}”: {seen}. Actually, the hand took hold at {hand.start:g} s, "
        f"left its tool to the arm at {hand.handover:g} s and let go at {hand.release:g} s."
    )
    low, high = task.contact
    if entered.get(RAISED, 0.0) > hand.release:
        words += (
            f" <b>The gains were raised only after the human had let go</b>: the hand never pulled with {low:g} to {high:g} N "
            f"for {task.contact_time:g} s, and the tool's weight was mistaken for a contact. A larger motion of the hand "
            "(hand.amplitude = '70 mm') is detected at once."
        )
    if RELEASED not in entered and rows["t"][-1] > hand.release + task.weight_time + 2.0:
        words += " <b>It did not notice that the human had let go.</b>"
    return words


def concluded(result: Result) -> str:
    """What the task concluded, compared with what happened."""
    rows, scenario = result.rows, scenario_of(result)
    last = int(rows["task_state"][-1])
    if scenario.task.kind == "handover":
        return _handover_words(result)
    thinks, true = bool(rows["hooked"][-1]), bool(rows["latched_true"][-1])
    ends = {INSTALLED: "installed", FAILED: "failed"}.get(last, f"unfinished, in “{STATES[last]}”")
    agree = "which is true" if thinks == true else "<b>which is wrong</b>"
    return (
        f"The task concluded that the diverter is {'hooked' if thinks else 'not hooked'}, {agree} "
        f"(the hook {'is' if true else 'is not'} closed over the cable); it ended as {ends}."
    )


def contact_words(result: Result) -> str:
    """The contact model, and the displacement of the base compared with the paper's."""
    scenario, m = scenario_of(result), result.metrics
    c = scenario.cable
    parameters = [
        ("cable: mass, stiffness, damping ratio", f"{c.mass:g} kg, {c.stiffness:g} N/m, {c.damping_ratio:g}"),
        ("hook: half width of the mouth, half angle", f"{1e3 * c.mouth:g} mm, {np.degrees(c.half_angle):.0f}°"),
        ("walls: stiffness, damping, friction", f"{c.wall_stiffness / 1e3:g} kN/m, {c.wall_damping:g} N·s/m, {c.friction:g}"),
        ("gate: force, friction, closes at", f"{c.gate_force:g} N, {c.gate_friction:g}, {1e3 * c.gate_latch:g} mm"),
        ("force that tears the closed gate open", f"{c.retention * c.gate_force:g} N"),
        ("work to open the gate", f"{c.gate_work:.2f} J"),
        ("sideways offset of the cable", f"{1e3 * c.offset:g} mm"),
    ]
    x, y, z = (1e3 * part for part in m["base_displacement_m"])
    return (
        f"The base moved by {x:.1f}, {y:.1f}, {z:.1f} mm in x, y, z. The paper has about "
        f"{1e3 * PAPER_DISPLACEMENT:.0f} mm in x, <b>which is not reproduced</b>: it gives no data for cable, clip or tool. "
        "Here the hook meets the cable from straight below, the force is almost vertical, and the arm is soft in x on purpose. "
        "The contact model and its parameters:"
        f"<br>{table(('', 'value'), parameters)}"
    )


def has_gains_to_show(result: Result) -> bool:
    return has_states(result) or bool(np.ptp(result.rows["K_arm_des"][:, 0]))
