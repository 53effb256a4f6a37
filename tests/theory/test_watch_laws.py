"""The watch on the robot gives no false alarms: whatever set-points it is given, a robot with its known delay is not a fault.
One that is moved aside by more than the bounds is."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hilt.core import faults
from hilt.core.guard import GUARD, Guarded
from hilt.core.signals import POSE, TWIST
from hilt.core.stage import Cycle
from hilt.device import rigfile, watch
from hilt.device.rsi.response import Response
from hilt.device.watch import Watch
from hilt.maths import so3

RIG = rigfile.load(Path(__file__).parents[2] / "rigs" / "dry-lab.toml")
T = 0.004
UNIT = st.floats(-1.0, 1.0)


def limits_of(rig):
    limits = np.zeros(1, GUARD.params)[0]
    GUARD.pack(limits, Guarded(rig.limits), Cycle(T))
    return limits


def seen(path, turns, dead_time, omega, zeta, aside=lambda k: (0.0, 0.0, 0.0), tight=None):
    """The fault code of each packet of a robot that follows set-points, pushed aside by `aside(k)` at packet k."""
    delay = T + dead_time + 2.0 * zeta / omega
    lab = RIG.lab.model_copy(update={"tracking_delay": delay, **(tight or {})})
    guard = Watch(RIG.model_copy(update={"lab": lab}))
    guard.start(limits_of(RIG), True)
    told, here, twist = np.zeros(1, POSE)[0], np.zeros(1, POSE)[0], np.zeros(1, TWIST)[0]
    told["q"] = here["q"] = (1.0, 0.0, 0.0, 0.0)
    robot, codes = Response(told, 0.0, dead_time, omega, zeta), []
    before, turned_before = np.zeros(3), np.array(here["q"])
    for k, (place, turn) in enumerate(zip(path, turns, strict=True)):
        p, q, _, _ = robot.at(k * T)
        here["p"], here["q"] = p + np.array(aside(k)), q
        twist["v"] = (here["p"] - before) / T
        twist["w"] = np.array(so3.between(tuple(turned_before), tuple(here["q"]))) / T
        before, turned_before = here["p"].copy(), here["q"].copy()
        codes.append(guard.look(here, twist, told))
        told["p"], told["q"] = place, so3.exp(tuple(turn))
        robot.command(told, (k + 1) * T, (k + 2) * T)  # received in this cycle, executed in the next one
    return codes, guard.x


def paths(changes):
    """Velocities that change at random within the limits, also from limit to limit; far from the edges of the workspace."""
    v = 0.1 * np.repeat(np.array([each[:3] for each in changes]), 12, axis=0) / math.sqrt(3)
    w = 0.2 * np.repeat(np.array([each[3:] for each in changes]), 12, axis=0) / math.sqrt(3)
    return np.cumsum(v, axis=0) * T, np.cumsum(w, axis=0) * T


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(*[UNIT] * 6), min_size=1, max_size=6),
    st.floats(0.0, 0.03),
    st.floats(40.0, 400.0),
    st.floats(0.5, 1.5),
)
def test_a_robot_that_is_only_late_is_not_a_fault(changes, dead_time, omega, zeta):
    way, turns = paths(changes)
    tight = {"tracking_tolerance": 0.0005, "tracking_angle": 0.001}  # far below what is allowed: the bound itself must hold
    codes, _ = seen(way, turns, dead_time, omega, zeta, tight=tight)
    assert set(codes) == {faults.NONE}


AWAY = {
    "off-track": (lambda k: (0.0, 0.0, 0.006 * (k >= 100)), faults.ROBOT_OFF_TRACK),
    "outside": (lambda k: (0.0, -min(0.0003 * max(k - 100, 0), 0.0515), 0.0), faults.ROBOT_OUTSIDE),
    "fast": (lambda k: (0.0, 0.0, min(0.0006 * max(k - 100, 0), 0.0048)), faults.ROBOT_FAST),
}


@pytest.mark.parametrize("name", AWAY)
def test_a_robot_that_is_moved_is_one(name):
    aside, code = AWAY[name]
    still = np.zeros((400, 3))
    tight = {"tracking_tolerance": 1.0} if name == "outside" else {}
    codes, _ = seen(still, still, 0.008, 150.0, 0.9, aside, tight)
    assert not any(codes[:100])
    assert code in codes


def test_a_single_odd_packet_is_not_a_fault():
    still = np.zeros((300, 3))
    codes, _ = seen(still, still, 0.008, 150.0, 0.9, lambda k: (0.02 * (k % 50 == 0), 0.0, 0.0))
    assert set(codes) == {faults.NONE}
    assert watch.IN_A_ROW > 1
