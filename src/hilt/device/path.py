"""A path: precomputed set-points, run by the loop like any other system.

Driving home, calibrating and identifying differ from a run only in the source of the set-points: the same loop, guard, watch
and soft stop. A path begins at the robot's present set-point.

Nothing is simulated, so a path need not keep up with the clock. A robot that missed an answer stands still; the path waits for
it, goes back by the step that was not executed, and regains its speed within half of the limits.

A path may end early, at rest, when a condition becomes true: for a robot that feels its way towards a surface.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hilt.core import faults, guard
from hilt.core.diagram import Code
from hilt.core.guard import GUARD, Guarded, Limits, guard_step
from hilt.core.signals import POSE, record, row_type
from hilt.core.stage import Cycle
from hilt.core.system import Bench
from hilt.device.course import Course
from hilt.device.rigfile import RigLimits
from hilt.maths import so3
from hilt.maths.quintic import PEAK_ACCELERATION, PEAK_JERK, PEAK_SPEED, quintic

SHARE = 0.5  # of the rig's limits, when driving to the start and regaining speed
PATIENCE = 10  # a path may take this many times the planned time, if the machine misses many cycles
ROW = row_type((*GUARD.reads, *GUARD.writes, "X_WB_meas", "V_WB_meas"))
_STATE = record(guard=GUARD.state)
_PARAMS = record(dt="f8", guard=GUARD.params)


Stood = Callable[[], bool]
Until = Callable[[np.ndarray], bool]  # of a row


@dataclass(frozen=True)
class Path:
    """One pose per cycle, each meant for the next cycle."""

    poses: np.ndarray  # POSE
    limits: Any  # as the guard packs them
    boxed: bool = True  # whether the robot has to stay in the workspace throughout
    progress: np.ndarray = field(default_factory=lambda: np.zeros(1))  # poses sent so far
    until: Until | None = None  # once it is true, the robot slows down and the path ends


Plan = Callable[[Any], Path]  # from the robot's set-point; an InputError if there is no such path


def packed(limits: Limits, period: float) -> Any:
    """Return limits as the guard packs them."""
    found = np.zeros(1, GUARD.params)[0]
    GUARD.pack(found, Guarded(limits), Cycle(period))
    return found


def ticks(poses: int) -> int:
    """Return the most ticks that a path of this many poses may take."""
    return PATIENCE * (poses + 1)


class _Tick:
    """The tick of a path: its next pose, and the guard."""

    def __init__(self, path: Path, row: np.ndarray, x: np.ndarray, p: np.ndarray, course: Course, stood: Stood) -> None:
        self._poses = np.concatenate([row["X_WB_cmd"], path.poses])
        self._course, self._stood, self._period = course, stood, float(p["dt"][0])
        self._row, self._until, self._ending = row, path.until, False
        self._sig, self._guard, self._limits = row[0], x[0]["guard"], p[0]["guard"]
        self._command, self._done = row["X_WB_cmd"], row["done"]
        self._place, self._rate, self._last = 0.0, 1.0, float(len(path.poses))
        self._progress = path.progress
        self._gain = self._period / _resuming(self._poses, self._period, path.limits)

    def __call__(self, *_: Any) -> None:
        self._ending = self._ending or (self._until is not None and self._until(self._row))
        if self._stood():
            self._wait_here()
        elif self._ending:
            self._rate = max(self._rate - self._gain, 0.0)
        else:
            self._rate = min(self._rate + self._gain, 1.0)
        self._place = min(self._place + self._rate, self._last)
        self._command[0] = self._at(self._place)
        self._progress[0] = self._place
        self._done[0] = self._place == self._last or (self._ending and self._rate == 0.0)
        guard_step(self._sig, self._guard, self._limits, self._period)

    def _wait_here(self) -> None:
        """Wait for a robot at rest at this pose of the path, or at the previous one if the last answer was not received."""
        has = self._course.last
        before = max(self._place - self._rate, 0.0)
        if _apart(has, self._at(before)) < _apart(has, self._at(self._place)):
            self._place = before
        here, zero = self._at(self._place), (0.0, 0.0, 0.0)
        self._course.start(here)
        guard.start(self._guard, tuple(here["p"]), tuple(here["q"]), zero, zero, 0)
        self._rate = 0.0 if self._ending else self._gain

    def _at(self, place: float) -> Any:
        return pose_at(self._poses, place)


def pose_at(poses: np.ndarray, place: float) -> Any:
    """Return the pose at a place along the path, counted in poses and interpolated; its start is pose 0."""
    whole = int(place)
    share, pose = place - whole, poses[whole]
    if share == 0.0:
        return pose
    after, between = poses[whole + 1], pose.copy()
    between["p"] += share * (after["p"] - pose["p"])
    between["q"] = so3.interpolate(tuple(pose["q"]), tuple(after["q"]), share)
    return between


def _apart(a: Any, b: Any) -> float:
    return math.dist(a["p"], b["p"]) + math.dist(a["q"], b["q"])


def _resuming(poses: np.ndarray, period: float, limits: Any) -> float:
    """Return the time in which a robot that stood still regains the path's speed [s]."""
    speed = _largest(np.diff(poses["p"], axis=0)) / period
    turn = 2.0 * _largest(np.diff(poses["q"], axis=0)) / period
    most = min(SHARE * limits["acceleration"], 0.25 * limits["jerk"] * period)
    return float(max(speed / most, turn / (SHARE * limits["angular_acceleration"]), period))


def _largest(rows: np.ndarray) -> float:
    return float(np.sqrt((rows * rows).sum(axis=1)).max(initial=0.0))


def bench(path: Path, start: Any, period: float, course: Course, stood: Stood) -> Bench:
    """Return the bench that the loop runs. `stood` says whether the robot has missed an answer since the last tick."""
    row, x, p = np.zeros(1, ROW), np.zeros(1, _STATE), np.zeros(1, _PARAMS)
    row["X_WB_cmd"][0], row["fault_axis"] = start, -1
    p["dt"], p[0]["guard"] = period, path.limits
    zero = (0.0, 0.0, 0.0)
    guard.start(x[0]["guard"], tuple(start["p"]), tuple(start["q"]), zero, zero, 0)
    tick = _Tick(path, row, x, p, course, stood)
    return Bench(row, x, np.zeros(1), p, ticks(len(path.poses)), Code(tick, _nothing, _nothing, _no_rows))


def _nothing(*_: Any) -> None:
    """A path has no simulated world."""


def _no_rows(*_: Any) -> int:
    return 0


class NoSink:
    """A sink for a path that is not recorded."""

    def append(self, row: np.ndarray) -> None:
        pass


def warm_up() -> None:
    """Compile what a tick, a fault and a stop need: the first packet must be answered within a cycle."""
    start, limits = np.zeros(2, POSE), np.ones(1, GUARD.params)[0]
    start["q"][:, 0] = 1.0
    made = bench(Path(start, limits), start[0], 1.0, Course(1.0), lambda: True)
    made.code.tick()
    so3.interpolate((1.0, 0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0), 0.5)
    faults.trip(made.row[0], faults.NONE, -1, 0.0, 0.0)


def straight(begin: Any, end: Any, period: float, limits: RigLimits, speed: float, least: int = 1) -> np.ndarray:
    """Return at least `least` poses on a straight line, from rest to rest, within a speed [m/s] and SHARE of other limits."""
    line, turn = end["p"] - begin["p"], so3.between(tuple(begin["q"]), tuple(end["q"]))
    length, angle = math.hypot(*line), math.hypot(*turn)
    slowest = max(
        PEAK_SPEED * max(length / speed, angle / (SHARE * limits.angular_speed)),
        math.sqrt(PEAK_ACCELERATION / SHARE * max(length / limits.acceleration, angle / limits.angular_acceleration)),
        math.cbrt(PEAK_JERK / SHARE * length / limits.jerk),
    )
    poses = np.zeros(max(least, math.ceil(slowest / period)), POSE)
    for k, pose in enumerate(poses, start=1):
        share = quintic(k / len(poses))[0]
        pose["p"] = begin["p"] + share * line
        pose["q"] = so3.multiply(so3.exp(tuple(share * part for part in turn)), tuple(begin["q"]))
    return poses
