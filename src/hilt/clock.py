"""Clocks: the only place where time is read.

A clock's `wait_until(t)` returns at t seconds after its start and says how late it was; the loop records that.
"""

import time
from typing import Protocol


class Clock(Protocol):
    def start(self) -> None: ...
    def wait_until(self, t: float) -> float: ...


class FreeClock:
    """As fast as the processor allows: simulation. Never late."""

    def start(self) -> None:
        pass

    def wait_until(self, t: float) -> float:
        return 0.0


class PeriodicClock:
    """Wall time with absolute deadlines: a late tick does not delay the next one's deadline."""

    def __init__(self) -> None:
        self._origin = 0.0

    def start(self) -> None:
        self._origin = time.monotonic()

    def wait_until(self, t: float) -> float:
        deadline = self._origin + t
        while (left := deadline - time.monotonic()) > 0.0:
            time.sleep(left)
        return -left


def now() -> float:
    """Seconds of a monotonic clock, for speed factors and progress bars."""
    return time.monotonic()


def stamp() -> str:
    """Date and time for file names."""
    return time.strftime("%Y%m%d-%H%M%S")
