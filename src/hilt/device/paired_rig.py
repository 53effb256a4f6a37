"""Two robots as one rig: the clock is answered in the loop's tick, the other one by its own process (partner/).

What the loop commands and measures of each depends on what they do together: make one relative motion (relative_rig.py), or
hold on to each other (joined_rig.py). The other robot's measured motion is extrapolated to the clock's cycle with its measured
speed.

A fault of either stops both softly, also on the way home, where each may have its own path. The loop sees the other robot's
fault with its next packet, and the other robot sees the loop's stop with its own next packet. If the clock falls silent no
set-points come, and the other robot waits for them at rest.
"""

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np

from hilt.compiled import jit
from hilt.core import clock, faults
from hilt.core.clock import SteadyClock
from hilt.core.faults import InputError
from hilt.core.pairing import Joined, Pairing, Shared
from hilt.core.signals import POSE
from hilt.core.system import Bench
from hilt.device.course import check_first, check_near
from hilt.device.live_rig import STOP_TIME, LabRig
from hilt.device.partner.handle import LOOK, SecondRobot
from hilt.device.rigfile import RigFile
from hilt.loop import Overseer
from hilt.maths import so3, vec


def check_pairing(file: RigFile, pairing: Pairing | None, system: str) -> None:
    """Check that the rig has the robots and sensors of the scenario."""
    _check_sensors(file, pairing, system)
    if pairing is None:
        if file.other:
            raise InputError(
                f"the rig file has the robots {file.clock} and {file.other}, but this scenario of {system} moves one; "
                "use a rig with one robot, or give the scenario its second robot"
            )
        return
    wanted = {pairing.moves, pairing.meets}
    if set(file.robots) != wanted:
        has = ", ".join(f"[robots.{name}]" for name in file.robots) or "[robot]"
        raise InputError(
            f"this scenario of {system} moves two robots, {pairing.moves} and {pairing.meets}, but the rig file has {has}; "
            f"give [robots.{pairing.moves}] and [robots.{pairing.meets}]"
        )
    if file.clock != pairing.clock:
        choice = f"set pair.clock = '{file.clock}', or " if isinstance(pairing, Shared) else ""
        raise InputError(
            f"the rig file's clock is robots.{file.clock}, but the scenario's is {pairing.clock}; "
            f"{choice}write clock = true in [robots.{pairing.clock}] alone",
            "pair.clock",
        )
    if file.carrier not in ("", *wanted):
        raise InputError(
            f"[sensors.{file.carrier}] names no robot; a sensor is named after the robot that carries it; "
            f"write [sensors.{pairing.meets}] or [sensors.{pairing.moves}]"
        )
    _ = file.X_BS
    cycle = float(file.of(file.other).robot_section.cycle)
    if abs(cycle - pairing.cycle) > 1e-9:
        raise InputError(
            f"pair.cycle is {pairing.cycle:g} s but the robot {file.other} takes a set-point every {cycle:g} s; "
            f"set pair.cycle = '{1e3 * cycle:g} ms'",
            "pair.cycle",
        )


def _check_sensors(file: RigFile, pairing: Pairing | None, system: str) -> None:
    """Check the number of sensors: robots that hold on to each other need one each; every other rig has one."""
    if isinstance(pairing, Joined):
        if set(file.sensors) != set(pairing.sensors):
            has = ", ".join(f"[sensors.{name}]" for name in file.sensors) or "[sensor]"
            raise InputError(
                f"this scenario of {system} has a force sensor on each robot, but the rig file has {has}; "
                f"give {' and '.join(f'[sensors.{name}]' for name in pairing.sensors)}"
            )
    elif file.second_carrier:
        raise InputError(
            f"the rig file has two sensors, [sensors.{file.carrier}] and [sensors.{file.second_carrier}], but this scenario of "
            f"{system} uses one; remove the other"
        )


@jit
def advanced(X, V, dt):
    """Return the pose that a twist leads to within dt [s]."""
    q = so3.load(X.q)
    w = vec.scale(dt, vec.load(V.w))
    turned = so3.normalise(so3.multiply(so3.exp(w), q)) if w != (0.0, 0.0, 0.0) else q
    return vec.add(vec.load(X.p), vec.scale(dt, vec.load(V.v))), turned


class PairedRig(LabRig, ABC):
    """The rig of a scenario with two robots."""

    def __init__(self, file: RigFile, pairing: Pairing) -> None:
        self._trouble = faults.NONE
        self._partner = SecondRobot(file, pairing.other)
        super().__init__(file)
        self._pairing = pairing
        self._steady = SteadyClock(self.cycle)
        self._together = False  # whether the loop moves both
        self._alone = True  # whether its row has the motion and force of one robot only, as on a path
        self._own, self._others = np.zeros(1, POSE)[0], np.zeros(1, POSE)[0]
        self._fault = faults.NONE  # of the other robot

    @abstractmethod
    def _begin(self, row: Any) -> None:
        """Write both robots' poses for a row's command, at rest, into `_own` and `_others`."""

    @abstractmethod
    def _meet(self, row: np.ndarray, age: float) -> None:
        """Write the motion measured by both robots; the other one's newest, `_partner.seen`, is `age` seconds old."""

    @abstractmethod
    def _divide(self, row: np.ndarray) -> Any:
        """Return the clock's pose for the row's command, and write the other robot's into `_others`."""

    @property
    def trouble(self) -> int:
        return self._trouble or self._partner.trouble

    @trouble.setter
    def trouble(self, code: int) -> None:
        self._trouble = code

    def open(self) -> None:
        try:
            self._partner.open()
        except InputError:
            self.close()
            raise
        super().open()

    def check_start(self, bench: Bench) -> None:
        """Check that both robots are at their parts of the scenario's start, and that the first step is allowed."""
        self._begin(bench.row)
        self._check_own()
        self._partner.check_start(self._others)
        check_first(bench, self._feel)

    def _check_own(self) -> None:
        advice = "drive it there, or change X_WR in the rig file"
        try:
            check_near(self._check_place(), self._own, self.file.lab.start_tolerance, "the start of the scenario", advice)
        except InputError as error:
            raise InputError(f"robot {self.file.clock}: {error}") from None

    def arm(self, bench: Bench) -> None:
        """Arm both, the other robot first: it stays where it is until set-points come."""
        self.check_start(bench)
        self._partner.arm(self._others, bench.p[0]["guard"], self._pairing.later(self._pairing.other), self.cycle)
        try:
            self._take_over(self._check_own)
        except InputError:
            self._partner.stop()
            self._partner.await_rest(STOP_TIME)
            raise
        self._go_live(bench, boxed=True, in_time=True)
        self._course.start(self._own)
        self._lead_both(alone=False)

    def _lead_both(self, *, alone: bool) -> None:
        self._together, self._alone, self._fault = True, alone, faults.NONE
        self._steady.start()

    def read(self, row: np.ndarray) -> int:
        code = super().read(row)
        if fault := self._fault if self._together else self._partner.stopped_on_its_way():
            faults.trip(row[0], code or faults.OTHER_ROBOT, -1, float(fault), 0.0)
            return code or faults.OTHER_ROBOT
        return code

    def _see(self, row: np.ndarray) -> None:
        if not self._together:
            super()._see(row)
            return
        self._fault = self._partner.look()
        self._steady.arrived(self.reply.cycle, self._came)
        seen = self._partner.seen
        age = self._steady.began - float(seen["t"]) if seen["cycles"] else 0.0
        if not seen["cycles"]:  # no motion of it has arrived since it was armed: it is at rest
            seen["X"] = seen["sent"] = self._others
        if self._alone:
            super()._see(row)
            return
        self._meet(row, age)
        row["clock_phase"][0] = age % self._partner.cycle

    def _wanted(self, row: np.ndarray) -> Any:
        if not self._together:
            return super()._wanted(row)
        wanted = self._divide(row)
        self._partner.push(self._steady.began + self.cycle, self._others)
        return wanted

    def stop(self) -> None:
        if self._together or self._failed:  # not at the end of the clock's own path home
            self._partner.stop()
        super().stop()

    @property
    def _failed(self) -> bool:
        return self._bench is not None and bool(self._bench.row["fault"][0])

    @property
    def _moves(self) -> bool:
        """Whether either still moves: a run has stopped when both are at rest."""
        return super()._moves or (self._together and self._partner.moves)

    def reset(self) -> None:
        """Make both READY again: the clock is held while the other robot comes to rest."""
        together, self._together, self._alone = self._together, False, True
        super().reset()
        if together:
            self._partner.await_rest(STOP_TIME)

    def home(self, bench: Bench, speed: float, overseer: Overseer | None = None) -> None:
        """Drive both home at once, each straight and gently to its part of the start."""
        self._begin(bench.row)
        goal = replace(bench, row=bench.row.copy())
        goal.row["X_WB_cmd"][0] = self._own
        self._partner.home(self._others, min(speed, self.file.limits.speed))
        try:
            super().home(goal, speed, overseer)
            while self._partner.on_its_way():
                if overseer is not None and overseer.look(goal.row):
                    self._partner.stop()
                clock.pause(LOOK)
        except InputError:
            self._partner.stop()
            self._partner.await_rest(STOP_TIME)
            raise

    def close(self) -> None:
        super().close()
        self._partner.close()

    def notes(self) -> list[str]:
        report = self._partner.tell()
        why = report.get("said") or (faults.explain(self._fault) if self._fault else "")
        found = [f"robot {self._partner.name}: {note}" for note in (*report.get("notes", ()), why) if note]
        if not any("clock" in table for table in self.file.robots.values()):
            found.append(f"robots.{self.file.clock} is the clock because it is listed first; confirm it with clock = true")
        return [*super().notes(), *found]

    def counters(self) -> dict[str, dict[str, int]]:
        waited = {"waited": int(self._partner.seen["waited"])}
        return {**super().counters(), self._partner.name: {**self._partner.tell().get("counters", {}), **waited}}
