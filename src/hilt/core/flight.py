"""Keeps the speeds of a flight while it lasts, because the tick whose speed is needed is known only at its end.

A record has room for a fixed number of speeds; of a longer flight every second, fourth, … tick is kept.
"""

from typing import Any

import numpy as np

from hilt.compiled import jit


def room(ticks: int) -> dict[str, Any]:
    """The fields that a record needs for a flight."""
    return {"flight": "i8", "every": "i8", "kept": "i8", "speeds": ticks}


@jit
def begin_flight(m):
    m.flight = 0
    m.kept = 0
    m.every = 1


@jit
def _falls_on(tick, every):
    """Whether tick is a multiple of `every`, a power of two. A division would cost as much as all other metrics of a tick."""
    return tick & (every - 1) == 0


@jit
def fly(m, speed):
    """Add the speed of one tick."""
    if _falls_on(m.flight, m.every):
        if m.kept == len(m.speeds):
            for i in range(m.kept // 2):
                m.speeds[i] = m.speeds[2 * i]
            m.kept = m.kept // 2
            m.every *= 2
        if _falls_on(m.flight, m.every):
            m.speeds[m.kept] = speed
            m.kept += 1
    m.flight += 1


@jit
def speed_at(m, tick):
    """Speed at a tick of the flight; linear between two ticks that were kept."""
    at = tick / m.every
    first = min(int(at), m.kept - 1)
    second = min(first + 1, m.kept - 1)
    return abs(m.speeds[first] + (at - first) * (m.speeds[second] - m.speeds[first]))


def speeds_at(m: np.ndarray, runs: np.ndarray, ticks: np.ndarray) -> np.ndarray:
    """The same for several runs at once."""
    where, last = ticks / np.maximum(m["every"][runs], 1), m["kept"][runs] - 1
    first = np.minimum(where.astype(np.int64), last)
    second = np.minimum(first + 1, last)
    before, after = m["speeds"][runs, first], m["speeds"][runs, second]
    found: np.ndarray = np.abs(before + (where - first) * (after - before))
    return found
