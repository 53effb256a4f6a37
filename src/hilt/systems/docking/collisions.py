"""Measurements of each collision: the speed in the flight after it, and its peak force."""

import math
from typing import Any

import numpy as np

from hilt.core.meter import Feed, Stretch
from hilt.core.missing import Missing

LOST = "no row of this collision is in the recording"


class Collisions:
    """Collisions by number, up to a maximum: rows are cut where the number changes, or where contact begins or ends."""

    def __init__(self, normal: Any, most: float = math.inf) -> None:
        self._normal, self._most = np.array(normal), most
        self._number, self._touched = 0, False
        self._flight, self._last = Stretch(), 0.0
        self._speeds: dict[int, float] = {}
        self._peaks: dict[int, float] = {}

    def take(self, rows: np.ndarray) -> None:
        number, touching = rows["collision"], rows["contact"] != 0
        v = rows["v_C_des_W"] @ self._normal
        force = np.linalg.norm(rows["F_C_true_W"], axis=1)
        cuts = np.flatnonzero((np.diff(number) != 0) | (np.diff(touching) != 0)) + 1
        for begin, end in zip([0, *cuts], [*cuts, len(rows)], strict=True):
            self._stretch(int(number[begin]), bool(touching[begin]), v[begin:end], force[begin:end])

    def _stretch(self, number: int, touching: bool, v: np.ndarray, force: np.ndarray) -> None:
        if number != self._number:
            self._close(more=True)
            self._number, self._touched, self._flight = number, False, Stretch()
        if 1 <= number <= self._most:
            self._peaks[number] = float(np.max(force, initial=self._peaks.get(number, 0.0)))
        if touching:
            self._touched, self._flight = True, Stretch()
        elif self._touched:
            self._flight.append(v)
        self._last = float(v[-1])

    def _close(self, more: bool) -> None:
        """A collision is over; without a flight after it the other frame was hit immediately, if there is a next collision."""
        if not 1 <= self._number <= self._most or self._number in self._speeds:
            return
        count = self._flight.count
        if count:
            self._speeds[self._number] = abs(self._flight.at(count - 1 - count // 4))
        elif more:
            self._speeds[self._number] = abs(self._last)

    def speeds(self) -> list[float]:
        """Speed of the simulated tip along the frames' normal in the flight after each completed collision; call once."""
        self._close(more=False)
        return _in_order(self._speeds)

    def peaks(self) -> list[float]:
        return _in_order(self._peaks)


def _in_order(found: dict[int, float]) -> list[float]:
    return [found.get(n, Missing(LOST)) for n in range(1, max(found, default=0) + 1)]


def collisions_in(rows: np.ndarray, normal: Any, most: float = math.inf) -> Collisions:
    found = Collisions(normal, most)
    feed = Feed(found)
    feed.feed(rows)
    feed.end()
    return found


def speeds_after(rows: np.ndarray, scenario: Any) -> list[float]:
    """Speed of the simulated tip along the frames' normal in the flight after each completed collision."""
    return collisions_in(rows, scenario.frames.n_W, scenario.collisions).speeds()


def peak_forces(rows: np.ndarray) -> list[float]:
    """Peak true force of each collision."""
    return collisions_in(rows, (1.0, 0.0, 0.0)).peaks()
