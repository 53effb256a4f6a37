"""The bounds of a Franka robot's commands, by poses and by joint angles, by their laws; and docking within them."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hilt import job, loop
from hilt.core import faults
from hilt.core.clock import FreeClock
from hilt.core.rig import SimulatedRig
from hilt.core.signals import POSE
from hilt.device import frames
from hilt.device.fci import codec, joint_shape, motion, reflexes, shape
from hilt.device.fci.angles import AngleMotion
from hilt.device.fci.settings import (
    ACCELERATION,
    JERK,
    JOINT_ACCELERATION,
    JOINT_JERK,
    TURN_ACCELERATION,
    TURN_JERK,
    FciJoints,
    FciSettings,
)
from hilt.device.joints.space import JointSpace
from hilt.device.path import NoSink
from hilt.device.placed import Place
from hilt.maths import so3
from tests.device.jointed import ARMS

DT, N = codec.CYCLE, codec.JOINTS
KEEP = math.exp(-DT / shape.BLEND)
HERE = Place(p=(0.0, 0.0, 0.0), q=(1.0, 0.0, 0.0, 0.0))


def joints(**changes):
    return FciJoints(**{**ARMS["panda"], **changes})


def settings(arm=None, **changes):
    usual = {"X_WR": HERE, "X_TB": HERE, "step_limit": 0.001, "turn_limit": 0.002, "patience": 10}
    return FciSettings(**{**usual, **({"command": "joints", "joints": arm} if arm else {}), **changes})


# By poses

NUMBER = st.floats(-1.0, 1.0)


def poser():
    poses = (frames.identity() for _ in range(3))
    return np.zeros(1, shape.MOTION)[0], motion.bounds_of(settings()), *poses


@given(st.lists(st.tuples(NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, NUMBER), min_size=1, max_size=60), st.booleans())
def test_whatever_is_asked_no_command_is_beyond_the_bounds_of_the_robot(steps, resync):
    """Jumps of up to 10 mm and 10 mrad in every cycle, then a stop: speed, acceleration and jerk stay within the settings."""
    s = settings()
    x, bounds, last, asked, out = poser()
    v = w = a = b = np.zeros(3)
    x["resync"] = resync
    rest, count = False, 0
    while not rest:
        if count < len(steps):
            asked["p"] = 0.01 * np.array(steps[count][:3])
            asked["q"] = so3.exp(tuple(0.01 * part for part in steps[count][3:]))
            shape.advance(x, bounds, last, asked, out, KEEP, DT)
        else:
            rest = shape.slow_down(x, bounds, last, out, DT)
        count += 1
        assert count < len(steps) + 500, "it never comes to rest"
        turn = np.array(so3.between(tuple(last["q"].tolist()), tuple(out["q"].tolist())))
        v, v_before, w, w_before = (out["p"] - last["p"]) / DT, v, turn / DT, w
        a, a_before, b, b_before = (v - v_before) / DT, a, (w - w_before) / DT, b
        # Rounding: places of 16 digits, divided by the cycle three times, are 1e-16/1e-9.
        assert np.linalg.norm(a) <= s.acceleration * (1 + 1e-6) < ACCELERATION
        assert np.linalg.norm(a - a_before) / DT <= s.jerk * (1 + 1e-6) + 1e-5 < JERK
        assert np.linalg.norm(b) <= s.angular_acceleration * (1 + 1e-6) < TURN_ACCELERATION
        assert np.linalg.norm(b - b_before) / DT <= s.angular_jerk * (1 + 1e-5) < TURN_JERK
        last, out = out, last
    assert np.abs(v).max() == 0.0


def test_a_motion_within_the_bounds_is_passed_on_as_it_is():
    """± 20 mm at 0.5 Hz, begun gently: 0.2 m/s² and 0.6 m/s³ are far from them."""
    x, bounds, last, asked, out = poser()
    for k in range(3000):
        asked["p"][0] = 0.01 * (1 - math.cos(math.pi * k * DT))
        assert shape.advance(x, bounds, last, asked, out, KEEP, DT) == (False, False)
        assert out["p"][0] == pytest.approx(asked["p"][0], abs=1e-15)
        last, out = out, last


def test_a_start_at_speed_is_made_up_for():
    """20 mm/s from one cycle to the next: the command falls behind by v²/(2a) and by v·a/(2j) at most, and works it off.

    In cycles a ramp of speed is a staircase: half a cycle's step less.
    """
    x, bounds, last, asked, out = poser()
    behind = []
    for _ in range(3000):
        asked["p"][0] += 2e-5
        far, _ = shape.advance(x, bounds, last, asked, out, KEEP, DT)
        assert not far
        behind.append(asked["p"][0] - out["p"][0])
        last, out = out, last
    v, a, j = 0.02, settings().acceleration, settings().jerk
    assert v**2 / (2 * a) - v * DT / 2 < max(behind) < v**2 / (2 * a) + v * a / (2 * j)
    assert behind[-1] == 0.0
    assert min(behind) >= -2e-6, "it does not overshoot but by a rounding of the last cycles"


# By joint angles


def shaper(**changes):
    x, y, bounds = np.zeros(1, joint_shape.MOTION)[0], np.zeros(1, joint_shape.MOTION)[0], np.zeros(1, joint_shape.BOUNDS)[0]
    own = joints(**changes)
    bounds["joints"], bounds["acceleration"], bounds["jerk"] = N, own.acceleration, own.jerk
    return x, y, bounds


ANGLES = st.lists(st.floats(-1.0, 1.0), min_size=N, max_size=N)


@given(st.lists(ANGLES, min_size=1, max_size=60), st.booleans())
def test_whatever_is_asked_no_command_is_beyond_the_bounds_of_the_joints(steps, resync):
    """Jumps of up to 10 mrad in every cycle, then a stop: acceleration and jerk of every joint stay within the settings."""
    x, y, bounds = shaper()
    last, v, a = np.zeros(N), np.zeros(N), np.zeros(N)
    x["resync"] = resync
    rest, count = False, 0
    while not rest:
        if count < len(steps):
            out = 0.01 * np.array(steps[count])
            joint_shape.advance(x, y, bounds, last, out, KEEP, DT)
        else:
            out = last.copy()
            rest = joint_shape.brake(x, y, bounds, last, out, DT)
        count += 1
        assert count < len(steps) + 500, "it never comes to rest"
        v, v_before = (out - last) / DT, v
        a, a_before = (v - v_before) / DT, a
        # Rounding: angles of 16 digits, divided by the cycle three times, are 1e-16/1e-9.
        assert np.abs(a).max() <= bounds["acceleration"] * (1 + 1e-6) < JOINT_ACCELERATION
        assert np.abs(a - a_before).max() / DT <= bounds["jerk"] * (1 + 1e-6) + 1e-5 < JOINT_JERK
        last, x, y = out, y, x
    assert np.abs(v).max() == 0.0


def test_a_motion_within_the_bounds_is_passed_on_to_the_last_bit():
    """± 0.1 rad at 0.5 Hz, begun gently: 1 rad/s² and 3 rad/s³ are far from them."""
    x, y, bounds = shaper()
    last = np.zeros(N)
    for k in range(3000):
        asked = 0.05 * (1 - math.cos(math.pi * k * DT)) * np.linspace(-1.0, 1.0, N)
        out = asked.copy()
        assert not joint_shape.advance(x, y, bounds, last, out, KEEP, DT)
        assert out.tolist() == asked.tolist()
        last, x, y = out, y, x


def test_a_start_at_speed_keeps_its_direction_and_is_made_up_for():
    """Every joint at its own speed from one cycle to the next: the fastest falls behind by v²/(2a) and by v·a/(2j) at most, the
    others in proportion, so the arm keeps the commanded direction; and all of it is worked off."""
    x, y, bounds = shaper()
    speeds, last, asked, behind = 0.05 * np.array([1.0, -0.5, 0.2, 0.0, 0.7, -0.9, 0.3]), np.zeros(N), np.zeros(N), []
    for k in range(3000):
        asked = asked + DT * speeds
        out = asked.copy()
        joint_shape.advance(x, y, bounds, last, out, KEEP, DT)
        behind.append(asked - out)
        if k < 5:
            assert out / out[0] == pytest.approx(speeds / speeds[0])
        last, x, y = out, y, x
    v, a, j = 0.05, float(bounds["acceleration"]), float(bounds["jerk"])
    worst = np.abs(behind).max()
    assert v**2 / (2 * a) - v * DT / 2 < worst < v**2 / (2 * a) + v * a / (2 * j)
    assert np.abs(behind).argmax() % N == 0
    assert not behind[-1].any()
    assert (np.array(behind) * np.sign(speeds)).min() >= -2e-6, "it does not overshoot but by a rounding of the last cycles"


KEPT: list[AngleMotion] = []  # compiled once


@given(ANGLES, ANGLES, st.lists(st.floats(-1.0, 1.0), min_size=N, max_size=N), st.floats(0.1, 10.0))
def test_what_passes_can_be_stopped_within_the_limits_although_the_jerk_is_bounded(where, speeds, pushes, deceleration):
    """From anywhere, at any speed and acceleration: if the set-point is let through, the soft stop stays within the limits of
    all joints, none is bent faster than the robot takes it, and the arm comes to rest."""
    if not KEPT:
        given = settings(joints(singular=1e-6), step_limit=0.003, turn_limit=0.0025)
        KEPT.append(AngleMotion(given, JointSpace(given.joints)))
    motion = KEPT[0]
    arm = motion.joints
    arm.brakes(deceleration, deceleration)
    middle, half = (arm.upper + arm.lower) / 2, (arm.upper - arm.lower) / 2
    state, X = np.zeros(1, codec.READ_STATE)[0], np.zeros(1, POSE)[0]
    state["q_d"] = middle + half * np.array(where)
    state["dq_d"] = arm.speed_limits * np.array(speeds)
    state["ddq_d"] = float(motion.bounds["acceleration"]) * np.array(pushes)
    motion.see(state)
    motion.resync(state)
    arm.pose(state["q_d"] + DT * state["dq_d"], X)
    if motion.advance(X) != faults.NONE:
        return
    motion.took()
    v, a = motion._x["v"].copy(), motion._x["a"].copy()
    for _ in range(200_000):
        slows = arm.slow_down()
        rest = motion.brake() if slows else motion.slow_down()
        before = arm.last.copy()
        motion.took()
        v, v_before = (arm.last - before) / DT, v
        a, a_before = (v - v_before) / DT, a
        # Rounding of an angle of 3 rad, 4e-16, divided by the cycle twice and three times.
        assert np.abs(a).max() <= motion.bounds["acceleration"] + 1e-8
        assert np.abs(a - a_before).max() / DT <= motion.bounds["jerk"] + 1e-5
        assert (arm.last >= arm.lower - 1e-9).all()
        assert (arm.last <= arm.upper + 1e-9).all()
        if rest and not slows:
            return
    pytest.fail("it does not come to rest")


# In the loop


class Judged(SimulatedRig):
    """Simulated devices behind the angles of a Franka; its motion generator checks every command."""

    def __init__(self, system, bench, motion):
        super().__init__(system, bench)
        self.motion, self.behind, self.bent, self.errors = motion, [], [], []
        self._base, self._wanted = motion.sent.copy(), np.zeros(1, POSE)[0]
        self._first = bench.row[0]["X_WB_cmd"]["p"].copy()
        self._judge = reflexes.of_joints(motion.joints.arm.speed)

    def write(self, row):
        """The mock-up's attitude is the tool's, turned as at the start; its place is measured from there."""
        motion, cmd = self.motion, row[0]["X_WB_cmd"]
        self._wanted["p"] = self._base["p"] + cmd["p"] - self._first
        self._wanted["q"] = so3.multiply(tuple(cmd["q"].tolist()), tuple(self._base["q"].tolist()))
        if code := motion.advance(self._wanted):
            faults.trip(row[0], code, *motion.joints.fault)
            return code
        self.errors += self._judge.check(motion.joints.next - motion.joints.last, DT)
        motion.took()
        self.behind.append(math.dist(motion.sent["p"], self._wanted["p"]))
        self.bent.append(motion.bent)
        row[0]["X_WB_sent"]["p"] = cmd["p"] + motion.sent["p"] - self._wanted["p"]
        return 0


def test_docking_by_angles_is_no_reflex_and_keeps_to_its_path():
    """All five collisions, begun at 20 mm/s from one cycle to the next. That start is bent and made up for: a joint that turns
    at 20 mm/s over 0.2 m falls behind by v²/(2a) = 0.8 mrad, less than 0.5 mm over the arm's 0.6 m. After a second, ten times
    the time in which an offset decays to a third, everything is sent as it is."""
    asked = ["compensate.method=none", "robot.delay=0 s", "loop.period=1 ms", "loop.duration='60 s'"]
    system, values, _ = job.find("docking", "table1", asked)
    bench, given = system.set_up(values), settings(joints(margin=0.1, speed=1.0))
    motion, state = AngleMotion(given, JointSpace(given.joints)), np.zeros(1, codec.READ_STATE)[0]
    state["q_d"] = given.joints.posture
    motion.see(state)
    motion.base(state)
    motion.joints.brakes(1.0, 1.0)
    rig = Judged(system, bench, motion)
    assert loop.run(bench, rig, FreeClock(), NoSink()) is None
    assert bench.row["done"][0], "all five collisions"
    assert rig.errors == []
    assert rig.bent[0]
    assert max(rig.behind) < 5e-4
    assert max(rig.behind[1000:]) <= 1e-6
    assert not any(rig.bent[1000:])
