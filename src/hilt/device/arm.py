"""What every emulated robot has: a response to its set-points, its own limits, and a log of every set-point received.

It also checks hilt: `violations` has a sentence for every set-point that arrived while not `live` or that required more
acceleration than `acceleration_limit` since the previous one. An answer without motion (hold) is not a set-point; if it
follows fast motion, it is counted as a hard stop. Once stopped, the robot gives the cause in `reason`.
"""

import math
import random
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from hilt.core import clock
from hilt.core.signals import POSE, TWIST
from hilt.device import frames
from hilt.device.joints.emulated import EmulatedJoints
from hilt.device.joints.settings import JointSettings
from hilt.device.line import Line
from hilt.device.rsi import response
from hilt.device.rsi.aside import NO_PUSH, Aside, Push
from hilt.host import machine
from hilt.host.machine import Task


@dataclass(frozen=True, kw_only=True)
class ArmSettings:
    """Settings of an emulated robot. SI; poses are those of the tool in the robot's base."""

    cycle: float = 0.004
    jitter: float = 0.0  # [s], a packet is sent up to this much late
    drift: float = 0.0  # its cycle is really this much longer, relatively
    makes_up: float = 0.0  # [s] of a host stall that is made up for by shorter cycles; at least one cycle
    start_p: tuple[float, float, float] = (1.0, 0.0, 1.0)
    start_q: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)
    dead_time: float = 0.008
    natural_frequency: float = 60.0  # [rad/s]
    damping_ratio: float = 0.9
    step_limit: float = 0.002  # [m] per cycle
    turn_limit: float = 0.01  # [rad] per cycle
    speed_limit: float = 2.0  # [m/s] of the tool itself
    workspace: tuple[tuple[float, float, float], tuple[float, float, float]] = ((-3.0, -3.0, -3.0), (3.0, 3.0, 3.0))
    acceleration_limit: float = 20.0  # [m/s²], of set-points: promised by hilt
    late_limit: int = 10
    seed: int = 1
    joints: JointSettings | None = None  # of a robot that takes joint angles

    @property
    def true_cycle(self) -> float:
        """[s] by the clock of this machine."""
        return self.cycle * (1.0 + self.drift)


class SetPoint(NamedTuple):
    """One entry of the log."""

    t: float
    stamp: int  # time stamp or number of its cycle
    correction: tuple[float, ...]  # p [m], q: as sent
    pose: tuple[float, ...]  # p [m], q: the resulting set-point
    live: bool


class Arm:
    """An emulated robot; a subclass implements the protocol. `serve` runs in the caller's thread, `start` in a new one."""

    STAMP = "cycle"  # what the protocol calls its time stamp
    STILL = 1e-12  # [m] and [rad]: a set-point that differs by less does not move

    def __init__(self, settings: ArmSettings) -> None:
        self.settings, self.line = settings, Line(settings.seed)
        self.live = False  # whether set-points are allowed; set by the code that arms hilt
        self.disconnect = False  # the cable is unplugged: nothing is sent or received
        self._pushed, self._aside = NO_PUSH, Aside()
        self.diary: list[SetPoint] = []
        self.violations: list[str] = []
        self.hard_stops = self.late = self.refused = self.cycles = 0
        self.skipped = 0  # cycles without a packet, after stalls of this process
        self.reason = ""  # why it stopped
        self._start, self._set, self._next = (np.zeros(1, POSE)[0] for _ in range(3))
        self._turn = np.zeros(1, TWIST)[0]
        self._set["p"], self._set["q"] = settings.start_p, settings.start_q
        self.joints = EmulatedJoints(settings.joints, settings.cycle, self._set) if settings.joints is not None else None
        self._random = random.Random(settings.seed)
        self._end = machine.event()
        self._thread: Task | None = None
        frames.warm_up()
        response.warm_up(self._set)
        self._response = response.Response(
            self._set, clock.now(), settings.dead_time, settings.natural_frequency, settings.damping_ratio
        )
        self._begin()

    def _begin(self) -> None:
        self._start["p"], self._start["q"] = self._set["p"], self._set["q"]
        if self.joints is not None:
            self.joints.begin(self._set)
        self._late_in_a_row = self._last_stamp = 0
        self._late_before = self.late  # each program has its own count
        self._velocity = np.zeros(3)
        self.reason = ""

    @property
    def stamp(self) -> int:
        """Time stamp or number of the present cycle."""
        return self.cycles

    @property
    def strangers(self) -> int:
        """Packets from senders other than hilt."""
        return 0

    @property
    def address(self) -> tuple[str, int]:
        """The address it sends from."""
        raise NotImplementedError

    @property
    def port(self) -> int:
        return self.address[1]

    def serve(self) -> None:
        """Run its cycles until `stop`."""
        raise NotImplementedError

    def start(self) -> Self:
        self._thread = machine.thread(self.serve, "robot")
        return self

    def stop(self) -> None:
        self._end.set()
        if self._thread is not None:
            self._thread.join()
        self._close()

    def _close(self) -> None:
        """Release its ports."""

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def restart(self) -> None:
        """Restart the program, as the operator would, from the robot's present pose."""
        self._begin()

    @property
    def push(self) -> Push:
        """The push in effect; setting it pushes the robot aside by a displacement, over a duration."""
        return self._pushed

    @push.setter
    def push(self, push: Push) -> None:
        self._pushed = push
        self._aside.push(push)

    def true_pose(self) -> Any:
        """True pose of the tool at this moment, in the robot's base."""
        p, q, _, _ = self._response.at(clock.now())
        pose = np.zeros(1, POSE)[0]
        pose["p"], pose["q"] = p, q
        return pose

    def true_twist(self) -> Any:
        _, _, v, w = self._response.at(clock.now())
        twist = np.zeros(1, TWIST)[0]
        twist["v"], twist["w"] = v, w
        return twist

    def _on_time(self, due: float) -> float:
        """Return when its cycle begins. A stall is of this process and not of the robot, whose clock and motion go on: cycles
        that cannot be made up for have passed without a packet, as if their packets had been lost on the way."""
        cycle = self.settings.true_cycle
        count = math.ceil((clock.now() - max(self.settings.cycle, self.settings.makes_up) - due) / cycle)
        if count <= 0:
            return due
        self.skipped += count
        self.late += count if self._last_stamp else 0  # as a program reports cycles without an answer
        self.cycles += count
        self._skip(due, count)
        return due + count * cycle

    def _skip(self, due: float, count: int) -> None:
        """Let a number of cycles pass, from `due` on."""

    def _answered_by(self, due: float) -> float:
        """Return until when it waits for an answer: its next cycle, or half a cycle after a packet that was sent late."""
        return max(due, clock.now() + 0.5 * self.settings.cycle)

    def _check_speed(self, v: Any) -> None:
        """Stop at the robot's own speed limit."""
        if float(np.linalg.norm(v)) > self.settings.speed_limit:
            self._halt(f"tool speed {np.linalg.norm(v):.3g} m/s is above {self.settings.speed_limit:g} m/s")

    def _follow(self, correction: Any, due: float, cycles: int, allowed: int = 1, spread: int = 1) -> None:
        """Check the set-point in `_next`, `cycles` after the previous one, log it, and execute it, starting at `due`.

        `allowed` cycles may be made up for in one step; `spread` is the number of cycles that the motion covers.
        """
        settings = self.settings
        step = frames.distance(self._set, self._next)
        frames.twist_between(self._set, self._next, 1.0, self._turn)
        turn = float(np.linalg.norm(self._turn["w"]))
        self._check_acceleration(step, turn, cycles, spread)
        pose = tuple(float(part) for part in (*self._next["p"], *self._next["q"]))
        low, high = settings.workspace
        most = allowed * (1.0 + 1e-9)
        if step > settings.step_limit * most or turn > settings.turn_limit * most:
            self._halt(f"correction of {1e3 * step:.3g} mm, {turn:.3g} rad in a cycle is beyond the limit")
        elif not all(a <= b <= c for a, b, c in zip(low, pose, high, strict=False)):
            self._halt(f"corrected position {pose[:3]} is outside the workspace")
        else:
            self._set["p"], self._set["q"] = pose[:3], pose[3:]
            self._response.command(self._set, due, due + settings.cycle)
        moved = tuple(float(part) for part in (*correction["p"], *correction["q"]))
        self.diary.append(SetPoint(clock.now(), self.stamp, moved, pose, self.live))
        self._last_stamp = self.stamp

    def _check_acceleration(self, step: float, turn: float, cycles: int, spread: int) -> None:
        settings = self.settings
        velocity = (self._next["p"] - self._set["p"]) / (settings.cycle * spread)
        acceleration = float(np.linalg.norm(velocity - self._velocity)) / (settings.cycle * cycles)
        self._velocity = velocity
        if step < self.STILL and turn < self.STILL:
            self.hard_stops += acceleration > settings.acceleration_limit
            return
        if not self.live:
            self.violations.append(f"set-point of {1e3 * step:.3g} mm at {self.STAMP} {self.stamp} while not live")
        if acceleration > settings.acceleration_limit * (1.0 + 1e-3):
            self.violations.append(f"set-point at {self.STAMP} {self.stamp} needs {acceleration:.3g} m/s²")

    def _miss(self) -> None:
        """Count a cycle without an answer; a program waits for its first one."""
        if not self._last_stamp:
            return
        self.late += 1
        self._late_in_a_row += 1
        if self._late_in_a_row >= self.settings.late_limit:
            self._halt(f"{self._late_in_a_row} answers in a row were late")

    def _halt(self, reason: str) -> None:
        self.reason = self.reason or reason
