"""Drive a robot gently along a known path, outside a run: to calibrate or identify. Nothing is simulated here.

The whole path is checked against the rig's limits before the robot moves. It is run by the loop, on the rig of a run: the same
guard, watch and soft stop, and the same arming. Each tick is recorded with the cycle of the robot's own clock, with what was
really sent, and with whether the robot reports that it received the answer.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hilt.core import clock
from hilt.core.faults import Fault, InputError
from hilt.core.guard import Limits
from hilt.core.signals import POSE
from hilt.device import path
from hilt.device.live_rig import LabRig
from hilt.device.path import Path
from hilt.device.rigfile import RigFile
from hilt.host import interrupts
from hilt.live.overseer import Overseer
from hilt.live.ready import Ask, check_ask, wait_for_yes, watch_ready
from hilt.maths.quintic import PEAK_ACCELERATION, PEAK_SPEED

SHARE = 0.5  # of the rig's limits, used for calibration
ANGULAR_ACCELERATION = 1.0  # [rad/s²]

Watch = Callable[[int, int], None]  # ticks done, total ticks


class Stopped(Exception):
    """The robot was stopped on its path; `fault` says why."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.sentence)
        self.fault = fault


@dataclass(frozen=True)
class Track:
    """A record of each answered packet."""

    cycle: np.ndarray  # of the robot's own clock, from 0; a step of 2 is a packet that was not answered
    unheard: np.ndarray  # the robot reports that this answer was too late
    sent: np.ndarray  # POSE, the set-point for the next cycle
    measured: np.ndarray  # POSE, of the mock-up at this cycle
    wrench: np.ndarray  # (n, 6) [N, N·m]
    progress: np.ndarray  # poses of the path sent so far; the path waits where the robot missed answers
    age: np.ndarray = field(default_factory=lambda: np.zeros(0))  # of the wrench, at this cycle [s]; NaN where it is not known
    sensor_period: float = 0.0  # [s] between two samples of the sensor, on average; 0 if they are not counted


def quintic_time(distance: float, speed: float, acceleration: float) -> float:
    """Return the duration of the shortest quintic over a distance within speed and acceleration [s]."""
    return max(PEAK_SPEED * distance / speed, math.sqrt(PEAK_ACCELERATION * distance / acceleration))


def from_start(offsets: np.ndarray, start: Any) -> np.ndarray:
    """Return the poses of a path given relative to its start: offsets in the axes of W."""
    path = offsets.copy()
    path["p"] += start["p"]
    path["q"] = _product(offsets["q"].T, start["q"])
    return path


def _product(first: Any, second: Any) -> np.ndarray:
    """Return products of quaternions, one per row; their parts may be columns."""
    (w, x, y, z), (a, b, c, d) = first, second
    return np.column_stack(
        [
            w * a - x * b - y * c - z * d,
            w * b + x * a + y * d - z * c,
            w * c - x * d + y * a + z * b,
            w * d + x * c - y * b + z * a,
        ]
    )


def check_path(path: np.ndarray, start: Any, period: float, limits: Limits) -> None:
    """Refuse a path (poses, beginning at `start`) that exceeds a limit anywhere."""
    p = np.vstack([start["p"], start["p"], path["p"]])
    for axis, low, high, column in zip("xyz", limits.workspace_min, limits.workspace_max, p.T, strict=True):
        if column.min() < low or column.max() > high:
            raise InputError(
                f"the path goes from {column.min():.4g} m to {column.max():.4g} m along {axis}; limits.workspace allows "
                f"{low:g} m to {high:g} m; move the robot to the middle of it, or take a shorter path"
            )
    velocity = np.diff(p, axis=0, prepend=p[:1]) / period
    acceleration, q = np.diff(velocity, axis=0) / period, np.vstack([start["q"], start["q"], path["q"]])
    turn = 4.0 * np.arcsin(np.minimum(0.5 * _most(np.diff(q, axis=0)), 1.0)) / period
    for name, value, limit, unit in (
        ("speed", _most(velocity), limits.speed, "m/s"),
        ("acceleration", _most(acceleration), limits.acceleration, "m/s²"),
        ("jerk", _most(np.diff(acceleration, axis=0) / period), limits.jerk, "m/s³"),
        ("angular speed", turn, limits.angular_speed, "rad/s"),
        ("angular acceleration", 2.0 * _most(np.diff(q, 2, axis=0)) / period**2, limits.angular_acceleration, "rad/s²"),
    ):
        if limit is not None and not value <= limit * (1.0 + 1e-9):
            raise InputError(f"the path has a {name} of {value:.4g} {unit}; limits allow {limit:g} {unit}; move more slowly")


def _most(rows: np.ndarray) -> float:
    return float(np.sqrt((rows * rows).sum(axis=1)).max(initial=0.0))


class _Diary:
    """A sink of the loop that records a track. Its memory is allocated before the robot moves."""

    def __init__(self, rig: LabRig, length: int, progress: np.ndarray) -> None:
        self._rig, self._progress, self.count = rig, progress, 0
        self.track = Track(
            np.zeros(length, int),
            np.zeros(length, bool),
            np.zeros(length, POSE),
            np.zeros(length, POSE),
            np.zeros((length, 6)),
            np.zeros(length),
            np.zeros(length),
        )

    def append(self, row: np.ndarray) -> None:
        k, track, reply = self.count, self.track, self._rig.reply
        track.cycle[k] = reply.cycle
        if k > 0:
            track.unheard[k - 1] = not reply.heard
        track.sent[k], track.measured[k] = self._rig.set_point, row["X_WB_meas"][0]
        track.wrench[k, :3], track.wrench[k, 3:] = row["F_So_S"]["f"][0], row["F_So_S"]["tau"][0]
        track.progress[k], track.age[k] = self._progress[0], self._rig.wrench_age
        self.count = k + 1

    def result(self, sensor_period: float) -> Track:
        whole = {name: column[: self.count] for name, column in vars(self.track).items() if name != "sensor_period"}
        return Track(**{**whole, "cycle": whole["cycle"] - whole["cycle"][0]}, sensor_period=sensor_period)


def drive(file: RigFile, offsets: np.ndarray, watch: Watch | None = None, ask: Ask | None = None) -> Track:
    """Connect, hold the robot until it is armed like a run, send a path, disconnect; returns what was sent and measured."""
    with armed(file, ask) as rig:
        return follow(rig, offsets, watch)


@contextmanager
def armed(file: RigFile, ask: Ask | None = None) -> Iterator[LabRig]:
    """Connect robot and sensor, and hold the robot until it is armed like a run."""
    if file.other:
        raise InputError(
            f"the rig file has the robots {file.clock} and {file.other}, but this moves only one; "
            "give each its own rig file, with [robot] and [sensor]"
        )
    ask = check_ask(file.lab.arm, ask)
    rig = LabRig(file)
    try:
        rig.open()
        watch_ready(rig, file.lab.ready)
        if ask is not None:
            wait_for_yes(rig, ask)
        yield rig
    finally:
        rig.close()


def follow(
    rig: LabRig,
    offsets: np.ndarray,
    watch: Watch | None = None,
    *,
    force: float = math.inf,
    until: path.Until | None = None,
) -> Track:
    """Send a path (see `from_start`) to a READY robot. If anything ends it early, it ends in a soft stop and `Stopped`.

    `force` [N] is a limit tighter than the rig's; when `until` becomes true the path ends, at rest.
    """
    limits, count = path.packed(rig.file.limits, rig.cycle), len(offsets)
    limits["force"] = min(limits["force"], force)
    progress = np.zeros(1)
    diary, overseer = _Diary(rig, path.ticks(count), progress), Overseer(rig.file.lab)

    def plan(start: Any) -> Path:
        poses = from_start(offsets, start)
        check_path(poses, start, rig.cycle, rig.file.limits)
        return Path(poses, limits, progress=progress, until=until)

    def report(_: int) -> None:
        if watch is not None:
            watch(int(progress[0]), count)

    with interrupts.as_request(overseer.interrupt):
        began, samples = clock.now(), rig.samples
        fault = rig.follow(plan, diary, report, overseer)
        came = rig.samples - samples
    if fault is not None:
        raise Stopped(fault)
    return diary.result((clock.now() - began) / came if came else 0.0)
