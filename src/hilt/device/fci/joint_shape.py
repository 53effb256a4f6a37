"""The same as shape.py for angles: speeds of the joints approached within acceleration and jerk, whatever the loop asks for.

All joints are shortened alike, by the one that would go furthest beyond a bound: so a start at speed begins in the direction in
which it was asked for. Speeds themselves are not bounded here: one beyond the limit of its joint is a fault (joints/space.py).
"""

import math

from hilt.compiled import jit
from hilt.core.signals import record
from hilt.maths.chain import MOST

_TINY = 1e-7  # [rad]: not worth an offset; in one cycle of 1 ms it is 0.1 rad/s²
_SAME = 1e-9  # [rad/s]

# Speeds and accelerations of the last command, the offset from the set-point, and speeds to approach; `anew` if the robot has
# been found elsewhere than it was sent: then the offset is whatever lets its motion go on.
MOTION = record(v=MOST, a=MOST, away=MOST, wanted=MOST, anew="i8")
BOUNDS = record(joints="i8", acceleration="f8", jerk="f8")


@jit
def _approach(x, y, bounds, dt):
    """Speeds and accelerations of the next cycle into y, from those in x, towards y.wanted; whether they are not reached.

    As for poses, the acceleration is one that can be taken back to zero by the time the speeds are reached: a² ≤ 2 jerk |Δv|.
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
def advance(x, y, bounds, last, asked, keep, dt):
    """Change `asked`, the angles asked for after `last`, to those to send, with their motion in y; whether they were bent."""
    n, size = bounds.joints, 0.0
    for i in range(n):
        away = last[i] + dt * x.v[i] - asked[i] if x.anew else x.away[i]
        y.wanted[i] = (asked[i] + away - last[i]) / dt
        size = max(size, abs(away))
    bent = _approach(x, y, bounds, dt)
    if size > 0.0 or bent:  # else the angles asked for are sent as they are, to the last bit
        size = 0.0
        for i in range(n):
            y.away[i] = last[i] + dt * y.v[i] - asked[i]
            size = max(size, abs(y.away[i]))
            asked[i] = last[i] + dt * y.v[i]
    for i in range(n):
        y.away[i] = keep * y.away[i] if size > _TINY else 0.0
    y.anew = 0
    return bent


@jit
def brake(x, y, bounds, last, asked, dt):
    """The same without an offset: what is asked for is a step of a stop, from where the arm is."""
    n = bounds.joints
    for i in range(n):
        y.wanted[i] = (asked[i] - last[i]) / dt
    _approach(x, y, bounds, dt)
    rest = True
    for i in range(n):
        asked[i] = last[i] + dt * y.v[i]
        y.away[i] = 0.0
        rest = rest and y.v[i] == 0.0 and y.a[i] == 0.0
    y.anew = 0
    return rest


@jit
def set_out(x, bounds, speed, rate, anew):
    """Begin with speeds and accelerations. None was sent beyond the bounds: a robot that says so differs by its own reckoning,
    and taking it at its word would be a swing."""
    for i in range(bounds.joints):
        x.v[i], x.a[i], x.away[i] = speed[i], min(max(rate[i], -bounds.acceleration), bounds.acceleration), 0.0
    x.anew = anew
