"""The drivers that come with hilt, as sections of a rig file, and how a robot and a sensor are opened together."""

from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator

from hilt.core.faults import InputError
from hilt.core.units import Hertz, Second
from hilt.device.fci.codec import CYCLE as FRANKA_CYCLE
from hilt.device.fci.driver import FciRobot
from hilt.device.fci.force import FciForce
from hilt.device.fci.settings import FciForceSettings, FciSettings
from hilt.device.netft.driver import NetFT
from hilt.device.netft.settings import NetFTSettings
from hilt.device.protocol import RobotDriver, SensorDriver
from hilt.device.rsi.codec import CYCLES
from hilt.device.rsi.driver import RsiRobot
from hilt.device.rsi.settings import RsiSettings
from hilt.device.rtde.driver import RtdeRobot
from hilt.device.rtde.force import RtdeForce
from hilt.device.rtde.settings import CYCLES as UR_CYCLES
from hilt.device.rtde.settings import RtdeForceSettings, RtdeSettings
from hilt.host import machine
from hilt.host.shared import PAGE, Segment


def connect(robot: Any, sensor: Any) -> tuple[RobotDriver, SensorDriver]:
    """Open both devices, or neither and raise an InputError. The robot's port comes first, since only one run can have it: a
    second run on a rig is refused before it contacts the sensor, which may serve only its last client. The robot is connected
    last, since it needs answers from then on; a sensor that is part of the robot (`within`) reads the robot's own packets."""
    reserved = [robot.reserve()] if hasattr(robot, "reserve") else []
    met: SensorDriver | None = None
    try:
        if hasattr(sensor, "within"):
            arm = robot.connect(*reserved)
            reserved = [arm]
            return arm, sensor.within(arm)
        met = sensor.connect()
        return robot.connect(*reserved), met
    except BaseException:
        if met is not None:
            met.stop()
        for port in reserved:
            port.close()
        raise


class RsiRig(RsiSettings):
    """[robot] of a rig file: a KUKA controller with RSI."""

    FASTEST: ClassVar[float] = min(CYCLES)  # [s], shortest cycle
    driver: Literal["rsi"]
    address: str = Field(default="0.0.0.0", description="address of this machine to which the robot sends")
    port: int = Field(default=59152, ge=1, le=65535)
    cycle: Second = Field(description="4 ms or 12 ms, as in the RSI program")
    time_limit: Second = Field(default=10.0, gt=0, le=3600, description="time to wait for the robot's first packet")

    @field_validator("cycle")
    @classmethod
    def _possible(cls, cycle: float) -> float:
        if cycle not in CYCLES:
            raise ValueError("RSI sends every 4 ms or 12 ms; choose the one of the RSI program")
        return cycle

    def reserve(self) -> RsiRobot:
        """Return a robot whose port is open but which is not answered yet."""
        robot = RsiRobot(self)
        robot.listen(self.address, self.port)
        return robot

    def connect(self, reserved: RsiRobot | None = None) -> RobotDriver:
        robot = reserved or RsiRobot(self)
        robot.open(self.address, self.port, self.cycle, self.time_limit)
        return robot


class _LockedNetFT(NetFT):
    """Exclusive while it is open."""

    def __init__(self, settings: NetFTSettings, lock: Segment) -> None:
        super().__init__(settings)
        self._lock = lock

    def stop(self) -> None:
        super().stop()
        self._lock.close()


class NetFTRig(NetFTSettings):
    """[sensor] of a rig file: an ATI Net F/T."""

    driver: Literal["netft"]
    address: str = Field(description="address of the sensor")
    port: int = Field(default=49152, ge=1, le=65535)
    time_limit: Second = Field(default=5.0, gt=0, le=3600, description="time to wait for the sensor's first record")

    def connect(self) -> SensorDriver:
        sensor = _LockedNetFT(self, self._lock())
        try:
            sensor.open(self.address, self.port, self.time_limit)
        except BaseException:  # also on a signal: the sensor must not keep streaming to us
            sensor.stop()
            raise
        return sensor

    def _lock(self) -> Segment:
        """A sensor may stream to its last client only: a second run must not even send a request."""
        return _exclusive("the force sensor", self.address, self.port, "sensor")


def _exclusive(what: str, address: str, port: int, kind: str) -> Segment:
    """Lock a device, by its address, so that only one run of this host can use it."""
    try:
        number = machine.resolve(address)
    except (OSError, UnicodeError):
        raise InputError(f"{what}'s address {address!r} cannot be found; give it in numbers, such as 192.168.1.1") from None
    lock = Segment.create(f"{number}-{port}.{kind}", PAGE)
    try:
        lock.publish()
    except InputError:
        lock.close()
        raise InputError(f"{what} at {address}:{port} is in use by another run; wait until it ends, or end it") from None
    return lock


class _LockedRtde(RtdeRobot):
    """Exclusive while it is open: a second script would end the one that is running."""

    def __init__(self, settings: RtdeSettings, lock: Segment) -> None:
        super().__init__(settings)
        self._lock = lock

    def close(self) -> None:
        super().close()
        self._lock.close()


class RtdeRig(RtdeSettings):
    """[robot] of a rig file: a robot from Universal Robots."""

    FASTEST: ClassVar[float] = min(UR_CYCLES)
    driver: Literal["rtde"]
    address: str = Field(description="address of the robot")
    port: int = Field(default=30004, ge=1, le=65535, description="of its RTDE interface")
    script_port: int = Field(default=30002, ge=1, le=65535, description="of its secondary interface, which takes scripts")
    cycle: Second = Field(default=0.002, description="2 ms for e-Series, 8 ms for CB3")
    time_limit: Second = Field(default=10.0, gt=0, le=3600, description="time to wait for the robot and its script")

    @field_validator("cycle")
    @classmethod
    def _possible(cls, cycle: float) -> float:
        if cycle not in UR_CYCLES:
            raise ValueError("e-Series robots send every 2 ms, CB3 every 8 ms; choose the one of your robot")
        return cycle

    def reserve(self) -> RtdeRobot:
        """Return a robot that is not contacted yet, and that no other run of this host can use."""
        return _LockedRtde(self, _exclusive("the robot", self.address, self.port, "robot"))

    def connect(self, reserved: RtdeRobot | None = None) -> RobotDriver:
        robot = reserved or self.reserve()
        robot.open(self.address, self.port, self.script_port, self.cycle, self.time_limit)
        return robot


class RtdeForceRig(RtdeForceSettings):
    """[sensor] of a rig file: the force sensing of a robot from Universal Robots."""

    driver: Literal["rtde"]
    address: str = Field(description="address of the robot")
    port: int = Field(default=30004, ge=1, le=65535)
    rate: Hertz = Field(default=500.0, gt=0, le=500, description="samples per second; 125 Hz at most for CB3")
    time_limit: Second = Field(default=5.0, gt=0, le=3600, description="time to wait for the first sample")

    def connect(self) -> SensorDriver:
        sensor = RtdeForce(self)
        sensor.open(self.address, self.port, self.rate, self.time_limit)
        return sensor


class _LockedFci(FciRobot):
    """Exclusive while it is open: a robot has one client."""

    def __init__(self, settings: FciSettings, lock: Segment) -> None:
        super().__init__(settings)
        self._lock = lock

    def close(self) -> None:
        super().close()
        self._lock.close()


class FciRig(FciSettings):
    """[robot] of a rig file: a Franka robot."""

    FASTEST: ClassVar[float] = FRANKA_CYCLE
    driver: Literal["fci"]
    address: str = Field(description="address of the robot")
    port: int = Field(default=1337, ge=1, le=65535, description="of its control interface")
    cycle: Second = Field(default=FRANKA_CYCLE, description="1 ms")
    time_limit: Second = Field(default=10.0, gt=0, le=3600, description="time to wait for the robot")

    @field_validator("cycle")
    @classmethod
    def _possible(cls, cycle: float) -> float:
        if cycle != FRANKA_CYCLE:
            raise ValueError("a Franka robot sends every 1 ms; set 1 ms, or leave it out")
        return cycle

    def reserve(self) -> FciRobot:
        """Return a robot that is not contacted yet, and that no other run of this host can use."""
        return _LockedFci(self, _exclusive("the robot", self.address, self.port, "robot"))

    def connect(self, reserved: FciRobot | None = None) -> RobotDriver:
        robot = reserved or self.reserve()
        robot.open(self.address, self.port, self.time_limit)
        return robot


class FciForceRig(FciForceSettings):
    """[sensor] of a rig file: the wrench that a Franka robot estimates. It comes with the states of the robot's own driver."""

    driver: Literal["fci"]

    def connect(self) -> SensorDriver:
        raise InputError(
            "sensor.driver is 'fci', which needs the robot's connection; open both with hilt.device.drivers.connect"
        )

    def within(self, robot: RobotDriver) -> SensorDriver:
        if not isinstance(robot, FciRobot):
            raise InputError(
                "sensor.driver is 'fci', the wrench that a Franka robot estimates, but the robot has another driver; "
                "set robot.driver = 'fci', or choose another sensor"
            )
        return FciForce(self, robot)
