"""A Franka robot against its emulated controller, on real sockets: motion, bounds, reflexes, faults, and its wrench.

Nothing here depends on the machine being quick: a stalled process makes counts smaller and waits longer, not results wrong.
"""

import math
import socket
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hilt.core import clock, faults
from hilt.core.faults import InputError
from hilt.core.signals import POSE, TWIST, WRENCH
from hilt.device import drivers, frames
from hilt.device.arm import ArmSettings
from hilt.device.drivers import FciForceRig, FciRig
from hilt.device.fci import codec, motion, shape
from hilt.device.fci.driver import FOLLOWING, STANDING, FciRobot
from hilt.device.fci.emulator import LOST_MAX, FciController
from hilt.device.fci.force import FciForce
from hilt.device.fci.settings import ACCELERATION, JERK, TURN_ACCELERATION, TURN_JERK, FciForceSettings, FciSettings
from hilt.device.placed import Place
from hilt.maths import so3
from tests.contract.test_devices import LONG, until

pytestmark = pytest.mark.wall

HERE = Place(p=(0.0, 0.0, 0.0), q=(1.0, 0.0, 0.0, 0.0))
AWAY = Place(p=(0.5, -0.25, 0.1), q=(0.5, 0.5, 0.5, 0.5))
HAND = Place(p=(0.0, 0.0, 0.2), q=(0.0, 1.0, 0.0, 0.0))
DT = codec.CYCLE


def soon(condition, limit=LONG):
    """Until something is true that waits for the robot's states by itself: a pause between two would answer them late."""
    end = clock.now() + limit
    while not condition():
        assert clock.now() < end, "it never came true"


def settings(**changes):
    """Patient: a stalled machine is not the subject."""
    usual = {"X_WR": HERE, "X_TB": HERE, "step_limit": 0.001, "turn_limit": 0.002, "patience": 2000}
    return FciSettings(**{**usual, **changes})


def controller(wrench=None, **changes):
    usual = {"cycle": DT, "dead_time": 0.002, "natural_frequency": 300.0, "start_p": (0.4, 0.1, 0.5), "late_limit": 5000}
    return FciController("127.0.0.1", 0, ArmSettings(**{**usual, **changes}), *([wrench] if wrench else []))


class Hilt:
    """A driver that has met its robot, with a set-point that is wherever the robot's is."""

    def __init__(self, robot):
        self.driver = robot
        self.X, self.V, self.goal = np.zeros(1, POSE)[0], np.zeros(1, TWIST)[0], np.zeros(1, POSE)[0]
        robot.sent(self.goal)

    def tick(self, step=(0.0, 0.0, 0.0), turn=(0.0, 0.0, 0.0)):
        """One cycle; codes of the state and of the answer. A set-point that the robot has not taken is taken back."""
        reply = self.driver.wait(self.X, self.V)
        if not reply.heard:
            self.driver.sent(self.goal)
        self.goal["p"] += step
        self.goal["q"] = so3.multiply(so3.exp(turn), tuple(self.goal["q"].tolist()))
        return reply.code, self.driver.send(self.goal)

    def follow(self):
        """Until the motion has begun."""
        soon(lambda: self.tick() == (0, 0) and self.driver._phase == FOLLOWING)

    def held(self):
        code = self.driver.wait(self.X, self.V).code
        self.driver.hold()
        return code

    def until(self, code):
        soon(lambda: self.held() == code)


@contextmanager
def cell(wrench=None, arm=None, **changes):
    robot = FciRobot(settings(**changes))
    with controller(wrench, **(arm or {})) as emulated:
        try:
            robot.open("127.0.0.1", emulated.port, LONG)
            emulated.live = True
            yield Hilt(robot), emulated
        finally:
            robot.close()


@pytest.mark.parametrize(("base", "tool"), [(HERE, HERE), (AWAY, HAND)])
def test_the_robot_goes_where_it_is_sent_and_its_motion_ends_cleanly(base, tool):
    with cell(X_WR=base, X_TB=tool) as (hilt, arm):
        hilt.follow()
        for _ in range(100):
            assert hilt.tick((2e-5, -1e-5, 1e-5), (0.0, 2e-5, -1e-5)) == (0, 0)

        def turned():
            return math.hypot(*so3.between(tuple(hilt.X["q"].tolist()), tuple(hilt.goal["q"].tolist())))

        soon(lambda: hilt.tick() == (0, 0) and np.abs(hilt.X["p"] - hilt.goal["p"]).max() + turned() < 1e-6)
        assert arm.violations == []
        assert hilt.driver.counters()["rejected"] == 0
        soon(lambda: hilt.held() == 0 and hilt.driver._phase == STANDING)
        assert (arm.moves, arm.ended, arm.reason) == (1, 1, "")
        assert hilt.driver.notes() == []


def test_until_it_is_sent_somewhere_the_robot_stands_and_is_not_answered():
    with cell() as (hilt, arm):
        for _ in range(20):
            assert hilt.held() == 0
        assert (arm.moves, arm.mode, arm.refused, arm.diary) == (0, codec.IDLE, 0, [])


def test_the_first_command_of_a_motion_is_the_pose_that_the_robot_has():
    with cell() as (hilt, arm):
        hilt.driver.wait(hilt.X, hilt.V)
        hilt.goal["p"][0] += 1e-4
        begun = arm._set["p"].copy()
        soon(lambda: hilt.tick() and len(arm.diary) > 0)
        assert arm.diary[0].pose[:3] == pytest.approx(begun, abs=1e-7)  # as the state shows it, in 32 bits


def test_a_motion_can_be_begun_again():
    with cell() as (hilt, arm):
        for turn in range(1, 4):
            hilt.follow()
            hilt.tick((1e-5, 0.0, 0.0))
            soon(lambda: hilt.held() == 0 and hilt.driver._phase == STANDING)
            assert (arm.moves, arm.ended) == (turn, turn)


# The bounds

NUMBER = st.floats(-1.0, 1.0)


@given(st.lists(st.tuples(NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, NUMBER), min_size=1, max_size=60), st.booleans())
def test_whatever_is_asked_no_command_is_beyond_the_bounds_of_the_robot(steps, resync):
    """Jumps of up to 10 mm and 10 mrad in every cycle, then a stop: speed, acceleration and jerk stay within the settings."""
    s = settings()
    x, bounds, keep = np.zeros(1, shape.MOTION)[0], motion.bounds_of(s), math.exp(-DT / shape.BLEND)
    last, asked, out = frames.identity(), frames.identity(), frames.identity()
    v = w = a = b = np.zeros(3)
    x["resync"] = resync
    rest, count = False, 0
    while not rest:
        if count < len(steps):
            asked["p"] = 0.01 * np.array(steps[count][:3])
            asked["q"] = so3.exp(tuple(0.01 * part for part in steps[count][3:]))
            shape.advance(x, bounds, last, asked, out, keep, DT)
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
    x, bounds, keep = np.zeros(1, shape.MOTION)[0], motion.bounds_of(settings()), math.exp(-DT / shape.BLEND)
    last, asked, out = frames.identity(), frames.identity(), frames.identity()
    for k in range(3000):
        asked["p"][0] = 0.01 * (1 - math.cos(math.pi * k * DT))
        assert shape.advance(x, bounds, last, asked, out, keep, DT) == (False, False)
        assert out["p"][0] == pytest.approx(asked["p"][0], abs=1e-15)
        last, out = out, last


def test_a_start_at_speed_is_made_up_for():
    """20 mm/s from one cycle to the next: the command falls behind by v²/(2a) and by v·a/(2j) at most, and works it off.

    In cycles a ramp of speed is a staircase: half a cycle's step less.
    """
    x, bounds, keep = np.zeros(1, shape.MOTION)[0], motion.bounds_of(settings()), math.exp(-DT / shape.BLEND)
    last, asked, out = frames.identity(), frames.identity(), frames.identity()
    behind = []
    for _ in range(3000):
        asked["p"][0] += 2e-5
        far, _ = shape.advance(x, bounds, last, asked, out, keep, DT)
        assert not far
        behind.append(asked["p"][0] - out["p"][0])
        last, out = out, last
    v, a, j = 0.02, settings().acceleration, settings().jerk
    assert v**2 / (2 * a) - v * DT / 2 < max(behind) < v**2 / (2 * a) + v * a / (2 * j)
    assert behind[-1] == 0.0
    assert min(behind) >= -2e-6, "it does not overshoot but by a rounding of the last cycles"


def test_a_step_beyond_the_limit_is_shortened_and_reported():
    with cell() as (hilt, arm):
        hilt.follow()
        # After a missed command the driver resynchronises, wherever it is sent.
        while not hilt.driver.wait(hilt.X, hilt.V).heard:
            hilt.driver.sent(hilt.goal)
            hilt.driver.send(hilt.goal)
        hilt.goal["p"][0] += 0.01
        assert hilt.driver.send(hilt.goal) == faults.ROBOT_LIMITED
        assert hilt.driver.limited == 1
        place = np.zeros(1, POSE)[0]
        hilt.driver.sent(place)
        assert 0.4 < place["p"][0] <= 0.4 + settings().jerk * DT**3 + 1e-7
        for _ in range(50):
            hilt.held()
        assert arm.reason == "", "and it is no reflex"


def test_what_is_no_pose_is_not_sent():
    with cell() as (hilt, arm):
        hilt.follow()
        hilt.driver.wait(hilt.X, hilt.V)
        hilt.goal["p"][1] = np.nan
        assert hilt.driver.send(hilt.goal) == faults.ROBOT_NOT_SENDABLE
        hilt.held()
        assert np.isfinite([entry.pose for entry in arm.diary]).all()


# Reflexes


def test_a_command_beyond_the_limits_of_the_robot_is_a_reflex_and_a_fault():
    with cell() as (hilt, arm):
        hilt.follow()
        bounds = hilt.driver._motion.bounds
        bounds["step"] = bounds["jerk"] = bounds["acceleration"] = 1e9
        soon(lambda: hilt.tick((0.0005, 0.0, 0.0))[0] == faults.ROBOT_PROTECTIVE)  # a command that came late is no reflex
        assert "velocity discontinuity and acceleration discontinuity" in arm.reason
        assert arm._set["p"] == pytest.approx((0.4, 0.1, 0.5))
        assert any("cartesian_motion_generator_velocity_discontinuity" in note for note in hilt.driver.notes())
        hilt.driver.wait(hilt.X, hilt.V)
        assert hilt.driver.send(hilt.goal) == faults.ROBOT_LINE, "nothing is sent to it"


def test_commands_that_do_not_come_are_a_reflex_of_the_robot():
    with cell(arm={"late_limit": LOST_MAX}) as (hilt, arm):
        soon(lambda: hilt.tick() and len(arm.diary) > 0)
        until(lambda: arm.reason)
        assert arm.reason == "20 commands in a row were lost"
        hilt.until(faults.ROBOT_WATCHDOG)
        assert any("communication_constraints_violation" in note for note in hilt.driver.notes())


def test_a_robot_that_misses_commands_goes_on_and_the_driver_with_it():
    """What the robot does meanwhile is in its state: the next command starts there, at that speed, and is no reflex."""
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


def test_a_course_that_goes_on_after_missed_commands_keeps_its_speed():
    """The robot coasts meanwhile, and its driver says so: a course that stood still would brake it and start it again."""
    with cell() as (hilt, arm):
        hilt.follow()
        coasted = 0
        for k in range(400):
            reply = hilt.driver.wait(hilt.X, hilt.V)
            coasted += reply.coasts
            assert reply.heard != reply.coasts
            hilt.goal["p"][0] += 2e-5
            assert hilt.driver.send(hilt.goal) == 0
            if k == 100:
                arm.diary.clear()  # it has reached its speed
            if k % 100 == 99:
                late = arm.late
                until(lambda late=late: arm.late > late + 2, 60.0)
        assert arm.reason == ""
        assert arm.violations == []
        steps = np.diff([(entry.stamp, entry.pose[0]) for entry in arm.diary[:]], axis=0)
    assert coasted >= 3
    speed = steps[:, 1] / steps[:, 0]
    # It coasts by some steps that nobody asked for; a blend of 0.1 s takes them off: one per cent of the speed for each.
    assert speed.min() > 0.6 * 2e-5
    assert speed.max() < 1.2 * 2e-5


@pytest.mark.parametrize(("switch", "code"), [("user_stop", faults.ROBOT_EMERGENCY), ("guiding", faults.ROBOT_PROGRAM)])
def test_what_the_robot_says_about_itself_is_a_fault_and_refuses_a_new_run(switch, code):
    with cell() as (hilt, arm):
        hilt.held()
        setattr(arm, switch, True)
        hilt.until(code)
        hilt.driver.close()
        with pytest.raises(InputError, match="make it ready on its Desk"):
            FciRobot(settings()).open("127.0.0.1", arm.port, LONG)
        setattr(arm, switch, False)
        hilt.driver.open("127.0.0.1", arm.port, LONG)


def test_a_motion_that_the_robot_refuses_is_a_fault():
    with cell() as (hilt, arm):
        arm._motion = 99  # as if it were in motion for somebody else, and did not show it
        hilt.held()
        arm._motion = 0
        arm._begin_motion = lambda number, *_: arm._say(codec.status_reply(codec.MOVE, number, codec.NOT_POSSIBLE))
        hilt.tick()
        found = set()
        soon(lambda: found.add(hilt.driver.wait(hilt.X, hilt.V).code) or faults.ROBOT_PROGRAM in found)
        assert any("refused a motion with status 5" in note for note in hilt.driver.notes())


def test_what_cannot_be_connected_is_one_sentence():
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as nobody:
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
        with pytest.raises(InputError, match=rf"the robot at 127.0.0.1:{port} cannot be reached: .*; check address"):
            FciRobot(settings()).open("127.0.0.1", port, 1.0)
    with cell() as (_, arm), pytest.raises(InputError, match=r"cannot be reached: .*closed"):
        FciRobot(settings()).open("127.0.0.1", arm.port, LONG)  # a robot has one client


def test_another_version_of_the_interface_is_one_sentence(monkeypatch):
    with controller() as arm:
        ask = codec.connect_request
        monkeypatch.setattr(codec, "connect_request", lambda number, port: ask(number, port, 5))
        with pytest.raises(InputError, match="speaks version 10 of the Franka Control Interface"):
            FciRobot(settings()).open("127.0.0.1", arm.port, LONG)


def test_packets_of_strangers_are_counted_and_ignored():
    with cell() as (hilt, _), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.2", 0))
        state = codec.OutgoingState()
        state.fields["message_id"] = 2**40
        for _ in range(3):
            other.sendto(state.data, hilt.driver._link.states.address)
        soon(lambda: hilt.held() == 0 and hilt.driver.strangers == 3)
        assert int(hilt.driver.state["message_id"]) < 2**40
        assert any("3 packets from unknown senders" in note for note in hilt.driver.notes())


def test_collision_thresholds_are_set_if_asked_for():
    with controller() as arm:
        asked = []
        arm._answer = lambda request, answer=arm._answer: (asked.append(request), answer(request))
        robot = FciRobot(settings(collision_force=100.0, collision_torque=50.0))
        robot.open("127.0.0.1", arm.port, LONG)
        robot.close()
        payload = next(each.payload for each in asked if each.command == codec.SET_COLLISION_BEHAVIOR)
        assert np.frombuffer(payload).tolist() == [50.0] * 28 + [100.0] * 24


# The wrench

LOAD = ((10.0, -20.0, 30.0), (1.0, 2.0, -3.0))
TURNED = {"start_q": (np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5))}  # x of the tool is y of the base


@contextmanager
def sensing(arm=None, load=lambda: LOAD, **changes):
    with cell(load, arm) as (hilt, emulated):
        sensor = FciForce(FciForceSettings(**{"stale": LONG, "frozen": 0.0, **changes}), hilt.driver)
        hilt.held()
        yield sensor, hilt, emulated, np.zeros(1, WRENCH)[0]


def test_the_wrench_comes_with_the_robots_states_in_the_axes_of_base_or_tool():
    with sensing(TURNED, frame="base") as (sensor, _, _, out):
        assert sensor.read(out) == 0
        assert (out["f"].tolist(), out["tau"].tolist()) == (pytest.approx(LOAD[0]), pytest.approx(LOAD[1]))
    with sensing(TURNED, reverse=True) as (sensor, _, _, out):
        assert sensor.read(out) == 0
        assert out["f"].tolist() == pytest.approx([20.0, 10.0, -30.0], rel=1e-5)
        assert out["tau"].tolist() == pytest.approx([-2.0, 1.0, 3.0], rel=1e-5)


def test_bias_is_subtracted_only_on_the_users_request():
    with sensing() as (sensor, hilt, _, out):
        sensor.read(out)
        sensor.bias()
        hilt.held()
        assert sensor.read(out) == 0
        assert np.abs(out["f"]).max() == np.abs(out["tau"]).max() == 0.0


def test_a_wrench_that_is_old_or_never_new_is_a_fault():
    with sensing(stale=0.3, frozen=0.1) as (sensor, hilt, arm, out):
        soon(lambda: hilt.held() == 0 and sensor.read(out) == faults.SENSOR_FROZEN)
        arm.disconnect = True
        until(lambda: sensor.read(out) == faults.SENSOR_STALE)


def test_robot_and_wrench_of_one_rig_share_a_connection():
    place = {"p": HERE.p, "q": HERE.q}
    keys = {"X_WR": place, "X_TB": place, "step_limit": 1e-3, "turn_limit": 1e-3, "patience": 2000}
    sensor = FciForceRig(driver="fci", stale=LONG, frozen=0.0)
    with controller(lambda: LOAD) as arm:
        rig = FciRig(driver="fci", address="127.0.0.1", port=arm.port, **keys)
        robot, felt = drivers.connect(rig, sensor)
        X, V, out = np.zeros(1, POSE)[0], np.zeros(1, TWIST)[0], np.zeros(1, WRENCH)[0]
        assert robot.wait(X, V).code == faults.NONE
        robot.hold()
        assert felt.read(out) == faults.NONE
        assert out["f"].tolist() == pytest.approx(LOAD[0])
        with pytest.raises(InputError, match="is in use by another run"):
            drivers.connect(rig, sensor)
        felt.stop()
        robot.close()
    with pytest.raises(InputError, match=r"set robot\.driver = 'fci', or choose another sensor"):
        sensor.within(object())
