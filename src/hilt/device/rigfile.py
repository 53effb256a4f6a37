"""Rig files: robot, sensor, their limits, and the scenario settings that the rig determines.

    [robot] driver = "rsi" …   [sensor] driver = "netft" …   [lab] …   [limits] …   [scenario] "loop.period" = "4 ms" …

Two robots have names that say what they carry; sensors are named after the robots that carry them:

    [robots.servicer] clock = true, driver = "rsi" …   [robots.target] driver = "rsi" …   [sensors.target] driver = "netft" …

`[limits]` replaces the scenario's limits: the hardware sets them, and a scenario may only be tighter (`check_limits`).
`[scenario]` holds settings as `--set` would give them, `[scenario.docking]` those for docking only; the command line overrides
them. `[tool]` becomes the `tool` of systems whose sensor moves. `[facility]` says how `hilt emulate` replaces robot and sensor.
"""

import typing
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, PrivateAttr, model_validator

from hilt.core import places, registry, scenario, toml
from hilt.core.faults import InputError, Unfit, shortened
from hilt.core.guard import NEVER, Limits
from hilt.core.scenario import Section
from hilt.core.units import (
    Count,
    Hertz,
    Metre,
    MetrePerSecond2,
    MetrePerSecondCubed,
    Newton,
    Number,
    Positive,
    Radian,
    RadianPerSecond,
    RadianPerSecond2,
    Second,
    Unit,
    to_si,
)
from hilt.device import own
from hilt.device.joints.settings import JointSettings
from hilt.device.placed import Place
from hilt.device.protocol import RobotSection, SensorSection
from hilt.sense.tool_load import ToolLoad

TRACKING_DELAY = 0.03  # [s], for a robot that has not been identified
SHIPPED = Path(__file__).parent / "rigs"


class Lab(Section):
    """Start, supervision and end of a run on devices."""

    arm: Literal["run", "ask"] = Field(
        default="ask", description="what arms the robot: the command `hilt run` itself, or a question answered with yes"
    )
    realtime: bool = Field(
        default=True, description="use real-time priority, locked memory and a dedicated core, as far as the host permits"
    )
    ready: Second = Field(
        default=1.0, ge=0, le=3600, description="time for which everything is watched without moving before the robot goes live"
    )
    bias: bool = Field(default=False, description="zero the sensor when READY")
    start_tolerance: Metre = Field(default=0.001, gt=0, description="largest distance of the robot from the scenario's start")
    tracking_tolerance: Metre = Field(
        default=0.005, gt=0, description="largest distance of a live robot from its set-point, at rest"
    )
    tracking_angle: Radian = Field(default=0.02, gt=0, description="the same for the attitude")
    tracking_delay: Positive[Second] | None = Field(
        default=None,
        le=0.25,
        description="lag of the robot; if not given, robot.delay of [scenario] plus a cycle, or 30 ms",
    )
    lateness: Second = Field(default=0.05, gt=0, description="a tick that starts later than this stops the robot")
    missed: Count = Field(default=25, ge=0, description="cycles of the robot that may be missed within a second")
    deceleration: MetrePerSecond2 = Field(default=1.0, gt=0, description="of a soft stop")
    angular_deceleration: Number = Field(default=1.0, gt=0, description="of a soft stop, rad/s²")
    recorder: Literal["stop", "count"] = Field(
        default="stop", description="when the recorder falls behind or dies: stop softly, or continue and count"
    )
    dead_man: bool = Field(default=False, description="the dead man's switch must be held all the time while live")
    ring: Second = Field(default=10.0, gt=0, le=600, description="length of the ring buffer to the recorder")


class EmulatedRobot(Section):
    """How an emulated robot answers, and what it allows."""

    dead_time: Second = Field(default=0.008, ge=0, description="of the robot, in addition to RSI's own cycle")
    natural_frequency: RadianPerSecond = Field(default=60.0, gt=0)
    damping_ratio: Number = Field(default=0.9, gt=0, le=1000)
    robot_jitter: Second = Field(default=0.0, ge=0, description="packets of the robot are sent up to this much late")
    clock_drift: Number = Field(default=0.0, ge=-0.01, le=0.01, description="relative: how much longer its cycle really is")
    makes_up: Second = Field(
        default=0.0,
        ge=0,
        le=0.1,
        description="stall of this host that is made up for by shorter cycles; at least one cycle; of the rest no packets come",
    )
    acceleration_limit: MetrePerSecond2 = Field(
        default=20.0, gt=0, description="limit for set-points, checked by the robot itself"
    )
    late_limit: Count = Field(default=25, ge=1, description="consecutive late answers after which the robot stops itself")


class Facility(EmulatedRobot):
    """Emulated robot and sensor on loopback; each of several robots may have its own settings."""

    system: str = Field(description="system whose contact the sensor measures")
    scenario: str = Field(description="of that system")
    sensor_rate: Hertz = Field(default=1000.0, gt=0)
    sensor_noise: Newton = Field(default=0.05, ge=0)
    robots: dict[str, EmulatedRobot] = Field(default_factory=dict, description="by name, where settings differ")

    @model_validator(mode="before")
    @classmethod
    def _general(cls, given: Any) -> Any:
        """Use the settings of [facility] for every robot that does not override them."""
        robots = given.get("robots") if isinstance(given, dict) else None
        if not (isinstance(robots, dict) and all(isinstance(table, dict) for table in robots.values())):
            return given
        general = {key: given[key] for key in EmulatedRobot.model_fields if key in given}
        return {**given, "robots": {name: {**general, **table} for name, table in robots.items()}}

    def of(self, name: str) -> "Facility":
        """Return the facility with the settings of one of several robots."""
        own = self.robots.get(name)
        return self if own is None else self.model_copy(update={key: getattr(own, key) for key in EmulatedRobot.model_fields})


class RigLimits(Limits):
    """The limits of devices: a simulation may leave them out, hardware may not."""

    angular_acceleration: RadianPerSecond2 = Field(gt=0)
    jerk: MetrePerSecondCubed = Field(gt=0)

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, given: Any) -> Any:
        typical = {"angular_acceleration": "30 rad/s^2", "jerk": "2500 m/s^3"}
        for key in cls.model_fields:
            if isinstance(given, dict) and key not in given:
                example = f', typically {key} = "{typical[key]}"' if key in typical else ""
                raise Unfit(
                    f"limits.{key} is missing, and devices need every limit; add it to [limits] of the rig file{example}",
                    key,
                )
        return given


class RigFile(Section):
    """A rig file; the drivers' tables are not yet parsed."""

    summary: str = ""
    robot: dict[str, Any] = Field(description="of several robots, the clock")
    robots: dict[str, dict[str, Any]] = Field(default_factory=dict)
    sensor: dict[str, Any] = Field(description="of two sensors, the clock's")
    sensors: dict[str, dict[str, Any]] = Field(default_factory=dict)
    lab: Lab = Lab()
    limits: RigLimits
    tool: ToolLoad | None = None
    scenario: dict[str, Any] = Field(default_factory=dict)
    facility: Facility | None = None
    _folder: Path | None = PrivateAttr(default=None)  # folder of the file, and of user-defined drivers beside it

    @model_validator(mode="before")
    @classmethod
    def _named(cls, given: Any) -> Any:
        """Fill in [robot] and [sensor] from the tables of named devices: the clock is the robot."""
        if not isinstance(given, dict):
            return given
        found = dict(given)
        first = ""
        for one, several in (("robot", "robots"), ("sensor", "sensors")):
            tables = given.get(several)
            if not (isinstance(tables, dict) and tables and all(isinstance(each, dict) for each in tables.values())):
                continue
            first = _first(tables, several, first)
            table = _of_driver(tables[first])
            if given.get(one, table) != table:
                raise Unfit(f"[{one}] and [{several}.NAME] are both given; keep one of the two forms", one, several)
            found[one] = table
        return found

    @property
    def clock(self) -> str:
        """Name of the robot that is the clock; empty with one robot."""
        return _first(self.robots, "robots") if self.robots else ""

    @property
    def other(self) -> str:
        """Name of the robot that is not the clock; empty with one robot."""
        return next((name for name in self.robots if name != self.clock), "")

    @property
    def carrier(self) -> str:
        """Name of the robot that carries the sensor; empty if the file does not say."""
        return _first(self.sensors, "sensors", self.clock) if self.sensors else ""

    @property
    def second_carrier(self) -> str:
        """Name of the robot that carries a second sensor; empty with one sensor."""
        return next((name for name in self.sensors if name != self.carrier), "")

    @property
    def with_second_sensor(self) -> "RigFile":
        """This rig file with the second sensor as its only one."""
        name = self.second_carrier
        return self.model_copy(update={"sensor": _of_driver(self.sensors[name]), "sensors": {name: self.sensors[name]}})

    @property
    def X_BS(self) -> Place:
        """Pose of a sensor that moves with the mock-up, in its frame."""
        table = self.sensors.get(self.carrier, {})
        given = table.get("X_BS", {"p": ["0 m", "0 m", "0 m"], "q": [1, 0, 0, 0]})
        found: Place = scenario.build(Place, given if isinstance(given, dict) else {})  # type: ignore[type-var]
        return found

    def of(self, name: str) -> "RigFile":
        """Return the rig file of one of several robots alone."""
        facility = self.facility and self.facility.of(name)
        return self.model_copy(update={"robot": _of_driver(self.robots[name]), "robots": {}, "facility": facility})

    @property
    def robot_section(self) -> RobotSection:
        found: RobotSection = _section("robots", "robot", self.robot, self._folder)
        return found

    @property
    def sensor_section(self) -> SensorSection:
        found: SensorSection = _section("sensors", "sensor", self.sensor, self._folder)
        return found

    @property
    def tracking_delay(self) -> float:
        """Lag of the robot behind its set-points [s], as far as the rig file knows."""
        if self.lab.tracking_delay is not None:
            return self.lab.tracking_delay
        tables = [self.scenario, *(table for table in self.scenario.values() if isinstance(table, dict))]
        try:
            found = [to_si(delay, "s") for table in tables for key, delay in table.items() if key.endswith("robot.delay")]
        except ValueError as error:
            raise InputError(f"robot.delay of [scenario] in the rig file cannot be read: {error}") from None
        return max(found) + float(self.robot_section.cycle) if found else TRACKING_DELAY

    def setting(self, key: str, default: Any, system: str | None = None) -> Any:
        """Return one key of [scenario], for a system or in general; refused if its tables differ and no system is given."""
        tables = {name: table for name, table in self.scenario.items() if isinstance(table, dict)}
        general = self.scenario.get(key, default)
        if system is not None:
            return tables.get(system, {}).get(key, general)
        named = {f"[scenario.{name}]": table[key] for name, table in tables.items() if key in table}
        found = {**({"[scenario]": self.scenario[key]} if key in self.scenario else {}), **named}
        if len({str(value) for value in found.values()}) > 1:
            said = " and ".join(f"{value} in {table}" for table, value in found.items())
            raise InputError(f"{key} of the rig file is {shortened(said)}; choose the system with --system NAME", key)
        return next(iter(found.values()), general)

    def settings(self, system: str) -> list[tuple[str, Any]]:
        """Return the scenario settings that the rig determines for a system: general, this system's, limits and tool."""
        keys = {key: value for key, value in self.scenario.items() if not isinstance(value, dict)}
        named = self.scenario.get(system, {})
        if not isinstance(named, dict):
            raise InputError(
                f"scenario.{system} of the rig file is {shortened(str(named))!r}; make it a table of settings",
                f"scenario.{system}",
            )
        own = list({**keys, **named}.items())
        tool = self.tool if self.tool is not None and _carries(system) else None
        if tool is not None and self.lab.bias:
            raise InputError(
                "[tool] subtracts the load from the measured wrench, and lab.bias zeroes the sensor at this load as well; "
                "set lab.bias = false, or remove [tool]"
            )
        return [*own, *_keys("limits", self.limits), *(_keys("tool", tool) if tool is not None else ())]


def _of_driver(table: dict[str, Any]) -> dict[str, Any]:
    """Return the table of a named device without the keys that do not belong to its driver."""
    return {key: value for key, value in table.items() if key not in ("clock", "X_BS")}


def _first(tables: dict[str, dict[str, Any]], several: str, clock: str = "") -> str:
    """Return the robot that is the clock, or the first if none says so; of sensors, the one on the clock, or the only one."""
    clocks = [name for name, table in tables.items() if table.get("clock") is True]
    if len(clocks) > 1:
        raise Unfit(
            f"{' and '.join(f'{several}.{name}.clock' for name in clocks)} are true; one robot is the clock; remove the others",
            several,
        )
    if len(tables) > 2:
        raise Unfit(
            f"[{several}] has {len(tables)} tables, {', '.join(tables)}; at most 2 can be used; remove the others", several
        )
    return clock if clock in tables else (clocks or list(tables))[0]


def check_limits(values: Any, file: RigFile) -> None:
    """Check that no limit of a scenario is wider than the rig's; tighter ones are fine. Call it before arming."""
    for key, field in RigLimits.model_fields.items():
        asked, allowed = _unlimited(getattr(values.limits, key)), getattr(file.limits, key)
        unit = next((each.symbol for each in field.metadata if isinstance(each, Unit)), "m")  # of a position: by its axes
        pairs = [("", asked, allowed)] if isinstance(allowed, float) else zip((" x", " y", " z"), asked, allowed, strict=True)
        for axis, one, bound in pairs:
            fits, end = (one >= bound, "least") if key == "workspace_min" else (one <= bound, "most")
            if not fits:
                raise InputError(
                    f"limits.{key}{axis} is {one:g} {unit} but the rig allows {bound:g} {unit} at {end}; "
                    "remove it from the scenario, make it tighter, or change [limits] of the rig file",
                    key=f"limits.{key}",
                )


def _unlimited(limit: Any) -> Any:
    return NEVER if limit is None else limit


def _carries(system: str) -> bool:
    """Whether the sensor of a system moves with a tool whose load is subtracted; `tool` may mean something else there."""
    model: Any = registry.system(system).scenario
    field = model.model_fields.get("tool")
    return field is not None and ToolLoad in (field.annotation, *typing.get_args(field.annotation))


def _keys(name: str, section: Section) -> list[tuple[str, Any]]:
    return [(f"{name}.{key}", value) for key, value in section.model_dump(mode="json").items()]


def _section(group: str, key: str, table: dict[str, Any], folder: Path | None) -> Any:
    name = table.get("driver")
    if name is None:
        known = ", ".join(registry.names(group))
        raise InputError(f"{key}.driver is missing; known are {known}; add it")
    try:
        found = scenario.build(own.driver(group, str(name), folder), dict(table))
        if isinstance(joints := getattr(found, "joints", None), JointSettings):
            joints.kinematics()
        return found
    except InputError as error:
        raise InputError(
            _of_table(key, error) if error.key else str(error), *(f"{key}.{each}" for each in error.keys)
        ) from None


def _place_arm(robot: dict[str, Any], folder: Path) -> None:
    """Give a URDF beside the rig file its full path: other processes get the tables, but not the file's folder."""
    joints = robot.get("joints")
    if isinstance(joints, dict) and isinstance(name := joints.get("urdf"), str) and (folder / name).is_file():
        joints["urdf"] = str(folder / name)


def _of_table(key: str, error: InputError) -> str:
    """Return the text of an error in a driver's table, with the keys as they are in the rig file; several errors are a list."""
    head, *several = str(error).split("\n")
    return "\n".join([head, *(f"  {key}.{each.strip()}" for each in several)]) if several else f"{key}.{head}"


def _foreign(group: str, table: dict[str, Any]) -> bool:
    """Whether a driver is code that is not part of hilt."""
    name = str(table.get("driver", ""))
    return ":" in name or (name in registry.names(group) and not registry.shipped(group, name))


def shipped() -> dict[str, Path]:
    """The rig files that come with hilt, by name."""
    return {path.stem: path for path in sorted(SHIPPED.glob("*.toml"), key=lambda path: path.stem)}


def find(rig: str, *others: str) -> Path:
    """Return the file for a path, or for the name of a shipped rig such as `dry-lab`; `others` are listed as known, too."""
    if rig.endswith(".toml"):
        return Path(rig)
    if rig in shipped():
        return shipped()[rig]
    known = ", ".join((*others, *shipped()))
    raise InputError(f"{shortened(rig)!r} is not a rig; known are {known}; choose one, or give the path of a .toml file")


def load(path: Path, *, drivers: bool = True) -> RigFile:
    """Read and check a rig file and its drivers' tables; without `drivers` only those of hilt's own: no other code is run."""
    found: RigFile = scenario.build(RigFile, toml.read(path, "rig"), places.of(path))  # type: ignore[type-var]
    found._folder = path.absolute().parent
    for table in (found.robot, *found.robots.values()):
        _place_arm(table, found._folder)
    if drivers or not _foreign("robots", found.robot):
        _ = found.robot_section
    if drivers or not _foreign("sensors", found.sensor):
        _ = found.sensor_section
    one, two = found.robot.get("port"), found.sensor.get("port")
    if one is not None and one == two and str(found.sensor.get("address", "")).startswith("127."):
        raise InputError(f"robot.port and sensor.port are both {one}; two devices need two ports; change one")
    if found.second_carrier:
        another = found.with_second_sensor
        if drivers or not _foreign("sensors", another.sensor):
            _ = another.sensor_section
        if (
            two is not None
            and another.sensor.get("port") == two
            and another.sensor.get("address") == found.sensor.get("address")
        ):
            raise InputError(f"sensors.{found.carrier}.port and sensors.{found.second_carrier}.port are both {two}; change one")
    if found.other:
        second = found.of(found.other)
        if drivers or not _foreign("robots", second.robot):
            _ = second.robot_section
        if one is not None and second.robot.get("port") == one and second.robot.get("address") == found.robot.get("address"):
            raise InputError(f"robots.{found.clock}.port and robots.{found.other}.port are both {one}; change one")
    return found
