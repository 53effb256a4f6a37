"""What only a Franka robot has: phases of a motion, reflexes, a robot that coasts while commands are missing, by poses and by
joint angles.

What holds for every robot is in test_robots.py, the bounds of a command by their laws in test_fci_bounds.py.
"""

import socket

import numpy as np
import pytest

from hilt.core import clock, faults
from hilt.core.faults import InputError
from hilt.device.fci import codec
from hilt.device.fci.driver import STANDING, FciRobot
from hilt.host import machine
from tests.device import cells
from tests.device.cells import cell, robot
from tests.device.jointed import ARMS

pytestmark = pytest.mark.virtual
by_both = pytest.mark.parametrize("name", ["fci", "fci-joints"])
ROUND = 3e-7  # [m] and [rad]: a state has 32 bits


def stop(it):
    it.soon(lambda: it.hold() == 0 and it.driver._phase == STANDING)


@by_both
def test_motions_begin_where_the_robot_is_and_end_cleanly(name):
    with cell(name) as it:
        for _ in range(20):
            assert it.hold() == 0
        assert (it.arm.moves, it.arm.mode, it.arm.refused, it.arm.diary) == (0, codec.IDLE, 0, []), "it is not answered"
        for turn in range(1, 4):
            begun = it.arm._set["p"].copy()
            it.arm.diary.clear()
            it.wait()
            it.goal["p"][0] += 1e-4
            it.soon(lambda: it.tick() and it.arm.diary)
            assert it.arm.diary[0].pose[:3] == pytest.approx(begun, abs=ROUND)
            it.follow()
            it.move((1e-4, 0.0, 0.0), cycles=50)
            stop(it)
            assert (it.arm.moves, it.arm.ended, it.arm.reason) == (turn, turn, "")
        notes = it.driver.notes()
        assert all("smallest singular value of the robot's Jacobian" in note for note in notes)
        assert len(notes) == (name == "fci-joints")


@by_both
def test_a_command_beyond_the_limits_of_the_robot_is_a_reflex_and_a_fault(name):
    with cell(name) as it:
        it.follow()
        begun = it.there()
        bounds = it.driver._motion.bounds
        bounds["jerk"] = bounds["acceleration"] = 1e9
        if name == "fci-joints":
            it.driver.joints._p["acceleration"] = 1e9
        it.tick((0.0005, 0.0, 0.0))
        assert it.hold() == faults.ROBOT_PROTECTIVE
        assert "velocity discontinuity and acceleration discontinuity" in it.arm.reason
        assert max(it.apart(it.there(), begun)) < ROUND, "it has not moved"
        kind = "joint" if name == "fci-joints" else "cartesian"
        assert any(f"{kind}_motion_generator_velocity_discontinuity" in note for note in it.driver.notes())
        it.wait()
        assert it.driver.send(it.goal) == faults.ROBOT_LINE, "nothing is sent to it"


@by_both
def test_a_robot_that_misses_commands_coasts_and_the_driver_goes_on_from_there(name):
    """What the robot does meanwhile is in its state: the next command starts there, at that speed, and is no reflex. The course
    need not stop, and keeps its speed."""
    speed = 0.02
    with cell(name) as it:
        it.follow()
        it.run((speed, 0.0, 0.0), 0.4)
        it.arm.diary.clear()
        coasted = unheard = 0
        for k in range(400):
            reply = it.driver.wait(it.X, it.V)
            assert reply.heard != reply.coasts
            coasted += reply.coasts
            it.goal["p"][0] += speed * it.cycle
            assert it.driver.send(it.goal) == 0
            if k % 100 == 99:
                clock.pause(3.5 * it.cycle)
                unheard += 1
        assert (coasted, it.count("unheard")) == (3, 3)
        assert (it.arm.reason, it.arm.violations) == ("", [])
        places = np.array([(entry.stamp, *entry.pose[:3]) for entry in it.arm.diary])
    steps = np.diff(places, axis=0)
    v = np.linalg.norm(steps[:, 1:], axis=1) / steps[:, 0] / it.cycle
    # It coasts by some steps that nobody asked for; a blend of 0.1 s takes them off: one per cent of the speed for each.
    assert 0.9 * speed < v.min() < v.max() < 1.1 * speed


def test_a_motion_that_the_robot_refuses_is_a_fault():
    with cell("fci") as it:
        it.hold()
        it.arm._begin_motion = lambda number, *_: it.arm._say(codec.status_reply(codec.MOVE, number, codec.NOT_POSSIBLE))
        it.tick()
        it.soon(lambda: it.wait().code == faults.ROBOT_PROGRAM)
        assert any("refused a motion with status 5" in note for note in it.driver.notes())


@by_both
def test_a_robot_for_poses_and_one_for_angles_refuse_each_others_motions(name):
    with robot(name) as it:
        said = []
        it.arm._say = said.append
        wrong = codec.CARTESIAN_POSITION if it.arm.joints is not None else codec.JOINT_POSITION
        it.arm._begin_motion(7, codec.JOINT_IMPEDANCE, wrong)
        assert said == [codec.status_reply(codec.MOVE, 7, codec.INVALID)]
        assert it.arm.moves == 0


def test_a_robot_has_one_client():
    """Of another host, which no lock of this one keeps away; it is free again as soon as the first one has gone."""
    with cell("fci") as it:
        given, other = it.section, FciRobot(it.section)
        with pytest.raises(InputError, match=r"cannot be reached: .*closed"):
            other.open(given.address, given.port, 1.0)
        it.driver.close()
        other.open(given.address, given.port, 1.0)
        other.close()


def test_another_version_of_the_interface_is_one_sentence(monkeypatch):
    ask = codec.connect_request
    monkeypatch.setattr(codec, "connect_request", lambda number, port: ask(number, port, 5))
    with robot("fci") as it, pytest.raises(InputError, match="speaks version 10 of the Franka Control Interface"):
        it.section.connect()


def test_packets_of_strangers_are_counted_and_ignored():
    with cell("fci") as it, machine.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.2", 0))
        state = codec.OutgoingState()
        state.fields["message_id"] = 2**40
        for _ in range(3):
            other.sendto(state.data, it.driver._link.states.address)
            assert it.hold() == 0
        assert it.hold() == 0
        assert it.count("strangers") == 3
        assert int(it.driver.state["message_id"]) < 2**40
        assert any("3 packets from unknown senders" in note for note in it.driver.notes())


def test_collision_thresholds_are_set_if_asked_for():
    with robot("fci", collision_force=100.0, collision_torque=50.0) as it:
        asked = []
        it.arm._answer = lambda request, answer=it.arm._answer: (asked.append(request), answer(request))
        it.section.connect().close()
        payload = next(each.payload for each in asked if each.command == codec.SET_COLLISION_BEHAVIOR)
        assert np.frombuffer(payload).tolist() == [50.0] * 28 + [100.0] * 24


def test_what_is_out_of_reach_is_not_sent():
    with cell("fci-joints") as it:
        it.follow()
        it.driver._motion._settings = it.section.model_copy(update={"step_limit": 10.0})
        assert it.wait().code == 0
        before = it.answers()
        it.goal["p"][0] += 5.0
        assert it.driver.send(it.goal) in (faults.JOINT_REACH, faults.SINGULARITY, faults.JOINT_SPEED)
        assert it.driver.hold() == 0, "the state has still to be answered"
        clock.pause(0.5 * it.cycle)
        assert it.answers() == before + 1


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"jerk": 3000}, "jerk is given, which limits pose commands, but command is 'joints'; give joints.acceleration"),
        ({"joints": {**ARMS["panda"], "posture": [0] * 6}}, "posture has 6 angles, but robots of this driver have 7 joints"),
        ({"joints": {**ARMS["panda"], "acceleration": "12 rad/s^2"}}, "joints.acceleration"),
        ({"joints": {**ARMS["panda"], "jerk": 6000}}, "joints.jerk"),
    ],
)
def test_settings_that_do_not_fit_are_one_sentence(change, sentence):
    with pytest.raises(InputError) as error:
        cells.section("fci-joints", **change)
    assert sentence in str(error.value)
