"""Response of an emulated robot to its set-points: dead time, then a second-order system per axis, exact at any time.

    x'' + 2ζω x' + ω² x = ω² u(t - dead time)

u is linear from one set-point to the next, as a controller interpolates. Relative to such a line u₀ + s t the error
e = x - (u₀ + s (t - 2ζ/ω)) obeys the equation without input, so each stretch has a closed form and no step size.
Attitudes are treated as rotation vectors from the first attitude, in the axes of the robot's base.

State and pending set-points are one record: whoever has a copy of it can compute the motion (lab/dry/motion.py). Each method is
one call of compiled code that holds the interpreter's lock, so it is safe to use from several threads.
"""

import math
from typing import Any

import numpy as np

from hilt.compiled import jit
from hilt.compiled.records import record
from hilt.maths import so3, vec

KNOTS = 256  # pending set-points; if there are more, the oldest are left out
_STATE = record(t="f8", u=6, x=6, v=6)  # input, position and velocity at t: each position [m] and rotation vector [rad]
RESPONSE = record(
    dead_time="f8",
    omega="f8",  # natural frequency [rad/s]
    zeta="f8",  # damping ratio
    q0=4,  # attitude from which rotation vectors count
    state=_STATE,
    now=_STATE,  # the same at the time that was asked for last
    knots="i8",  # the input is linear from one to the next
    knot_t=("f8", (KNOTS,)),
    knot_u=("f8", (KNOTS, 6)),
)
_PLACE = record(p=3, q=4, v=3, w=3)


@jit
def _free(omega, zeta, t):
    """Return the exact transition matrix over t of e'' + 2ζω e' + ω² e = 0, for e and e' (two rows of two)."""
    decay = math.exp(-zeta * omega * t)
    if abs(zeta - 1.0) < 1e-6:
        c, s = decay, decay * t
    elif zeta < 1.0:
        damped = omega * math.sqrt(1.0 - zeta * zeta)
        c, s = decay * math.cos(damped * t), decay * math.sin(damped * t) / damped
    else:
        damped = omega * math.sqrt(zeta * zeta - 1.0)
        fast, slow = math.exp(-(zeta * omega + damped) * t), math.exp(-(zeta * omega - damped) * t)
        c, s = 0.5 * (slow + fast), 0.5 * (slow - fast) / damped
    return c + zeta * omega * s, s, -omega * omega * s, c - zeta * omega * s


@jit
def _append(r, t, u):
    if r.knots == KNOTS:
        _drop(r, 1)
    r.knot_t[r.knots] = t
    for i in range(6):
        r.knot_u[r.knots, i] = u[i]
    r.knots += 1


@jit
def _drop(r, count):
    """Forget the oldest knots."""
    for k in range(count, r.knots):
        r.knot_t[k - count] = r.knot_t[k]
        for i in range(6):
            r.knot_u[k - count, i] = r.knot_u[k, i]
    r.knots -= count


@jit
def _last(r):
    """Return the newest input."""
    if r.knots:
        u = r.knot_u[r.knots - 1]
        return (u[0], u[1], u[2], u[3], u[4], u[5])
    v = r.state.u
    return (v[0], v[1], v[2], v[3], v[4], v[5])


@jit
def _command(r, X, begin, end):
    turn = so3.between(so3.load(r.q0), so3.load(X.q))
    last_t = r.knot_t[r.knots - 1] if r.knots else r.state.t
    begin, end = max(begin + r.dead_time, last_t), end + r.dead_time
    if begin > last_t:
        _append(r, begin, _last(r))
    _append(r, max(end, begin + 1e-6), (X.p[0], X.p[1], X.p[2], turn[0], turn[1], turn[2]))


@jit
def _go(r, t, k, share):
    """Advance `now` to t while the input moves linearly by a share of the way to knot k; k < 0: while it stands."""
    now = r.now
    dt = t - now.t
    if dt <= 0.0:
        return
    a, b, c, d = _free(r.omega, r.zeta, dt)
    for i in range(6):
        step = share * (r.knot_u[k, i] - now.u[i]) if k >= 0 else 0.0
        slope = step / dt
        lag = 2.0 * r.zeta / r.omega * slope
        e, rate = now.x[i] - now.u[i] + lag, now.v[i] - slope
        now.u[i] += step
        now.x[i], now.v[i] = now.u[i] - lag + a * e + b * rate, slope + c * e + d * rate
    now.t = t


@jit
def _copy(a, b):
    b.t = a.t
    for i in range(6):
        b.u[i], b.x[i], b.v[i] = a.u[i], a.x[i], a.v[i]


@jit
def _follow(r, t):
    """Advance `now` from the stored state to t, from one knot of the input to the next."""
    now = r.now
    _copy(r.state, now)
    for k in range(r.knots):
        end = r.knot_t[k]
        if end > t:
            _go(r, t, k, (t - now.t) / (end - now.t) if end > now.t else 0.0)
            return
        _go(r, end, k, 1.0)
    _go(r, t, -1, 0.0)


@jit
def _settle(r, t):
    _follow(r, t)
    _copy(r.now, r.state)
    past = 0
    while past < r.knots and r.knot_t[past] <= t:
        past += 1
    if past:
        _drop(r, past)


@jit
def _place(r, t, out):
    _follow(r, t)
    x, v = r.now.x, r.now.v
    turn, rate = (x[3], x[4], x[5]), (v[3], v[4], v[5])
    vec.store(out.p, (x[0], x[1], x[2]))
    vec.store(out.v, (v[0], v[1], v[2]))
    so3.store(out.q, so3.multiply(so3.exp(turn), so3.load(r.q0)))
    vec.store(out.w, _angular_velocity(turn, rate))


@jit
def _angular_velocity(turn, rate):
    """Return the angular velocity of a body whose rotation vector is `turn` and changes at `rate`, in the same axes."""
    square = vec.dot(turn, turn)
    angle = math.sqrt(square)
    if angle < 1e-4:
        first, second = 0.5, 1.0 / 6.0
    else:
        first, second = (1.0 - math.cos(angle)) / square, (angle - math.sin(angle)) / (square * angle)
    once = vec.cross(turn, rate)
    return vec.add(rate, vec.add(vec.scale(first, once), vec.scale(second, vec.cross(turn, once))))


class Response:
    """The response of six axes: position and rotation vector."""

    def __init__(self, X: Any, t: float, dead_time: float, natural_frequency: float, damping_ratio: float) -> None:
        self.record = np.zeros(1, RESPONSE)
        state = self._state = self.record[0]
        state["dead_time"], state["omega"], state["zeta"] = dead_time, natural_frequency, damping_ratio
        state["q0"] = X["q"]
        state["state"]["t"] = t
        state["state"]["u"][:3] = state["state"]["x"][:3] = X["p"]

    def command(self, X: Any, begin: float, end: float) -> None:
        """Move linearly from the last set-point to this one, from `begin` to `end`, each after the dead time."""
        _command(self._state, X, begin, end)

    def settle(self, t: float) -> None:
        """Advance the stored state to t, and discard what was before."""
        _settle(self._state, t)

    def place_at(self, t: float) -> Any:
        """Return position p [m], quaternion q, velocity v [m/s] and angular velocity w [rad/s] at t, not before the last
        `settle`, as a record."""
        found = np.zeros(1, _PLACE)[0]
        _place(self._state, t, found)
        return found

    def at(self, t: float) -> tuple[Any, Any, Any, Any]:
        """The same as arrays."""
        found = self.place_at(t)
        return found["p"], found["q"], found["v"], found["w"]


def warm_up(X: Any) -> None:
    """Compile everything before the first packet."""
    response = Response(X, 0.0, 0.0, 1.0, 1.0)
    response.command(X, 0.0, 1.0)
    response.settle(1.0)
    response.at(1.0)
