"""An emulated facility: robot and sensor as separate processes, and a supervisor.

    robot process ── RSI over UDP ──► hilt ◄── RDT over UDP ── sensor process
          └───────────── motion of the mock-up, in shared memory ────────┘

Each has its own clock and ends with its parent. Faults can be injected while it runs: see control.py.
"""

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hilt.core import clock, scenario
from hilt.core.faults import InputError
from hilt.device import rigfile
from hilt.device.rigfile import RigFile
from hilt.host import shared
from hilt.host.asked import Asked
from hilt.lab.dry import robot, world
from hilt.lab.dry.control import ControlServer, FacilityControl, name_of

START_LIMIT = 120.0  # [s] until a process is ready: it may have to compile
DEVICES = ("robot", "sensor")
LOOK = 0.1  # [s] between two checks of the processes
REPORT = 1.0  # [s] between two status lines

Watch = Callable[[str], None]


class Facility:
    """Both processes and their control. `rig` is the rig file with which hilt connects to it."""

    def __init__(
        self, rig: RigFile, settings: list[str] | None = None, *, diary: Path | None = None, live: bool = True
    ) -> None:
        robot.check(rig)
        shared.sweep()
        self.rig = rig
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
            self._devices = {name: Asked(name, f"hilt.lab.dry.{name}", again) for name in DEVICES}
            first = [(device, device.tell(json.dumps(config))) for device in self._devices.values()]
            for device, number in first:
                device.hear(number, START_LIMIT)
            self.control = FacilityControl(rig)
        except BaseException:
            self.stop()
            raise

    @property
    def pids(self) -> dict[str, int]:
        return {name: device.pid for name, device in self._devices.items()}

    @property
    def trouble(self) -> list[str]:
        """A sentence for each process that has ended by itself."""
        return [device.ended for device in self._devices.values() if device.ended]

    def obey(self, line: str) -> dict[str, Any]:
        """A line from the control: for one device by its name, or for both."""
        if line == "status":
            return self.status()
        if line == "clear":
            for device in self._devices.values():
                if not device.ended:
                    device.ask("clear")
            return {}
        name, dot, rest = line.partition(".")
        if not dot or name not in self._devices:
            raise InputError(f"{line!r} is not understood; write robot.SWITCH=VALUE, sensor.SWITCH=VALUE, clear or status")
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
    """One status line."""
    parts = []
    for name in DEVICES:
        now, last = status[name], (before or {}).get(name, {})
        if "silent" in now:
            parts.append(now["silent"])
            continue
        count = "cycles" if name == "robot" else "samples"
        passed = now["t"] - last.get("t", now["t"])
        rate = f" {(now[count] - last[count]) / passed:.0f} Hz," if passed > 0 and count in last else ""
        if name == "robot":
            why = now["reason"] or (f"last stopped: {now['last_reason']}" if now["last_reason"] else "")
            parts.append(
                f"robot {now['state']}{f' ({why})' if why else ''},{rate} {now['set_points']} set-points, "
                f"{now['late']} late, {now['violation_count']} violations"
            )
        else:
            f = ", ".join(f"{part:.1f}" for part in now["f"])
            parts.append(f"sensor{rate} {now['clients']} client{'' if now['clients'] == 1 else 's'}, {f} N")
    return " | ".join(parts)


def serve(rig: RigFile, settings: list[str], watch: Watch | None = None, diary: Path | None = None) -> int:
    """Run a facility until SIGINT or SIGTERM; `watch` gets a status line every second. 0, or 1 if a process ended before."""
    asked: list[int] = []
    handlers = {number: signal.signal(number, lambda n, _: asked.append(n)) for number in (signal.SIGINT, signal.SIGTERM)}
    say = watch or (lambda line: print(line, flush=True))
    facility = None
    try:
        facility = Facility(rig, settings, diary=diary)
        streams = world.netft_of(rig)
        say(
            f"{robot.kind_of(rig).said(world.robot_of(rig))}, the sensor is at "
            f"{streams.address}:{streams.port}; processes {os.getpid()}, {facility.pids['robot']}, {facility.pids['sensor']}; "
            "Ctrl-C ends them"
        )
        before, due = None, clock.now() + REPORT
        known: list[str] = []
        while not asked:
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
            signal.signal(number, handler)


@contextmanager
def running_facility(
    rig: RigFile | Path | dict[str, Any],
    settings: list[str] | None = None,
    *,
    diary: Path | None = None,
    live: bool = False,
) -> Iterator[Facility]:
    """A facility on free loopback ports, for tests and examples: `facility.rig` has the ports, `facility.control` faults."""
    if isinstance(rig, Path):
        rig = rigfile.load(rig)
    elif isinstance(rig, dict):
        rig = scenario.build(RigFile, rig)  # type: ignore[type-var]
    ports = {
        "robot": {**rig.robot, **robot.kind_of(rig).loopback()},
        "sensor": {**rig.sensor, "address": "127.0.0.1", "port": robot.free_port()},
    }
    facility = Facility(rig.model_copy(update=ports), settings or [], diary=diary, live=live)
    try:
        yield facility
    finally:
        facility.stop()
