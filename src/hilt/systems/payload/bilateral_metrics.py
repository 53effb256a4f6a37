"""Metrics of a bilateral run of `payload`: how well the hand feels the slave arm's force, and the link's energy ledger."""

import math
from typing import Any

import numpy as np

from hilt.core.meter import Staircase, Tail, lowest
from hilt.core.missing import Missing

LAST = 0.5  # s at the end over which forces are averaged
SETTLED = 0.05  # of the final force, or newtons if that is more

METRIC_WORDS = {
    "felt_N": "force felt by the hand at the end",
    "applied_N": "force applied by the slave arm at the end",
    "felt_minus_applied_N": "their difference",
    "settling_time_s": "time from the end of the hand's motion until both forces stay within 5 %",
    "books_min_J": "lowest energy in the link's ledger: energy in minus energy out, both ends",
    "guard_share": "fraction of the time in which the energy guard acts",
}


def link_ledger(rows: np.ndarray) -> np.ndarray:
    """Energy [J] that both ends together have put into the link and not taken out again."""
    total: np.ndarray = sum(rows[port]["into"] - rows[port]["out"] for port in ("W_master", "W_slave"))
    return total


class BilateralMeter:
    """The metrics of a run."""

    def __init__(self, scenario: Any) -> None:
        self._scenario = scenario
        direction = np.array(scenario.operator.direction)
        self._direction = direction / np.linalg.norm(direction)
        self._tail = Tail(LAST)
        self._stairs = [(Staircase(1.0), Staircase(-1.0)) for _ in range(2)]  # of the felt and of the applied force
        self._now: list[float] = []
        self._t = 0.0
        self._ledger, self._guarded, self._count = math.inf, 0, 0

    def take(self, rows: np.ndarray) -> None:
        forces = [rows["f_m"] @ self._direction, rows["f_s"] @ self._direction]
        self._tail.take(rows["t"], *forces)
        for stairs, force in zip(self._stairs, forces, strict=True):
            for each in stairs:
                each.take(rows["t"], force)
        self._now, self._t = [float(force[-1]) for force in forces], float(rows["t"][-1])
        self._ledger = lowest(self._ledger, link_ledger(rows))
        self._guarded += int(np.count_nonzero((rows["master_guard"] > 0) | (rows["slave_guard"] > 0)))
        self._count += len(rows)

    def result(self) -> dict[str, float]:
        finals = [float(force.mean()) for force in self._tail.last(lambda t: t > t[-1] - LAST)]
        return {
            "felt_N": finals[0],
            "applied_N": finals[1],
            "felt_minus_applied_N": finals[0] - finals[1],
            "settling_time_s": self._settling_time(finals),
            "books_min_J": self._ledger,
            "guard_share": self._guarded / self._count,
        }

    def _settling_time(self, finals: list[float]) -> float:
        """From the end of the hand's motion to the last time at which one of the forces is outside its band."""
        late = -math.inf
        for stairs, now, final in zip(self._stairs, self._now, finals, strict=True):
            band = max(SETTLED * abs(final), SETTLED)
            if abs(now - final) > band:
                return Missing("the forces had not settled at the end")
            late = max(late, *(each.last(lambda v, f=final, b=band: np.abs(v - f) > b) for each in stairs))  # type: ignore[misc]
        begin = self._scenario.operator.start + self._scenario.hand.time
        return float(max(0.0, late - begin))
