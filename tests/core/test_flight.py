"""The speed at any tick of a flight of any length: exact while there is room, to within some ticks beyond."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hilt.compiled import jit
from hilt.core.flight import begin_flight, fly, room, speed_at, speeds_at
from hilt.core.signals import record

ROOM = 16
STATE = record(**room(ROOM))


@jit
def flown(m, speeds):
    begin_flight(m[0])
    for speed in speeds:
        fly(m[0], speed)


@jit
def speed(m, tick):
    return speed_at(m[0], tick)


@given(st.integers(1, 400), st.data())
def test_the_speed_at_any_tick(ticks, data):
    tick = data.draw(st.integers(0, ticks - 1))
    m = np.zeros(1, STATE)
    flown(m, -np.arange(ticks, dtype=float))
    assert m["flight"][0] == ticks
    assert speed(m, tick) == pytest.approx(tick, rel=1e-15, abs=0.0 if ticks <= ROOM else 2.0 * ticks / ROOM)
    assert speeds_at(m, np.array([0]), np.array([tick]))[0] == speed(m, tick)


def test_a_new_flight_forgets_the_last_one():
    m = np.zeros(1, STATE)
    flown(m, np.full(300, 7.0))
    flown(m, np.array([1.0, 2.0, 3.0]))
    assert [speed(m, tick) for tick in range(3)] == [1.0, 2.0, 3.0]
