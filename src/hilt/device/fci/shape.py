"""Commands that the robot accepts: speed, acceleration and jerk bounded, whatever the loop asks for.

A command whose speed, acceleration or jerk is beyond what a Franka allows is a reflex: the robot stops and must be recovered.
A set-point within the bounds is passed on as it is. One beyond them is approached as fast as they allow; what the command
then lacks is kept as an offset, so that the motion goes on at its own speed, and is worked off gently.
"""

import math

from hilt.compiled import jit
from hilt.core.signals import record
from hilt.maths import so3, vec

BLEND = 0.1  # [s] in which most of the offset is worked off
_TINY = 1e-7  # [m] and [rad]: not worth an offset; in one cycle of 1 ms it is 0.1 m/s²
_SAME = 1e-9  # [m/s] and [rad/s]

# Velocity and acceleration of the last command, and the offset from the set-point, for translation and turn; `anew` if the
# robot has been found elsewhere than it was sent: then the offset is whatever lets its motion go on.
MOTION = record(v=3, a=3, w=3, b=3, away=3, turned=3, anew="i8")
BOUNDS = record(step="f8", acceleration="f8", jerk="f8", turn="f8", angular_acceleration="f8", angular_jerk="f8")


@jit
def _next_velocity(way, v, a, dt, step, acceleration, jerk):
    """Velocity and acceleration of a cycle that goes this way, as far as the bounds allow.

    The acceleration is one that can be taken back to zero by the time the velocity is reached: a² ≤ 2 jerk |Δv|.
    """
    wanted = vec.scale(1.0 / dt, vec.shortened(way, step))
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
    """The offset that remains after the next cycle."""
    return vec.scale(keep, left) if vec.dot(left, left) > _TINY * _TINY else (0.0, 0.0, 0.0)


@jit
def advance(x, bounds, last, asked, out, keep, dt):
    """Write the command after `last` for the set-point `asked`; whether a step is beyond its limit, and whether it was bent."""
    p, q, last_p, last_q = vec.load(asked.p), so3.load(asked.q), vec.load(last.p), so3.load(last.q)
    if x.anew:
        vec.store(x.away, vec.sub(vec.add(last_p, vec.scale(dt, vec.load(x.v))), p))
        vec.store(x.turned, so3.between(q, so3.multiply(so3.exp(vec.scale(dt, vec.load(x.w))), last_q)))
        x.anew = 0
    way = vec.sub(vec.add(p, vec.load(x.away)), last_p)
    turn = so3.between(last_q, so3.multiply(so3.exp(vec.load(x.turned)), q))
    far = vec.shortened(way, bounds.step) != way or vec.shortened(turn, bounds.turn) != turn
    v, a, bent = _next_velocity(way, vec.load(x.v), vec.load(x.a), dt, bounds.step, bounds.acceleration, bounds.jerk)
    w, b, bent_turn = _next_velocity(
        turn, vec.load(x.w), vec.load(x.b), dt, bounds.turn, bounds.angular_acceleration, bounds.angular_jerk
    )
    told, told_q = vec.add(last_p, vec.scale(dt, v)), so3.normalise(so3.multiply(so3.exp(vec.scale(dt, w)), last_q))
    vec.store(x.away, _left(vec.sub(told, p), keep))
    vec.store(x.turned, _left(so3.between(q, told_q), keep))
    _store(x, v, a, w, b)
    vec.store(out.p, told)
    so3.store(out.q, told_q)
    return far, bent or bent_turn


@jit
def slow_down(x, bounds, last, out, dt):
    """Write the command after `last` that takes the speed down; whether the robot is at rest with it."""
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
def set_out(x, twist, rate, anew):
    """Begin with a twist and its rate."""
    for i in range(3):
        x.v[i], x.w[i] = twist[i], twist[i + 3]
        x.a[i], x.b[i] = rate[i], rate[i + 3]
        x.away[i] = x.turned[i] = 0.0
    x.anew = anew
