"""The interfaces of a robot, a sensor and a live rig.

A driver is found by its entry point, or as `module:Class` of a rig file. The rig file's table becomes its section, and
`connect` returns an open driver:

    [project.entry-points."hilt.robots"]          [project.entry-points."hilt.sensors"]
    rsi = "hilt.device.drivers:RsiRig"            netft = "hilt.device.drivers:NetFTRig"

All poses are of the mock-up in W. Codes are those of hilt.core.faults, 0 for none. Only `connect` and `wait` may block.
"""

from typing import Any, NamedTuple, Protocol

from hilt.core.clock import Clock
from hilt.core.rig import Rig
from hilt.core.system import Bench
from hilt.device.joints.space import JointSpace
from hilt.loop import Overseer


class Reply(NamedTuple):
    """The robot's packet, apart from its pose. A driver that only counts its packets returns Reply(code, count)."""

    code: int  # of hilt.core.faults
    cycle: int  # of the robot's own clock; a step of 2 is a cycle without an answer
    heard: bool = True  # whether the last answer arrived in time for its cycle; if not, the robot did not move there
    stood: bool = False  # it came one cycle too late and is followed only now: the robot stood still in the meantime
    coasts: bool = False  # it did not arrive, and the robot went on by itself; a `bounded` driver continues from there


class RobotDriver(Protocol):
    """A robot's driver. One that limits its commands itself, and catches up afterwards, says so with `bounded = True`,
    and in `moves` whether the robot still moves."""

    def wait(self, X_WB: Any, V_WB: Any) -> Reply:
        """Block until the robot's next packet; write pose and twist of the mock-up."""

    def send(self, X_WB_cmd: Any) -> int:
        """Answer the packet with a set-point; 0 or a fault code."""

    def hold(self) -> int:
        """Answer the packet without moving; 0 or a fault code."""

    def sent(self, X_WB: Any) -> None:
        """Write the robot's present set-point."""

    def stop(self) -> None:
        """Answer without moving if an answer is due. Never raises, never waits, safe to call twice."""

    def close(self) -> None: ...

    def counters(self) -> dict[str, int]:
        """Counters for the report of a run; they have no effect on it."""


class JointedDriver(RobotDriver, Protocol):
    """A robot that takes joint angles: `send` solves for them with `joints`; on a fault it sends nothing and returns it."""

    joints: JointSpace

    def send_joints(self) -> int:
        """Answer the packet with the angles in `joints.next`, unchanged: a soft stop is made of joint angles."""


class SensorDriver(Protocol):
    """A sensor's driver. Both kinds of drivers may also have `notes()`: sentences for the report of a run. A sensor may count
    its `samples`; `read_until(wrench, t)` may write the newest wrench that arrived by t [s, monotonic], the robot's cycle."""

    def read(self, wrench: Any) -> int:
        """Write the newest wrench; 0 or a fault code."""

    def bias(self) -> None:
        """Zero the sensor at its present load. Never done automatically."""

    def stop(self) -> None: ...

    def counters(self) -> dict[str, int]: ...


class RobotSection(Protocol):
    """A robot's table. It may also have `reserve()`, which takes exclusive resources without contacting the device; `connect`
    receives them."""

    cycle: float  # s between two set-points

    def connect(self) -> RobotDriver: ...


class SensorSection(Protocol):
    """A sensor's table. A sensor that is part of the robot also has `within(robot)`, which is called with the open driver
    instead of `connect`."""

    def connect(self) -> SensorDriver: ...


class LiveRig(Rig, Protocol):
    """A rig in wall time, on devices or simulated: READY, then LIVE once it is armed, then STOPPED, and READY again."""

    state: int  # OFF, READY, LIVE or STOPPED of hilt.record.letters
    trouble: int  # while READY: a fault code that prevents arming, 0 for none

    @property
    def clock(self) -> Clock:
        """The clock of the run for which the rig is armed."""

    def open(self) -> None:
        """Connect; from now on the robot is held."""

    def bias(self) -> None:
        """Zero the sensor at its present load. Only on the user's request."""

    def check_start(self, bench: Bench) -> None:
        """Check that the rig may be armed for a run; an InputError says why not."""

    def arm(self, bench: Bench) -> None:
        """Go live: from now on the loop's set-points are sent."""

    def rest(self) -> None:
        """Wait until the robot is at rest, after a stop."""

    def reset(self) -> None:
        """Become READY again, at the robot's present pose."""

    def home(self, bench: Bench, speed: float, overseer: Overseer | None = None) -> None:
        """Drive from READY to the start of a bench, within a speed [m/s]; an InputError if it was stopped on the way."""

    def close(self) -> None:
        """Bring the robot to rest and disconnect the devices. Never raises."""

    def timing(self) -> dict[str, Any]:
        """Return the timing of the last run and the drivers' counters, for its report."""

    def notes(self) -> list[str]:
        """Return sentences for the report of the last run."""
