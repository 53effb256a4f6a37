"""Gentle drives outside a run: armed like a run, and ended softly whatever ends them. The emulated robot checks them.

At 0.09 m/s a robot that is simply held has to stop with 22 m/s², more than the 20 m/s² above which it counts a hard stop.
"""

import math
import os
import signal
import socket
import time
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from hilt.core import faults
from hilt.core.faults import InputError
from hilt.core.signals import POSE
from hilt.device.arm import ArmSettings
from hilt.device.live_rig import LabRig
from hilt.device.netft.codec import Calibration
from hilt.device.netft.emulator import NetFTBox
from hilt.device.rigfile import RigFile
from hilt.device.rsi.emulator import ControllerSettings, RsiController
from hilt.device.rtde.emulator import UrController
from hilt.lab import gentle
from hilt.live import ready
from hilt.maths.quintic import quintic_positions
from hilt.record.letters import READY

T, SPEED = 0.004, 0.09
LIMITS = {
    "force": 100,
    "torque": 20,
    "speed": 0.1,
    "angular_speed": 0.2,
    "acceleration": 10,
    "angular_acceleration": 30,
    "jerk": 2500,
    "energy": 2,
    "workspace_min": (-0.2, -0.2, -0.2),
    "workspace_max": (0.2, 0.2, 0.2),
}
HERE, BASE = ({"p": place, "q": [1, 0, 0, 0]} for place in ([0, 0, 0], [-1, 0, -1]))

pytestmark = pytest.mark.wall


def offsets(length=0.09, turn=0.0, cycle=T):
    """Along x and about z from rest to rest, at SPEED in the middle."""
    ticks = math.ceil(1.875 * length / SPEED / cycle)
    share = quintic_positions(np.arange(1, ticks + 3) / ticks)
    offsets = np.zeros(ticks + 2, POSE)
    offsets["p"][:, 0] = length * share
    offsets["q"][:, 0], offsets["q"][:, 3] = np.cos(0.5 * turn * share), np.sin(0.5 * turn * share)
    return offsets


@contextmanager
def on_a_rig(controller, limits=LIMITS, **section):
    """Controller and sensor, which feels 1 N, and the rig on both, READY."""
    with controller, NetFTBox(lambda: ((1.0, 0.0, 0.0), (0.0,) * 3), Calibration(1e6, 1e6), 100.0) as box:
        rig = LabRig(
            RigFile(
                robot={
                    "address": "127.0.0.1",
                    "X_WR": BASE,
                    "X_TB": HERE,
                    "step_limit": "2 mm",
                    "turn_limit": "0.01 rad",
                    "patience": 250,
                    **section,
                },
                sensor={
                    "driver": "netft",
                    "address": "127.0.0.1",
                    "port": box.port,
                    "counts_per_force": 1e6,
                    "counts_per_torque": 1e6,
                    "stale": "20 s",
                    "frozen": "0 s",
                },
                lab={"deceleration": 1.0},
                limits=limits,
            )
        )
        rig.open()
        yield rig, controller
        rig.close()


@pytest.fixture
def robot():
    """A controller on a free port, and its rig."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    controller = RsiController("127.0.0.1", port, ControllerSettings(late_limit=5000))
    with on_a_rig(controller, driver="rsi", port=port, cycle=T, correction="relative") as both:
        yield both


def drive(robot, watch=None, length=0.09):
    return gentle.follow(robot[0], offsets(length), watch)


def went(controller):
    """Metres along x, from the robot's own log."""
    return controller.diary[-1].pose[0] - 1.0


def soft(controller):
    return controller.violations == [] and controller.hard_stops == 0


def test_an_interrupt_is_a_soft_stop(robot):
    controller, handler = robot[1], signal.getsignal(signal.SIGINT)
    controller.live = True

    def interrupt(done, of):
        if done > of / 2:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(gentle.Stopped) as stopped:
        drive(robot, interrupt)
    assert stopped.value.fault.code == faults.REQUESTED
    assert soft(controller)
    assert 0.04 < went(controller) < 0.07, "from its middle on, v²/2a = 4 mm more"
    assert signal.getsignal(signal.SIGINT) is handler


def test_whatever_is_raised_on_the_way_is_a_soft_stop(robot):
    def fail(done, of):
        if done > of / 2:
            raise ZeroDivisionError

    robot[1].live = True
    with pytest.raises(ZeroDivisionError):
        drive(robot, fail)
    assert soft(robot[1])
    assert 0.04 < went(robot[1]) < 0.07


def test_a_robot_that_comes_back_from_a_silence_is_not_set_going_again(robot):
    rig, controller = robot
    controller.live = True

    def silence(done, of):
        controller.disconnect = done > of / 2

    with pytest.raises(gentle.Stopped, match="no packet"):
        drive(robot, silence)
    before, answered = went(controller), len(controller.diary)
    controller.disconnect = False
    while len(controller.diary) < answered + 10:  # it is held again
        time.sleep(T)
    assert rig.state == READY
    assert went(controller) == before
    assert controller.violations == []


def test_the_robot_is_held_until_the_answer_is_yes(robot):
    controller = robot[1]
    answers = iter([None] * 50 + [True])

    def ask():
        answer = next(answers)
        if answer:
            assert len(controller.diary) >= 40, "every packet was answered meanwhile"
            assert went(controller) == 0.0
            controller.live = True  # from here on it may move
        return answer

    ready.wait_for_yes(robot[0], ask)
    drive(robot, length=0.01)
    assert soft(controller)
    assert went(controller) == pytest.approx(0.01, abs=1e-6), "the path waits for steps that a stalled machine has lost"


def test_a_path_ends_at_rest_where_its_condition_becomes_true(robot):
    """As a robot that feels its way to a frame."""
    rig, controller = robot
    controller.live = True
    gentle.follow(rig, offsets(), until=lambda row: row["X_WB_cmd"]["p"][0, 0] > 0.02)
    assert 0.02 < went(controller) < 0.03, "it slows down from 0.09 m/s within the limits"
    assert soft(controller)
    assert rig.state == READY


def test_a_tighter_limit_of_the_force_stops_the_path(robot):
    rig, controller = robot
    controller.live = True
    with pytest.raises(gentle.Stopped) as stopped:
        gentle.follow(rig, offsets(), force=0.5)
    assert stopped.value.fault.code == faults.FORCE


def test_a_check_changes_nothing(robot):
    """Whether a rig may be armed is checked while it is held: the check leaves the set-point alone from which a run begins."""
    rig = robot[0]
    rig._robot._sent["p"][0] += 0.0005  # the robot has another set-point than at the last run
    before = rig.set_point.copy()
    rig._check_place()
    assert rig.set_point == before


def test_no_is_a_refusal_and_nothing_moves(robot):
    with pytest.raises(InputError, match="was not armed"):
        ready.wait_for_yes(robot[0], iter([None, None, False]).__next__)
    assert robot[1].violations == []  # not live: a set-point that moves would be one


def test_nobody_to_ask_is_a_refusal():
    with pytest.raises(InputError, match="there is no terminal to ask at"):
        ready.check_ask("ask", None)
    assert ready.check_ask("run", lambda: True) is None, "the command itself is the consent"


def test_no_wrench_is_newer_than_the_pose_that_it_is_used_with(robot):
    """Packets come up to 1.9 ms late, with the pose of their cycle; a newer wrench would look like damping."""
    controller = robot[1]
    controller.live, controller.settings = True, replace(controller.settings, jitter=0.0019)
    age = drive(robot).age
    assert np.isfinite(age).any()
    assert np.nanmin(age) > -1e-5  # two clocks, and one of them may be slewed


def stall(rig, pauses):
    """A machine that pauses before it answers, again and again; `pauses` is a list [s], for one answer after the other."""
    answers, rng, due = rig._robot.send, np.random.default_rng(1), []

    def send(pose):
        if not due and rng.random() < 0.1:
            due.extend(pauses(rng))
        if due:
            time.sleep(due.pop(0))
        return answers(pose)

    rig._robot.send = send


def test_answers_that_come_too_late_make_no_double_steps(robot):
    """A lost step is not made up for at twice the speed, which
    would be 45 m/s² at 0.09 m/s and 95 rad/s² at 0.19 rad/s: a robot that stood comes back to speed within half of the rig's
    limits beside what the path itself needs (0.15 m/s², 0.31 rad/s²), and ends where the path does."""
    rig, controller = robot
    controller.live = True
    stall(rig, lambda rng: [rng.uniform(0.003, 0.012)])  # one to three cycles
    track = gentle.follow(rig, offsets(turn=0.19))
    assert track.unheard.any()
    assert soft(controller)
    diary = list(controller.diary)  # it goes on
    stood = np.diff([each.stamp for each in diary], prepend=diary[0].stamp - 4) > 4  # cycles before this answer without one
    rounding = {"turn": 4.0 * math.radians(1e-6), "step": 4e-9}  # µ° and nm in a packet
    for name, sizes, limit, most in (
        ("turn", [2.0 * math.asin(each.correction[6]) for each in diary], 15.4, 0.19),
        ("step", [each.correction[0] for each in diary], 5.2, 0.09),
    ):
        before = np.where(stood, 0.0, np.concatenate([[0.0], sizes[:-1]]))
        assert (np.array(sizes) - before).max() < limit * T**2 + rounding[name], "away from rest, too"
        assert max(sizes) <= most * T + rounding[name]
    assert went(controller) == pytest.approx(0.09, abs=1e-6)


def test_absolute_set_points_that_come_too_late_make_no_double_steps():
    """An answer comes one cycle too late, and so does the next; the third one is in time again. The robot stands for a cycle,
    takes the first, and then two at once: at constant speed that is from v/2 to 2v, 1.5 v/T = 17 m/s². Brought back to speed
    from rest it is asked for v/2T = 5.6 m/s² where it stands, and then for steps of 2 m/s²."""
    cycle, acceleration = 0.008, 2.0
    most = SPEED / (2.0 * cycle) + acceleration
    arm = UrController("127.0.0.1", 0, 0, ArmSettings(cycle=cycle, step_limit=1.0, turn_limit=1.0, acceleration_limit=most))
    section = {"driver": "rtde", "port": arm.port, "script_port": arm.script_port, "cycle": cycle, "watchdog": 1000}
    limits = {**LIMITS, "acceleration": acceleration, "jerk": 2000}
    with on_a_rig(arm, limits, **section) as (rig, _):
        arm.live = True
        stall(rig, lambda _: [1.5 * cycle, 0.6 * cycle])
        gentle.follow(rig, offsets(cycle=cycle))
    assert soft(arm), arm.violations
    assert arm.late > 0
    assert went(arm) == pytest.approx(0.09, abs=1e-6)
