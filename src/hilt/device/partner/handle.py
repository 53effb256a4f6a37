"""The loop's side of the second robot: orders before and after a run, set-points and motion during it."""

import json
from typing import Any

import numpy as np

from hilt.core import clock, faults
from hilt.core.faults import InputError
from hilt.core.signals import POSE
from hilt.device.partner.memory import SEEN, Memory
from hilt.device.rigfile import RigFile
from hilt.host import machine
from hilt.host.asked import Asked
from hilt.record.letters import LIVE, OFF, READY, STOPPED

START_LIMIT = 120.0  # [s] until the process is ready: it may have to compile
ORDER_LIMIT = 30.0  # [s]; connecting may take the driver's time_limit more
LOOK = 0.01  # [s] between two looks at a robot on its way home


def parts_of(pose: Any) -> list[float]:
    return [float(part) for part in (*pose["p"], *pose["q"])]


class SecondRobot:
    """One robot of a rig file in its own process."""

    def __init__(self, file: RigFile, name: str) -> None:
        self.name, self._file = name, file.of(name)
        section = self._file.robot_section
        self.cycle = float(section.cycle)
        self._silence = float(getattr(section, "patience", 10)) * self.cycle
        self._time_limit = float(getattr(section, "time_limit", 10.0))
        self.memory = Memory(f"{machine.pid()}-{name}", make=True)
        self._copy = np.zeros(1, SEEN)
        self.seen = self._copy[0]  # its newest motion
        self._process: Asked | None = None
        self._armed = 0.0
        self._last: dict[str, Any] = {}

    def open(self) -> None:
        """Start its process and connect: from now on it is held."""
        process = self._process = Asked(
            f"robot {self.name}", "hilt.device.partner.process", "run hilt sessions, and connect again"
        )
        folder, cores = self._file._folder, machine.scheduling().sched_getaffinity(0)
        config = {
            "rig": self._file.model_dump(mode="json"),
            "folder": folder and str(folder),
            "name": f"{machine.pid()}-{self.name}",
            "away_from": sorted(cores) if len(cores) == 1 else [],  # the loop's own core
        }
        process.hear(process.tell(json.dumps(config)), START_LIMIT)
        self._order("open", limit=ORDER_LIMIT + self._time_limit)

    def _order(self, do: str, limit: float = ORDER_LIMIT, **more: Any) -> dict[str, Any]:
        if self._process is None:
            raise InputError(f"the robot {self.name} is not connected; open the rig first")
        try:
            return self._process.ask(json.dumps({"do": do, **more}), limit)
        except InputError as error:
            raise InputError(f"robot {self.name}: {error}") from None

    @property
    def state(self) -> int:
        return OFF if self._process is None else int(self.memory.row["state"])

    @property
    def trouble(self) -> int:
        """A fault code while READY, 0 for none."""
        if self._process is None:
            return faults.NONE
        return faults.DEVICE if self._process.ended else int(self.memory.row["trouble"])

    def check_start(self, start: Any) -> None:
        self._order("check", start=parts_of(start))

    def place(self) -> Any:
        """Return its set-point, at rest."""
        found, parts = np.zeros(1, POSE)[0], self._order("tell")["sent"]
        found["p"], found["q"] = parts[:3], parts[3:]
        return found

    def arm(self, start: Any, limits: Any, later: float, step: float, *, gently: bool = False) -> None:
        """Go live: from now on it follows `push`. `gently`: within its limits, however uneven, also outside the workspace."""
        self.memory.begin()
        as_lists = {name: np.asarray(limits[name]).tolist() for name in limits.dtype.names}
        self._order("arm", start=parts_of(start), limits=as_lists, later=later, step=step, gently=gently)
        self._armed = clock.now()

    def look(self) -> int:
        """Read its newest motion into `seen`; 0 or a fault code. It counts as silent if its motion is too old."""
        self.memory.look(self._copy)
        if code := int(self.memory.row["fault"]):
            return code
        heard = max(float(self.seen["at"]), self._armed)
        return faults.ROBOT_SILENT if clock.now() - heard > self._silence else faults.NONE

    def push(self, t: float, pose: Any) -> None:
        self.memory.push(t, pose)

    def stop(self) -> None:
        """Make it stop softly with its next packet. Never raises, never waits, safe to call twice."""
        self.memory.row["stop"] = 1

    @property
    def moves(self) -> bool:
        """Whether it follows set-points, or is still stopping."""
        return self._process is not None and not self._process.ended and self.state in (LIVE, STOPPED)

    def await_rest(self, limit: float) -> None:
        """Wait until it is READY again, or its process has ended."""
        until = clock.now() + limit
        while self._process is not None and not self._process.ended and self.state != READY and clock.now() < until:
            clock.pause(LOOK)

    def home(self, goal: Any, speed: float) -> None:
        """Start driving to a pose; `on_its_way` says when it has arrived."""
        self.memory.begin()
        self._armed = clock.now()
        self._order("home", goal=parts_of(goal), speed=speed)

    def stopped_on_its_way(self) -> int:
        """Return a fault code if it was stopped on its way home or has fallen silent, else 0. Never waits."""
        if self._process is None or self._process.ended:
            return faults.DEVICE
        return self.look() if self.moves else int(self.memory.row["fault"])

    def on_its_way(self) -> bool:
        """Whether it is still on its way; an InputError if it was stopped before it arrived."""
        found = self._order("tell")
        if not found["runs"] and found["said"]:
            raise InputError(f"robot {self.name}: {found['said']}")
        return bool(found["runs"])

    def tell(self) -> dict[str, Any]:
        """Return its counters and notes; the previous ones if it no longer answers."""
        try:
            self._last = self._order("tell")
        except InputError as error:
            self._last = {**self._last, "said": str(error)}
        return self._last

    def close(self) -> None:
        """Stop it and end its process. Never raises, safe to call twice."""
        self.stop()
        if self._process is not None:
            self._process.end()
        self._process = None
        self.memory.close()
