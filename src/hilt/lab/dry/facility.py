"""An emulated facility: robot and sensor as separate processes, and a supervisor.

    robot process ── RSI over UDP ──► hilt ◄── RDT over UDP ── sensor process
          └───────────── motion of the mock-up, in shared memory ────────┘

Each has its own clock and ends with its parent. Faults can be injected while it runs: see control.py.
"""

import json
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hilt.core import clock, scenario
from hilt.core.faults import InputError
from hilt.device import rigfile
from hilt.device.rigfile import RigFile
from hilt.host import machine, shared
from hilt.host.asked import Asked
from hilt.lab.dry import robot, world
from hilt.lab.dry.control import ControlServer, FacilityControl, name_of

START_LIMIT = 120.0  # [s] until a process is ready: it may have to compile
LOOK = 0.1  # [s] between two checks of the processes
REPORT = 1.0  # [s] between two status lines

Watch = Callable[[str], None]


def robots_of(rig: RigFile) -> dict[str, RigFile]:
    """Return the rig file of each robot alone. The clock is called robot, like a single robot; the other one by its name."""
    return {"robot": rig.of(rig.clock), rig.other: rig.of(rig.other)} if rig.other else {"robot": rig}


def sensors_of(rig: RigFile) -> dict[str, RigFile]:
    """Return the rig file of each sensor alone. A single one or the clock's is called sensor; the other one by its robot."""
    return {"sensor": rig, **({f"sensor-{rig.second_carrier}": rig.with_second_sensor} if rig.second_carrier else {})}


class Facility:
    """All processes and their control. `rig` is the rig file with which hilt connects to it."""

    def __init__(
        self, rig: RigFile, settings: list[str] | None = None, *, diary: Path | None = None, live: bool = True
    ) -> None:
        for each in robots_of(rig).values():
            robot.check(each)
        world.pairing_of(rig, settings or [])
        for each in sensors_of(rig).values():
            world.netft_of(each)
        shared.sweep()
        self.rig, self.diary = rig, diary
        config = {
            "rig": rig.model_dump(mode="json"),
            "settings": settings,
            "name": name_of(rig),
            "diary": diary and str(diary.absolute()),
            "live": live,
        }
        self._server = ControlServer(name_of(rig), self.obey)
        self._devices: dict[str, Asked] = {}
        try:
            again = "start the facility again"
            self._robots = list(robots_of(rig))
            self._devices = {name: Asked(name, "hilt.lab.dry.robot", again) for name in self._robots}
            self._devices |= {name: Asked(name, "hilt.lab.dry.sensor", again) for name in sensors_of(rig)}
            first = [(device, device.tell(json.dumps(self._config(config, name)))) for name, device in self._devices.items()]
            for device, number in first:
                device.hear(number, START_LIMIT)
            self.control = FacilityControl(rig)
        except BaseException:
            self.stop()
            raise

    def _config(self, config: dict[str, Any], name: str) -> dict[str, Any]:
        """Return the configuration of one device; each of two robots gets its name and its own log."""
        if not self.rig.other or name == "sensor":
            return config
        if name not in self._robots:
            return {**config, "second": True}
        own, diary = self.rig.clock if name == "robot" else name, config["diary"]
        return {**config, "robot": own, "diary": diary and str(Path(diary).with_name(f"{Path(diary).stem}-{own}.csv"))}

    @property
    def pids(self) -> dict[str, int]:
        return {name: device.pid for name, device in self._devices.items()}

    @property
    def trouble(self) -> list[str]:
        """A sentence for each process that has ended by itself."""
        return [device.ended for device in self._devices.values() if device.ended]

    def obey(self, line: str) -> dict[str, Any]:
        """Execute a line of the control: for one device by its name, or for all."""
        if line == "status":
            return self.status()
        if line == "clear":
            for device in self._devices.values():
                if not device.ended:
                    device.ask("clear")
            return {}
        name, dot, rest = line.partition(".")
        if name == "robots" and dot:
            for each in self._robots:
                self._devices[each].ask(rest)
            return {}
        if not dot or name not in self._devices:
            known = ", ".join(f"{each}.SWITCH=VALUE" for each in self._devices)
            raise InputError(f"{line!r} is not understood; write {known}, clear or status")
        return self._devices[name].ask(rest)

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = {"trouble": self.trouble}
        for name, device in self._devices.items():
            found[name] = {"pid": device.pid}
            try:
                found[name] |= device.ask("status")
            except InputError as error:
                found[name]["silent"] = str(error)
        return found

    def stop(self) -> None:
        """End everything; safe to call twice."""
        for device in self._devices.values():
            device.end()
        if hasattr(self, "control"):
            self.control.close()
        self._server.close()


def words(status: dict[str, Any], before: dict[str, Any] | None = None) -> str:
    """Return one status line."""
    parts = []
    for name in (each for each in status if each != "trouble"):
        now, last = status[name], (before or {}).get(name, {})
        if "silent" in now:
            parts.append(now["silent"])
            continue
        count = "samples" if name.startswith("sensor") else "cycles"
        passed = now["t"] - last.get("t", now["t"])
        rate = f" {(now[count] - last[count]) / passed:.0f} Hz," if passed > 0 and count in last else ""
        if count == "cycles":
            why = now["reason"] or (f"last stopped: {now['last_reason']}" if now["last_reason"] else "")
            parts.append(
                f"{name} {now['state']}{f' ({why})' if why else ''},{rate} {now['set_points']} set-points, "
                f"{now['late']} late, {now['violation_count']} violations"
            )
        else:
            f = ", ".join(f"{part:.1f}" for part in now["f"])
            parts.append(f"{name}{rate} {now['clients']} client{'' if now['clients'] == 1 else 's'}, {f} N")
    return " | ".join(parts)


def serve(rig: RigFile, settings: list[str], watch: Watch | None = None, diary: Path | None = None) -> int:
    """Run a facility until SIGINT or SIGTERM; `watch` gets a status line every second. Returns 0, or 1 if a
    process ended by itself."""
    signals: list[int] = []
    handlers = {number: machine.handle(number, lambda n, _: signals.append(n)) for number in (signal.SIGINT, signal.SIGTERM)}
    say = watch or (lambda line: print(line, flush=True))
    facility = None
    try:
        facility = Facility(rig, settings, diary=diary)
        streams = [world.netft_of(each) for each in sensors_of(rig).values()]
        places = " and ".join(f"{each.address}:{each.port}" for each in streams)
        sensors = f"the sensor is at {places}" if len(streams) == 1 else f"the sensors are at {places}"
        robots = ", ".join(robot.kind_of(each).said(world.robot_of(each)) for each in robots_of(rig).values())
        processes = ", ".join(map(str, (machine.pid(), *facility.pids.values())))
        say(f"{robots}, {sensors}; processes {processes}; Ctrl-C ends them")
        before, due = None, clock.now() + REPORT
        known: list[str] = []
        while not signals:
            clock.pause(LOOK)
            for sentence in facility.trouble:
                if sentence not in known:
                    known.append(sentence)
                    say(sentence)
            if clock.now() >= due:
                status = facility.status()
                say(words(status, before))
                before, due = status, clock.now() + REPORT
        return 1 if facility.trouble else 0
    finally:
        if facility is not None:
            facility.stop()
        for number, handler in handlers.items():
            machine.handle(number, handler)


@contextmanager
def running_facility(
    rig: RigFile | Path | dict[str, Any],
    settings: list[str] | None = None,
    *,
    diary: Path | None = None,
    live: bool = False,
) -> Iterator[Facility]:
    """Run a facility on free loopback ports, for tests and examples; `facility.rig` has the ports, `facility.control` injects
    faults."""
    if isinstance(rig, Path):
        rig = rigfile.load(rig)
    elif isinstance(rig, dict):
        rig = scenario.build(RigFile, rig)  # type: ignore[type-var]
    sensor = {**rig.sensor, "address": "127.0.0.1", "port": robot.free_port()}
    ports: dict[str, Any] = {"robot": {**rig.robot, **robot.kind_of(rig).loopback()}, "sensor": sensor}
    ports |= {"sensors": {name: {**table, "address": "127.0.0.1"} for name, table in rig.sensors.items()}}
    for name, table in ports["sensors"].items():
        table["port"] = sensor["port"] if name == rig.carrier else robot.free_port()
    if rig.other:
        other = {**rig.robots[rig.other], **robot.kind_of(rig.of(rig.other)).loopback()}
        ports |= {"robots": {rig.clock: {**rig.robots[rig.clock], **ports["robot"]}, rig.other: other}}
    facility = Facility(rig.model_copy(update=ports), settings or [], diary=diary, live=live)
    try:
        yield facility
    finally:
        facility.stop()
