"""What a run of `aerial` is measured by: how far the base was moved, what the human felt, and whether it was safe."""

import math
from typing import Any

import numpy as np

from hilt.aerial.hand_limit import loops_of, stiffest_hand
from hilt.aerial.task import BACK
from hilt.missing import Missing

LAST = 0.5  # s at the end over which forces are averaged
RECOVERED = 0.02  # m
LATE = 0.25  # share of the run at its end whose forces count as late

METRIC_WORDS = {
    "base_displacement_m": "largest displacement of the base, per axis",
    "base_final_error_m": "displacement of the base at the end",
    "estimator_t63_s": "time in which the estimator sees 63 % of a push",
    "estimator_t90_s": "time in which it sees 90 %",
    "estimator_overshoot": "by how much it overshoots, relative",
    "tool_force_final_N": "force at the tool at the end",
    "peak_force_N": "largest force at the tool",
    "late_force_N": "largest force at the tool in the last quarter, less its mean",
    "sag_m": "how far the simulated tool hangs below where it is wanted, at the end",
    "tank_min_J": "least energy in the tank",
    "passivity_audit_min_J": "passivity audit of arm and tank, least",
    "human_port_energy_min_J": "energy the human has put in, least",
    "added_damping_max_Ns_m": "most damping that the guard at the human port has added [N·s/m]",
    "ik_error_max_m": "largest error of the flying arm's inverse kinematics",
    "joint_torque_max_Nm": "largest torque of a joint of the flying arm",
    "hand_stiffness_limit_N_m": "stiffest hand that this loop can bear, by its lead alone",
    "recovery_time_s": "time from the snap until the base stays within 2 cm",
    "hooked": "the tool hangs on the cable, as the task concludes",
    "diverged": "the guard had to stop the run",
}


def compliance_energy(rows: np.ndarray) -> np.ndarray:
    """What the hardware's apparent masses and springs store."""
    energy: np.ndarray = rows["E_hw"]
    return energy


def tool_in_base(rows: np.ndarray) -> np.ndarray:
    """Place of the simulated tool in b."""
    q, r = rows["X_Wb_meas"]["q"], rows["X_WE"]["p"] - rows["X_Wb_meas"]["p"]
    u = -q[:, 1:]
    side = 2.0 * np.cross(u, r)
    place: np.ndarray = r + q[:, :1] * side + np.cross(u, side)
    return place


def estimator_answer(rows: np.ndarray, scenario: Any) -> dict[str, float]:
    """How the estimate follows a push: times from its start, against the force of the push."""
    force, push = np.array(scenario.push.force), scenario.push
    size = float(np.linalg.norm(force))
    if size == 0.0 or not scenario.estimator.enabled:
        return {}
    t = rows["t"] - push.start
    inside = (t >= 0) & (t <= push.duration)
    seen, when = (rows["f_hat_W"] @ force)[inside] / size**2, t[inside]

    def reached(share: float) -> float:
        above = np.flatnonzero(seen >= share)
        if not len(above):
            return Missing(f"the estimate never reached {share:.0%} of the push")
        if above[0] == 0:
            return Missing(f"the estimate was at {share:.0%} of the push before it began")
        k = int(above[0])
        return float(np.interp(share, seen[k - 1 : k + 1], when[k - 1 : k + 1]))

    return {
        "estimator_t63_s": reached(1.0 - math.exp(-1.0)),
        "estimator_t90_s": reached(0.9),
        "estimator_overshoot": float(max(seen.max() - 1.0, 0.0)) if len(seen) else Missing("the run ended before the push"),
    }


def recovery_time(rows: np.ndarray) -> dict[str, float]:
    """From the moment at which the task sees the hook snap; nothing if it never does."""
    snapped = np.flatnonzero(rows["task_state"] == BACK)
    if not len(snapped):
        return {}
    away = np.flatnonzero(np.linalg.norm(rows["e_p_W"], axis=1) > RECOVERED)
    if len(away) and away[-1] == len(rows) - 1:
        return {"recovery_time_s": Missing("the base was not back within 2 cm at the end")}
    back = rows["t"][away[-1]] - rows["t"][snapped[0]] if len(away) else 0.0
    return {"recovery_time_s": max(0.0, float(back))}


def hand_limit(scenario: Any) -> float:
    limit = min(stiffest_hand(loop, scenario.hand.damping) for loop in loops_of(scenario).values())
    return limit if math.isfinite(limit) else Missing("no hand is too stiff for this loop", limit)


def metrics(rows: np.ndarray, scenario: Any) -> dict[str, Any]:
    """The figures of a run."""
    last = rows["t"] >= rows["t"][-1] - LAST
    force = np.linalg.norm(rows["F_h_raw_H"]["f"], axis=1)
    late = rows["F_h_raw_H"]["f"][-max(1, int(LATE * len(rows))) :]
    hanging = rows["X_bE_des"]["p"][:, 2] - tool_in_base(rows)[:, 2]
    port = rows["W_human"]["into"] - rows["W_human"]["out"]
    return {
        "base_displacement_m": [float(part) for part in np.abs(rows["e_p_W"]).max(axis=0)],
        "base_final_error_m": float(np.linalg.norm(rows["e_p_W"][-1])),
        **estimator_answer(rows, scenario),
        "tool_force_final_N": float(np.linalg.norm(rows["F_h_raw_H"]["f"][last].mean(axis=0))),
        "peak_force_N": float(force.max()),
        "late_force_N": float(np.linalg.norm(late - late.mean(axis=0), axis=1).max()),
        "sag_m": float(hanging[last].mean()),
        "tank_min_J": float(rows["E_tank"].min()),
        "passivity_audit_min_J": float(rows["E_audit"].min()),
        "human_port_energy_min_J": float(port.min()),
        "added_damping_max_Ns_m": float(rows["D_port"].max()),
        "ik_error_max_m": float(rows["ik_error"].max()),
        "joint_torque_max_Nm": float(np.abs(rows["tau_uam"]).max()),
        "hand_stiffness_limit_N_m": hand_limit(scenario),
        **recovery_time(rows),
        "hooked": bool(rows["hooked"][-1]),
        "diverged": bool(rows["fault"][-1] != 0),
    }
