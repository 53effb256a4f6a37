"""Counted of each collision, tick by tick: the speed in the flight after it, its peak force, whether the controller saw it.

The speed is that of the simulated tip along the frames' normal at three quarters of the flight. How long a flight is, is known
only at its end, so its speeds are kept; of a flight of more than KEPT ticks every second, fourth, … of them.
"""

import math

import numpy as np

from hilt.compiled import jit
from hilt.core.signals import record

KEPT = 512
EVENT = record(peak_square="f8", peak="f8", speed="f8", felt="i8", over="i8", touched="i8", seen="i8")
STATE = record(number="i8", touched="i8", last="f8", flight="i8", every="i8", kept="i8", speeds=KEPT)


@jit
def larger(before, new):
    """The larger of two; infinite from then on if it is not a number."""
    if not new <= before:
        return new if new == new else math.inf
    return before


@jit
def _begin_flight(m):
    m.flight = 0
    m.kept = 0
    m.every = 1


@jit
def _fly(m, speed):
    if m.flight % m.every == 0:
        if m.kept == KEPT:
            for i in range(KEPT // 2):
                m.speeds[i] = m.speeds[2 * i]
            m.kept = KEPT // 2
            m.every *= 2
        if m.flight % m.every == 0:
            m.speeds[m.kept] = speed
            m.kept += 1
    m.flight += 1


@jit
def speed_of_flight(m):
    """At three quarters of it; between two ticks that were kept, on the straight line."""
    at = (m.flight - 1 - m.flight // 4) / m.every
    first = min(int(at), m.kept - 1)
    second = min(first + 1, m.kept - 1)
    return abs(m.speeds[first] + (at - first) * (m.speeds[second] - m.speeds[first]))


@jit
def _close(m, each):
    """A collision is over; without a flight after it the other frame was hit at once."""
    if 1 <= m.number < len(each) and each[m.number].over == 0:
        each[m.number].speed = speed_of_flight(m) if m.flight > 0 else abs(m.last)
        each[m.number].over = 1


@jit
def collide(sig, m, each, speed, force_square):
    """One tick: `speed` of the tip along the normal, the square of the force at it."""
    number, touching = sig.collision, sig.contact != 0
    if number != m.number:
        _close(m, each)
        m.number = number
        m.touched = 0
        _begin_flight(m)
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
        _begin_flight(m)
    elif m.touched:
        _fly(m, speed)
    m.last = speed


def finished(m: np.ndarray, each: np.ndarray) -> np.ndarray:
    """The events of many runs with the flight that the end of a run cut short, if there was one."""
    found = each.copy()
    found["peak"] = np.sqrt(each["peak_square"])
    at = np.flatnonzero((m["number"] >= 1) & (m["number"] < each.shape[1]) & (m["flight"] > 0))
    number = m["number"][at]
    at = at[found["over"][at, number] == 0]
    number = m["number"][at]
    speeds, last, rows = m["speeds"][at], m["kept"][at] - 1, np.arange(len(at))
    where = (m["flight"][at] - 1 - m["flight"][at] // 4) / np.maximum(m["every"][at], 1)
    first = np.minimum(where.astype(np.int64), last)
    second = np.minimum(first + 1, last)
    found["speed"][at, number] = np.abs(speeds[rows, first] + (where - first) * (speeds[rows, second] - speeds[rows, first]))
    found["over"][at, number] = 1
    return found
