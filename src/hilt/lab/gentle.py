"""Drive a robot gently along a known path, outside of a run: to calibrate, to identify. Nothing is simulated here.

The path is known beforehand, so all of it is checked against the rig's limits before the robot moves. Answer k of the robot's
packets is place k of the path: after a lost packet the path waits and nothing jumps. Each tick is written down with the cycle
of the robot's own clock it belongs to, and whether the robot says that it heard the answer.

Whatever ends the way early, an interrupt too, ends it in a soft stop.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hilt.core import clock, faults
from hilt.core.faults import Fault, InputError
from hilt.core.guard import Limits, overload
from hilt.core.signals import POSE, TWIST, WRENCH
from hilt.device.live_rig import MOMENT
from hilt.device.protocol import RobotDriver, SensorDriver
from hilt.host import interrupts
from hilt.maths import so3, vec
from hilt.maths.quintic import PEAK_ACCELERATION, PEAK_SPEED

SHARE = 0.5  # of the rig's limits that a calibration uses
ANGULAR_ACCELERATION = 1.0  # [rad/s²]
STRAY = 0.02  # [m] that the robot may be away from its set-point before it is stopped
_WATCH_EVERY = 25

Watch = Callable[[int, int], None]  # ticks done, ticks in all
Ask = Callable[[], bool | None]  # polled while the robot is held: yes, no, or not answered yet


class Stopped(Exception):
    """The robot was stopped on the way; `fault` says why."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.sentence)
        self.fault = fault


@dataclass(frozen=True)
class Track:
    """What happened at each answered packet."""

    cycle: np.ndarray  # of the robot's own clock, from 0; a step of 2 is a packet that was not answered
    unheard: np.ndarray  # the robot says that this answer came too late
    sent: np.ndarray  # POSE, the set-point; meant for one cycle later
    measured: np.ndarray  # POSE, where the mock-up was at this cycle
    wrench: np.ndarray  # (n, 6) [N, N·m]; NaN without a sensor
    sensor_period: float = 0.0  # [s] between two samples of the sensor, on average; 0 if nobody counts them


def quintic(share: np.ndarray) -> np.ndarray:
    """From 0 to 1 with rate and acceleration 0 at both ends."""
    s = np.clip(share, 0.0, 1.0)
    return s * s * s * (10.0 - s * (15.0 - 6.0 * s))


def quintic_time(way: float, speed: float, acceleration: float) -> float:
    """The shortest quintic over `way` within speed and acceleration [s]."""
    return max(PEAK_SPEED * way / speed, math.sqrt(PEAK_ACCELERATION * way / acceleration))


def from_start(offsets: np.ndarray, start: Any) -> np.ndarray:
    """The poses of a path that is given from where it begins: shifted in W, and turned before the start's own attitude."""
    path = offsets.copy()
    path["p"] += start["p"]
    path["q"] = _product(offsets["q"].T, start["q"])
    return path


def _product(first: Any, second: Any) -> np.ndarray:
    """Of quaternions, whose parts may be columns; one in each row."""
    (w, x, y, z), (a, b, c, d) = first, second
    return np.column_stack(
        [
            w * a - x * b - y * c - z * d,
            w * b + x * a + y * d - z * c,
            w * c - x * d + y * a + z * b,
            w * d + x * c - y * b + z * a,
        ]
    )


def _go_on_from(rest: np.ndarray, heard: Any, now: Any) -> None:
    """The rest of a path, for a robot that is at `heard` and not at `now`: the same steps from another place."""
    rest["p"] += heard["p"] - now["p"]
    rest["q"] = _product(so3.exp(so3.between(tuple(now["q"]), tuple(heard["q"]))), rest["q"].T)


def check_path(path: np.ndarray, start: Any, period: float, limits: Limits) -> None:
    """Refuse a path (poses, from `start` on) that leaves the limits anywhere."""
    p = np.vstack([start["p"], start["p"], path["p"]])
    for axis, low, high, column in zip("xyz", limits.workspace_min, limits.workspace_max, p.T, strict=True):
        if column.min() < low or column.max() > high:
            raise InputError(
                f"the path goes from {column.min():.4g} m to {column.max():.4g} m along {axis}; limits.workspace allows "
                f"{low:g} m to {high:g} m; move the robot to the middle of it or take a shorter way"
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
            raise InputError(f"the path has a {name} of {value:.4g} {unit}; limits allow {limit:g} {unit}; take it more slowly")


def _most(rows: np.ndarray) -> float:
    return float(np.sqrt((rows * rows).sum(axis=1)).max(initial=0.0))


def warm_up() -> None:
    """Have compiled what a stop needs, before the first packet waits for its answer."""
    so3.multiply(so3.exp(so3.between((1.0, 0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0))), (1.0, 0.0, 0.0, 0.0))
    vec.scale(1.0, vec.sub((0.0, 0.0, 0.0), (0.0, 0.0, 0.0)))


def drive(
    robot: RobotDriver,
    offsets: np.ndarray,
    period: float,
    limits: Limits,
    deceleration: float,
    sensor: SensorDriver | None = None,
    watch: Watch | None = None,
    ask: Ask | None = None,
) -> Track:
    """Send a path (see `from_start`), one pose for each packet; what was sent and measured. The robot is not closed.

    With `ask` the robot is held until the answer is yes. A sensor's fault, a force or torque beyond its limit, a robot that
    does not follow or does not take a set-point, or an interrupt ends in a soft stop and `Stopped`.
    """
    X, V, F, start, heard = (np.zeros(1, kind)[0] for kind in (POSE, TWIST, WRENCH, POSE, POSE))
    path = _checked(robot, offsets, start, period, limits)
    if ask is not None:
        wait_for_yes(robot, sensor, ask)
        path = _checked(robot, offsets, start, period, limits)  # its program may have been started again meanwhile
    n = len(path)
    track = Track(np.zeros(n, int), np.zeros(n, bool), path, np.zeros(n, POSE), np.full((n, 6), np.nan))
    first = 0
    before = now = start
    due = False  # whether a packet waits for its answer
    if sensor is not None:
        sensor.read(F)  # what came while the robot was waited for is old
    began, samples = clock.now(), _samples(sensor)
    asked: list[int] = []
    with interrupts.as_request(asked.append):
        try:
            for k in range(n):
                t = k * period
                reply = robot.wait(X, V)
                if reply.code != faults.NONE:
                    before = now  # nobody was answered: its set-point stands
                    _trip(reply.code, t)
                due = True
                first = reply.cycle if k == 0 else first
                track.cycle[k] = reply.cycle - first
                if k > 0:
                    track.unheard[k - 1] = not reply.heard
                    if track.unheard[k - 1] or track.cycle[k] > track.cycle[k - 1] + 1:
                        before = now  # a cycle without an answer moved nothing: there is no speed to take down
                    if track.unheard[k - 1]:  # nor is the lost step made up for, which would be one of twice the speed
                        robot.sent(heard)
                        _go_on_from(path[k:], heard, now)
                        before = now = heard.copy()
                track.measured[k] = X
                fault = _look(sensor, F, limits, t) or _follows(X, now, t) or (_fault(faults.REQUESTED, t) if asked else None)
                if fault is not None:
                    raise Stopped(fault)
                track.wrench[k] = (*F["f"], *F["tau"])
                code, due = robot.send(path[k]), False
                before, now = now, path[k]
                if code == faults.ROBOT_LIMITED:  # it got less than that; what else went wrong left it without an answer
                    now = path[k].copy()
                    robot.sent(now)
                elif code != faults.NONE:
                    now = before
                _trip(code, t)
                if watch is not None and (k % _WATCH_EVERY == 0 or k == n - 1):
                    watch(k + 1, n)
        finally:
            _soft_stop(robot, before, now, period, deceleration, due)  # nothing is left to do at the end of the path
            robot.stop()
    came = _samples(sensor) - samples
    return replace(track, sensor_period=(clock.now() - began) / came if came else 0.0)


def _samples(sensor: SensorDriver | None) -> int:
    return getattr(sensor, "samples", 0)


def _checked(robot: RobotDriver, offsets: np.ndarray, start: Any, period: float, limits: Limits) -> np.ndarray:
    """The path from the robot's set-point, which is written to `start`."""
    robot.sent(start)
    path = from_start(offsets, start)
    check_path(path, start, period, limits)
    return path


def check_ask(rig_asks: bool, ask: Ask | None) -> Ask | None:
    """Who arms: nobody is asked if the command itself is the consent; refused if somebody must be and cannot."""
    if rig_asks and ask is None:
        raise InputError("lab.arm is 'ask' but nobody can be asked here; answer at a terminal, or set lab.arm = 'run'")
    return ask if rig_asks else None


def wait_for_yes(robot: RobotDriver, sensor: SensorDriver | None, ask: Ask) -> None:
    """Hold the robot, packet by packet, until somebody has answered; anything but yes is a refusal."""
    X, V, F = (np.zeros(1, kind)[0] for kind in (POSE, TWIST, WRENCH))
    well = clock.now()
    while (answer := ask()) is None:
        code = robot.wait(X, V).code or robot.hold()
        if code == faults.NONE:
            well = clock.now()
        elif clock.now() - well > MOMENT:
            raise InputError(f"the rig is not ready: {faults.explain(code)}")
        if sensor is not None:
            sensor.read(F)
    if not answer:
        raise InputError("the robot was not armed; answer yes to arm it, or set lab.arm = 'run' in the rig file")


def _look(sensor: SensorDriver | None, F: Any, limits: Limits, t: float) -> Fault | None:
    """The sensor must be well and the load allowed."""
    if sensor is None:
        return None
    code = sensor.read(F)
    value = limit = 0.0
    if code == faults.NONE:
        code, value, limit = overload(F, limits)
    return _fault(code, t, value, limit)


def _follows(X: Any, wanted: Any, t: float) -> Fault | None:
    away = math.dist(X["p"], wanted["p"])
    if away <= STRAY:
        return None
    sentence = (
        f"stopped at t = {t:.4g} s: the robot is {1e3 * away:.3g} mm away from its set-point, {1e3 * STRAY:g} mm are allowed; "
        "look at its limits and whether robot.correction is as in its program"
    )
    return Fault(faults.DEVICE, "stray", round(t), t, "", away, STRAY, sentence)


def _soft_stop(robot: RobotDriver, before: Any, now: Any, period: float, deceleration: float, due: bool) -> None:
    """From the velocity between two set-points to rest; a packet that is due is answered first."""
    step = vec.sub(tuple(now["p"]), tuple(before["p"]))
    turn = so3.between(tuple(before["q"]), tuple(now["q"]))
    ticks = math.ceil(math.hypot(*step) / period / (deceleration * period)) if any(step) else 0
    ticks = max(ticks, math.ceil(math.hypot(*turn) / period / (ANGULAR_ACCELERATION * period)))
    pose, X, V = np.zeros(1, POSE)[0], np.zeros(1, POSE)[0], np.zeros(1, TWIST)[0]
    for i in range(1, ticks + 1):
        share = 1.0 - i / ticks
        if not due and robot.wait(X, V).code:
            return
        robot.sent(pose)  # a step that was not heard was not made
        pose["p"] += vec.scale(share, step)
        pose["q"] = so3.multiply(so3.exp(vec.scale(share, turn)), tuple(pose["q"]))
        if robot.send(pose):
            return
        due = False


def _fault(code: int, t: float, value: float = 0.0, limit: float = 0.0) -> Fault | None:
    return faults.read_fault({"fault": code, "fault_axis": -1, "fault_value": value, "fault_limit": limit, "t": t, "tick": 0})


def _trip(code: int, t: float) -> None:
    if (fault := _fault(code, t)) is not None:
        raise Stopped(fault)
