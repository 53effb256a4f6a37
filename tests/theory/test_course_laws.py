"""What is sent to a robot stays within every limit, whatever is lost, and ends where the loop's set-points are."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hilt.core import faults
from hilt.core.guard import GUARD, NEVER
from hilt.core.signals import POSE
from hilt.device.course import Course
from hilt.device.fci import shape
from hilt.maths import so3

T = 0.004
LIMITS = {"speed": 0.1, "angular_speed": 0.2, "acceleration": 10.0, "angular_acceleration": 30.0, "jerk": 2500.0}
SIGN = st.floats(-1.0, 1.0)


def course_of(cycle=T, **changes):
    course = Course(cycle)
    course.limits = np.zeros(1, GUARD.params)[0]
    for name in ("force", "torque", "energy", "workspace_max"):
        course.limits[name] = NEVER
    course.limits["workspace_min"] = -NEVER
    for name, limit in {**LIMITS, **changes}.items():
        course.limits[name] = limit
    return course


def pose_at(p, turn):
    pose = np.zeros(1, POSE)[0]
    pose["p"], pose["q"] = p, so3.exp(tuple(turn))
    return pose


def drive(course, v, w, losses, ticks):
    """Uniform set-points; a lost one is not executed. Return the robot's set-point in every cycle, and the codes."""
    there, codes = [course.last.copy()], []
    for k in range(1, ticks + 1):
        codes.append(course.next(pose_at(k * T * v, k * T * w)))
        before = course.last.copy()
        course.record_sent(course.now.copy())
        if k in losses:
            course.lose(before)
        there.append(course.last.copy())
    return np.array(there), codes


def sizes(there, losses):
    """Speed, acceleration and jerk of what was commanded; a cycle in which the robot stood was not commanded."""
    v, a, w = np.zeros(3), np.zeros(3), np.zeros(3)
    found = {name: [0.0] for name in LIMITS}
    for k in range(1, len(there)):
        velocity = (there[k]["p"] - there[k - 1]["p"]) / T
        turning = np.array(so3.between(tuple(there[k - 1]["q"]), tuple(there[k]["q"]))) / T
        if k in losses:
            v = a = w = np.zeros(3)
            continue
        change = (velocity - v) / T
        for name, each in zip(LIMITS, (velocity, turning, change, (turning - w) / T, (change - a) / T), strict=True):
            found[name].append(float(np.linalg.norm(each)))
        v, a, w = velocity, change, turning
    return {name: max(values) for name, values in found.items()}


@settings(max_examples=100, deadline=None)
@given(
    st.tuples(SIGN, SIGN, SIGN),
    st.tuples(SIGN, SIGN, SIGN),
    st.tuples(SIGN, SIGN, SIGN),
    st.sets(st.integers(1, 60), max_size=12),
)
def test_what_is_sent_is_within_every_limit(direction, axis, offset, losses):
    """Up to the speed limits themselves, from rest, from a position away from the start, with cycles lost at random."""
    course = course_of()
    v, w = 0.095 * np.array(direction) / math.sqrt(3), 0.19 * np.array(axis) / math.sqrt(3)
    course.last["p"] = 0.001 * np.array(offset) / math.sqrt(3)
    course.last["q"] = so3.exp(tuple(0.001 * part for part in offset))
    course.start(pose_at(np.zeros(3), np.zeros(3)))
    there, codes = drive(course, v, w, losses, 80)
    assert set(codes) == {faults.NONE}, "it never commands what its own guard refuses"
    for name, size in sizes(there, losses).items():
        assert size <= LIMITS[name] * (1 + 1e-9), name


def test_what_was_lost_is_made_up_for():
    course = course_of()
    there, _ = drive(course, np.array([0.05, 0.0, 0.0]), np.array([0.0, 0.0, 0.05]), {20, 21, 22}, 1500)
    end = pose_at(np.array([1500 * T * 0.05, 0.0, 0.0]), np.array([0.0, 0.0, 1500 * T * 0.05]))
    assert there[-1]["p"] == pytest.approx(end["p"], abs=1e-9)
    assert there[-1]["q"] == pytest.approx(end["q"], abs=1e-9)


def test_a_set_point_is_sent_as_it_is_when_nothing_is_to_be_made_up_for():
    course = course_of()
    pose = pose_at(np.array([1e-5, 2e-5, -3e-6]), np.array([1e-5, 0.0, 0.0]))
    for _ in range(3):
        assert course.next(pose) == faults.NONE
        course.record_sent(course.now.copy())
    moved = pose_at(np.array([2e-5, 3e-5, 1e-6]), np.array([1e-5, 1e-5, 0.0]))
    course.next(moved)
    assert (course.now == moved).all()


@pytest.mark.parametrize(("jump", "name"), [(0.0005, "speed"), (0.0003, "acceleration"), (0.000159, "jerk")])
def test_a_jump_is_not_sent(jump, name):
    """The guard on what is sent detects it, too: 0.5 mm, 0.3 mm and 0.159 mm in a cycle of 4 ms."""
    course = course_of()
    if name == "jerk":
        course.limits["jerk"] = 2400.0
    still = pose_at(np.zeros(3), np.zeros(3))
    for _ in range(3):
        course.next(still)
        course.record_sent(course.now.copy())
    code = course.next(pose_at(np.array([jump, 0.0, 0.0]), np.zeros(3)))
    assert faults.read_fault({**{key: course.checked[key] for key in GUARD.writes}, "t": 0.0, "tick": 0}).name == name
    assert code == course.checked["fault"]


@pytest.mark.parametrize(("speed", "seed"), [(0.06, 1), (-0.09, 2), (0.02, 3)])
def test_a_driver_that_bounds_its_commands_trips_no_guard(speed, seed):
    """A robot that continues by itself when a command is lost, as a Franka does; commands bounded tighter than the course."""
    cycle, losses = 1e-3, set(np.random.default_rng(seed).integers(1, 500, 60).tolist())
    course = course_of(cycle, acceleration=40.0, jerk=40e3)
    bounds, x = np.zeros(1, shape.BOUNDS)[0], np.zeros(1, shape.MOTION)[0]
    bounds["step"], bounds["acceleration"], bounds["jerk"] = 5e-4, 6.0, 3000.0
    bounds["turn"], bounds["angular_acceleration"], bounds["angular_jerk"] = 1e-3, 11.0, 5500.0
    robot, sent, keep = course.last.copy(), course.last.copy(), math.exp(-cycle / shape.BLEND)
    for k in range(1, 1000):
        goal = pose_at((k * cycle * speed, 0.0, 0.0), (0.0, 0.0, 0.0))
        assert course.next(goal) == faults.NONE
        v, a = x["v"].copy(), x["a"].copy()
        shape.advance(x, bounds, robot, course.now, sent, keep, cycle)
        course.record_sent(course.now.copy())
        if k in losses:
            robot["p"] += cycle * (v + cycle * a)
            shape.set_out(x, np.append(v + cycle * a, np.zeros(3)), np.append(a, np.zeros(3)), 1)
            course.lose(robot)
        else:
            robot["p"], robot["q"] = sent["p"], sent["q"]
    # Half a second after the last loss: two blends of 0.3 s and 0.1 s in series have left a fifth of what was lost,
    # which is less than the distance of the 60 cycles.
    assert abs(robot["p"][0] - goal["p"][0]) < 0.2 * 60 * cycle * abs(speed)
