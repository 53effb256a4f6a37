"""A path is a tick: set-points that are known beforehand, run by the loop like any other system.

Driving home, calibrating and identifying differ from a run in where the set-points come from, and in nothing else: the same
loop, guard, watch and soft stop. A path begins at the set-point that the robot has. What a lost cycle leaves behind is made up
for as in a run (course.py), and the path ends when the robot has been given its last pose.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hilt.core import faults, guard
from hilt.core.diagram import Code
from hilt.core.guard import GUARD, guard_step
from hilt.core.signals import POSE, record, row_type
from hilt.core.system import Bench
from hilt.device.rigfile import RigLimits
from hilt.maths import so3
from hilt.maths.quintic import PEAK_ACCELERATION, PEAK_JERK, PEAK_SPEED, quintic

SHARE = 0.5  # of the rig's limits, on the way to the start
SETTLE = 5.0  # s at the end of a path, at most, to make up for what was lost
ROW = row_type((*GUARD.reads, *GUARD.writes, "X_WB_meas", "V_WB_meas"))
_STATE = record(guard=GUARD.state)
_PARAMS = record(dt="f8", guard=GUARD.params)


@dataclass(frozen=True)
class Path:
    """One pose for each cycle, each meant for the next one."""

    poses: np.ndarray  # POSE
    limits: Any  # as the guard packs them
    boxed: bool = True  # whether the robot has to stay in the workspace all the way


Plan = Callable[[Any], Path]  # from the set-point that the robot has; an InputError if there is no such path


def ticks(poses: int, period: float) -> int:
    """How many ticks a path takes at most."""
    return poses + math.ceil(SETTLE / period)


def bench(path: Path, start: Any, period: float, behind: Callable[[], bool]) -> Bench:
    """What the loop runs. `behind` says whether the robot has still something to make up for."""
    row, x, p = np.zeros(1, ROW), np.zeros(1, _STATE), np.zeros(1, _PARAMS)
    row["X_WB_cmd"][0], row["fault_axis"] = start, -1
    p["dt"], p[0]["guard"] = period, path.limits
    zero = (0.0, 0.0, 0.0)
    guard.start(x[0]["guard"], tuple(start["p"]), tuple(start["q"]), zero, zero, 0)
    number, command, done, last = row["tick"], row["X_WB_cmd"], row["done"], len(path.poses) - 1
    sig, state, limits = row[0], x[0]["guard"], p[0]["guard"]

    def tick(*_: Any) -> None:
        k = number[0]
        command[0] = path.poses[min(k, last)]
        done[0] = k >= last and not behind()
        guard_step(sig, state, limits, period)

    return Bench(row, x, np.zeros(1), p, ticks(len(path.poses), period), Code(tick, _nothing, _nothing, _no_rows))


def _nothing(*_: Any) -> None:
    """There is no simulated world beside a path."""


def _no_rows(*_: Any) -> int:
    return 0


class NoSink:
    """For a path that nobody looks back at."""

    def append(self, row: np.ndarray) -> None:
        pass


def warm_up() -> None:
    """Have compiled what a tick, a fault and a stop need: the first packet must be answered within a cycle."""
    start = np.zeros(1, POSE)
    start["q"][0, 0] = 1.0
    made = bench(Path(start, np.zeros(1, GUARD.params)[0]), start[0], 1.0, lambda: False)
    made.code.tick()
    faults.trip(made.row[0], faults.NONE, -1, 0.0, 0.0)


def straight(begin: Any, end: Any, period: float, limits: RigLimits, speed: float) -> np.ndarray:
    """Poses on the straight way from rest to rest, within a speed [m/s] and a share of the other limits."""
    way, turn = end["p"] - begin["p"], so3.between(tuple(begin["q"]), tuple(end["q"]))
    length, angle = math.hypot(*way), math.hypot(*turn)
    slowest = max(
        PEAK_SPEED * max(length / speed, angle / (SHARE * limits.angular_speed)),
        math.sqrt(PEAK_ACCELERATION / SHARE * max(length / limits.acceleration, angle / limits.angular_acceleration)),
        math.cbrt(PEAK_JERK / SHARE * length / limits.jerk),
    )
    poses = np.zeros(max(1, math.ceil(slowest / period)), POSE)
    for k, pose in enumerate(poses, start=1):
        share = quintic(k / len(poses))[0]
        pose["p"] = begin["p"] + share * way
        pose["q"] = so3.multiply(so3.exp(tuple(share * part for part in turn)), tuple(begin["q"]))
    return poses
