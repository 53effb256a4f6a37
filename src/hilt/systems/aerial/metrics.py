"""Metrics of a run of `aerial`: displacement of the base, forces felt by the human, and safety."""

import math
from typing import Any

import numpy as np

from hilt.core.meter import NO_ROWS, Tail, highest, lowest
from hilt.core.missing import Missing
from hilt.systems.aerial.analysis.hand_limit import loops_of, stiffest_hand
from hilt.systems.aerial.task import BACK

LAST = 0.5  # s at the end over which forces are averaged
RECOVERED = 0.02  # m
LATE = 0.25  # last fraction of the run, whose forces count as late
LATE_ROWS = 1 << 20  # kept of them, at most
SHARES = {"estimator_t63_s": 1.0 - math.exp(-1.0), "estimator_t90_s": 0.9}

METRIC_WORDS = {
    "base_displacement_m": "largest displacement of the base, per axis",
    "base_final_error_m": "displacement of the base at the end",
    "estimator_t63_s": "time until the estimate reaches 63 % of a push",
    "estimator_t90_s": "time until the estimate reaches 90 % of a push",
    "estimator_overshoot": "overshoot of the estimate, relative",
    "tool_force_final_N": "force at the tool at the end",
    "peak_force_N": "largest force at the tool",
    "late_force_N": "largest force at the tool in the last quarter, minus its mean",
    "sag_m": "sag of the simulated tool below its desired position, at the end",
    "tank_min_J": "lowest energy in the tank",
    "passivity_audit_min_J": "passivity audit of arm and tank, minimum",
    "human_port_energy_min_J": "energy put in by the human, minimum",
    "added_damping_max_Ns_m": "largest damping added by the guard at the human port [N·s/m]",
    "ik_error_max_m": "largest error of the flying arm's inverse kinematics",
    "joint_torque_max_Nm": "largest torque of a joint of the flying arm",
    "hand_stiffness_limit_N_m": "stiffest hand for which this loop is stable, with its lead alone",
    "recovery_time_s": "time from the snap until the base stays within 2 cm",
    "hooked": "the tool is hooked on the cable, according to the task",
    "diverged": "diverged: the loop gave the human energy",
}


def compliance_energy(rows: np.ndarray) -> np.ndarray:
    """Energy stored in the hardware's apparent masses and springs."""
    energy: np.ndarray = rows["E_hw"]
    return energy


def tool_in_base(rows: np.ndarray) -> np.ndarray:
    """Position of the simulated tool in b."""
    q, r = rows["X_Nb_meas"]["q"], rows["X_NE"]["p"] - rows["X_Nb_meas"]["p"]
    u = -q[:, 1:]
    side = 2.0 * np.cross(u, r)
    place: np.ndarray = r + q[:, :1] * side + np.cross(u, side)
    return place


def hand_limit(scenario: Any) -> float:
    limit = min(stiffest_hand(loop, scenario.hand.damping) for loop in loops_of(scenario).values())
    return limit if math.isfinite(limit) else Missing("no hand is too stiff for this loop", limit)


class AerialMeter:
    """The metrics of a run."""

    def __init__(self, scenario: Any) -> None:
        self._scenario = scenario
        self._parts = (_Estimator(scenario), _Recovery())
        self._tail, self._late = Tail(LAST), _Late()
        self._displacement = np.zeros(3)
        self._highs = dict.fromkeys(("force", "D_port", "ik_error", "tau_uam"), -math.inf)
        self._lows = dict.fromkeys(("E_tank", "E_audit", "port"), math.inf)
        self._last = NO_ROWS

    def take(self, rows: np.ndarray) -> None:
        force = rows["F_h_raw_H"]["f"]
        hanging = rows["X_bE_des"]["p"][:, 2] - tool_in_base(rows)[:, 2]
        self._tail.take(rows["t"], force, hanging)
        self._late.take(force)
        for part in self._parts:
            part.take(rows)
        self._displacement = np.maximum(self._displacement, np.abs(rows["e_p_N"]).max(axis=0))
        highs = {"force": np.linalg.norm(force, axis=1), "tau_uam": np.abs(rows["tau_uam"])}
        lows = {"port": rows["W_human"]["into"] - rows["W_human"]["out"]}
        for name, before in self._highs.items():
            self._highs[name] = highest(before, highs[name] if name in highs else rows[name])
        for name, before in self._lows.items():
            self._lows[name] = lowest(before, lows[name] if name in lows else rows[name])
        self._last = rows[-1:].copy()

    def result(self) -> dict[str, Any]:
        force, hanging = self._tail.last(lambda t: t >= t[-1] - LAST)
        estimator, recovery = (part.metrics() for part in self._parts)
        return {
            "base_displacement_m": self._displacement.tolist(),
            "base_final_error_m": float(np.linalg.norm(self._last["e_p_N"][0])),
            **estimator,
            "tool_force_final_N": float(np.linalg.norm(force.mean(axis=0))),
            "peak_force_N": self._highs["force"],
            "late_force_N": self._late.largest(),
            "sag_m": float(hanging.mean()),
            "tank_min_J": self._lows["E_tank"],
            "passivity_audit_min_J": self._lows["E_audit"],
            "human_port_energy_min_J": self._lows["port"],
            "added_damping_max_Ns_m": self._highs["D_port"],
            "ik_error_max_m": self._highs["ik_error"],
            "joint_torque_max_Nm": self._highs["tau_uam"],
            "hand_stiffness_limit_N_m": hand_limit(self._scenario),
            **recovery,
            "hooked": bool(self._last["hooked"][0]),
            "diverged": bool(self._lows["port"] < -self._scenario.goal.port_energy),
        }


class _Late:
    """The force in the last quarter of the run, at most its last LATE_ROWS rows."""

    def __init__(self) -> None:
        self._parts: list[np.ndarray] = []
        self._kept = self._count = 0

    def take(self, force: np.ndarray) -> None:
        self._parts.append(force.copy())
        self._kept += len(force)
        self._count += len(force)
        while self._kept - len(self._parts[0]) >= self._wanted():
            self._kept -= len(self._parts.pop(0))

    def _wanted(self) -> int:
        return min(max(1, int(LATE * self._count)), LATE_ROWS)

    def largest(self) -> float:
        """Largest deviation from the mean [N]; part by part, since copying it all would fill the memory on a long run."""
        parts, surplus = list(self._parts), self._kept - self._wanted()
        parts[0] = parts[0][surplus:]
        mean = sum(part.sum(axis=0) for part in parts) / self._wanted()
        return max(float(np.linalg.norm(part - mean, axis=1).max()) for part in parts if len(part))


class _Estimator:
    """Response of the estimate to a push: times from its start, relative to the force of the push."""

    def __init__(self, scenario: Any) -> None:
        self._push, self._force = scenario.push, np.array(scenario.push.force)
        self._size = float(np.linalg.norm(self._force))
        self._wanted = self._size > 0.0 and scenario.estimator.enabled
        self._reached: dict[float, float] = {}
        self._before: tuple[float, float] | None = None
        self._most = -math.inf

    def take(self, rows: np.ndarray) -> None:
        t = rows["t"] - self._push.start
        inside = (t >= 0) & (t <= self._push.duration)
        if not self._wanted or not inside.any():
            return
        seen, when = (rows["f_hat_N"] @ self._force)[inside] / self._size**2, t[inside]
        for share in SHARES.values():
            above = np.flatnonzero(seen >= share)
            if share not in self._reached and len(above):
                self._reached[share] = self._between(share, int(above[0]), seen, when)
        self._before = float(seen[-1]), float(when[-1])
        self._most = highest(self._most, seen)

    def _between(self, share: float, k: int, seen: np.ndarray, when: np.ndarray) -> float:
        before = self._before if k == 0 else (float(seen[k - 1]), float(when[k - 1]))
        if before is None:
            return Missing(f"the estimate was at {share:.0%} of the push before it began")
        return float(np.interp(share, [before[0], seen[k]], [before[1], when[k]]))

    def metrics(self) -> dict[str, float]:
        if not self._wanted:
            return {}
        none = {share: Missing(f"the estimate never reached {share:.0%} of the push") for share in SHARES.values()}
        overshoot = max(self._most - 1.0, 0.0) if self._before else Missing("the run ended before the push")
        times = {name: self._reached.get(share, none[share]) for name, share in SHARES.items()}
        return {**times, "estimator_overshoot": overshoot}


class _Recovery:
    """Time from when the task detects the snap of the hook until the base stays close; empty if it never snaps."""

    def __init__(self) -> None:
        self._snapped: float | None = None
        self._away: float | None = None
        self._far = False

    def take(self, rows: np.ndarray) -> None:
        snapped = np.flatnonzero(rows["task_state"] == BACK)
        if self._snapped is None and len(snapped):
            self._snapped = float(rows["t"][snapped[0]])
        away = np.linalg.norm(rows["e_p_N"], axis=1) > RECOVERED
        if away.any():
            self._away = float(rows["t"][np.flatnonzero(away)[-1]])
        self._far = bool(away[-1])

    def metrics(self) -> dict[str, float]:
        if self._snapped is None:
            return {}
        if self._far:
            return {"recovery_time_s": Missing("the base was not back within 2 cm at the end")}
        return {"recovery_time_s": 0.0 if self._away is None else max(0.0, self._away - self._snapped)}
