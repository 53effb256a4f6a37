"""A Universal Robots robot against its emulated controller, on real sockets: motion, what the script guards, faults.

Nothing here depends on the machine being quick: a stalled process makes counts smaller and waits longer, not results wrong.
"""

import socket
from contextlib import contextmanager

import numpy as np
import pytest

from hilt.core import clock, faults
from hilt.core.faults import InputError
from hilt.core.signals import POSE, TWIST, WRENCH
from hilt.device.arm import ArmSettings
from hilt.device.placed import Place
from hilt.device.rtde import codec, script
from hilt.device.rtde.driver import RtdeRobot
from hilt.device.rtde.emulator import UrController
from hilt.device.rtde.force import RtdeForce
from hilt.device.rtde.link import Link
from hilt.device.rtde.settings import RtdeForceSettings, RtdeSettings
from hilt.maths import so3
from tests.contract.test_devices import LONG, until

pytestmark = pytest.mark.wall

CYCLE = 0.008
HERE = Place(p=(0.0, 0.0, 0.0), q=(1.0, 0.0, 0.0, 0.0))
AWAY = Place(p=(0.5, -0.25, 0.1), q=(0.5, 0.5, 0.5, 0.5))
HAND = Place(p=(0.0, 0.0, 0.2), q=(0.0, 1.0, 0.0, 0.0))


def settings(**changes):
    """Patient: a stalled machine is not the subject."""
    usual = {"X_WR": HERE, "X_TB": HERE, "step_limit": 0.002, "turn_limit": 0.02, "patience": 500, "watchdog": 1000}
    return RtdeSettings(**{**usual, **changes})


def controller(wrench=None, **changes):
    asked = ArmSettings(**{"cycle": CYCLE, "dead_time": 0.004, "natural_frequency": 200.0, "step_limit": 1.0, **changes})
    return UrController("127.0.0.1", 0, 0, asked, *([wrench] if wrench else []))


def join(driver, arm, cycle=CYCLE):
    driver.open("127.0.0.1", arm.port, arm.script_port, cycle, LONG)


class Hilt:
    """A driver that has met its robot."""

    def __init__(self, driver):
        self.driver = driver
        self.X, self.V, self.goal = np.zeros(1, POSE)[0], np.zeros(1, TWIST)[0], np.zeros(1, POSE)[0]
        driver.sent(self.goal)

    def tick(self, step=(0.0, 0.0, 0.0), turn=(0.0, 0.0, 0.0)):
        """One cycle; codes of the package and of the answer."""
        reply = self.driver.wait(self.X, self.V)
        self.goal["p"] += step
        self.goal["q"] = so3.multiply(so3.exp(turn), tuple(self.goal["q"]))
        return reply.code, self.driver.send(self.goal)

    def until(self, code):
        """Hold until a fault comes."""
        end = clock.now() + LONG
        while (found := self.driver.wait(self.X, self.V).code) != code:
            assert found in (faults.NONE, faults.ROBOT_PROGRAM), faults.explain(found)
            assert clock.now() < end
            self.driver.hold()


@contextmanager
def cell(wrench=None, arm=None, **changes):
    driver = RtdeRobot(settings(**changes))
    with controller(wrench, **(arm or {})) as robot:
        try:
            join(driver, robot)
            robot.live = True
            yield Hilt(driver), robot
        finally:
            driver.close()


@pytest.mark.parametrize(("base", "tool"), [(HERE, HERE), (AWAY, HAND)])
def test_the_robot_goes_where_it_is_sent(base, tool):
    with cell(X_WR=base, X_TB=tool) as (hilt, arm):
        for _ in range(40):
            assert hilt.tick((2e-4, -1e-4, 1e-4), (0.0, 2e-3, -1e-3)) == (0, 0)
        set_point = np.zeros(1, POSE)[0]
        hilt.driver.sent(set_point)
        assert set_point["p"] == pytest.approx(hilt.goal["p"], abs=1e-12)
        until(lambda: hilt.tick() == (0, 0) and np.abs(hilt.X["p"] - hilt.goal["p"]).max() < 1e-6)
        until(lambda: hilt.tick() == (0, 0) and np.linalg.norm(so3.between(tuple(hilt.X["q"]), tuple(hilt.goal["q"]))) < 1e-5)
        assert arm.violations == []
        assert arm.diary[-1].pose[:3] == pytest.approx(hilt.driver._sent["p"], abs=1e-12)
        assert hilt.driver.counters()["rejected"] == 0
        hilt.driver.close()
        until(lambda: arm.reason == "hilt has ended its program")


def test_until_it_is_sent_somewhere_the_robot_stands():
    with cell() as (hilt, arm):
        for _ in range(20):
            assert hilt.driver.wait(hilt.X, hilt.V).code == 0
            assert hilt.driver.hold() == 0
        assert arm.server.inputs["input_int_register_26"] == script.STAND
        assert arm.server.outputs["output_int_register_26"] == script.STANDING
        assert {entry.pose for entry in arm.diary} == {(1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0)}


def test_the_controllers_cycle_does_not_wait_for_whole_milliseconds():
    """A package that leaves late shows an old pose. A busy machine makes a wait longer, never shorter: the shortest counts."""
    arm = controller()
    waits = []
    for _ in range(200):
        began = clock.now()
        arm.server.attend(began + 0.2e-3)
        waits.append(clock.now() - began)
    arm.stop()
    assert 0.2e-3 <= min(waits) < 0.9e-3


def test_packages_that_the_controller_skips_are_counted_and_reported():
    with cell() as (hilt, arm):
        hilt.tick()
        arm.line.next("drop", 3)
        until(lambda: hilt.tick() == (0, 0) and hilt.driver.skipped >= 3)
        assert hilt.driver.skipped == 3
        assert any("was busy and skipped 3 packages of" in note for note in hilt.driver.notes())


def test_duplicated_and_old_packages_change_nothing():
    with cell() as (hilt, arm):
        arm.line.next("duplicate", 4)
        until(lambda: hilt.tick() == (0, 0) and hilt.driver.duplicates == 4)
        arm.line.next("reorder", 1)
        late = hilt.driver.late
        until(lambda: hilt.tick() == (0, 0) and hilt.driver.late > late)
        assert hilt.driver.rejected == 0


def test_a_stream_out_of_step_is_a_silent_robot_and_never_an_error():
    with cell(patience=5) as (hilt, arm):
        arm.line.truncate = 0.5
        until(lambda: hilt.driver.wait(hilt.X, hilt.V).code == faults.ROBOT_SILENT and hilt.driver._line.broken)
        assert hilt.driver.send(hilt.goal) == faults.ROBOT_LINE
        hilt.driver.stop()


def test_a_step_beyond_the_limit_is_shortened_and_reported():
    with cell() as (hilt, _):
        assert hilt.tick((0.01, 0.0, 0.0)) == (0, faults.ROBOT_LIMITED)
        assert hilt.driver.limited == 1
        place = np.zeros(1, POSE)[0]
        hilt.driver.sent(place)
        assert place["p"][0] == pytest.approx(1.002, abs=1e-12)


def test_what_is_no_pose_is_not_sent():
    with cell() as (hilt, arm):
        hilt.tick((1e-4, 0.0, 0.0))
        hilt.driver.wait(hilt.X, hilt.V)
        hilt.goal["p"][1] = np.nan
        assert hilt.driver.send(hilt.goal) == faults.ROBOT_NOT_SENDABLE
        until(lambda: arm.diary[-1].pose[0] == pytest.approx(1.0001))
        assert np.isfinite([entry.pose for entry in arm.diary]).all()


def test_the_script_itself_refuses_a_jump():
    """Whatever hilt sends: the limit is in the script, too."""
    with cell() as (hilt, arm):
        hilt.tick()
        hilt.driver.settings = hilt.driver.settings.model_copy(update={"step_limit": 1.0})
        hilt.driver.wait(hilt.X, hilt.V)
        hilt.goal["p"][0] += 0.5
        assert hilt.driver.send(hilt.goal) == 0
        hilt.until(faults.ROBOT_LIMITED)
        assert "500 mm away" in arm.reason
        assert arm._set["p"][0] == 1.0


def test_the_script_stops_the_arm_when_set_points_no_longer_come():
    with cell(watchdog=5) as (hilt, arm):
        hilt.tick((1e-4, 0.0, 0.0))
        until(lambda: arm.reason)
        assert arm.reason == "the counter stood still for 6 cycles"
        hilt.until(faults.ROBOT_WATCHDOG)
        assert hilt.driver.wait(hilt.X, hilt.V).code == faults.ROBOT_WATCHDOG, "and it stays so"
        place = arm._set["p"].copy()
        hilt.tick((1e-4, 0.0, 0.0))
        hilt.driver.wait(hilt.X, hilt.V)
        assert (arm._set["p"] == place).all()


@pytest.mark.parametrize(
    ("switch", "code"),
    [
        ("protective", faults.ROBOT_PROTECTIVE),
        ("emergency", faults.ROBOT_EMERGENCY),
        ("safeguard", faults.ROBOT_SAFEGUARD),
        ("violation", faults.ROBOT_SAFETY),
    ],
)
def test_what_the_robot_says_about_its_safety_is_a_fault_and_refuses_a_new_run(switch, code):
    with cell() as (hilt, arm):
        hilt.tick()
        setattr(arm, switch, True)
        hilt.until(code)
        assert "does not know" not in faults.explain(code)
        hilt.driver.close()
        with pytest.raises(InputError, match="the robot cannot be started: the robot"):
            join(RtdeRobot(settings()), arm)
        setattr(arm, switch, False)
        arm.restart()
        again = RtdeRobot(settings())
        join(again, arm)
        assert Hilt(again).tick() == (0, 0)
        again.close()


def test_a_program_that_was_stopped_at_the_robot_is_a_fault():
    with cell() as (hilt, arm):
        hilt.tick()
        arm._halt("stopped at the panel")
        hilt.until(faults.ROBOT_PROGRAM)


def test_a_silent_robot_is_noticed_within_patience():
    with cell(patience=10) as (hilt, arm):
        hilt.tick()
        arm.disconnect = True
        until(lambda: hilt.driver.wait(hilt.X, hilt.V).code == faults.ROBOT_SILENT)
        began = clock.now()
        assert hilt.driver.wait(hilt.X, hilt.V).code == faults.ROBOT_SILENT
        assert clock.now() - began >= 10 * CYCLE * 0.9, "it waits, and does not spin"


def test_two_runs_cannot_write_to_the_same_registers():
    with cell() as (hilt, arm):
        with pytest.raises(InputError, match="another client of the controller writes input_double_register_24"):
            join(RtdeRobot(settings()), arm)
        assert hilt.tick() == (0, 0)
        assert arm.reason == ""


def test_a_run_on_other_registers_replaces_the_program_and_the_first_one_notices():
    with cell(watchdog=30) as (hilt, arm):  # it notices by its counter, which nobody follows any more
        hilt.tick()
        driver = RtdeRobot(settings(registers=36))
        try:
            join(driver, arm)
            other, found = Hilt(driver), set()
            until(lambda: found.add(hilt.tick()[0]) or other.tick() != (0, 0) or found - {0}, 60.0)
            assert found <= {0, faults.ROBOT_RESTARTED, faults.ROBOT_PROGRAM}
            assert other.tick() == (0, 0)
        finally:
            driver.close()


def test_what_cannot_be_connected_is_one_sentence():
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as nobody:
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
        with pytest.raises(InputError, match=rf"the robot at 127.0.0.1:{port} cannot be reached: .*; check address"):
            RtdeRobot(settings()).open("127.0.0.1", port, port, CYCLE, 1.0)
    with controller() as arm:
        with pytest.raises(InputError, match="but e-Series send every 2 ms, CB3 every 8 ms"):
            join(RtdeRobot(settings()), arm, 0.004)
        with pytest.raises(InputError, match=r"does not send the requested data|cannot be reached|refuses"):
            join(RtdeRobot(settings()), arm, 0.002)  # it cannot send that often
        arm.slider = 0.5
        with pytest.raises(InputError, match="speed slider is at 50 %"):
            join(RtdeRobot(settings()), arm)


def test_a_server_of_another_kind_is_one_sentence():
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        link = Link()
        client = socket.create_connection(("127.0.0.1", port))
        served, _ = other.accept()
        link._socket = client
        served.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        assert not link.receive(clock.now() + 0.1)
        assert link.broken
        assert not link.send(codec.version_request())
        link.close()
        served.close()


# The force sensing

LOAD = ((10.0, -20.0, 30.0), (1.0, 2.0, -3.0))


@contextmanager
def sensing(arm=None, load=LOAD, **changes):
    driver = RtdeForce(RtdeForceSettings(**{"stale": LONG, "frozen": 0.0, **changes}))
    with controller(lambda: load, **(arm or {})) as robot:
        driver.open("127.0.0.1", robot.port, 125.0, LONG)
        try:
            yield driver, robot, np.zeros(1, WRENCH)[0]
        finally:
            driver.stop()


def test_the_wrench_comes_in_the_axes_of_base_or_tool():
    turned = {"start_q": (np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5))}  # x of the tool is y of the base
    with sensing(turned, frame="base") as (driver, _, out):
        assert driver.read(out) == 0
        assert (out["f"].tolist(), out["tau"].tolist()) == (pytest.approx(LOAD[0]), pytest.approx(LOAD[1]))
    with sensing(turned, reverse=True) as (driver, _, out):
        assert driver.read(out) == 0
        assert out["f"].tolist() == pytest.approx([20.0, 10.0, -30.0])
        assert out["tau"].tolist() == pytest.approx([-2.0, 1.0, 3.0])


def test_bias_is_taken_off_on_the_users_word_only():
    with sensing() as (driver, _, out):
        until(lambda: driver.read(out) == 0 and driver.used > 3)
        assert out["f"].tolist() == pytest.approx(LOAD[0])
        driver.bias()
        assert driver.read(out) == 0
        assert np.abs(out["f"]).max() == np.abs(out["tau"]).max() == 0.0


def test_a_sensor_that_sends_nothing_or_nothing_new_is_a_fault():
    with sensing(stale=0.3, frozen=0.1) as (driver, robot, out):
        until(lambda: driver.read(out) == faults.SENSOR_FROZEN)
        robot.disconnect = True
        until(lambda: driver.read(out) == faults.SENSOR_STALE)
        robot.stop()
        assert driver.read(out) == faults.SENSOR_STALE
