"""Gentle drives outside a run: armed like a run, and ended softly whatever ends them. The emulated robot checks them.

At 0.09 m/s a robot that is simply held has to stop with more than 20 m/s², above which it counts a hard stop.
"""

import math
import signal
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from hilt.core import clock, faults
from hilt.core.faults import InputError
from hilt.core.signals import POSE
from hilt.device.live_rig import LabRig
from hilt.device.protocol import Reply
from hilt.host import machine as host
from hilt.lab import gentle
from hilt.live import ready
from hilt.maths.quintic import quintic_positions
from hilt.record.letters import READY
from tests.lab.rigs import RIGS, emulated, shipped, soft, went

SPEED = 0.09

pytestmark = pytest.mark.virtual


def offsets(cycle, length=0.09, turn=0.0):
    """Along x and about z from rest to rest, at SPEED in the middle."""
    ticks = math.ceil(1.875 * length / SPEED / cycle)
    share = quintic_positions(np.arange(1, ticks + 3) / ticks)
    offsets = np.zeros(ticks + 2, POSE)
    offsets["p"][:, 0] = length * share
    offsets["q"][:, 0], offsets["q"][:, 3] = np.cos(0.5 * turn * share), np.sin(0.5 * turn * share)
    return offsets


@contextmanager
def connected(file, **arm):
    """The rig, READY, and its robot."""
    with emulated(file, **arm) as (file, robot, _):
        rig = LabRig(file)
        rig.open()
        yield rig, robot
        rig.close()


@pytest.fixture(params=RIGS)
def both(request):
    with connected(shipped(request.param)) as found:
        yield found


def drive(rig, watch=None, length=0.09):
    return gentle.follow(rig, offsets(rig.cycle, length), watch)


def interrupted(robot):
    host.kill(host.pid(), signal.SIGINT)


def failed(robot):
    raise ZeroDivisionError


def pulled(robot):
    robot.disconnect = True


@pytest.mark.parametrize(("do", "raised"), [(interrupted, gentle.Stopped), (failed, ZeroDivisionError)])
def test_whatever_ends_it_on_the_way_is_a_soft_stop(both, do, raised):
    """From where it was, v²/2a = 4 mm more, to two cycles."""
    rig, robot = both
    handler, path, seen = host.handler(signal.SIGINT), offsets(rig.cycle)["p"][:, 0], []

    def watch(done, of):
        if done > of / 2:
            seen.append(done)
            do(robot)

    with pytest.raises(raised) as stopped:
        drive(rig, watch)
    assert raised is ZeroDivisionError or stopped.value.fault.code == faults.REQUESTED
    assert soft(robot)
    speed = (path[seen[0]] - path[seen[0] - 1]) / rig.cycle
    assert went(robot) == pytest.approx(path[seen[0]] + speed**2 / 2.0, abs=2.0 * speed * rig.cycle)
    assert host.handler(signal.SIGINT) == handler


def test_a_robot_that_comes_back_from_a_silence_is_not_set_going_again(both):
    rig, robot = both
    with pytest.raises(gentle.Stopped, match="no packet"):
        drive(rig, lambda done, of: pulled(robot) if done > of / 2 else None)
    before = went(robot)
    robot.disconnect = False
    clock.pause(0.1)
    assert rig.state == READY
    assert went(robot) == before
    assert robot.violations == []


def test_the_robot_is_held_until_the_answer_is_yes(both):
    rig, robot = both
    robot.live = False
    answers = iter([None] * 50 + [True])

    def ask():
        robot.live = answer = next(answers)  # from here on it may move
        return answer

    begin, cycles = clock.now(), robot.cycles
    ready.wait_for_yes(rig, ask)
    assert (robot.cycles - cycles) * rig.cycle == pytest.approx(clock.now() - begin, abs=2.0 * rig.cycle)
    assert (robot.late, robot.violations, robot.reason) == (0, [], ""), "every packet was answered meanwhile"
    drive(rig, length=0.01)
    assert soft(robot)
    assert went(robot) == pytest.approx(0.01, abs=1e-6)


def test_no_is_a_refusal_and_nothing_moves(both):
    rig, robot = both
    robot.live = False
    with pytest.raises(InputError, match="was not armed"):
        ready.wait_for_yes(rig, iter([None, None, False]).__next__)
    assert robot.violations == []  # not live: a set-point that moves would be one


def test_nobody_to_ask_is_a_refusal():
    with pytest.raises(InputError, match="there is no terminal to ask at"):
        ready.check_ask("ask", None)
    assert ready.check_ask("run", lambda: True) is None, "the command itself is the consent"


def test_a_path_ends_at_rest_where_its_condition_becomes_true(both):
    """As a robot that feels its way to a frame: it slows down from 0.09 m/s within the limits."""
    rig, robot = both
    gentle.follow(rig, offsets(rig.cycle), until=lambda row: row["X_WB_cmd"]["p"][0, 0] > 0.02)
    assert 0.02 < went(robot) < 0.03
    assert soft(robot)
    assert rig.state == READY


def test_a_tighter_limit_of_the_force_stops_the_path(both):
    with pytest.raises(gentle.Stopped) as stopped:
        gentle.follow(both[0], offsets(both[0].cycle), force=0.5)
    assert stopped.value.fault.code == faults.FORCE


def test_no_wrench_is_newer_than_the_pose_that_it_is_used_with(both):
    """Packets come up to half a cycle late, with the pose of their cycle; a newer wrench would look like damping."""
    rig, robot = both
    robot.settings = replace(robot.settings, jitter=0.475 * rig.cycle)
    age = drive(rig).age
    assert np.isfinite(age).any()
    assert np.nanmin(age) >= 0.0


def test_a_check_changes_nothing():
    """Whether a rig may be armed is checked while it is held: the check leaves the set-point alone from which a run begins."""
    with connected(shipped("dry-lab")) as (rig, _):
        rig._robot._sent["p"][0] += 0.0005  # the robot has another set-point than at the last run
        before = rig.set_point.copy()
        rig._check_place()
        assert rig.set_point == before


def test_a_driver_that_does_not_wait_for_a_silent_robot_keeps_no_core_busy():
    """While the robot is held its thread comes before all others."""
    with connected(shipped("dry-lab")) as (rig, _):
        asked = []

        def wait(X, V):
            asked.append(clock.now())
            assert len(asked) < 2000
            return Reply(faults.ROBOT_SILENT, 0, heard=False)

        rig._robot.wait = wait
        clock.pause(1.0)
        assert rig.trouble == faults.ROBOT_SILENT
        assert len(asked) == pytest.approx(1.0 / rig.cycle, abs=2)


def stall(rig, pauses):
    """A machine that pauses before it answers, again and again; `pauses` is a list [s], for one answer after the other."""
    answers, rng, due = rig._robot.send, np.random.default_rng(1), []

    def send(pose):
        if not due and rng.random() < 0.1:
            due.extend(pauses(rng))
        if due:
            clock.pause(due.pop(0))
        return answers(pose)

    rig._robot.send = send


def test_answers_that_come_too_late_make_no_double_steps():
    """A lost step is not made up for at twice the speed, which
    would be 45 m/s² at 0.09 m/s and 95 rad/s² at 0.19 rad/s: a robot that stood comes back to speed within half of the rig's
    limits beside what the path itself needs (0.15 m/s², 0.31 rad/s²), and ends where the path does."""
    with connected(shipped("dry-lab")) as (rig, robot):
        stall(rig, lambda rng: [rng.uniform(0.003, 0.012)])  # one to three cycles
        track = gentle.follow(rig, offsets(rig.cycle, turn=0.19))
    assert track.unheard.any()
    assert soft(robot)
    diary, T = robot.diary, rig.cycle
    stood = np.diff([each.stamp for each in diary], prepend=diary[0].stamp - 4) > 4  # cycles before this answer without one
    rounding = {"turn": 4.0 * math.radians(1e-6), "step": 4e-9}  # µ° and nm in a packet
    for name, sizes, limit, most in (
        ("turn", [2.0 * math.asin(each.correction[6]) for each in diary], 15.4, 0.19),
        ("step", [each.correction[0] for each in diary], 5.2, 0.09),
    ):
        before = np.where(stood, 0.0, np.concatenate([[0.0], sizes[:-1]]))
        assert (np.array(sizes) - before).max() < limit * T**2 + rounding[name], "away from rest, too"
        assert max(sizes) <= most * T + rounding[name]
    assert went(robot) == pytest.approx(0.09, abs=1e-6)


def test_absolute_set_points_that_come_too_late_make_no_double_steps():
    """An answer comes one cycle too late, and so does the next; the third one is in time again. The robot stands for a cycle,
    takes the first, and then two at once: at constant speed that is from v/2 to 2v, 1.5 v/T = 17 m/s². Brought back to speed
    from rest it is asked for v/2T = 5.6 m/s² where it stands, and then for steps of 2 m/s²."""
    cycle, acceleration = 0.008, 2.0
    limits = {"acceleration": acceleration, "jerk": 2000}
    file = shipped("dry-lab-ur", robot={"cycle": cycle, "watchdog": 1000, "step_limit": 1.0, "turn_limit": 1.0}, limits=limits)
    with connected(file, acceleration_limit=SPEED / (2.0 * cycle) + acceleration) as (rig, arm):
        stall(rig, lambda _: [1.5 * cycle, 0.6 * cycle])
        gentle.follow(rig, offsets(cycle))
    assert soft(arm), arm.violations
    assert arm.late > 0
    assert went(arm) == pytest.approx(0.09, abs=1e-6)
