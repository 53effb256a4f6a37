"""The second robot's process: its driver, its guard, its watch and its soft stop are those of any robot (live_rig.py).

Only the set-points come from elsewhere: from the loop, through shared memory. Orders come line by line (host/asked.py):

    {"do": "open"}   {"do": "check", "start": …}   {"do": "arm", "start": …, …}   {"do": "home", "goal": …, "speed": …}
    {"do": "tell"}   {"do": "close"}
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from hilt import loop
from hilt.core import faults, scenario
from hilt.core.guard import GUARD
from hilt.core.signals import POSE
from hilt.device import path
from hilt.device.course import check_near
from hilt.device.live_rig import LabRig
from hilt.device.partner.following import Following, scaled
from hilt.device.partner.handle import parts_of
from hilt.device.partner.memory import Memory
from hilt.device.path import NoSink
from hilt.device.protocol import RobotDriver, SensorDriver
from hilt.device.rigfile import RigFile
from hilt.host import asked, machine, realtime
from hilt.host.machine import Task


class _NoSensor:
    """No sensor here: the loop reads it."""

    def read(self, wrench: Any) -> int:
        return faults.NONE

    def bias(self) -> None: ...

    def stop(self) -> None: ...

    def counters(self) -> dict[str, int]:
        return {}


class _Stop:
    """An overseer that passes on the loop's stop."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def look(self, row: np.ndarray) -> int:
        return faults.REQUESTED if self._memory.row["stop"] else faults.NONE


def pose_from(parts: list[float]) -> Any:
    found = np.zeros(1, POSE)[0]
    found["p"], found["q"] = parts[:3], parts[3:]
    return found


class Partner(LabRig):
    """A rig of one robot that follows the loop of another process."""

    def __init__(self, file: RigFile, memory: Memory) -> None:
        self._memory = memory
        super().__init__(file)
        self._following = Following(memory, self._course, self.cycle)
        self._stop = _Stop(memory)
        self._runner: Task | None = None
        self._said = ""  # why the last path ended early
        self._rights: realtime.Rights | None = None

    @property
    def state(self) -> int:
        return int(self._memory.row["state"])

    @state.setter
    def state(self, state: int) -> None:
        self._memory.row["state"] = state

    @property
    def trouble(self) -> int:
        return int(self._memory.row["trouble"])

    @trouble.setter
    def trouble(self, code: int) -> None:
        self._memory.row["trouble"] = code

    def _connect(self) -> tuple[RobotDriver, SensorDriver]:
        section: Any = self.file.robot_section
        robot = section.connect(section.reserve()) if hasattr(section, "reserve") else section.connect()
        return robot, _NoSensor()

    def _see(self, row: np.ndarray) -> None:
        self._following.clock.arrived(self.reply.cycle, self._came)
        super()._see(row)
        self._following.show(row)

    def obey(self, order: dict[str, Any]) -> dict[str, Any]:
        do: Callable[[dict[str, Any]], dict[str, Any] | None] = getattr(self, f"_do_{order['do']}")
        return do(order) or {}

    def _do_open(self, _: dict[str, Any]) -> None:
        if self.file.lab.realtime:  # before the robot has to be answered
            self._rights = realtime.prepare()
        self.open()

    def _do_check(self, order: dict[str, Any]) -> None:
        self._check_at(pose_from(order["start"]))

    def _check_at(self, start: Any) -> None:
        advice = "drive it there, or change X_WR in the rig file"
        check_near(self._check_place(), start, self.file.lab.start_tolerance, "the start of the scenario", advice)

    def _do_arm(self, order: dict[str, Any]) -> None:
        start, limits = pose_from(order["start"]), np.zeros(1, GUARD.params)[0]
        for name in GUARD.params.names or ():
            limits[name] = order["limits"][name]
        later, step, gently = float(order["later"]), float(order["step"]), bool(order["gently"])
        self._take_over(lambda: self._check_at(start))
        waits = later + self.file.lab.lateness
        bench = self._following.bench(start, scaled(limits, self.cycle, step), later, step, waits, gently=gently)
        self._go_live(bench, boxed=not gently, in_time=not gently)

        def run() -> None:
            rights = realtime.prioritise() if self.file.lab.realtime else None
            try:
                fault = loop.run(bench, self, self.clock, NoSink(), overseer=self._stop)
                if fault is not None and fault.code != faults.REQUESTED:
                    self._memory.row["fault"], self._said = fault.code, fault.sentence
            finally:
                self.rest()
                self.reset()
                if rights is not None:
                    rights.release()

        self._start(run)

    def _do_home(self, order: dict[str, Any]) -> None:
        goal, speed = pose_from(order["goal"]), float(order["speed"])
        bench = self._following.bench(goal, path.packed(self.file.limits, self.cycle), 0.0, self.cycle, 0.0)

        def run() -> None:
            try:
                self.home(bench, speed, self._stop)
            except faults.InputError as error:
                self._memory.row["fault"], self._said = faults.OTHER_ROBOT, str(error)

        self._start(run)

    def _start(self, run: Callable[[], None]) -> None:
        self._said = ""
        self._runner = machine.thread(run, "loop")

    def _do_tell(self, _: dict[str, Any]) -> dict[str, Any]:
        """Return counters, notes, how the last motion ended, and the set-point."""
        sent = np.zeros(1, POSE)[0]
        if self._robot is not None:
            self._robot.sent(sent)
        runs = self._runner is not None and self._runner.is_alive()
        said = {} if self._robot is None else self._robot.counters()
        return {
            "runs": runs,
            "said": self._said,
            "sent": parts_of(sent),
            "counters": said,
            "notes": self.notes(),
            **self.clock.counts(),
        }

    def _do_close(self, _: dict[str, Any]) -> None:
        self._memory.row["stop"] = 1
        if self._runner is not None:
            self._runner.join()
        self.close()
        if self._rights is not None:
            self._rights.release()


@contextmanager
def run(config: dict[str, Any]) -> Iterator[Callable[[str], dict[str, Any]]]:
    system = machine.scheduling()
    if others := set(range(system.cpu_count() or 1)) - set(config["away_from"]):
        with suppress(OSError):  # the loop was already on its core when it started us
            system.sched_setaffinity(0, others)
    file: RigFile = scenario.build(RigFile, config["rig"])  # type: ignore[type-var]
    file._folder = Path(config["folder"]) if config["folder"] else None
    memory = Memory(config["name"], make=False)
    partner = Partner(file, memory)
    try:
        yield lambda line: partner.obey(json.loads(line))
    finally:
        partner.obey({"do": "close"})
        memory.close()


def main() -> None:
    asked.converse(run)


if __name__ == "__main__":
    main()
