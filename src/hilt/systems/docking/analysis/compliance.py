"""Identify how a robot bends from a tap test: the tip leaves a frame and hits it again while the motors move.

    m_t ẍ = K_f (x_m - x) + C_f (ẋ_m - ẋ) - F        m_t = K_f/ω_f²,  C_f = 2ζ_f ω_f m_t; x_m by the encoders
    F = k (x - s) + c ẋ,  or (q (x - s))^(3/2)        pushing only

A slow press shows only 1/k + 1/K_f. In the air the tip swings with ω_f, in contact with ω_f √(1 + k/K_f): together they
separate K_f from k. Tip and force are those of the twin's own model (twin/bending/chain.py), so the results are what the twin
needs; the model itself decides when it touches. The search uses several starts: a model with another frequency touches at other
times, so the cost has several minima. The time of the force is fitted too, because an error in it looks like damping.
"""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hilt.compiled import jit
from hilt.core.faults import InputError
from hilt.systems.docking.twin import model
from hilt.systems.docking.twin.bending.chain import Tip, move_tip

STEP, ROUGH = 0.00025, 0.001  # s, of the model; of the search for a start
LEAST_AIR = 0.05  # share of the record during which the tip must be in the air
LEAST_TOUCHES = 4
FREQUENCIES = 2.0 * math.pi * np.array([6.0, 8.0, 10.0, 12.5, 15.5, 19.0, 24.0, 30.0])  # where the search starts
RATIOS = (1.3, 2.0, 4.0, 10.0)  # K_f / stiffness of both in series
DAMPING = 0.05
PASSES = 12  # of the search from each start, before only the best ones continue
BEST = 4
CLEARLY = 0.9  # a further parameter must reduce the cost below this share
MOST_DOUBT = 0.3  # relative deviation of the stiffness
MISFIT = 0.05  # of the force's rms: more than this is not timing jitter
LATE_DOUBT = 0.5e-3  # s, deviation of the force's time
K, W, Z, STIFF, PLACE, AT, SPEED, LATE, DAMPED = range(9)


@dataclass(frozen=True)
class Bending:
    """Result of a tap test; SI units, each deviation is 1 σ."""

    stiffness: float
    mode_frequency: float  # Hz
    mode_damping_ratio: float
    contact_kind: str  # linear or hertz
    contact_stiffness: float  # for a Hertz contact the secant at the largest force
    contact_damping: float  # N·s/m
    surface: float  # along the axis, from the start of the robot
    lateness: float  # s, additional delay of the force
    deviations: dict[str, float]
    residual: float  # rms, N
    residual_share: float  # of the force's rms
    noise: float  # rms of the sensor at rest, N
    worst_frequency: float  # Hz, at which the residual is largest
    air: float  # share of the time in the air
    touches: int
    largest_force: float
    samples: int
    used: int
    curves: dict[str, np.ndarray] = field(repr=False, compare=False, default_factory=dict)

    @property
    def fits(self) -> bool:
        return self.residual_share <= MISFIT or self.residual <= 2.0 * self.noise

    @property
    def refusal(self) -> str:
        """One sentence on why these values must not be used; empty if they may be."""
        if self.fits and self.deviations["stiffness"] > MOST_DOUBT * self.stiffness:
            return (
                f"the robot bends too little compared with the frame's {1e-3 * self.contact_stiffness:.3g} N/mm to be "
                f"measured: {1e-6 * self.stiffness:.3g} N/µm ± {1e-6 * self.deviations['stiffness']:.2g} N/µm; "
                "treat it as rigid"
            )
        if self.fits:
            return ""
        return (
            f"one mode on an elastic frame does not explain the tap test: {self.residual:.3g} N rms are left, "
            f"{100 * self.residual_share:.2g} % of the force (at most {100 * MISFIT:.2g} %, or twice the noise of "
            f"{self.noise:.2g} N, are allowed), most of it at {self.worst_frequency:.3g} Hz"
        )

    def as_json(self) -> dict[str, Any]:
        kept = {name: value for name, value in vars(self).items() if name != "curves"}
        return {**kept, "fits": self.fits, "refusal": self.refusal}

    def settings(self) -> dict[str, Any]:
        """Scenario keys with the values that the controller should believe."""
        return {
            "belief.robot.stiffness": f"{1e-6 * self.stiffness:.5g} N/um",
            "belief.robot.mode_frequency": f"{self.mode_frequency:.5g} Hz",
            "belief.robot.mode_damping_ratio": float(f"{self.mode_damping_ratio:.3g}"),
        }

    def note(self) -> str:
        """The uncertainty, for a comment next to the settings."""
        d = self.deviations
        return (
            f"tap test: stiffness ± {1e-6 * d['stiffness']:.2g} N/um, mode ± {d['mode_frequency']:.2g} Hz, "
            f"damping ratio ± {d['mode_damping_ratio']:.2g} (1 sigma); residual {self.residual:.2g} N, "
            f"{100 * self.residual_share:.2g} % of the force"
        )

    def table(self) -> list[tuple[str, str, str]]:
        """Quantity, value, deviation."""
        d = self.deviations
        return [
            ("tip stiffness", f"{1e-6 * self.stiffness:.4g} N/µm", f"{1e-6 * d['stiffness']:.2g} N/µm"),
            ("mode", f"{self.mode_frequency:.4g} Hz", f"{d['mode_frequency']:.2g} Hz"),
            ("damping ratio", f"{self.mode_damping_ratio:.3g}", f"{d['mode_damping_ratio']:.2g}"),
            (
                f"frame, {self.contact_kind}",
                f"{1e-3 * self.contact_stiffness:.4g} N/mm",
                f"{1e-3 * d['contact_stiffness']:.2g} N/mm",
            ),
            ("frame's damping", f"{self.contact_damping:.3g} N·s/m", f"{d.get('contact_damping', 0.0):.2g} N·s/m"),
            ("surface", f"{1e3 * self.surface:.4f} mm from the start", f"{1e3 * d['surface']:.2g} mm"),
            (
                "age of the force",
                f"{1e3 * abs(self.lateness):.2f} ms {'more' if self.lateness > 0 else 'less'} than assumed",
                f"{1e3 * d['lateness']:.2g} ms",
            ),
        ]


@jit
def _tap(tip, frame, at, v, x_m, v_m, dt, force):
    """Compute the frame's force at every step; the motor values are means over the steps."""
    force[0] = model.force(frame, at, v)
    for i in range(len(x_m)):
        at, v = move_tip(tip, frame, at, v, x_m[i], v_m[i], dt)
        force[i + 1] = model.force(frame, at, v)


class Record:
    """A tap test on a fine time grid, and the residual of the model."""

    def __init__(
        self, t: np.ndarray, motor: np.ndarray, force: np.ndarray, when: np.ndarray, noise: float, step: float
    ) -> None:
        from scipy.interpolate import CubicSpline

        place = CubicSpline(t, motor)
        steps = math.ceil((t[-1] - t[0]) / step)
        self.dt = (t[-1] - t[0]) / steps
        middle = t[0] + (np.arange(steps) + 0.5) * self.dt
        self.x_m, self.v_m = place(middle), place(middle, 1)
        inside = np.isfinite(force) & np.isfinite(when) & (when > t[0]) & (when < t[-1])
        self.felt, self.when, self.t0 = force[inside], when[inside], t[0]
        self.first, self.inside, self.noise = float(motor[0]), inside, max(noise, 0.05)
        self._force = np.zeros(steps + 1)
        self._grid = t[0] + np.arange(steps + 1) * self.dt

    def frame(self, theta: np.ndarray, law: int) -> model.Frame:
        k = math.exp(theta[STIFF])
        c = theta[DAMPED] if len(theta) > DAMPED else 0.0
        return model.Frame(1.0, model.KNOWN, law, k, c, k, theta[PLACE])

    def force(self, theta: np.ndarray, law: int) -> np.ndarray:
        """The model's force at the times of the measurements."""
        tip = Tip(math.exp(theta[K]), math.exp(theta[W]), math.exp(theta[Z]))
        _tap(tip, self.frame(theta, law), theta[AT], theta[SPEED], self.x_m, self.v_m, self.dt, self._force)
        return np.interp(self.when - theta[LATE], self._grid, self._force)

    def residual(self, theta: np.ndarray, law: int) -> np.ndarray:
        left = np.append(self.force(theta, law) - self.felt, self.noise * theta[LATE] / LATE_DOUBT)
        return np.where(np.isfinite(left), left, 1e6)


def fit(t: Any, motor: Any, force: Any, when: Any, noise: float, series: float) -> Bending:
    """Fit the bending of the robot to a tap test.

    `t`, `motor`: encoders along the axis towards the frame; `force`: of the frame on the tip, without the sensor's bias, NaN
    where it must not be used; `when`: time of each force; `noise`: rms of the sensor at rest; `series`: stiffness of robot and
    frame in series, from a slow press.
    """
    t, motor, force, when = (np.asarray(each, float) for each in (t, motor, force, when))
    record, coarse = (Record(t, motor, force, when, noise, step) for step in (STEP, ROUGH))
    threshold = max(6.0 * noise, 0.5)
    air, touches = _left(record.felt, threshold)
    if air < LEAST_AIR or touches < LEAST_TOUCHES:
        raise InputError(
            f"the tip was in the air for {100 * air:.0f} % of the tap test and hit the frame {touches} times; with less than "
            f"{100 * LEAST_AIR:.0f} % or {LEAST_TOUCHES} times the stiffness of the robot cannot be distinguished from the "
            "frame's; use a larger --amplitude or a smaller --preload"
        )
    preload = float(np.median(record.felt[: max(5, len(record.felt) // 20)]))
    starts = [_start(record, series, preload, ratio, frequency) for ratio in RATIOS for frequency in FREQUENCIES]
    rough = sorted((_descend(coarse, start, model.LINEAR, PASSES) for start in starts), key=lambda found: found.cost)
    best, law = _best(record, rough[:BEST], model.LINEAR), model.LINEAR
    damped = _descend(record, _descend(record, _as_damped(best.x), law, punctual=True).x, law)
    if damped.cost < CLEARLY * best.cost and damped.x[DAMPED] > 0.0:
        best = damped
    elif math.sqrt(2.0 * best.cost / len(record.felt)) > max(2.0 * noise, 0.5 * MISFIT * _rms(record.felt)):
        hertz = _descend(record, _as_hertz(best.x, record), model.HERTZ)
        if hertz.cost < CLEARLY * best.cost:
            best, law = hertz, model.HERTZ
    return _result(record, best, law, noise, air, touches)


def _left(force: np.ndarray, threshold: float) -> tuple[float, int]:
    """Share of the time in the air, and how often the frame was hit again."""
    touching = force > threshold
    return float(np.mean(~touching)), int(np.sum(np.diff(touching.astype(int)) > 0))


def _rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values * values)))


def _start(record: Record, series: float, preload: float, ratio: float, frequency: float) -> np.ndarray:
    """Initial parameters: at rest under the preload."""
    stiff = ratio * series
    k = 1.0 / (1.0 / series - 1.0 / stiff)
    at = record.first - preload / stiff
    return np.array([math.log(stiff), math.log(frequency), math.log(DAMPING), math.log(k), at - preload / k, at, 0.0, 0.0])


def _as_damped(theta: np.ndarray) -> np.ndarray:
    """Start for a damped contact with the assumed time of the force, since the two effects look alike."""
    k, lateness = math.exp(theta[STIFF]), theta[LATE]
    start = np.append(theta, k * max(-lateness, 1e-5))
    start[LATE] = 0.0
    return start


def _as_hertz(theta: np.ndarray, record: Record) -> np.ndarray:
    """Start for a Hertz contact with the same depth at the largest force as the linear one."""
    peak, k = float(record.felt.max()), math.exp(theta[STIFF])
    start = theta.copy()
    start[STIFF] = math.log(k * peak ** (-1.0 / 3.0))
    start[PLACE] -= 0.25 * peak / k
    return start


SCALES = np.array([0.1, 0.1, 0.3, 0.1, 1e-5, 1e-5, 1e-3, 1e-4, 10.0])
ORIGIN = 1000.0  # of the scaled parameters: differences are taken relative to their size
REACH = np.array([3.0, 1.5, 3.5, 3.0, 1e-3, 1e-3, 0.05, 2e-3, np.inf])  # largest distance of a search from its start


def _descend(record: Record, start: np.ndarray, law: int, passes: int = 100, punctual: bool = False) -> Any:
    """Least-squares fit; `punctual` keeps the time of the force fixed.

    The derivatives are differences over 1 % of a scale: the force is not smooth when a touch moves from one step to the next.
    """
    from scipy.optimize import least_squares

    n, scales = len(start), SCALES[: len(start)]
    reach = REACH[:n] / scales
    reach[LATE] = 1e-3 if punctual else reach[LATE]
    low = ORIGIN - reach
    if n > DAMPED:
        low[DAMPED] = ORIGIN - start[DAMPED] / scales[DAMPED]

    def theta(z: np.ndarray) -> np.ndarray:
        return np.asarray(start + (z - ORIGIN) * scales)

    found = least_squares(
        lambda z: record.residual(theta(z), law),
        np.full(n, ORIGIN),
        bounds=(low, ORIGIN + reach),
        diff_step=0.01 / ORIGIN,
        max_nfev=passes,
    )
    found.x, found.jac = theta(found.x), found.jac / scales
    return found


def _best(record: Record, rough: list[Any], law: int) -> Any:
    return min((_descend(record, found.x, law) for found in rough), key=lambda found: found.cost)


def _result(record: Record, best: Any, law: int, noise: float, air: float, touches: int) -> Bending:
    theta, r = best.x, best.fun[:-1]
    size = np.linalg.norm(best.jac, axis=0)
    size[size == 0.0] = 1.0
    scaled = best.jac / size
    variance = float(r @ r) / max(len(r) - len(theta), 1) * _correlated(r)
    sigma = np.sqrt(variance * np.diag(np.linalg.pinv(scaled.T @ scaled))) / size
    stiffness, frequency, damping, k = np.exp(theta[: STIFF + 1])
    peak = float(record.felt.max())
    secant = k if law == model.LINEAR else k * peak ** (1.0 / 3.0)
    deviations = {
        "stiffness": stiffness * sigma[K],
        "mode_frequency": frequency * sigma[W] / (2.0 * math.pi),
        "mode_damping_ratio": damping * sigma[Z],
        "contact_stiffness": secant * sigma[STIFF],
        "surface": sigma[PLACE],
        "lateness": sigma[LATE],
        **({"contact_damping": sigma[DAMPED]} if len(theta) > DAMPED else {}),
    }
    return Bending(
        stiffness=float(stiffness),
        mode_frequency=float(frequency / (2.0 * math.pi)),
        mode_damping_ratio=float(damping),
        contact_kind="linear" if law == model.LINEAR else "hertz",
        contact_stiffness=float(secant),
        contact_damping=float(theta[DAMPED]) if len(theta) > DAMPED else 0.0,
        surface=float(theta[PLACE]),
        lateness=float(theta[LATE]),
        deviations={name: float(value) for name, value in deviations.items()},
        residual=_rms(r),
        residual_share=_rms(r) / _rms(record.felt),
        noise=noise,
        worst_frequency=_strongest(record.when, r),
        air=air,
        touches=touches,
        largest_force=peak,
        samples=len(record.inside),
        used=len(r),
        curves={"t": record.when - record.t0, "measured": record.felt, "model": record.felt + r, "residual": -r},
    )


def _correlated(r: np.ndarray) -> float:
    """Factor by which correlation of the residual increases the variance of a mean, compared with white noise."""
    r = r - r.mean()
    power = float(r @ r)
    if power == 0.0:
        return 1.0
    lags = min(50, len(r) // 4)
    rho = np.array([float(r[: len(r) - lag] @ r[lag:]) / power for lag in range(1, lags)])
    negative = np.flatnonzero(rho < 0.0)
    return float(1.0 + 2.0 * rho[: negative[0] if len(negative) else len(rho)].sum())


def _strongest(t: np.ndarray, r: np.ndarray) -> float:
    """Frequency [Hz] at which the residual has most of its power."""
    grid = np.linspace(t[0], t[-1], len(t))
    spectrum = np.abs(np.fft.rfft(np.interp(grid, t, r - r.mean())))
    return float(np.argmax(spectrum[1:]) + 1) / float(t[-1] - t[0]) if len(spectrum) > 1 else 0.0
