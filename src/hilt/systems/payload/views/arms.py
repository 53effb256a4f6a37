"""Hands and arms in a `payload` report: how they turn, how two press on each other, what the joints do, and when v ≈ v_c."""

from collections.abc import Iterator

import numpy as np

from hilt.job import Result
from hilt.maths import chain
from hilt.maths.chain import CHAIN, CHAIN_WORK
from hilt.report import colours
from hilt.report.colours import AXES, BOUND, IDEAL, MADE, MEASURED
from hilt.report.figure import Picture, legend, line, mark_fault, panels
from hilt.report.words import si
from hilt.systems.payload.arm_model import JOINTS, LINKS, pack_arm_chain, stands
from hilt.systems.payload.metrics import shift
from hilt.systems.payload.payload import Payload
from hilt.systems.payload.views.traces import outside, scenario_of

SAMPLES = 400  # rows at which eq. 19 is evaluated
AFTER_STEP = 0.1  # s after which a step of the reference no longer counts as an error of the arm
HOLDS = 0.1  # fraction of the operator's speed: below this v ≈ v_c
TURNS = 1e-6  # rad: a smaller angle is not a turn


def turned(result: Result, signal: str, axis: np.ndarray) -> np.ndarray:
    """Angle about an axis; attitudes turn by less than half a turn."""
    q = result.rows[signal]
    q = np.where(q[:, :1] < 0.0, -q, q)
    size = np.linalg.norm(q[:, 1:], axis=1)
    angle = 2.0 * np.arctan2(size, q[:, 0])
    vector = q[:, 1:] * np.where(size > 0.0, angle / np.maximum(size, 1e-300), 0.0)[:, None]
    value: np.ndarray = vector @ axis
    return value


def turns(result: Result) -> bool:
    return scenario_of(result).rotates and any(np.abs(result.rows[q][:, 1:]).max() > TURNS for q in ("q_s", "q_vir"))


def _axis(result: Result) -> np.ndarray:
    """Axis of rotation: the operator's if one is commanded, else that about which the slave hand turned most."""
    operator = scenario_of(result).operator
    if operator.turn_rate != 0.0:
        axis = np.array(operator.turn_axis)
    else:
        axis = np.eye(3)[int(np.argmax(np.abs(result.rows["q_s"][:, 1:]).max(axis=0)))]
    return axis / np.linalg.norm(axis)


def turn_picture(result: Result, stop: float | None) -> Picture:
    """Angles and torques of virtual and slave hand."""
    t, axis, late = result.rows["t"], _axis(result), shift(scenario_of(result)) + 1
    fig, axes = panels(2)
    angles = {q: np.degrees(turned(result, q, axis)) for q in ("q_s", "q_vir")}
    line(axes[0], t, angles["q_s"], "slave hand", color=MEASURED)
    line(axes[0], t[late:], angles["q_vir"][: max(len(t) - late, 0)], "virtual hand", **IDEAL)
    line(axes[1], t, result.rows["tau_s"] @ axis, "slave arm", color=MEASURED)
    line(axes[1], t[late:], (result.rows["tau_vir"] @ axis)[: max(len(t) - late, 0)], "virtual arm", **IDEAL)
    axes[0].set(ylabel="turn [°]")
    axes[1].set(ylabel="torque at the\ngrip [N·m]", xlabel="time [s]")
    for panel in axes:
        outside(panel, t, result)
        legend(panel)
    mark_fault(axes, stop)
    error = result.metrics.get("attitude_error_rad", float("nan"))
    about = ", ".join(f"{part:.3g}" for part in axis)
    return Picture("Turning", f"About ({about}); the hands' attitudes differ by at most {si(error, 'rad', 3)}.", fig)


def two_hands_picture(result: Result, stop: float | None) -> Picture:
    """Force of each hand, and the force with which they press on each other."""
    rows, t = result.rows, result.rows["t"]
    first, second = rows["f_hands"][:, :3], rows["f_hands"][:, 3:]
    pressing = 0.5 * (second - first)
    fig, axes = panels(3, 1.6)
    for i, name in enumerate("xyz"):
        line(axes[0], t, first[:, i], f"{name}", color=AXES[i])
        line(axes[1], t, second[:, i], color=AXES[i])
        line(axes[2], t, pressing[:, i], color=AXES[i])
    axes[0].set(ylabel="hand 1 [N]")
    axes[1].set(ylabel="hand 2 [N]")
    axes[2].set(ylabel="pressing [N]", xlabel="time [s]")
    legend(axes[0])
    mark_fault(axes, stop)
    size, both = np.linalg.norm(pressing, axis=1), np.linalg.norm(rows["f_s"], axis=1)
    caption = (
        f"Half the difference of the hands' forces only squeezes the payload: at most {si(float(size.max()), 'N', 3)}, "
        f"{si(float(size[-1]), 'N', 3)} at the end; together the hands push with up to {si(float(both.max()), 'N', 3)}."
    )
    return Picture("Two hands", caption, fig)


def joints_picture(result: Result, stop: float | None) -> Picture:
    """How much of its range each joint uses, and how near the arms are to a singular posture."""
    rows, t, count = result.rows, result.rows["t"], scenario_of(result).arm.count
    limits = np.array([link.limit for link in LINKS])
    used = rows["q_arm"][:, : JOINTS * count] / np.tile(limits, count)
    singular = bool(rows["arm_damping"].any())
    fig, axes = panels(count + singular, 1.7)
    for i in range(count):
        for j in range(JOINTS):
            line(
                axes[i],
                t,
                100.0 * used[:, JOINTS * i + j],
                f"joint {j + 1}, ±{np.degrees(limits[j]):.0f}°",
                color=colours.of(j),
            )
        for side in (-100.0, 100.0):
            axes[i].axhline(side, label="limit" if side > 0 else None, **BOUND)
        axes[i].set(ylabel=f"arm {i + 1}: angle\nof its limit [%]")
    if singular:
        line(axes[-1], t, 100.0 * rows["arm_damping"], color=MADE)
        axes[-1].set(ylabel="singular\nposture [%]", ylim=(-5, 105))
    axes[-1].set(xlabel="time [s]")
    legend(axes[0])
    mark_fault(axes, stop)
    nearest = int(np.argmax(np.abs(used).max(axis=0)))
    caption = (
        f"Joint {nearest % JOINTS + 1} of arm {nearest // JOINTS + 1} comes closest to its limit, {np.abs(used).max():.0%} of "
        f"it. {'Singular posture: 0 % is undamped, 100 % is singular.' if singular else 'No posture is close to singular.'}"
    )
    return Picture("Joints", caption, fig)


def _compliances(result: Result, picked: np.ndarray) -> Iterator[np.ndarray]:
    """For each picked row: J (G K_va G)⁻¹ Jᵀ of each arm, 6 × 6, stacked."""
    scenario = scenario_of(result)
    section, middle = scenario.arm.jointed, np.array(scenario.start_of_hand)
    hands = [tuple(middle + grip - scenario.grip.position) for grip in np.array(scenario.grips)]
    work, tables = np.zeros(1, CHAIN_WORK)[0], np.zeros(len(hands), CHAIN)
    made = stands(section, hands)
    for i, stand in enumerate(made):
        pack_arm_chain(tables[i], section, stand.tool_q)
    give = 1.0 / (section.gear**2 * section.servo_gain)
    for k in picked:
        each = []
        for i, stand in enumerate(made):
            q = np.ascontiguousarray(result.rows["q_arm"][k, JOINTS * i : JOINTS * (i + 1)])
            chain.forward(work, tables[i], q, stand.p, stand.q)
            chain.jacobian(work, tables[i])
            each.append(give * work["J"] @ work["J"].T)
        yield np.array(each)


def velocity_error(result: Result) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times, v_c - v as run and by the second term of eq. 19, J G⁻¹K_va⁻¹G⁻ᵀ Jᵀ F, F the force of the hand on the payload.

    Between the hands, in m/s; not in the first moments after a step of the reference, which no arm follows at once.
    """
    rows, scenario = result.rows, scenario_of(result)
    t, count = rows["t"], scenario.arm.count
    jumps = t[1:][np.linalg.norm(np.diff(rows["v_r_orbit"], axis=0), axis=1) > 0.1 * scenario.operator.speed]
    picked = np.unique(np.linspace(0, len(t) - 2, SAMPLES).astype(int))
    picked = picked[[not any(0.0 <= t[k] - jump + 0.002 < AFTER_STEP for jump in jumps) for k in picked]]
    measured = (rows["v_sc"][picked] - rows["v_s"][picked + 1]).astype(float)
    expected = np.zeros_like(measured)
    for n, (k, given) in enumerate(zip(picked, _compliances(result, picked), strict=True)):
        for i in range(count):
            expected[n] += (given[i] @ rows["hand_wrenches"][k + 1, 6 * i : 6 * i + 6])[:3] / count
    return t[picked], measured, expected


def follows(result: Result) -> float:
    """Largest |v_c - v| relative to the operator's speed."""
    _, measured, _ = velocity_error(result)
    return float(np.linalg.norm(measured, axis=1).max() / scenario_of(result).operator.speed)


def approximation_words(scenario: Payload, share: float) -> str:
    gear = scenario.arm.jointed.gear
    if share < HOLDS:
        return f"v ≈ v_c holds with a gear of {gear:g}: |v_c - v| is at most {share:.1%} of the operator's speed."
    return (
        f"v ≈ v_c does not hold: |v_c - v| is up to {share:.0%} of the operator's speed. It falls with the force and with the "
        f"square of the gear, {gear:g} here: raise arm.jointed.gear or arm.jointed.servo_gain; keep slave.force_feedback on."
    )


def approximation_picture(result: Result, stop: float | None) -> Picture:
    """v_c - v compared with eq. 19."""
    t, measured, expected = velocity_error(result)
    fig, axes = panels(1, 2.6)
    line(axes[0], t, 1e3 * np.linalg.norm(measured, axis=1), "as run", color=MEASURED)
    line(axes[0], t, 1e3 * np.linalg.norm(expected, axis=1), "by its force,\neq. 19", **IDEAL)
    axes[0].axhline(
        1e3 * HOLDS * scenario_of(result).operator.speed,
        label=f"{HOLDS:.0%} of the\noperator's speed",
        **BOUND,
    )
    axes[0].set(ylabel="|v_c - v| of the hand [mm/s]", xlabel="time [s]", ylim=(0.0, None))
    legend(axes[0])
    mark_fault(axes, stop)
    share = float(np.linalg.norm(measured, axis=1).max() / scenario_of(result).operator.speed) if len(t) else 0.0
    return Picture("Does the arm follow?", approximation_words(scenario_of(result), share), fig)
