"""What a robot and a sensor must be able to do, and how a rig file names them.

A driver comes in by an entry point; the table of the rig file becomes its section, `connect` an open driver:

    [project.entry-points."hilt.robots"]          [project.entry-points."hilt.sensors"]
    rsi = "hilt.device.drivers:RsiRig"            netft = "hilt.device.drivers:NetFTRig"

All poses are of the mock-up in W. Codes are those of hilt.faults, 0 for none. Nothing but `connect` and `wait` waits.
"""

import socket
from typing import Any, Literal, Protocol

from pydantic import Field, field_validator

from hilt.core import faults
from hilt.core.faults import InputError
from hilt.core.units import Second
from hilt.device.netft import driver as netft
from hilt.device.netft.driver import NetFT, NetFTSettings
from hilt.device.rsi import driver as rsi
from hilt.device.rsi.codec import CYCLES
from hilt.device.rsi.driver import RsiRobot
from hilt.device.rsi.settings import RsiSettings
from hilt.host.shared import PAGE, Segment


class RobotDriver(Protocol):
    def wait(self, X_WB: Any, V_WB: Any) -> int:
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

    def counters(self) -> dict[str, int]: ...


class SensorDriver(Protocol):
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


def connect(robot: Any, sensor: SensorSection) -> tuple[RobotDriver, SensorDriver]:
    """Both devices, or none and an InputError. First the robot's port, which only one run can have: a second run on a rig is
    refused before the sensor, which may serve only its last client, hears of it. The robot last: it wants answers then."""
    reserved = [robot.reserve()] if hasattr(robot, "reserve") else []
    met: SensorDriver | None = None
    try:
        met = sensor.connect()
        return robot.connect(*reserved), met
    except BaseException:
        if met is not None:
            met.stop()
        for port in reserved:
            port.close()
        raise


ROBOT_FAULTS = {
    rsi.OK: faults.NONE,
    rsi.SILENT: faults.ROBOT_SILENT,
    rsi.LIMITED: faults.ROBOT_LIMITED,
    rsi.NOT_SENDABLE: faults.ROBOT_NOT_SENDABLE,
    rsi.LINE: faults.ROBOT_LINE,
    rsi.RESTARTED: faults.ROBOT_RESTARTED,
    rsi.RIVAL: faults.ROBOT_RIVAL,
}
SENSOR_FAULTS = {
    netft.OK: faults.NONE,
    netft.STALE: faults.SENSOR_STALE,
    netft.STATUS: faults.SENSOR_STATUS,
    netft.SATURATED: faults.SENSOR_SATURATED,
    netft.FROZEN: faults.SENSOR_FROZEN,
    netft.GAP: faults.SENSOR_GAP,
    netft.JUMP: faults.SENSOR_JUMP,
}


class _Rsi:
    """RsiRobot with hilt's codes."""

    def __init__(self, robot: RsiRobot) -> None:
        self.robot = robot

    def wait(self, X_WB: Any, V_WB: Any) -> int:
        return ROBOT_FAULTS[self.robot.wait(X_WB, V_WB)]

    def send(self, X_WB_cmd: Any) -> int:
        return ROBOT_FAULTS[self.robot.send(X_WB_cmd)]

    def hold(self) -> int:
        return ROBOT_FAULTS[self.robot.hold()]

    def sent(self, X_WB: Any) -> None:
        self.robot.sent(X_WB)

    def stop(self) -> None:
        self.robot.stop()

    def close(self) -> None:
        self.robot.close()

    def counters(self) -> dict[str, int]:
        names = ("packets", "late", "lost", "duplicates", "rejected", "limited", "delay", "restarts", "strangers")
        return {name: int(getattr(self.robot, name)) for name in names}

    def notes(self) -> list[str]:
        return self.robot.notes()


class _NetFT:
    """NetFT with hilt's codes, for us alone while it is open."""

    def __init__(self, sensor: NetFT, lock: Segment) -> None:
        self.sensor, self._lock = sensor, lock

    def read(self, wrench: Any) -> int:
        return SENSOR_FAULTS[self.sensor.read(wrench)]

    def bias(self) -> None:
        self.sensor.bias()

    def stop(self) -> None:
        self.sensor.stop()
        self._lock.close()

    def counters(self) -> dict[str, int]:
        names = ("received", "used", "gaps", "late", "rejected", "jumps", "status")
        return {name: int(getattr(self.sensor, name)) for name in names}


class RsiRig(RsiSettings):
    """[robot] of a rig file: a KUKA controller with RSI."""

    driver: Literal["rsi"]
    address: str = Field(default="0.0.0.0", description="of this machine, where the robot sends to")
    port: int = Field(default=59152, ge=1, le=65535)
    cycle: Second = Field(description="4 ms or 12 ms, as in the RSI program")
    time_limit: Second = Field(default=10.0, gt=0, le=3600, description="how long to wait for the robot's first packet")

    @field_validator("cycle")
    @classmethod
    def _possible(cls, cycle: float) -> float:
        if cycle not in CYCLES:
            raise ValueError("its program sends every 4 ms or 12 ms; choose one of them")
        return cycle

    def reserve(self) -> RsiRobot:
        """A robot that is listened for and not answered yet."""
        robot = RsiRobot(self)
        robot.listen(self.address, self.port)
        return robot

    def connect(self, reserved: RsiRobot | None = None) -> RobotDriver:
        robot = reserved or RsiRobot(self)
        robot.open(self.address, self.port, self.cycle, self.time_limit)
        return _Rsi(robot)


class NetFTRig(NetFTSettings):
    """[sensor] of a rig file: an ATI Net F/T."""

    driver: Literal["netft"]
    address: str = Field(description="of the sensor's box")
    port: int = Field(default=49152, ge=1, le=65535)
    time_limit: Second = Field(default=5.0, gt=0, le=3600, description="how long to wait for its first record")

    def connect(self) -> SensorDriver:
        lock, sensor = self._lock(), NetFT(self)
        try:
            sensor.open(self.address, self.port, self.time_limit)
        except BaseException:  # a signal, too: nobody is left streaming to us
            sensor.stop()
            lock.close()
            raise
        return _NetFT(sensor, lock)

    def _lock(self) -> Segment:
        """A box may stream to its last client only: a second run of ours must not even ask it."""
        try:
            number = socket.gethostbyname(self.address)
        except (OSError, UnicodeError):
            raise InputError(
                f"the force sensor's address {self.address!r} cannot be found; give it in numbers, such as 192.168.1.1"
            ) from None
        lock = Segment.create(f"{number}-{self.port}.sensor", PAGE)
        try:
            lock.publish()
        except InputError:
            lock.close()
            raise InputError(
                f"the force sensor at {self.address}:{self.port} is in use by another run; wait for its end, or end it"
            ) from None
        return lock
