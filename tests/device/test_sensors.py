"""What holds for every sensor driver, against its emulated device, with the limits of the shipped rigs, in virtual time.

A new driver is tested by being listed in SENSORS. What only a Net F/T has is in test_netft.py.
"""

from contextlib import ExitStack, contextmanager

import numpy as np
import pytest

from hilt.core import clock, faults, registry, scenario
from hilt.core.faults import InputError
from hilt.core.signals import WRENCH
from hilt.device import drivers
from hilt.device.netft import codec
from hilt.device.netft.emulator import NetFTBox
from hilt.device.rigfile import SHIPPED, load
from hilt.lab.dry.robot import free_port
from tests.device import cells

virtual = pytest.mark.virtual
LOAD = ((10.0, -20.0, 30.0), (1.0, 2.0, -3.0))
TURNED = {"start_q": (np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5))}  # x of the tool is y of the base
WATCH = {"stale": 0.01, "frozen": 0.2}
SENSORS = {  # shipped rig, or keys
    "netft": "lab-template",
    "onrobot": "lab-template-ur",
    "rtde": {"driver": "rtde", "frame": "base", **WATCH},
    "fci": {"driver": "fci", "frame": "base", **WATCH},
}
every_sensor = pytest.mark.parametrize("name", SENSORS)


class Load:
    """A load that always changes by at least one count, so that a frozen sensor can be found."""

    def __init__(self):
        self.f, self.tau, self.turn = *LOAD, 1e-4
        self._turn = 0

    def __call__(self):
        self._turn += 1
        return (self.f[0] + self.turn * (self._turn % 2), *self.f[1:]), self.tau


def section(name, **changes):
    given = SENSORS[name]
    table = dict(given if isinstance(given, dict) else load(SHIPPED / f"{given}.toml", drivers=False).sensor)
    if table["driver"] != "fci":
        table |= {"address": "127.0.0.1", "port": free_port()}
    return scenario.build(registry.load("sensors", table["driver"]), {**table, **changes})


class Sensed:
    """A sensor driver that has met its device; `silent(True)` cuts it off, `stuck(True)` lets its load stay the same."""

    def __init__(self, given, load, device, driver, hold=None):
        self.section, self.load, self.device, self.driver, self._hold = given, load, device, driver, hold
        self.out = np.zeros(1, WRENCH)[0]

    def silent(self, on):
        setattr(self.device, "silence" if isinstance(self.device, NetFTBox) else "disconnect", on)

    def stuck(self, on):
        self.load.turn = 0.0 if on else 1e-4

    def read(self, seconds=0.01):
        """The last code of a while in which it is read every 2 ms, and every packet of a robot is taken as it comes."""
        end = clock.now() + seconds
        while clock.now() < end:
            due = clock.now() + 0.002
            while self._hold is not None and not self.device.disconnect and clock.now() < due:
                self._hold()
            clock.pause(max(due - clock.now(), 0.0))
            code = self.driver.read(self.out)
        return code

    def feels(self, f, tau=LOAD[1]):
        assert self.out["f"] == pytest.approx(f, abs=2e-4)
        assert self.out["tau"] == pytest.approx(tau, abs=2e-5)


@contextmanager
def sensing(name, arm=None, **changes):
    load = Load()
    given = section(name, **changes)
    with ExitStack() as stack:
        if given.driver == "netft":
            calibration = codec.Calibration(given.counts_per_force, given.counts_per_torque)
            box = NetFTBox(load, calibration, 1000.0, given.address, given.port, dialect=given.dialect)
            device, hold = stack.enter_context(box), None
            driver = given.connect()
        elif given.driver == "rtde":
            device, hold = stack.enter_context(cells.robot("rtde", arm=arm)).arm, None
            device._wrench = load
            clock.pause(0.01)
            given = given.model_copy(update={"port": device.port})
            driver = given.connect()
        else:
            alone = stack.enter_context(cells.robot("fci", arm=arm))
            device = alone.arm
            device._wrench = load
            clock.pause(0.01)
            robot, driver = drivers.connect(alone.section, given)
            stack.callback(robot.close)
            hold = cells.Cell(alone.section, device, robot).hold
        stack.callback(driver.stop)
        yield Sensed(given, load, device, driver, hold)


def test_every_registered_driver_is_listed():
    shipped = {name for name in registry.names("sensors") if registry.shipped("sensors", name)}
    assert {section(name).driver for name in SENSORS} == shipped


@virtual
@every_sensor
def test_the_newest_wrench_in_si_and_never_zeroed_unasked(name):
    with sensing(name) as it:
        for _ in range(20):
            assert it.read() == 0
            it.feels(LOAD[0])
        assert 20 < it.driver.used <= it.driver.samples
        assert all(isinstance(count, int) for count in it.driver.counters().values())
        it.load.f = (30.0, -20.0, 30.0)
        assert it.read() == 0
        it.feels(it.load.f)
        it.driver.bias()
        assert it.read() == 0
        it.feels((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
        it.load.f = (30.0, -20.0, 34.0)
        assert it.read() == 0
        it.feels((0.0, 0.0, 4.0), (0.0, 0.0, 0.0))


@pytest.mark.wall
@pytest.mark.parametrize("name", ["netft", "rtde"])
def test_on_the_sockets_of_this_machine_a_sensor_is_met_read_and_stopped(name):
    """What a Franka robot feels comes with its states: see test_robots.py."""
    with sensing(name, stale=cells.HUNG, frozen=0.0) as it:
        while it.driver.used < 20:
            assert it.read() == 0
        it.feels(LOAD[0])
        it.driver.stop()


@virtual
@every_sensor
def test_a_sensor_that_sends_nothing_or_nothing_new_is_a_fault_in_time_and_goes_on(name):
    with sensing(name) as it:
        assert it.read() == 0
        it.silent(True)
        assert it.read(0.008) == 0
        assert it.read(0.004) == faults.SENSOR_STALE
        it.silent(False)
        assert it.read(0.02) == 0
        it.stuck(True)
        assert it.read(0.15) == 0
        assert it.read(0.1) == faults.SENSOR_FROZEN
        it.stuck(False)
        assert it.read() == 0


@virtual
@every_sensor
def test_stop_never_raises_and_what_is_stopped_is_stale(name):
    with sensing(name) as it:
        assert it.read() == 0
        it._hold = None
        it.driver.stop()
        it.driver.stop()
        assert it.read(0.02) == faults.SENSOR_STALE
        it.driver.bias()


@virtual
@every_sensor
def test_a_sensor_that_is_not_there_is_one_sentence_and_leaves_nothing_behind(name):
    given, began = section(name, **({} if name == "fci" else {"time_limit": 0.3})), clock.now()
    for _ in range(2):
        with pytest.raises(InputError, match=r"^[^\n]*(cannot be reached|sent no record|needs the robot's connection)[^\n]*;"):
            given.connect()
    assert clock.now() - began < 0.7


@virtual
@pytest.mark.parametrize("name", ["rtde", "fci"])
def test_the_wrench_of_a_robot_comes_in_the_axes_of_base_or_tool(name):
    with sensing(name, TURNED) as it:
        assert it.read() == 0
        it.feels(LOAD[0])
    with sensing(name, TURNED, frame="tool" if name == "rtde" else "stiffness", reverse=True) as it:
        assert it.read() == 0
        it.feels((20.0, 10.0, -30.0), (-2.0, 1.0, 3.0))


@virtual
@pytest.mark.parametrize("name", ["netft", "onrobot", "fci"])
def test_a_second_run_on_a_sensor_is_refused_and_the_first_goes_on(name):
    with sensing(name) as it:
        with pytest.raises(InputError, match="in use by another run"):
            drivers.connect(cells.section("fci", port=it.device.port), it.section) if name == "fci" else it.section.connect()
        assert it.read() == 0


def test_the_wrench_of_a_franka_robot_needs_a_franka_robot():
    with pytest.raises(InputError, match=r"set robot\.driver = 'fci', or choose another sensor"):
        section("fci").within(object())
