"""Response of an emulated robot to its set-points: dead time, then a second-order system per axis, exact at any time.

    x'' + 2ζω x' + ω² x = ω² u(t - dead time)

u is linear from one set-point to the next, as a controller interpolates. Relative to such a line u₀ + s t the error
e = x - (u₀ + s (t - 2ζ/ω)) obeys the equation without input, so each stretch has a closed form and no step size.
Attitudes are treated as rotation vectors from the first attitude, in the axes of the robot's base.
"""

import math
from collections import deque
from typing import Any

import numpy as np

from hilt.host import machine
from hilt.maths import so3, vec


def _free(omega: float, zeta: float, t: float) -> tuple[float, float, float, float]:
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


class Response:
    """The response of six axes: position and rotation vector. Safe to read from another thread."""

    def __init__(self, X: Any, t: float, dead_time: float, natural_frequency: float, damping_ratio: float) -> None:
        self._dead_time, self._omega, self._zeta = dead_time, natural_frequency, damping_ratio
        self._q0 = tuple(float(part) for part in X["q"])
        self._x, self._v = np.array([*X["p"], 0.0, 0.0, 0.0]), np.zeros(6)
        self._t, self._u = t, self._x.copy()
        self._knots: deque[tuple[float, np.ndarray]] = deque()
        self._lock = machine.lock()

    def command(self, X: Any, begin: float, end: float) -> None:
        """Move linearly from the last set-point to this one, from `begin` to `end`, each after the dead time."""
        with self._lock:
            turn = so3.between(self._q0, tuple(float(part) for part in X["q"]))
            last_t, last = self._knots[-1] if self._knots else (self._t, self._u)
            begin, end = max(begin + self._dead_time, last_t), end + self._dead_time
            if begin > last_t:
                self._knots.append((begin, last))
            self._knots.append((max(end, begin + 1e-6), np.array([*X["p"], *turn])))

    def settle(self, t: float) -> None:
        """Advance the stored state to t, and discard what was before."""
        with self._lock:
            self._t, self._u, self._x, self._v = self._follow(t)
            while self._knots and self._knots[0][0] <= t:
                self._knots.popleft()

    def at(self, t: float) -> tuple[Any, Any, Any, Any]:
        """Return position [m], quaternion, velocity [m/s] and angular velocity [rad/s] at t, not before the last `settle`."""
        with self._lock:
            _, _, x, v = self._follow(t)
        turn, rate = (x[3], x[4], x[5]), (v[3], v[4], v[5])
        return x[:3], so3.multiply(so3.exp(turn), self._q0), v[:3], _angular_velocity(turn, rate)

    def _follow(self, t: float) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
        """Return time, input, position and velocity at t, from one knot of the input to the next."""
        state = (self._t, self._u, self._x, self._v)
        for end, u in self._knots:
            if end > t:
                return self._go(state, t, state[1] + (t - state[0]) / (end - state[0]) * (u - state[1]))
            state = self._go(state, end, u)
        return self._go(state, t, state[1])

    def _go(self, state: Any, t: float, u: np.ndarray) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
        """Advance to t while the input moves linearly to u."""
        before, u_before, x, v = state
        dt = t - before
        if dt <= 0.0:
            return state
        slope = (u - u_before) / dt
        lag = 2.0 * self._zeta / self._omega * slope
        e, rate = x - u_before + lag, v - slope
        a, b, c, d = _free(self._omega, self._zeta, dt)
        return t, u, u - lag + a * e + b * rate, slope + c * e + d * rate


def _angular_velocity(turn: Any, rate: Any) -> tuple[float, float, float]:
    """Return the angular velocity of a body whose rotation vector is `turn` and changes at `rate`, in the same axes."""
    square = vec.dot(turn, turn)
    angle = math.sqrt(square)
    if angle < 1e-4:
        first, second = 0.5, 1.0 / 6.0
    else:
        first, second = (1.0 - math.cos(angle)) / square, (angle - math.sin(angle)) / (square * angle)
    once = vec.cross(turn, rate)
    return vec.add(rate, vec.add(vec.scale(first, once), vec.scale(second, vec.cross(turn, once))))
