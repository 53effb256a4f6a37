"""What a bilateral run of `payload` is measured by: what the hand feels of what the slave arm does, and the link's books."""

from typing import Any

import numpy as np

from hilt.missing import Missing

LAST = 0.5  # s at the end over which forces are averaged
SETTLED = 0.05  # of the final force, or newtons if that is more

METRIC_WORDS = {
    "felt_N": "force that the hand feels at the end",
    "applied_N": "force of the slave arm on what it touches at the end",
    "felt_minus_applied_N": "their difference",
    "settling_time_s": "time from the end of the hand's way until both forces stay within 5 %",
    "books_min_J": "least energy in the link's books: joules in less joules out, both ends",
    "guard_share": "share of the time in which the energy guard acts",
}


def books(rows: np.ndarray) -> np.ndarray:
    """Joules that both ends together have put into the link and not got out again."""
    total: np.ndarray = sum(rows[port]["into"] - rows[port]["out"] for port in ("W_master", "W_slave"))
    return total


def settling_time(rows: np.ndarray, forces: list[np.ndarray], finals: list[float], begin: float) -> float:
    """From `begin` to the last moment at which one of the forces is out of its band."""
    outside = np.zeros(len(rows), bool)
    for force, final in zip(forces, finals, strict=True):
        outside |= np.abs(force - final) > max(SETTLED * abs(final), SETTLED)
    late = np.flatnonzero(outside)
    if len(late) and late[-1] == len(rows) - 1:
        return Missing("the forces had not settled at the end")
    return max(0.0, float(rows["t"][late[-1]]) - begin) if len(late) else 0.0


def metrics(rows: np.ndarray, scenario: Any) -> dict[str, float]:
    direction = np.array(scenario.operator.direction)
    direction /= np.linalg.norm(direction)
    felt, applied = rows["f_m"] @ direction, rows["f_s"] @ direction
    last = rows["t"] > rows["t"][-1] - LAST
    finals = [float(force[last].mean()) for force in (felt, applied)]
    begin = scenario.operator.start + scenario.hand.time
    return {
        "felt_N": finals[0],
        "applied_N": finals[1],
        "felt_minus_applied_N": finals[0] - finals[1],
        "settling_time_s": settling_time(rows, [felt, applied], finals, begin),
        "books_min_J": float(books(rows).min()),
        "guard_share": float(np.mean((rows["master_guard"] > 0) | (rows["slave_guard"] > 0))),
    }
