"""Joint space by its laws: an arm from its URDF is the published one, its angles give the pose, and no set-point that is let
through can end beyond a limit."""

import functools
import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hilt import job, loop
from hilt.core import faults
from hilt.core.clock import FreeClock
from hilt.core.rig import SimulatedRig
from hilt.core.signals import POSE
from hilt.device.path import NoSink
from hilt.maths import so3
from tests.device.jointed import ARMS, space

CYCLE = 0.002


def pose(p=(0.0, 0.0, 0.0), q=(1.0, 0.0, 0.0, 0.0)):
    X = np.zeros(1, POSE)[0]
    X["p"], X["q"] = p, q
    return X


def turn(axis, angle):
    c, s = math.cos(angle), math.sin(angle)
    found, (i, j) = np.eye(4), {"x": (1, 2), "z": (0, 1)}[axis]
    found[i, i], found[i, j], found[j, i], found[j, j] = c, -s, s, c
    return found


def move(x, z):
    found = np.eye(4)
    found[:3, 3] = x, 0.0, z
    return found


def ur5e(q):
    """Universal Robots' table, multiplied out: Rz(θ) Tz(d) Tx(a) Rx(α)."""
    X = np.eye(4)
    d, a, alpha = (0.1625, 0, 0, 0.1333, 0.0997, 0.0996), (0, -0.425, -0.3922, 0, 0, 0), (1, 0, 0, 1, -1, 0)
    for angle, *row in zip(q, d, a, alpha, strict=True):
        X = X @ turn("z", angle) @ move(row[1], row[0]) @ turn("x", row[2] * math.pi / 2)
    return X


def panda(q):
    """Franka's table, after Craig: Rx(α) Tx(a) Rz(θ) Tz(d), and the flange."""
    X = np.eye(4)
    d, a, alpha = (0.333, 0, 0.316, 0, 0.384, 0, 0), (0, 0, 0, 0.0825, -0.0825, 0, 0.088), (0, -1, 1, 1, -1, 1, 1)
    for angle, *row in zip(q, d, a, alpha, strict=True):
        X = X @ turn("x", row[2] * math.pi / 2) @ move(row[1], 0.0) @ turn("z", angle) @ move(0.0, row[0])
    return X @ move(0.0, 0.107)


def matrix(X):
    axes = [so3.rotate(tuple(X["q"]), each) for each in np.eye(3)]
    return np.array(axes).T


@pytest.mark.parametrize(("arm", "published"), [("ur5e", ur5e), ("panda", panda)])
def test_an_arm_is_the_published_one(arm, published):
    """Anywhere within its limits; both sides round at 1e-16 a joint."""
    joints, X, rng = space(arm), pose(), np.random.default_rng(5)
    for _ in range(50):
        q = rng.uniform(joints.lower, joints.upper)
        joints.pose(q, X)
        assert X["p"] == pytest.approx(published(q)[:3, 3], abs=1e-13)
        assert matrix(X) == pytest.approx(published(q)[:3, :3], abs=1e-13)


@pytest.mark.parametrize("arm", ARMS)
def test_the_smallest_singular_value_is_numpys(arm):
    """By central differences of the pose, whose error is 1e-10, and NumPy's own decomposition."""
    joints, rng, h = space(arm), np.random.default_rng(6), 1e-6
    after, before = pose(), pose()
    for _ in range(20):
        q = rng.uniform(np.maximum(joints.lower, -3.0), np.minimum(joints.upper, 3.0))
        J = np.zeros((6, joints.joints))
        for i in range(joints.joints):
            step = h * np.eye(joints.joints)[i]
            joints.pose(q + step, after)
            joints.pose(q - step, before)
            J[:3, i] = (after["p"] - before["p"]) / (2 * h)
            J[3:, i] = np.array(so3.between(tuple(before["q"]), tuple(after["q"]))) / (2 * h)
        assert joints.singular_value(q) == pytest.approx(np.linalg.svd(J, compute_uv=False)[5], abs=1e-8)


@pytest.mark.parametrize("arm", ARMS)
def test_angles_give_the_pose_and_the_posture_never_jumps(arm):
    """Around a circle and back: the tool within 1e-9 of every set-point, and no joint further in a cycle than
    |Δq| ≤ |Δx| / σ_min, which a change of posture would break by far. Six joints are then back where they were."""
    joints, X, at = space(arm), pose(), pose()
    joints.start(joints.settings.posture)
    joints.pose(joints.last, X)
    middle, first, before = X["p"].copy(), joints.last.copy(), X["p"].copy()
    n = 2000
    for k in range(1, n + 1):
        # From rest and to rest: s = k/n - sin(2πk/n)/2π.
        share = k / n - math.sin(2 * math.pi * k / n) / (2 * math.pi)
        X["p"] = middle + 0.05 * np.array([math.cos(2 * math.pi * share) - 1.0, math.sin(2 * math.pi * share), 0.0])
        assert joints.solve(X) == faults.NONE, faults.explain(joints.solve(X))
        step = np.linalg.norm(joints.next - joints.last)
        assert step <= np.linalg.norm(X["p"] - before) / (0.9 * joints.sigma) + 1e-12
        joints.record_sent(joints.next)
        joints.pose(joints.last, at)
        assert at["p"] == pytest.approx(X["p"], abs=1e-9)
        assert np.linalg.norm(so3.between(tuple(at["q"]), tuple(X["q"]))) < 1e-9
        before = X["p"].copy()
    if joints.joints == 6:
        assert joints.last == pytest.approx(first, abs=1e-9)


@given(
    st.sampled_from(sorted(ARMS)),
    st.lists(st.floats(-1.0, 1.0), min_size=7, max_size=7),
    st.lists(st.floats(-1.0, 1.0), min_size=7, max_size=7),
    st.floats(0.1, 10.0),
)
# A stop in which the tool would get faster, because the posture changes.
@example("ur5e", [0.0, 0.5, 0.375, 0.0, 0.0, 0.0, 0.0], [0.5, 0.5, 0.0, 0.0, 0.5, 0.0, 0.0], 0.5)
def test_what_passes_can_be_stopped_within_the_limits(arm, where, speeds, deceleration):
    """From anywhere and at any speed: if the set-point is let through, every step of the soft stop is within the limits of all
    joints, no joint slows down faster than it can, and the arm comes to rest."""
    joints = KEPT.setdefault(arm, space(arm, singular=1e-6))
    joints.brakes(deceleration, deceleration)
    n = joints.joints
    middle, half = (joints.upper + joints.lower) / 2, (joints.upper - joints.lower) / 2
    q, qd = middle + half * np.array(where[:n]), joints.speed_limits * np.array(speeds[:n])
    X = pose()
    joints.pose(q + CYCLE * qd, X)
    joints.start(q)
    joints.speed[:] = qd
    if joints.solve(X) != faults.NONE:
        return
    joints.record_sent(joints.next)
    for _ in range(100_000):
        before = joints.speed.copy()
        if not joints.slow_down():
            assert (np.abs(joints.speed) <= joints.settings.acceleration * CYCLE * (1 + 1e-9)).all()
            return
        joints.record_sent(joints.next)
        # Rounding of an angle of 6 rad, divided by the cycle twice.
        assert (np.abs(joints.speed - before) / CYCLE <= joints.settings.acceleration + 1e-8).all()
        assert (joints.last >= joints.lower - 1e-12).all()
        assert (joints.last <= joints.upper + 1e-12).all()
    pytest.fail("it does not come to rest")


KEPT: dict = {}  # compiled once


@pytest.mark.parametrize(
    ("changes", "shift", "code", "axis"),
    [
        ({}, (0.02, 0.0, 0.0), faults.JOINT_SPEED, None),
        ({"acceleration": 1.0}, (0.0, 0.0, 1e-4), faults.JOINT_ACCELERATION, None),
        ({"singular": 0.5}, (0.0, 0.0, 1e-6), faults.SINGULARITY, -1),
        ({}, (5.0, 0.0, 0.0), faults.JOINT_REACH, -1),
    ],
)
@pytest.mark.parametrize("arm", ARMS)
def test_every_limit_is_a_fault_with_its_value(arm, changes, shift, code, axis):
    joints, X = space(arm, **changes), pose()
    joints.start(joints.settings.posture)
    joints.pose(joints.last, X)
    X["p"] += shift
    found = joints.solve(X)
    # A step of 5 m leaves the solver anywhere, also in a singular posture within its reach: refused all the same.
    assert found == code or (code == faults.JOINT_REACH and found == faults.SINGULARITY)
    number, value, limit = joints.fault
    assert abs(value) < limit if found == faults.SINGULARITY else abs(value) > abs(limit)
    if axis is not None:
        assert number == axis
    else:
        assert 0 <= number < joints.joints


@pytest.mark.parametrize("arm", ARMS)
def test_a_straight_path_out_of_reach_ends_at_a_singular_posture_and_at_rest(arm):
    """Away from the base at 0.1 m/s: any arm is singular where it is stretched. It is refused at the first set-point behind the
    limit, and the stop that follows needs no inverse kinematics."""
    joints, X = space(arm, CYCLE, singular=0.04), pose()
    joints.brakes(1.0, 1.0)
    joints.start(joints.settings.posture)
    joints.pose(joints.last, X)
    out = np.array([X["p"][0], X["p"][1], 0.0]) / np.hypot(*X["p"][:2])
    speed, code, before = 0.0, faults.NONE, math.inf
    while code == faults.NONE:
        speed = min(speed + 1.0 * CYCLE, 0.1)
        X["p"] += CYCLE * speed * out
        code = joints.solve(X)
        if code == faults.NONE:
            assert joints.sigma >= 0.04
            before = joints.sigma
            joints.record_sent(joints.next)
    assert code == faults.SINGULARITY
    assert joints.fault == (-1, joints.sigma, 0.04)
    assert before - joints.sigma < 0.01, "it is approached, not jumped at"
    steps = 0
    while joints.slow_down():
        joints.record_sent(joints.next)
        steps += 1
    assert steps <= 0.1 / 1.0 / CYCLE + 1
    assert (joints.last > joints.lower).all()
    assert (joints.last < joints.upper).all()


class Jointed(SimulatedRig):
    """Simulated devices behind joint angles: what is sent is where the arm's angles put the tool."""

    def __init__(self, system, bench, joints, X_RT):
        super().__init__(system, bench)
        self.joints, self.base, self.worst, self.sigma = joints, X_RT, 0.0, math.inf
        self._wanted, self._got = pose(), pose()
        joints.brakes(1.0, 1.0)

    def write(self, row):
        """The mock-up's attitude is the tool's, turned as at the start; its place is measured from there."""
        self._wanted["p"] = self.base["p"] + row[0]["X_WB_cmd"]["p"]
        self._wanted["q"] = so3.multiply(tuple(row[0]["X_WB_cmd"]["q"]), tuple(self.base["q"]))
        if code := self.joints.solve(self._wanted):
            faults.trip(row[0], code, *self.joints.fault)
            return code
        self.joints.record_sent(self.joints.next)
        self.joints.pose(self.joints.last, self._got)
        self.worst = max(self.worst, float(np.abs(self._got["p"] - self._wanted["p"]).max()))
        self.sigma = min(self.sigma, self.joints.sigma)
        assert (self.joints.last > self.joints.lower).all()
        assert (self.joints.last < self.joints.upper).all()
        row[0]["X_WB_sent"]["p"] = row[0]["X_WB_cmd"]["p"] + self._got["p"] - self._wanted["p"]
        return 0


@functools.cache
def docked(arm, **changes):
    """The whole docking run of the paper, from rest, on an arm in the loop."""
    settings = ["robot.start_at_rest=true", "compensate.method=none", "robot.delay=0 s", "loop.duration='60 s'"]
    system, values, _ = job.find("docking", "table1", settings)
    bench = system.set_up(values)
    joints, X_RT = space(arm, float(bench.p[0]["dt"]), **changes), pose()
    joints.pose(joints.settings.posture, X_RT)
    X_RT["p"] -= bench.row[0]["X_WB_cmd"]["p"]
    joints.start(joints.settings.posture)
    rig = Jointed(system, bench, joints, X_RT)
    return loop.run(bench, rig, FreeClock(), NoSink()), rig, bench


@pytest.mark.parametrize("arm", ARMS)
def test_docking_keeps_within_the_joints_and_to_its_path(arm):
    fault, rig, bench = docked(arm)
    assert fault is None, fault.sentence
    assert bench.row["done"][0], "all five collisions"
    assert f"Jacobian was {rig.sigma:.3g} m/rad, allowed is 0.03; joint" in rig.joints.notes()[0]
    assert rig.worst <= 1e-6


@pytest.mark.parametrize("arm", ARMS)
def test_docking_through_a_singular_posture_ends_in_one_sentence(arm):
    """The same run, where the smallest allowed singular value is between the start's and the smallest of the run."""
    _, rig, _ = docked(arm)
    begin = rig.joints.singular_value(rig.joints.settings.posture)
    assert rig.sigma < begin - 1e-4
    limit = (begin + rig.sigma) / 2
    fault, _, bench = docked(arm, singular=limit)
    assert fault.name == "singularity"
    assert fault.value < fault.limit == pytest.approx(limit)
    assert fault.sentence.startswith(f"stopped at t = {fault.t:.4g} s: smallest singular value of the robot's Jacobian")
    assert bench.row["tick"][0] > 10
