"""A Franka robot that takes joint angles: its bounds by their laws, then against its emulated controller, on real sockets.

Nothing here depends on the machine being quick: a stalled process makes counts smaller and waits longer, not results wrong.
"""

import math
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hilt import job, loop
from hilt.core import faults
from hilt.core.clock import FreeClock
from hilt.core.faults import InputError
from hilt.core.rig import SimulatedRig
from hilt.core.scenario import build
from hilt.core.signals import POSE
from hilt.device.arm import ArmSettings
from hilt.device.drivers import FciRig
from hilt.device.fci import codec, joint_shape, reflexes, shape
from hilt.device.fci.angles import AngleMotion
from hilt.device.fci.driver import STANDING, FciRobot
from hilt.device.fci.emulator import LOST_MAX, FciController
from hilt.device.fci.settings import JOINT_ACCELERATION, JOINT_JERK, FciJoints, FciSettings
from hilt.device.joints.space import JointSpace
from hilt.device.path import NoSink
from hilt.maths import so3
from tests.contract.test_devices import LONG, until
from tests.device.jointed import ARMS
from tests.device.test_fci_robot import AWAY, HAND, HERE, Hilt, soon

pytestmark = pytest.mark.wall

DT, N = codec.CYCLE, codec.JOINTS
KEEP = math.exp(-DT / shape.BLEND)


def joints(**changes):
    return FciJoints(**{**ARMS["panda"], **changes})


def settings(arm=None, **changes):
    """Patient: a stalled machine is not the subject."""
    usual = {"X_WR": HERE, "X_TB": HERE, "step_limit": 0.001, "turn_limit": 0.002, "patience": 2000}
    return FciSettings(**{**usual, "command": "joints", "joints": arm or joints(), **changes})


def controller(arm, **changes):
    """At the posture of the arm."""
    X = np.zeros(1, POSE)[0]
    JointSpace(arm).pose(arm.posture, X)
    start = {"start_p": tuple(map(float, X["p"])), "start_q": tuple(map(float, X["q"]))}
    usual = {"cycle": DT, "dead_time": 0.002, "natural_frequency": 300.0, "late_limit": 5000, "joints": arm}
    return FciController("127.0.0.1", 0, ArmSettings(**{**usual, **start, **changes}))


@contextmanager
def cell(arm=None, own=None, robot=None, **changes):
    """A driver that has met its robot; `own` are the emulated robot's joints where they differ."""
    given = arm or joints()
    driver = FciRobot(settings(given, **changes))
    with controller(own or given, **(robot or {})) as emulated:
        try:
            driver.open("127.0.0.1", emulated.port, LONG)
            emulated.live = True
            yield Hilt(driver), emulated
        finally:
            driver.close()


# The bounds


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


# On the emulated robot


@pytest.mark.parametrize(("base", "tool"), [(HERE, HERE), (AWAY, HAND)])
def test_the_robot_goes_where_it_is_sent_and_its_motion_ends_cleanly(base, tool):
    with cell(X_WR=base, X_TB=tool) as (hilt, arm):
        hilt.follow()
        for _ in range(100):
            assert hilt.tick((2e-5, -1e-5, 1e-5), (0.0, 2e-5, -1e-5)) == (0, 0)

        def away():
            turn = so3.between(tuple(hilt.X["q"].tolist()), tuple(hilt.goal["q"].tolist()))
            return np.abs(hilt.X["p"] - hilt.goal["p"]).max() + math.hypot(*turn)

        soon(lambda: hilt.tick() == (0, 0) and away() < 1e-6)
        assert arm.violations == []
        assert hilt.driver.counters()["rejected"] == 0
        soon(lambda: hilt.held() == 0 and hilt.driver._phase == STANDING)
        assert (arm.moves, arm.ended, arm.reason) == (1, 1, "")
        # The robot's own angles, by its own forward kinematics, are where the driver believes the tool to be: both agree on
        # 32 bits of a state at least.
        assert arm.joints.target == pytest.approx(hilt.driver.joints.last, abs=3e-7)
        (note,) = hilt.driver.notes()
        assert "smallest singular value of the robot's Jacobian" in note


def test_the_first_command_of_a_motion_is_the_angles_that_the_robot_has():
    with cell() as (hilt, arm):
        hilt.driver.wait(hilt.X, hilt.V)
        hilt.goal["p"][0] += 1e-4
        begun = arm._set["p"].copy()
        soon(lambda: hilt.tick() and len(arm.diary) > 0)
        assert arm.diary[0].pose[:3] == pytest.approx(begun, abs=3e-7)  # as the state shows them, in 32 bits


def test_a_motion_can_be_begun_again():
    with cell() as (hilt, arm):
        for turn in range(1, 4):
            hilt.follow()
            hilt.tick((1e-5, 0.0, 0.0))
            soon(lambda: hilt.held() == 0 and hilt.driver._phase == STANDING)
            assert (arm.moves, arm.ended) == (turn, turn)


def test_a_set_point_beyond_a_limit_is_not_sent_and_the_stop_stays_inside():
    """Turn the flange until its joint would have to pass its limit: the arm stands before it, and no reflex was needed. The
    stop takes v²/2 of the way, 0.08 rad at full speed, so it must begin earlier than the limit."""
    limit, speed = 1.2, 0.4
    with cell() as (hilt, arm):
        space = hilt.driver.joints
        space._p["upper"][6] = limit
        space.brakes(1.0, 1.0)
        hilt.follow()
        code, v = 0, 0.0
        while code == 0:
            hilt.driver.wait(hilt.X, hilt.V)
            hilt.driver.sent(hilt.goal)  # from where it is: a cycle that this machine lost is not made up for
            v = min(v + 2.0 * DT, speed)
            axis = so3.rotate(tuple(hilt.goal["q"].tolist()), (0.0, 0.0, 1.0))
            hilt.goal["q"] = so3.multiply(so3.exp(tuple(v * DT * part for part in axis)), tuple(hilt.goal["q"].tolist()))
            code = hilt.driver.send(hilt.goal)
        assert code == faults.JOINT_LIMIT
        assert space.fault[0] == 6
        assert space.last[6] < limit - 0.4 * space.speed[6] ** 2
        while space.slow_down():
            assert hilt.driver.send_joints() == 0
            assert space.last[6] <= limit
            assert hilt.driver.wait(hilt.X, hilt.V).code == 0
        soon(lambda: hilt.held() == 0 and hilt.driver._phase == STANDING)
        assert arm.reason == ""
        assert arm.joints.target[6] <= limit


def test_what_is_no_pose_and_what_is_out_of_reach_is_not_sent():
    with cell() as (hilt, arm):
        hilt.follow()
        hilt.driver.wait(hilt.X, hilt.V)
        hilt.goal["p"][1] = np.nan
        assert hilt.driver.send(hilt.goal) == faults.ROBOT_NOT_SENDABLE
        hilt.driver.sent(hilt.goal)
        hilt.follow()  # what could not be sent was a hold, which ends the motion of a robot at rest
        hilt.driver.wait(hilt.X, hilt.V)
        hilt.driver._motion._settings = settings(step_limit=0.003).model_copy(update={"step_limit": 10.0})
        hilt.goal["p"][0] += 5.0
        before = len(arm.diary)
        assert hilt.driver.send(hilt.goal) in (faults.JOINT_REACH, faults.SINGULARITY, faults.JOINT_SPEED)
        assert hilt.driver.hold() == 0, "the state has still to be answered"
        until(lambda: len(arm.diary) > before)
        assert np.isfinite([entry.pose for entry in arm.diary]).all()


# Reflexes


def test_a_command_beyond_the_limits_of_the_joints_is_a_reflex_and_a_fault():
    with cell() as (hilt, arm):
        hilt.follow()
        begun = arm._set["p"].copy()
        bounds = hilt.driver._motion.bounds
        bounds["jerk"] = bounds["acceleration"] = 1e9
        hilt.driver.joints._p["acceleration"] = 1e9
        soon(lambda: hilt.tick((0.0005, 0.0, 0.0))[0] == faults.ROBOT_PROTECTIVE)  # a command that came late is no reflex
        assert "velocity discontinuity and acceleration discontinuity" in arm.reason
        # While it stood, commands that came late have moved it by roundings of a state's 32 bits; the step itself is 0.5 mm.
        assert arm._set["p"] == pytest.approx(begun, abs=5e-5)
        assert any("joint_motion_generator_velocity_discontinuity" in note for note in hilt.driver.notes())
        hilt.driver.wait(hilt.X, hilt.V)
        assert hilt.driver.send(hilt.goal) == faults.ROBOT_LINE, "nothing is sent to it"


def test_the_robot_itself_stops_angles_beyond_its_limits():
    """The emulated robot checks against its own URDF, here one with tighter limits than hilt's."""
    with cell() as (hilt, arm):
        hilt.follow()
        arm.joints._set._p["upper"][:] = hilt.driver.joints.last + 0.003
        soon(lambda: hilt.tick((0.0, 0.0, -5e-5))[0] != 0)
        assert "beyond its limits" in arm.reason
        assert any("joint_motion_generator_position_limits_violation" in note for note in hilt.driver.notes())


def test_commands_that_do_not_come_are_a_reflex_of_the_robot():
    with cell(robot={"late_limit": LOST_MAX}) as (hilt, arm):
        soon(lambda: hilt.tick() and len(arm.diary) > 0)
        until(lambda: arm.reason)
        assert arm.reason == "20 commands in a row were lost"
        hilt.until(faults.ROBOT_WATCHDOG)


def test_a_robot_that_misses_commands_goes_on_and_the_driver_with_it():
    """What the robot does meanwhile is in its state: the next command starts there, at those speeds, and is no reflex."""
    with cell() as (hilt, arm):
        hilt.follow()
        for k in range(400):
            assert hilt.tick((5e-5, 0.0, 0.0)) == (0, 0)
            if k % 50 == 49:
                late = arm.late
                until(lambda late=late: arm.late > late + 2, 60.0)
        assert hilt.driver.unheard >= 7
        assert arm.reason == ""
        assert arm.violations == []


def test_a_robot_for_poses_and_one_for_angles_refuse_each_others_motions():
    other = ArmSettings(cycle=DT, start_p=(0.4, 0.1, 0.5), late_limit=5000)
    for takes in (controller(joints()), FciController("127.0.0.1", 0, other)):
        said = []
        takes._say = said.append
        wrong = codec.CARTESIAN_POSITION if takes.joints is not None else codec.JOINT_POSITION
        takes._begin_motion(7, codec.JOINT_IMPEDANCE, wrong)
        takes.stop()
        assert said == [codec.status_reply(codec.MOVE, 7, codec.INVALID)]
        assert takes.moves == 0


# What is refused


def test_the_urdf_of_another_arm_is_refused(tmp_path):
    from hilt.device.rigfile import SHIPPED

    (tmp_path / "other.urdf").write_text((SHIPPED / "panda.urdf").read_text().replace("0.107", "0.117"))
    with (
        pytest.raises(InputError, match=r"the robot's tool is 10 mm and .* from where its controller sees it; .*give the URDF"),
        cell(own=joints(urdf=str(tmp_path / "other.urdf"))),
    ):
        pass


TABLE = {
    "driver": "fci",
    "address": "127.0.0.1",
    "X_WR": {"p": HERE.p, "q": HERE.q},
    "X_TB": {"p": HERE.p, "q": HERE.q},
    "step_limit": "0.5 mm",
    "turn_limit": "1 mrad",
    "patience": 100,
    "command": "joints",
    "joints": {"urdf": "panda.urdf", "base": "link0", "tip": "link8", "posture": [0, -0.35, 0, -2.14, 0, 1.79, 0]},
}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"jerk": 3000}, "jerk is given, which limits pose commands, but command is 'joints'; give joints.acceleration"),
        ({"command": "pose"}, "joints is given, but command is 'pose'"),
        ({"joints": {**TABLE["joints"], "posture": [0] * 6}}, "posture has 6 angles, but robots of this driver have 7 joints"),
        ({"joints": {**TABLE["joints"], "acceleration": "12 rad/s^2"}}, "joints.acceleration"),
        ({"joints": {**TABLE["joints"], "jerk": 6000}}, "joints.jerk"),
        ({"joints": None}, "command is 'joints', but the table joints is missing"),
    ],
)
def test_settings_that_do_not_fit_are_one_sentence(change, sentence):
    assert build(FciRig, TABLE).joints.jerk == 3250.0
    with pytest.raises(InputError) as error:
        build(FciRig, {**TABLE, **change})
    assert sentence in str(error.value)


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
