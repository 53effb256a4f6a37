"""Robots that take joint angles against their emulated controllers, on real sockets: where they go, and what stops them.

Nothing here depends on the machine being quick: a stalled process makes counts smaller and waits longer, not results wrong.
"""

from contextlib import contextmanager

import numpy as np
import pytest

from hilt.core import clock, faults
from hilt.core.faults import InputError
from hilt.core.signals import POSE
from hilt.device.arm import ArmSettings
from hilt.device.joints.space import JointSpace
from hilt.device.rsi.driver import RsiRobot
from hilt.device.rsi.emulator import ControllerSettings, RsiController
from hilt.device.rsi.settings import RsiSettings
from hilt.device.rtde.driver import RtdeRobot
from hilt.device.rtde.emulator import UrController
from hilt.device.rtde.settings import RtdeSettings
from hilt.maths import so3
from tests.contract.test_devices import LONG, until
from tests.device.jointed import settings
from tests.device.test_rtde_robot import AWAY, HAND, HERE, Hilt

pytestmark = pytest.mark.wall

KINDS = ("rtde", "rsi-relative", "rsi-absolute")
CYCLES = {"rtde": 0.008, "rsi-relative": 0.012, "rsi-absolute": 0.012}  # the slow ones: nothing here is about speed


def _start(arm):
    """Pose of the tool in the posture from which all begins."""
    X = np.zeros(1, POSE)[0]
    arm.pose(arm.settings.posture, X)
    return {"start_p": tuple(map(float, X["p"])), "start_q": tuple(map(float, X["q"]))}


@contextmanager
def cell(kind, base=HERE, tool=HERE, own=None, arm=None, **changes):
    """A driver that has met its robot; `own` are settings of the emulated robot's joints where they differ."""
    given, cycle = settings("ur5e", **changes), CYCLES[kind]
    placed = {"X_WR": base, "X_TB": tool, "step_limit": 0.01, "turn_limit": 0.05, "patience": 300}
    asked = {"command": "joints", "joints": given, **placed}
    usual = {"cycle": cycle, "dead_time": 0.004, "natural_frequency": 200.0, "step_limit": 1.0, "late_limit": 1000}
    moves = {**usual, "joints": own or given, **_start(JointSpace(given)), **(arm or {})}
    if kind == "rtde":
        driver = RtdeRobot(RtdeSettings(**asked, watchdog=1000))
        robot = UrController("127.0.0.1", 0, 0, ArmSettings(**moves))
    else:
        correction = kind.removeprefix("rsi-")
        driver = RsiRobot(RsiSettings(**asked, correction=correction))
        driver.listen("127.0.0.1", 0)
        robot = RsiController("127.0.0.1", driver.port, ControllerSettings(correction=correction, **moves))
    with robot:
        try:
            if kind == "rtde":
                driver.open("127.0.0.1", robot.port, robot.script_port, cycle, LONG)
            else:
                driver.open("127.0.0.1", driver.port, cycle, LONG)
            robot.live = True
            yield Hilt(driver), robot
        finally:
            driver.close()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("base", "tool"), [(HERE, HERE), (AWAY, HAND)])
def test_a_robot_that_takes_joint_angles_goes_where_it_is_sent(kind, base, tool):
    with cell(kind, base, tool) as (hilt, arm):
        for _ in range(40):
            assert hilt.tick((2e-4, -1e-4, 1e-4), (0.0, 2e-3, -1e-3)) == (0, 0)
        set_point = np.zeros(1, POSE)[0]
        hilt.driver.sent(set_point)
        # Angles are written with nine decimals of a degree: 1e-11 rad at an arm of 1 m, summed over 40 relative ones.
        assert set_point["p"] == pytest.approx(hilt.goal["p"], abs=1e-9)
        until(lambda: hilt.tick() == (0, 0) and np.abs(hilt.X["p"] - hilt.goal["p"]).max() < 1e-6)
        assert np.linalg.norm(so3.between(tuple(hilt.X["q"]), tuple(hilt.goal["q"]))) < 1e-5
        assert arm.violations == []
        # An RSI program begins at angles that it has sent with six decimals of a degree: half of one is 8.7e-9 rad.
        assert arm.joints.target == pytest.approx(hilt.driver.joints.last, abs=1e-8)
        assert hilt.driver.counters()["rejected"] == 0
        assert not arm.reason


@pytest.mark.parametrize("kind", ["rtde", "rsi-relative"])
def test_a_set_point_beyond_a_limit_is_not_sent_and_the_stop_stays_inside(kind):
    """Turn the hand until its joint would have to pass its limit: the arm stands before it, and the robot never had to stop
    it. The stop takes 0.4 rad/s² / 2 = 0.09 rad, so it must begin earlier than the limit."""
    limit = 1.95
    posture = (0.3, -1.2, 1.6, -1.9, -1.5, 1.7)
    with cell(kind, posture=posture, margin=2.0 * np.pi - limit) as (hilt, arm):
        joints = hilt.driver.joints
        joints.brakes(1.0, 1.0)
        axis = so3.rotate(tuple(hilt.goal["q"]), (0.0, 0.0, 1.0))
        code, turn = 0, tuple(0.42 * CYCLES[kind] * part for part in axis)
        while code == 0:
            hilt.driver.wait(hilt.X, hilt.V)
            hilt.driver.sent(hilt.goal)  # from where it is: a cycle that this machine lost is not made up for
            hilt.goal["q"] = so3.multiply(so3.exp(turn), tuple(hilt.goal["q"]))
            code = hilt.driver.send(hilt.goal)
        assert code == faults.JOINT_LIMIT
        assert joints.fault[0] == 5
        assert limit - 0.42**2 < joints.last[5] < limit - 0.4 * 0.42**2
        assert abs(joints.fault[1]) > abs(joints.fault[2])
        while joints.slow_down():
            assert hilt.driver.send_joints() == 0
            assert (np.abs(joints.last) <= limit).all()
            assert hilt.driver.wait(hilt.X, hilt.V).code == 0
        assert hilt.driver.hold() == 0
        assert not arm.reason


@pytest.mark.parametrize("kind", KINDS)
def test_answers_that_come_too_late_or_never_are_made_up_for(kind):
    """The robot has not moved to angles that arrived too late: hilt goes on from those that it has, and gets there."""
    with cell(kind) as (hilt, arm):
        for turn in range(40):
            reply = hilt.driver.wait(hilt.X, hilt.V)
            assert reply.code == 0
            hilt.goal["p"] += (1e-4, 0.0, -1e-4)
            if turn % 10 == 4:
                continue  # never
            if turn % 10 == 8:
                clock.pause(2.5 * CYCLES[kind])  # too late
            assert hilt.driver.send(hilt.goal) == 0
        until(lambda: hilt.tick() == (0, 0) and np.abs(hilt.X["p"] - hilt.goal["p"]).max() < 1e-6)
        assert arm.joints.target == pytest.approx(hilt.driver.joints.last, abs=1e-8)
        assert arm.late > 0
        assert not arm.reason


def test_a_program_that_was_started_again_begins_at_the_measured_angles():
    """Relative corrections of joints count from where the robot is when its program starts: so does hilt."""
    with cell("rsi-relative") as (hilt, arm):
        for _ in range(10):
            assert hilt.tick((3e-4, 0.0, 0.0)) == (0, 0)
        arm._halt("the operator ends its program")
        until(lambda: hilt.driver.wait(hilt.X, hilt.V).code == faults.ROBOT_SILENT)
        arm.restart()
        until(lambda: hilt.driver.wait(hilt.X, hilt.V).code == faults.ROBOT_RESTARTED)
        assert hilt.driver.hold() == 0
        hilt.driver.sent(hilt.goal)
        for _ in range(10):
            assert hilt.tick((0.0, 3e-4, 0.0)) == (0, 0)
        until(lambda: hilt.tick() == (0, 0) and np.abs(hilt.X["p"] - hilt.goal["p"]).max() < 1e-6)
        # Its angles when it began were measured ones, rounded, of a robot that had not quite come to rest: within its step.
        assert arm.joints.target == pytest.approx(hilt.driver.joints.last, abs=1e-3)


@pytest.mark.parametrize("kind", ["rtde", "rsi-relative"])
def test_the_robot_itself_stops_angles_beyond_its_limits(kind):
    """The emulated robot checks against its own URDF, here one with tighter limits than hilt's."""
    with cell(kind) as (hilt, arm):
        arm.joints._set._p["upper"][:] = hilt.driver.joints.last.max() + 0.01
        until(lambda: hilt.tick((0.0, 0.0, -1e-3))[0] != 0 or arm.reason)
        assert "beyond its limits" in arm.reason


@pytest.mark.parametrize("kind", ["rtde", "rsi-relative"])
def test_the_urdf_of_another_arm_is_refused(kind, tmp_path):
    text = (settings("ur5e").kinematics(), _shipped("ur5e.urdf"))[1].replace("0.0996", "0.1096")
    (tmp_path / "other.urdf").write_text(text)
    other = settings("ur5e", urdf=str(tmp_path / "other.urdf"))
    with (
        pytest.raises(InputError, match=r"the robot's tool is 10 mm and .* from where its controller sees it; .*give the URDF"),
        cell(kind, own=other),
    ):
        pass


def _shipped(name):
    from hilt.device.rigfile import SHIPPED

    return (SHIPPED / name).read_text()
