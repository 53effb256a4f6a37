"""What a robot, a sensor and a live rig must be able to do.

A driver comes in by an entry point or as `module:Class` of a rig file; the table of the rig file becomes its section, `connect`
an open driver:

    [project.entry-points."hilt.robots"]          [project.entry-points."hilt.sensors"]
    rsi = "hilt.device.drivers:RsiRig"            netft = "hilt.device.drivers:NetFTRig"

All poses are of the mock-up in W. Codes are those of hilt.core.faults, 0 for none. Nothing but `connect` and `wait` waits.
"""

from typing import Any, NamedTuple, Protocol

from hilt.core.clock import Clock
from hilt.core.rig import Rig
from hilt.core.system import Bench
from hilt.loop import Overseer


class Reply(NamedTuple):
    """What a robot's packet says beside its pose. A driver that only counts its packets returns Reply(code, count)."""

    code: int  # of hilt.core.faults
    cycle: int  # of the robot's own clock; a step of 2 is a cycle that nobody answered
    heard: bool = True  # whether the last answer arrived in time for its cycle: else the robot has not gone there


class RobotDriver(Protocol):
    def wait(self, X_WB: Any, V_WB: Any) -> Reply:
        """Block until the robot's next packet; write where the mock-up is and how it moves."""

    def send(self, X_WB_cmd: Any) -> int:
        """Answer it with a set-point."""

    def hold(self) -> int:
        """Answer it without moving."""

    def sent(self, X_WB: Any) -> None:
        """Write the set-point that the robot has now."""

    def stop(self) -> None:
        """Answer without moving if an answer is due. Never raises, never waits, safe to call twice."""

    def close(self) -> None: ...

    def counters(self) -> dict[str, int]:
        """For the report of a run; nothing is decided by them."""


class SensorDriver(Protocol):
    """Both kinds of drivers may also have `notes()`, sentences for the report of a run; a sensor may count its `samples`."""

    def read(self, wrench: Any) -> int:
        """Write the newest wrench."""

    def bias(self) -> None:
        """Take the present load for zero. Never done by itself."""

    def stop(self) -> None: ...

    def counters(self) -> dict[str, int]: ...


class RobotSection(Protocol):
    """May also have `reserve()`, which takes what only one run can have and touches nobody; `connect` is then given that."""

    cycle: float  # s between two set-points

    def connect(self) -> RobotDriver: ...


class SensorSection(Protocol):
    def connect(self) -> SensorDriver: ...


class LiveRig(Rig, Protocol):
    """A rig in wall time, on devices or simulated: READY, then LIVE once it is armed, then STOPPED, and READY again."""

    state: int  # OFF, READY, LIVE or STOPPED of hilt.record.letters
    trouble: int  # while READY: a fault code that arms nobody, 0 for none

    @property
    def clock(self) -> Clock:
        """For the run that it is armed for."""

    def open(self) -> None:
        """Connect; from here on the robot is held."""

    def bias(self) -> None:
        """Take the sensor's present load for zero. Only ever on the user's word."""

    def check_start(self, bench: Bench) -> None:
        """Refuse a rig that may not be armed for a run; an InputError says why."""

    def arm(self, bench: Bench) -> None:
        """From here on the loop's set-points go out."""

    def rest(self) -> None:
        """After a stop: wait until the robot stands."""

    def reset(self) -> None:
        """READY again, from where the robot stands."""

    def home(self, bench: Bench, speed: float, overseer: Overseer | None = None) -> None:
        """From READY to where a bench begins, at most so fast [m/s]; an InputError if it was stopped on the way."""

    def close(self) -> None:
        """Let go of the devices, at rest. Never raises."""

    def timing(self) -> dict[str, Any]:
        """How the last run kept time and what the drivers counted, for its report."""

    def notes(self) -> list[str]:
        """Sentences for its report."""
