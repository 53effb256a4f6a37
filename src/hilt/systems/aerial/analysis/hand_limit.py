"""The stiffest hand for which the loop stays stable, from the loop's own parameters; offline.

With force filter ω_c, midpoint admittance M, D, K, lead L1, L2, servo S and tick T, at s = jω, z = e^(sT):

    s2 = (2/T)(z-1)/(z+1),   H = (1-e^(-sT))/(sT),   a = 1-e^(-ω_c T),   A = 2/((z+1)(M s2² + D s2 + K))
    C = z A + L1 z A s2 + L2 (1 - D z A s2 - K z A)/M
    G = H · a z/(z-1+a) · C · [hold] · S          hold: H if set-points are held, H² if they are joined by lines

G is for a sensor that averages over the tick. For one that samples, like `plant/sensor.py`, H [hold] S is replaced by the
exact pulse response of the simulated servo, and the samples of velocity and acceleration r = v/x, b = a/x replace jω and -ω².
A hand of stiffness k and damping d(k) with a mass m_h beyond the sensor is at its limit when

    1 + (k + r d + b m_h) G = 0

wherever Im(-1/G) = Im(r d + b m_h), k = Re(-1/G - r d - b m_h) is a candidate, and the smallest positive one is the limit. With
k = d = 0 the same gives the largest mass.

The hand's own damping matters: with none the limit is a third lower than with 5 N·s/m.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from hilt.systems.aerial.base_path import BasePath, base_paths
from hilt.systems.aerial.gains import GainSet
from hilt.systems.aerial.port_guard import lead_times
from hilt.systems.aerial.servo import Servo

HAND_DAMPING = 5.0  # N·s/m, the damping of a relaxed hand, used where nothing better is known
POINTS = 20_000  # of the frequency scan; the limit changes by less than 1e-6 with more
ROUNDS = 10  # for a damping that depends on the stiffness; one is enough if r is jω

LAG_ONLY = (
    "the servo is modelled by a lag only: the stiffness limit of the hand may be up to 87 % too high, on the unsafe side; "
    "identify the servo as second order with delay (servo.kind = 'second-order')"
)

Damping = float | Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, kw_only=True)
class PortLoop:
    """Everything between the human's force and the tool's motion, one axis."""

    period: float
    bandwidth: float
    gains: GainSet
    servo: Servo
    lead: tuple[float, float] = (0.0, 0.0)  # L1 [s], L2 [s²]
    averaging: bool = True  # the sensor's reading is the mean over the tick; otherwise a sample
    base: BasePath | None = None  # feedback through the base's motion, if the hardware shows it

    def frequencies(self) -> np.ndarray:
        """Frequencies from slow to Nyquist."""
        return np.geomspace(1e-2, 0.9999 * math.pi / self.period, POINTS)

    def port(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """G(jω): metres of the tool per newton of the human; and r, b: its velocity and acceleration per metre."""
        T, s = self.period, 1j * w
        z = np.exp(s * T)
        if self.averaging:
            H = (1.0 - np.exp(-s * T)) / (s * T)
            hold = H if self.servo.hold == "zero" else H * H
            return self._controller(z) * H * hold * self._servo(s), s, s * s
        x, v = self._pulse_response(z)
        rate = v / x
        return self._controller(z) * x, rate, rate * (1.0 - 1.0 / z) / T

    def _controller(self, z: np.ndarray) -> np.ndarray:
        """From the force of the tick to the set-point."""
        T, (M, D, K), (L1, L2) = self.period, self.gains.numbers, self.lead
        s2 = 2.0 / T * (z - 1.0) / (z + 1.0)
        a = 1.0 - math.exp(-self.bandwidth * T)
        zA = 2.0 * z / ((z + 1.0) * (M * s2**2 + D * s2 + K))
        C = zA + L1 * zA * s2 + L2 * (1.0 - D * zA * s2 - K * zA) / M
        if self.base is not None:
            C = C + self.base.shown(np.log(z) / T, z, T)
        return np.asarray(a * z / (z - 1.0 + a) * C)

    def _servo(self, s: np.ndarray) -> np.ndarray:
        late = np.exp(-s * self.servo.delay)
        if self.servo.kind == "lag":
            return np.asarray(late / (1.0 + s * self.servo.lag))
        wn, zeta = self.servo.natural_frequency, self.servo.damping_ratio
        return np.asarray(late * wn**2 / (s**2 + 2.0 * zeta * wn * s + wn**2))

    def _pulse_response(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Position and velocity of the tool at the ticks per set-point: (z - Φ)⁻¹ (Γ_0 + Γ_1 z) times the delay line."""
        phi, gamma = self.servo.matrices(self.period)
        whole, part = divmod(self.servo.delay / self.period, 1.0)
        late = z ** (-1.0 - whole) * (1.0 - part + part / z)
        drive = gamma[:, 0, None] + gamma[:, 1, None] * z
        below = (z - phi[0, 0]) * (z - phi[1, 1]) - phi[0, 1] * phi[1, 0]
        x = ((z - phi[1, 1]) * drive[0] + phi[0, 1] * drive[1]) / below
        v = (phi[1, 0] * drive[0] + (z - phi[0, 0]) * drive[1]) / below
        return late * x, late * v


@lru_cache(maxsize=32)  # half a megabyte each; metrics, check and report ask for the same few loops
def _scan(loop: PortLoop) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return loop.port(loop.frequencies())


def _crossings(height: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Values of `at` where `height` crosses 0, by linear interpolation."""
    i = np.flatnonzero(height[:-1] * height[1:] < 0.0)
    share = height[i] / (height[i] - height[i + 1])
    return np.asarray(at[i] + share * (at[i + 1] - at[i]))


def largest_mass(loop: PortLoop) -> float:
    """The largest mass beyond the sensor for which the loop is stable with nobody holding it [kg]; inf without a limit."""
    G, _, b = _scan(loop)
    needed = -1.0 / (b * G)
    masses = _crossings(needed.imag, needed.real)
    return float(min(masses[masses > 0.0], default=math.inf))


def stiffest_hand(loop: PortLoop, damping: Damping = HAND_DAMPING, mass_beyond: float = 0.0) -> float:
    """The smallest stiffness of a hand that makes the loop unstable [N/m]; inf if none does, 0 if every hand does.

    `damping` is the hand's, in N·s/m: a number, or a function of its stiffness.
    """
    if mass_beyond >= largest_mass(loop):
        return 0.0
    G, r, b = _scan(loop)
    needed = -1.0 / G - b * mass_beyond
    with_hand = needed
    for _ in range(ROUNDS if callable(damping) else 1):
        d = damping(np.maximum(with_hand.real, 0.0)) if callable(damping) else damping
        with_hand = needed - r * d
    limits = _crossings(with_hand.imag, with_hand.real)
    return float(min(limits[limits > 0.0], default=math.inf))


def loops_of(scenario) -> dict[str, PortLoop]:
    """The port of a scenario: each set of gains that its task uses, sideways and upwards."""
    sets = {"hardware": scenario.hardware.gains}
    if scenario.hardware.follow_gains:
        used = {"hover": ("normal",), "handover": ("normal", "hooked"), "diverter": ("normal", "hooked", "impact")}
        sets = {name: getattr(scenario.gains, name) for name in used[scenario.task.kind]}
    paths = base_paths(scenario)
    bases: dict[str, BasePath | None] = dict(zip(("sideways", "upwards"), paths, strict=True)) if paths else {"": None}
    return {
        f"{name} {axis}".strip(): replace(loop_of(scenario, gains), base=base)
        for name, gains in sets.items()
        for axis, base in bases.items()
    }


def loop_of(scenario, gains: GainSet | None = None) -> PortLoop:
    """The port of a scenario with simulated hardware, whose sensor samples; with the guard's lead, not its added damping."""
    guard, filter_, period = scenario.port_passivity, scenario.force_filter, scenario.loop.period
    lead = lead_times(guard.lead, filter_.bandwidth, scenario.servo.whole_lag, period) if guard.enabled else (0.0, 0.0)
    return PortLoop(
        period=period,
        bandwidth=filter_.bandwidth,
        gains=gains or scenario.hardware.gains,
        servo=scenario.servo,
        lead=lead,
        averaging=False,
    )


def warning(servo: Servo) -> str:
    """A caveat to show with the limit; empty if there is none."""
    return LAG_ONLY if servo.kind == "lag" else ""
