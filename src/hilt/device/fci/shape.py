"""Commands that the robot accepts: speed, acceleration and jerk are bounded, whatever the loop commands.

A command with more speed, acceleration or jerk than a Franka allows triggers a reflex: the robot stops and must be recovered.
A set-point within the bounds is passed on unchanged. One beyond them is approached as fast as they allow; the remaining
difference is kept as an offset, so that the motion goes on at its own speed, and is worked off gently.
"""

import math

from hilt.compiled import jit
from hilt.core.signals import record
from hilt.maths import so3, vec

BLEND = 0.1  # [s] in which most of the offset is worked off
_TINY = 1e-7  # [m] and [rad]: too small for an offset; in one cycle of 1 ms it is 0.1 m/s²
_SAME = 1e-9  # [m/s] and [rad/s]

# Velocity and acceleration of the last command, and the offset from the set-point, for translation and turn; `resync` if
# the robot is not where it was sent: then the offset is chosen so that its motion goes on.
MOTION = record(v=3, a=3, w=3, b=3, away=3, turned=3, resync="i8")
BOUNDS = record(step="f8", acceleration="f8", jerk="f8", turn="f8", angular_acceleration="f8", angular_jerk="f8")


@jit
def _next_velocity(displacement, v, a, dt, step, acceleration, jerk):
    """Return velocity and acceleration of a cycle with this displacement, as far as the bounds allow, and whether they do not.

    The acceleration must be able to return to zero by the time the velocity is reached: a² ≤ 2 jerk |Δv|.
    """
    wanted = vec.scale(1.0 / dt, vec.shortened(displacement, step))
    change = vec.sub(wanted, v)
    size = math.sqrt(vec.dot(change, change))
    most = min(acceleration, math.sqrt(2.0 * jerk * size))
    b = vec.shortened(vec.scale(1.0 / dt, change), most)
    b = vec.add(a, vec.shortened(vec.sub(b, a), jerk * dt))
    now = vec.add(v, vec.scale(dt, b))
    off = vec.sub(now, wanted)
    if vec.dot(off, off) < _SAME * _SAME:
        return wanted, vec.scale(1.0 / dt, change), False
    return now, b, True


@jit
def _left(left, keep):
    """Return the offset that remains after the next cycle."""
    return vec.scale(keep, left) if vec.dot(left, left) > _TINY * _TINY else (0.0, 0.0, 0.0)


@jit
def advance(x, bounds, last, target, out, keep, dt):
    """Write the command after `last` for the set-point `target`; returns whether a step exceeds its limit, and whether
    acceleration or jerk changed it."""
    p, q, last_p, last_q = vec.load(target.p), so3.load(target.q), vec.load(last.p), so3.load(last.q)
    if x.resync:
        vec.store(x.away, vec.sub(vec.add(last_p, vec.scale(dt, vec.load(x.v))), p))
        vec.store(x.turned, so3.between(q, so3.multiply(so3.exp(vec.scale(dt, vec.load(x.w))), last_q)))
        x.resync = 0
    displacement = vec.sub(vec.add(p, vec.load(x.away)), last_p)
    turn = so3.between(last_q, so3.multiply(so3.exp(vec.load(x.turned)), q))
    far = vec.shortened(displacement, bounds.step) != displacement or vec.shortened(turn, bounds.turn) != turn
    v, a, bent = _next_velocity(displacement, vec.load(x.v), vec.load(x.a), dt, bounds.step, bounds.acceleration, bounds.jerk)
    w, b, bent_turn = _next_velocity(
        turn, vec.load(x.w), vec.load(x.b), dt, bounds.turn, bounds.angular_acceleration, bounds.angular_jerk
    )
    next_p, next_q = vec.add(last_p, vec.scale(dt, v)), so3.normalise(so3.multiply(so3.exp(vec.scale(dt, w)), last_q))
    vec.store(x.away, _left(vec.sub(next_p, p), keep))
    vec.store(x.turned, _left(so3.between(q, next_q), keep))
    _store(x, v, a, w, b)
    vec.store(out.p, next_p)
    so3.store(out.q, next_q)
    return far, bent or bent_turn


@jit
def slow_down(x, bounds, last, out, dt):
    """Write a command after `last` that reduces the speed; returns whether the robot is then at rest."""
    zero = (0.0, 0.0, 0.0)
    v, a, _ = _next_velocity(zero, vec.load(x.v), vec.load(x.a), dt, bounds.step, bounds.acceleration, bounds.jerk)
    w, b, _ = _next_velocity(
        zero, vec.load(x.w), vec.load(x.b), dt, bounds.turn, bounds.angular_acceleration, bounds.angular_jerk
    )
    rest = v == zero and a == zero and w == zero and b == zero
    _store(x, v, a, w, b)
    vec.store(x.away, zero)
    vec.store(x.turned, zero)
    vec.store(out.p, vec.add(vec.load(last.p), vec.scale(dt, v)))
    so3.store(out.q, so3.normalise(so3.multiply(so3.exp(vec.scale(dt, w)), so3.load(last.q))))
    return rest


@jit
def _store(x, v, a, w, b):
    vec.store(x.v, v)
    vec.store(x.a, a)
    vec.store(x.w, w)
    vec.store(x.b, b)


@jit
def set_out(x, twist, rate, resync):
    """Begin with a twist and its rate."""
    for i in range(3):
        x.v[i], x.w[i] = twist[i], twist[i + 3]
        x.a[i], x.b[i] = rate[i], rate[i + 3]
        x.away[i] = x.turned[i] = 0.0
    x.resync = resync
