"""Recorded for each collision, tick by tick: speed in the flight after it, peak force, and whether the controller saw it.

The speed is that of the simulated tip along the frames' normal at three quarters of the flight.
"""

import math

import numpy as np

from hilt.compiled import jit
from hilt.core.flight import begin_flight, fly, room, speed_at, speeds_at
from hilt.core.signals import record

KEPT = 512  # speeds per flight
EVENT = record(peak_square="f8", peak="f8", speed="f8", felt="i8", over="i8", touched="i8", seen="i8")
STATE = record(number="i8", touched="i8", last="f8", **room(KEPT))


@jit
def larger(before, new):
    """The larger of two values; infinite from the first NaN on."""
    if not new <= before:
        return new if new == new else math.inf
    return before


@jit
def _close(m, each):
    """End a collision; without a flight after it the other frame was hit immediately."""
    if 1 <= m.number < len(each) and each[m.number].over == 0:
        each[m.number].speed = speed_at(m, m.flight - 1 - m.flight // 4) if m.flight > 0 else abs(m.last)
        each[m.number].over = 1


@jit
def collide(sig, m, each, speed, force_square):
    """Process one tick: speed of the tip along the normal, and squared force at the tip."""
    number, touching = sig.collision, sig.contact != 0
    if number != m.number:
        _close(m, each)
        m.number = number
        m.touched = 0
        begin_flight(m)
    if 0 <= number < len(each):
        event = each[number]
        event.felt = 1
        event.peak_square = larger(event.peak_square, force_square)
        if touching:
            event.touched = 1
        if sig.in_contact == 1:
            event.seen = 1
    if touching:
        m.touched = 1
        begin_flight(m)
    elif m.touched:
        fly(m, speed)
    m.last = speed


def finished(m: np.ndarray, each: np.ndarray) -> np.ndarray:
    """Events of many runs, including the flight cut short by the end of a run."""
    found = each.copy()
    found["peak"] = np.sqrt(each["peak_square"])
    at = np.flatnonzero((m["number"] >= 1) & (m["number"] < each.shape[1]) & (m["flight"] > 0))
    number = m["number"][at]
    at = at[found["over"][at, number] == 0]
    number = m["number"][at]
    found["speed"][at, number] = speeds_at(m, at, m["flight"][at] - 1 - m["flight"][at] // 4)
    found["over"][at, number] = 1
    return found
