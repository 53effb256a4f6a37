"""The same as shape.py for joint angles: joint speeds are approached within acceleration and jerk, whatever the loop commands.

All joints are scaled by the same factor, that of the joint furthest beyond a bound: a start at speed keeps the direction of its
set-point. Speeds themselves are not bounded here: one beyond the limit of its joint is a fault (joints/space.py).
"""

import math

from hilt.compiled import jit
from hilt.core.signals import record
from hilt.maths.chain import MOST

_TINY = 1e-7  # [rad]: too small for an offset; in one cycle of 1 ms it is 0.1 rad/s²
_SAME = 1e-9  # [rad/s]

# Speeds and accelerations of the last command, the offset from the set-point, and speeds to approach; `resync` if the robot is
# not where it was sent: then the offset is chosen so that its motion goes on.
MOTION = record(v=MOST, a=MOST, away=MOST, wanted=MOST, resync="i8")
BOUNDS = record(joints="i8", acceleration="f8", jerk="f8")


@jit
def _approach(x, y, bounds, dt):
    """Write speeds and accelerations of the next cycle into y, from those in x, towards y.wanted; True if it is not reached.

    As for poses, the acceleration must be able to return to zero by the time the speeds are reached: a² ≤ 2 jerk |Δv|.
    """
    n, size = bounds.joints, 0.0
    for i in range(n):
        size = max(size, abs(y.wanted[i] - x.v[i]))
    most = min(bounds.acceleration, math.sqrt(2.0 * bounds.jerk * size))
    share = min(1.0 / dt, most / size) if size > 0.0 else 0.0
    jolt = 0.0
    for i in range(n):
        y.a[i] = share * (y.wanted[i] - x.v[i])
        jolt = max(jolt, abs(y.a[i] - x.a[i]))
    part = bounds.jerk * dt / jolt if jolt > bounds.jerk * dt else 1.0
    off = 0.0
    for i in range(n):
        y.a[i] = x.a[i] + part * (y.a[i] - x.a[i])
        y.v[i] = x.v[i] + dt * y.a[i]
        off = max(off, abs(y.v[i] - y.wanted[i]))
    if off >= _SAME:
        return True
    for i in range(n):
        y.v[i], y.a[i] = y.wanted[i], (y.wanted[i] - x.v[i]) / dt
    return False


@jit
def advance(x, y, bounds, last, target, keep, dt):
    """Change `target`, the set-point after `last`, to the angles to send, with their motion in y; True if they differ."""
    n, size = bounds.joints, 0.0
    for i in range(n):
        away = last[i] + dt * x.v[i] - target[i] if x.resync else x.away[i]
        y.wanted[i] = (target[i] + away - last[i]) / dt
        size = max(size, abs(away))
    bent = _approach(x, y, bounds, dt)
    if size > 0.0 or bent:  # otherwise the set-point is sent unchanged, to the last bit
        size = 0.0
        for i in range(n):
            y.away[i] = last[i] + dt * y.v[i] - target[i]
            size = max(size, abs(y.away[i]))
            target[i] = last[i] + dt * y.v[i]
    for i in range(n):
        y.away[i] = keep * y.away[i] if size > _TINY else 0.0
    y.resync = 0
    return bent


@jit
def brake(x, y, bounds, last, target, dt):
    """The same without an offset: `target` is a step of a stop, from where the arm is; True if the arm is at rest."""
    n = bounds.joints
    for i in range(n):
        y.wanted[i] = (target[i] - last[i]) / dt
    _approach(x, y, bounds, dt)
    rest = True
    for i in range(n):
        target[i] = last[i] + dt * y.v[i]
        y.away[i] = 0.0
        rest = rest and y.v[i] == 0.0 and y.a[i] == 0.0
    y.resync = 0
    return rest


@jit
def set_out(x, bounds, speed, rate, resync):
    """Begin with speeds and accelerations, the latter limited to the bounds: nothing beyond them was sent, so a robot that
    reports more has computed it differently, and adopting its value would excite an oscillation."""
    for i in range(bounds.joints):
        x.v[i], x.a[i], x.away[i] = speed[i], min(max(rate[i], -bounds.acceleration), bounds.acceleration), 0.0
    x.resync = resync
