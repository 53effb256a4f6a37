"""The model of a robot's response and its fit to a track; the convention is in identify.py.

Each undisturbed stretch of the record may start in any state and with its own offset: both enter linearly, so they are
solved for inside the cost, and the search is over dead time, natural frequency and damping only.

If the dead time is not a whole number of cycles, the corners of the delayed set-point fall between the cycles. A robot follows
them there (EXACT); the plant's delay line samples only at its own ticks and rounds them off (SAMPLED), which acts like inertia.

Two further models: a response of higher order, with a lag of 1/ω for each order above two (ORDERS), and a mode that the
encoders see (MODE): y + g s²/(s² + 2ζ_m ω_m s + ω_m²) y, where y is the second-order response.
"""

import math
from typing import Any

import numpy as np

from hilt.lab.gentle import Track
from hilt.plant.robot import second_order_matrices

SHORTEST = 40  # cycles of a usable stretch
FLOOR = 1e-6  # [m] of residual: no robot's encoders are better, and rounding is not a disturbance
LONGEST = 0.5  # [s], longest delay
DELAY, SAMPLED, EXACT = 0, 1, 2  # models
ORDERS, MODE = (3, 4, 5, 6), 7  # for robots that the other models do not explain


def delayed(u: np.ndarray, cycles: float) -> np.ndarray:
    """Return u(t - τ) at each cycle, as the plant's delay line reads it."""
    k = np.arange(len(u))
    return np.interp(k - cycles, k, u)


def _recursion(omega: float, zeta: float, period: float) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the numerators of position and velocity and their denominator, for a set-point that is linear over a period."""
    phi, gamma = second_order_matrices(omega, zeta, period)
    (a, b), (c, d) = phi
    before, after = gamma.T
    place = [after[0], before[0] - d * after[0] + b * after[1], b * before[1] - d * before[0]]
    rate = [after[1], before[1] - a * after[1] + c * after[0], c * before[0] - a * before[1]]
    return [np.array(place), np.array(rate)], np.array([1.0, -np.trace(phi), np.linalg.det(phi)])


def answer(u: np.ndarray, period: float, theta: np.ndarray, model: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions from rest for θ = [dead time in cycles, ln ω, ln ζ] (MODE also: ln ω_m, ln ζ_m, g), and the
    denominator of free motions."""
    from scipy.signal import lfilter

    if model == DELAY:
        return delayed(u, theta[0]), np.ones(1)
    omega, zeta = math.exp(theta[1]), math.exp(theta[2])
    numerators, denominator = _recursion(omega, zeta, period)
    if model != EXACT:
        place = lfilter(numerators[0], denominator, delayed(u, theta[0]) - u[0])
        for b, a in _further(theta, period, model):
            place, denominator = lfilter(b, a, place), np.convolve(denominator, a)
        return u[0] + place, denominator
    # The response to the line itself, between the cycles: `part` of a cycle after cycle k - whole.
    whole = math.ceil(theta[0])
    part = max(whole - theta[0], 1e-9)
    v = np.concatenate([np.zeros(whole), u - u[0]])
    x, rate = (lfilter(each, denominator, v) for each in numerators)
    phi, gamma = second_order_matrices(omega, zeta, part * period)
    then = v + part * (np.append(v[1:], v[-1]) - v)
    place = phi[0, 0] * x + phi[0, 1] * rate + gamma[0, 0] * v + gamma[0, 1] * then
    return u[0] + place[: len(u)], denominator


def _further(theta: np.ndarray, period: float, model: int) -> list[tuple[Any, Any]]:
    """Return the filters after the second order, as numerators and denominators."""
    from scipy.signal import bilinear

    if model == MODE:
        omega, zeta = math.exp(theta[3]), math.exp(theta[4])
        b, a = bilinear([1.0, 0.0, 0.0], [1.0, 2.0 * zeta * omega, omega**2], 1.0 / period)
        return [(a + theta[5] * b, a)]
    if model not in ORDERS:
        return []
    step = math.exp(theta[1]) * period
    keep = math.exp(-step)
    share = (1.0 - keep) / step
    return [(np.array([1.0 - share, share - keep]), np.array([1.0, -keep]))] * (model - 2)


class Record:
    """Set-points and positions on the robot's own cycles, and which of them are usable."""

    def __init__(self, track: Track, period: float, axis: np.ndarray) -> None:
        self.period = period
        n = int(track.cycle[-1]) + 1
        origin = track.sent["p"][0]
        sent, self.y = (track.sent["p"] - origin) @ axis, np.full(n, np.nan)
        self.y[track.cycle] = (track.measured["p"] - origin) @ axis
        self.u = np.zeros(n)
        for k, value in zip(track.cycle[:-1], sent[:-1], strict=True):
            self.u[k + 1 :] = value  # held until the next answer
        self.lost = n - len(track.cycle)
        self.breaks = {int(k) + 1 for k in track.cycle[track.unheard]}  # the set-point differs from here
        self.unheard = len(self.breaks)
        self.sensor_period = track.sensor_period
        self.outside = np.zeros(n, bool)  # cycles that do not fit the rest

    def stretches(self, margin: float) -> list[slice]:
        """Return the undisturbed stretches; each starts once the disturbance before it has passed the dead time."""
        bad = self.outside.copy()
        for k in self.breaks:
            bad[k : k + math.ceil(margin / self.period) + 1] = True
        edges = np.flatnonzero(np.diff(np.concatenate([[True], bad, [True]]).astype(int)))
        return [slice(a, b) for a, b in zip(edges[::2], edges[1::2], strict=True) if b - a >= SHORTEST]

    def correlation_delay(self) -> float:
        """Return the lag at which the velocities correlate best [s]."""
        v_u, v_y = np.diff(self.u), np.diff(self.y)
        v_y[~np.isfinite(v_y)] = 0.0
        lags = min(round(LONGEST / self.period), len(v_u) // 2)
        c = np.array([v_u[: len(v_u) - lag] @ v_y[lag:] for lag in range(lags)])
        best = int(np.argmax(c))
        if 0 < best < lags - 1 and (curve := c[best - 1] - 2.0 * c[best] + c[best + 1]) < 0.0:
            return float(best + 0.5 * (c[best - 1] - c[best + 1]) / curve) * self.period
        return best * self.period

    def residual(self, theta: np.ndarray, stretches: list[slice], model: int) -> np.ndarray:
        """Return measured minus model, each stretch with its best-fitting offset and free motion; NaN outside of them."""
        from scipy.signal import lfilter

        places, denominator = answer(self.u, self.period, theta, model)
        r = np.full(len(self.y), np.nan)
        for span in stretches:
            e = (self.y - places)[span]
            known = np.isfinite(e)
            basis = np.ones((len(e), len(denominator)))
            pulse = np.zeros(len(e))
            pulse[0] = 1.0
            for column in range(1, len(denominator)):
                basis[:, column] = lfilter(np.eye(column)[-1], denominator, pulse)
            basis, e = basis[known], e[known]
            r[span][known] = e - basis @ np.linalg.lstsq(basis, e, rcond=None)[0]
        return r


def fit(record: Record, stretches: list[slice], lag: float, model: int, start: np.ndarray | None = None) -> Any:
    """Fit a model; the best of several starts unless one is given: the cost has a valley from large dead time to large
    inertia."""
    from scipy.optimize import least_squares

    def cost(theta: np.ndarray) -> np.ndarray:
        r = record.residual(theta, stretches, model)
        return r[np.isfinite(r)] / FLOOR

    T, most, best = record.period, LONGEST / record.period, None
    # Slightly below zero dead time, so that a robot without any is not at the edge of the search.
    fastest = math.log(4.0 / T)
    low, high = [-0.9, math.log(1.0), math.log(0.1)], [most, fastest, math.log(5.0)]
    low, high = [*low, math.log(5.0), math.log(1e-3), -1.0], [*high, math.log(math.pi / T), 0.0, 1.0]
    size = {DELAY: 1, MODE: 6}.get(model, 3)
    starts = [
        np.array([share * lag / T, math.log(2.0 / max((1.0 - share) * lag, 2.0 * T)), 0.0])[:size] for share in (0.3, 0.6, 0.9)
    ]
    for begun in starts if start is None else [start]:
        begun = np.clip(begun, np.array(low[:size]) + 1e-6, np.array(high[:size]) - 1e-6)
        found = least_squares(
            cost, begun, bounds=(low[:size], high[:size]), xtol=1e-9, ftol=1e-9, gtol=1e-9, diff_step=1e-6, max_nfev=100
        )
        best = found if best is None or found.cost < best.cost else best
        if best.cost < 1e-6 * len(record.y):  # a nanometre: no better fit is possible
            break
    return best
