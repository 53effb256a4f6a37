"""An emulated robot with an operator, whose motion other processes can follow.

When the controller has stopped, for whatever reason, the operator waits for a while, drives the robot back to the start of the
scenario and restarts its program, so that the next run finds the robot ready. If requested, the log of answers is written to a
file as it grows; only its totals are kept here.
"""

import csv
import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np

from hilt.core import clock
from hilt.core.signals import POSE
from hilt.device import peer
from hilt.device.arm import Arm, SetPoint
from hilt.device.rsi import aside
from hilt.host import machine
from hilt.lab.dry import child
from hilt.lab.dry.motion import PublishedResponse
from hilt.maths import so3
from hilt.maths.quintic import quintic

QUIET = 1.0  # [s] after a stop before the operator acts
AT_ONCE = 0.05  # [s], the same if requested at once: the current cycle is then over
RETURN_SPEED = 0.03  # [m/s], mean
RETURN_RATE = 0.1  # [rad/s], mean
RETURN_LEAST = 0.5  # [s]
ATTENTION = 0.02  # [s] between two checks by the operator
VIOLATIONS_SHOWN = 50
COLUMNS = (
    "t",
    "ipoc",
    "dx",
    "dy",
    "dz",
    "dqw",
    "dqx",
    "dqy",
    "dqz",
    "x",
    "y",
    "z",
    "qw",
    "qx",
    "qy",
    "qz",
    "live",
)
SWITCHES: child.Switches = {
    "disconnect": (child.boolean, False),
    "push": (aside.push, aside.NO_PUSH),
    "live": (child.boolean, None),
    "automatic": (child.boolean, None),
}


class Operated(Arm):
    """A mix-in that comes before the class of a controller; call `attend` after construction."""

    def attend(self, name: str, diary: Path | None) -> None:
        """Publish the motion under a name, log answers to a file, and let the operator watch."""
        settings = self.settings
        self.automatic = True  # the operator restarts the program
        self.set_points = self.answers = self.stops = 0
        self.last_reason = ""
        self._home = np.zeros(1, POSE)[0]
        self._home["p"], self._home["q"] = settings.start_p, settings.start_q
        self._keeping = machine.lock()
        self._now = False  # whether the operator should act at once
        self._returning = False
        self._place: tuple[float, ...] = (*settings.start_p, *settings.start_q)
        self._published = PublishedResponse(
            name, self._home, clock.now(), settings.dead_time, settings.natural_frequency, settings.damping_ratio
        )
        self._response = self._published
        self._file = None if diary is None else diary.open("w", newline="", encoding="utf-8")
        self._writer = None if self._file is None else csv.writer(self._file)
        if self._writer is not None:
            self._writer.writerow(COLUMNS)
        self._operator = machine.thread(self._attend, "operator")

    def stop(self) -> None:
        super().stop()
        self._operator.join()
        self._keep_diary()
        if self._file is not None:
            self._file.close()
        self._published.close()

    @property
    def state(self) -> str:
        if self._returning:
            return "returning"
        return "stopped" if self.reason else "running" if self._last_stamp else "waiting"

    def start_again(self) -> None:
        """Make the operator end the program if it runs, and restart it at once."""
        if self.state == "running":
            self._halt("the operator stopped it")
        self._now = bool(self.reason)

    def forget(self) -> None:
        """Reset all counters and violations."""
        self._keep_diary()
        self.violations.clear()
        self.hard_stops = self.set_points = self.answers = self.stops = 0
        self.skipped = 0
        self.last_reason = self.reason

    def status(self) -> dict[str, Any]:
        self._keep_diary()
        if self._file is not None:
            self._file.flush()
        return {
            "t": clock.now(),
            "state": self.state,
            "reason": self.reason,
            "last_reason": self.last_reason,
            "stops": self.stops,
            "cycles": self.cycles,
            "ipoc": self.stamp,
            "answers": self.answers,
            "set_points": self.set_points,
            "late": self.late,
            "refused": self.refused,
            "strangers": self.strangers,
            "address": peer.named(self.address),
            "hard_stops": int(self.hard_stops),
            "skipped": self.skipped,
            "live": self.live,
            "violation_count": len(self.violations),
            "violations": self.violations[:VIOLATIONS_SHOWN],
            "faults": dict(self.line.done),
        }

    def _follow(self, correction: Any, due: float, cycles: int, allowed: int = 1, spread: int = 1) -> None:
        if not self._last_stamp:
            self._published.begin(due)
        super()._follow(correction, due, cycles, allowed, spread)

    def _halt(self, reason: str) -> None:
        if not self.reason:
            self.stops += 1
            self.last_reason = reason
        super()._halt(reason)

    def _keep_diary(self) -> None:
        """Count the newest entries and write them to the file."""
        with self._keeping:
            lines: list[SetPoint] = self.diary[:]
            del self.diary[: len(lines)]
            for line in lines:
                self.set_points += any(abs(a - b) > 1e-12 for a, b in zip(line.pose, self._place, strict=True))
                self._place = line.pose
                if self._writer is not None:
                    self._writer.writerow((line.t, line.stamp, *line.correction, *line.pose, int(line.live)))
            self.answers += len(lines)

    def _attend(self) -> None:
        stopped_at = math.inf
        while not self._end.wait(ATTENTION):
            self._keep_diary()
            if not self.reason:
                stopped_at = math.inf
                continue
            stopped_at = min(stopped_at, clock.now())
            rest = AT_ONCE if self._now else QUIET if self.automatic else math.inf
            if clock.now() > stopped_at + rest:
                self._drive_back()
                self._now = False
                self.restart()

    def _drive_back(self) -> None:
        """Drive to the start of the scenario, without jerk at the ends; the program is stopped in the meantime."""
        self._returning = True
        p, q = self._set["p"].copy(), tuple(float(part) for part in self._set["q"])
        displacement = self._home["p"] - p
        turn = so3.between(q, tuple(float(part) for part in self._home["q"]))
        duration = max(float(np.linalg.norm(displacement)) / RETURN_SPEED, math.hypot(*turn) / RETURN_RATE, RETURN_LEAST)
        cycle, begin = self.settings.cycle, clock.now()
        for k in itertools.count(1):
            t = min(k * cycle / duration, 1.0)
            share, _ = quintic(t)
            self._set["p"] = p + share * displacement
            self._set["q"] = so3.multiply(so3.exp(tuple(share * part for part in turn)), q)
            self._published.settle(clock.now())
            self._published.command(self._set, begin + (k - 1) * cycle, begin + k * cycle)
            if t == 1.0 or self._end.wait(max(begin + k * cycle - clock.now(), 0.0)):
                break
        self._set["p"], self._set["q"] = self._home["p"], self._home["q"]
        self._end.wait(self.settings.dead_time + 10.0 / (self.settings.natural_frequency * self.settings.damping_ratio))
        self._returning = False
