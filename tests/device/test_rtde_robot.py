"""What only a Universal Robots controller has: hilt's script and its registers, its safety status, its force sensing.

What holds for every robot is in test_robots.py.
"""

import socket

import pytest

from hilt.core import clock, faults
from hilt.core.faults import InputError
from hilt.device.arm import ArmSettings
from hilt.device.rtde import codec, script
from hilt.device.rtde.driver import RtdeRobot
from hilt.device.rtde.emulator import UrController
from hilt.device.rtde.link import Link
from hilt.host import machine
from tests.device.cells import Cell, cell, robot

virtual = pytest.mark.virtual


@virtual
def test_until_it_is_sent_somewhere_the_robot_stands_and_at_the_end_the_script_does():
    with cell("rtde") as it:
        begun = it.there()
        for _ in range(20):
            assert it.hold() == 0
        assert it.arm.server.inputs["input_int_register_26"] == script.STAND
        assert it.arm.server.outputs["output_int_register_26"] == script.STANDING
        assert it.apart(it.there(), begun) == (0.0, 0.0)
        it.driver.close()
        clock.pause(0.01)
        assert it.arm.reason == "hilt has ended its program"


@pytest.mark.wall
def test_the_controllers_cycle_does_not_wait_for_whole_milliseconds():
    """A package that leaves late shows an old pose. A busy machine makes a wait longer, never shorter: the shortest counts."""
    arm = UrController("127.0.0.1", 0, 0, ArmSettings(cycle=0.008))
    waits = []
    for _ in range(200):
        began = clock.now()
        arm.server.attend(began + 0.2e-3)
        waits.append(clock.now() - began)
    arm.stop()
    assert 0.2e-3 <= min(waits) < 0.9e-3


@virtual
def test_packages_that_the_controller_skips_are_reported():
    with cell("rtde") as it:
        it.arm.line.next("drop", 3)
        it.follow()
        assert any(f"was busy and skipped 3 packages of {it.driver.packages + 3}" in note for note in it.driver.notes())


@virtual
def test_the_script_itself_refuses_a_jump():
    """Whatever hilt sends: the limit is in the script, too."""
    with cell("rtde") as it:
        it.follow()
        begun = it.there()
        it.driver.settings = it.driver.settings.model_copy(update={"step_limit": 1.0})
        assert it.tick((0.5, 0.0, 0.0)) == (0, 0)
        it.soon(lambda: it.hold() == faults.ROBOT_LIMITED)
        assert it.arm.reason == "a set-point 500 mm away in 1 cycles"
        assert it.apart(it.there(), begun) == (0.0, 0.0)


@virtual
def test_the_script_that_has_stopped_the_arm_stays_stopped():
    with cell("rtde") as it:
        it.follow()
        clock.pause(0.05)
        assert it.arm.reason == "the counter stood still for 11 cycles"
        it.soon(lambda: it.hold() == faults.ROBOT_WATCHDOG)
        begun = it.there()
        for _ in range(5):
            assert it.tick((1e-4, 0.0, 0.0))[0] == faults.ROBOT_WATCHDOG
        assert it.apart(it.there(), begun) == (0.0, 0.0)


@virtual
def test_two_runs_cannot_write_to_the_same_registers_and_one_on_others_replaces_the_program():
    """Another host's run, which no lock of this one keeps away: the first one notices."""
    with cell("rtde", watchdog=60) as it:
        it.follow()
        given = it.section
        places = given.address, given.port, given.script_port, given.cycle, 10.0
        with pytest.raises(InputError, match="another client of the controller writes input_double_register_24"):
            RtdeRobot(given).open(*places)
        assert it.tick() == (0, 0)
        other = Cell(given, it.arm, RtdeRobot(given.model_copy(update={"registers": 36})))
        other.driver.open(*places)
        other.goal = other.sent()
        assert it.soon(lambda: other.tick() and it.hold()) in (faults.ROBOT_RESTARTED, faults.ROBOT_PROGRAM)
        other.soon(lambda: other.tick() == (0, 0))
        other.driver.close()


@virtual
def test_a_robot_that_is_not_ready_is_one_sentence():
    with robot("rtde", arm={"cycle": 0.008}) as it, pytest.raises(InputError, match="refuses to send data over RTDE"):
        it.section.connect()  # it cannot send that often
    with robot("rtde") as it:
        with pytest.raises(InputError, match="but e-Series send every 2 ms, CB3 every 8 ms"):
            RtdeRobot(it.section).open("127.0.0.1", it.arm.port, it.arm.script_port, 0.004, 1.0)
        it.arm.slider = 0.5
        with pytest.raises(InputError, match="speed slider is at 50 %"):
            it.section.connect()


@virtual
def test_a_server_of_another_kind_is_a_broken_line():
    with machine.socket(socket.AF_INET, socket.SOCK_STREAM) as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        link = Link()
        link._socket = machine.connect(*other.getsockname(), 1.0)
        served, _ = other.accept()
        served.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        assert not link.receive(clock.now() + 0.1)
        assert link.broken
        assert not link.send(codec.version_request())
        link.close()
        served.close()
