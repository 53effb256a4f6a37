"""The lowest CoF of the first touch of an unknown surface, for any method that detects it with the threshold in use.

Nothing is known about a surface before it is touched: until then the robot follows the bodies, so the tip meets it at βv0 and
continues for another t_b; then the command w may change, with |ẅ| ≤ A and |ẇ| ≤ V. For a pure delay and a linear spring:
    CoF_min = max(1, ω (β t_b + β² v0/(2A)))  =  max(1, β ω t_b + β²/(2n))         A = n·v0·ω
t_b: the dead times of robot and sensor, and the time until a sample exceeds the threshold. Here the latter is counted in whole
ticks, for a touch just after a tick. The phase of the touch within a tick changes it by up to a tick (ωT of CoF), noise by
more: bound_phase.py computes the bound for each phase and its distribution. A lower threshold could detect a touch earlier.

For any robot T2 ẍ + T1 ẋ + x = w the force is F(t) = ∫ (k S(τ) + c g(τ)) ẇ(t - τ) dτ, S its step response and g its impulse
response. Where k S + c g ≥ 0 the force is lowest at every instant if ẇ is lowest at every instant: brake with A until ẇ = -V,
then hold. S ≥ 0 for every ζ > 0, so without damping full braking is the best command for all of these robots. With damping
the sign is checked; if the check fails, the linear programme of bound_lp.py is used.
"""

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from hilt.systems.docking.twin.prior import limits_of

WITHIN = 0.05  # goal for CoF - 1
POINTS = 1000  # per curve of a touch
HALVINGS = 40


def least_cof(omega: float, late: float, ratio: float, clock: float = 1.0) -> float:
    """CoF_min of a contact of frequency ω [rad/s], `late` = t_b [s], n = `ratio`, with clock β."""
    return max(1.0, clock * omega * late + clock**2 / (2.0 * ratio))


def critical_stiffness(mass: float, late: float, acceleration: float, speed: float, within: float = WITHIN) -> float:
    """Stiffness [N/m] above which real time cannot keep CoF below 1 + `within`, for a robot that brakes with A."""
    omega = (1.0 + within) / (late + speed / (2.0 * acceleration))
    return mass * omega**2


def clock_needed(omega: float, late: float, ratio: float, within: float = 0.0) -> float:
    """Largest β with CoF_min ≤ 1 + `within`."""
    slow = omega * late
    return min(1.0, ratio * (math.sqrt(slow * slow + 2.0 * (1.0 + within) / ratio) - slow))


@dataclass(frozen=True)
class Touch:
    """The first touch of an unknown surface, along its normal; SI units."""

    speed: float  # v0 of the bodies
    mass: float  # effective, along the normal
    stiffness: float  # k, or k_H of a Hertz contact
    damping: float
    hertz: bool
    dead_time: float  # of the robot
    T1: float
    T2: float
    sensor: float  # delay of sensor and filter
    threshold: float  # of the force
    period: float
    acceleration: float  # A
    fastest: float  # V
    noise: float = 0.0  # of the force; 0 for the bound at one phase
    clock: float = 1.0  # β

    @property
    def tip_speed(self) -> float:
        return self.clock * self.speed

    @property
    def unfelt(self) -> float:
        """Time from the touch until the force exceeds its threshold, without noise."""
        if self.hertz:
            depth = (self.threshold / self.stiffness) ** (2.0 / 3.0)
        else:
            depth = max(0.0, self.threshold - self.damping * self.tip_speed) / self.stiffness
        return depth / self.tip_speed

    @property
    def felt(self) -> float:
        """The same rounded up to whole ticks, at least one: a touch just after a tick; the command responds in that tick."""
        return max(1, math.ceil(self.unfelt / self.period - 1e-9)) * self.period

    @property
    def t_b(self) -> float:
        return self.dead_time + self.sensor + self.felt

    @property
    def omega(self) -> float:
        """Contact frequency [rad/s]; for a Hertz contact that of the linear spring with the same peak force."""
        return self.ideal / (self.speed * self.mass) if self.hertz else math.sqrt(self.stiffness / self.mass)

    @property
    def braking(self) -> float:
        """Braking time [s] from +βv0 to -V."""
        return (self.tip_speed + self.fastest) / self.acceleration

    @property
    def ideal(self) -> float:
        """Largest force of the same contact in space [N]."""
        return _ideal(self.stiffness, self.damping, self.mass, self.speed, self.hertz)

    def spring(self, depth: float) -> float:
        return self.stiffness * (depth**1.5 if self.hertz else depth)


@lru_cache(maxsize=1024)
def _ideal(k: float, c: float, mass: float, speed: float, hertz: bool) -> float:
    if hertz:
        return float(k * (1.25 * mass * speed**2 / k) ** 0.6)  # ½ m v² = 2/5 k δ^2.5
    if c == 0.0:
        return speed * math.sqrt(k * mass)
    a, b = np.roots([mass, c, k]).astype(complex)
    if abs(a - b) < 1e-6 * abs(a):  # critical damping: double pole
        b = a * (1.0 - 1e-6)
    t = np.linspace(0.0, math.pi / math.sqrt(k / mass), 4 * POINTS)
    depth, rate = (np.exp(a * t) - np.exp(b * t)) / (a - b), (a * np.exp(a * t) - b * np.exp(b * t)) / (a - b)
    return speed * _top((k * depth + c * rate).real)


def _transients(T1: float, T2: float, s: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Transient parts of the responses to an impulse, a step, a ramp and s²/2."""
    nothing = np.zeros(len(s))
    if T2 == 0.0:
        return nothing, nothing, nothing, nothing
    a, b = np.roots([T2, T1, 1.0]).astype(complex)
    if abs(a - b) < 1e-4 * abs(a):  # ζ = 1: double pole; separated so little that the error is below 1e-8
        middle = -0.5 * T1 / T2
        a, b = middle * (1.0 + 1e-4), middle / (1.0 + 1e-4)
    one, two = np.exp(a * s) / (T2 * (a - b)), np.exp(b * s) / (T2 * (b - a))
    impulse, step, ramp, square = ((one / a**n + two / b**n).real for n in range(4))
    return impulse, step, ramp, square


@dataclass(frozen=True)
class Braked:
    """A touch with full braking starting at t_b."""

    t: np.ndarray  # from the touch
    depth: np.ndarray
    rate: np.ndarray
    best: bool  # no command has a smaller force at any time


def full_brake(touch: Touch) -> Braked:
    """Exact: the tip continues at βv0, and the braking (ẇ from βv0 down to -V) passes through the robot's response."""
    A, T1, T2 = touch.acceleration, touch.T1, touch.T2
    s = np.linspace(0.0, touch.braking + 4.0 * (T1 + math.sqrt(T2)), POINTS)
    impulse, step, *_ = _transients(T1, T2, s)
    kernel = touch.stiffness * (1.0 + step) + touch.damping * impulse
    best = T2 == 0.0 or bool(kernel.min() >= -1e-9 * touch.stiffness)  # it starts at 0; the tolerance allows for rounding

    def answers(since: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Distance and speed removed by ẅ = -A; with T1 and T2 the response to s²/2 and its rate."""
        late = np.maximum(since, 0.0)
        _, _, ramp, square = _transients(T1, T2, late)
        distance = 0.5 * late**2 - T1 * late + (T1**2 - T2) + square if T2 > 0.0 else 0.5 * late**2
        return np.where(since > 0.0, A * distance, 0.0), np.where(since > 0.0, A * (late - T1 + ramp), 0.0)

    (taken, off), (back, on) = answers(s), answers(s - touch.braking)
    v = touch.tip_speed
    return Braked(touch.t_b + s, v * (touch.t_b + s) - taken + back, v - off + on, best)


def _top(values: np.ndarray) -> float:
    """Maximum of a smooth curve, interpolated between its points."""
    at = int(np.argmax(values))
    if at in (0, len(values) - 1):
        return float(values[at])
    left, middle, right = values[at - 1 : at + 2]
    bend = left - 2.0 * middle + right
    return float(middle - (0.125 * (left - right) ** 2 / bend if bend < 0.0 else 0.0))


@lru_cache(maxsize=1024)
def least_peak(touch: Touch) -> float | None:
    """Lowest possible peak force [N]; None if full braking is not known to be optimal."""
    if touch.damping == 0.0 and touch.T2 == 0.0:
        return touch.spring(touch.tip_speed * touch.t_b + touch.tip_speed**2 / (2.0 * touch.acceleration))
    if touch.damping > 0.0 and touch.hertz:
        return None
    braked = full_brake(touch)
    if touch.damping == 0.0:
        return touch.spring(_top(braked.depth))
    return _top(touch.stiffness * braked.depth + touch.damping * braked.rate) if braked.best else None


def least_cof_of(touch: Touch) -> float | None:
    peak = least_peak(touch)
    return None if peak is None else max(1.0, peak / touch.ideal)


def stiffness_for(touch: Touch, within: float = WITHIN) -> float | None:
    """Stiffness [N/m, N/m^1.5] above which CoF_min exceeds 1 + `within`, for the same robot, limits and t_b."""
    felt = replace(touch, sensor=touch.sensor + touch.felt - touch.period, threshold=0.0)

    def meets(factor: float) -> bool:
        cof = least_cof_of(replace(felt, stiffness=factor * touch.stiffness))
        return cof is not None and cof <= 1.0 + within

    low, high = 1e-6, 1e6
    if not meets(low) or meets(high):
        return None
    for _ in range(HALVINGS):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if meets(middle) else (low, middle)
    return low * touch.stiffness


def clock_for(touch: Touch, within: float = WITHIN) -> float | None:
    """Largest β with CoF_min ≤ 1 + `within`."""

    def meets(clock: float) -> bool:
        cof = least_cof_of(replace(touch, clock=clock))
        return cof is not None and cof <= 1.0 + within

    if meets(1.0):
        return 1.0
    low, high = 1e-3, 1.0
    if not meets(low):
        return None
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if meets(middle) else (low, middle)
    return low


def effective_mass(scenario: Any) -> float:
    """1/m_eff = n·(n/m_s + n/m_t + (I_s⁻¹(r_s×n))×r_s + (I_t⁻¹(r_t×n))×r_t) at the first touch; 1-DOF: the reduced mass."""
    if scenario.dof == 1:
        return float(scenario.reduced_mass)
    n, v = np.array(scenario.frames.n_W), np.array(scenario.approach.velocity)
    r_s, inverse_s, at_t, inverse_t = scenario.lever_arms()
    flight = (scenario.frames.gap - scenario.rod.radius) / abs(float(n @ v))
    r_t = np.array(scenario.start_of_tip) + flight * v - at_t
    gives = sum(np.cross(inverse @ np.cross(r, n), r) for r, inverse in ((r_s, inverse_s), (r_t, inverse_t)))
    return float(1.0 / (1.0 / scenario.reduced_mass + n @ gives))


def touch_of(scenario: Any, clock: float = 1.0) -> Touch:
    """The scenario's first touch, detected by the threshold that method twin uses."""
    contact, robot, own = scenario.contact, scenario.robot, scenario.robot_lag
    along = sum(n * v for n, v in zip(scenario.frames.n_W, scenario.approach.velocity, strict=True))
    A, V = limits_of(scenario)
    omega = robot.natural_frequency(own)
    quick = scenario.model_copy(update={"compensate": scenario.compensate.model_copy(update={"method": "twin"})})
    hertz = contact.is_hertz
    k = contact.hertz_coefficient if hertz else contact.stiffness
    return Touch(
        speed=abs(along),
        mass=effective_mass(scenario),
        stiffness=k * (1.0 if along > 0 else contact.rear_stiffness_ratio),
        damping=contact.damping or contact.dissipation,  # for a Hertz contact only whether it is zero matters
        hertz=hertz,
        dead_time=robot.pure(own),
        T1=own - robot.pure(own) if omega > 0 else 0.0,
        T2=omega**-2 if omega > 0 else 0.0,
        sensor=scenario.force_delay,
        threshold=quick.force_threshold,
        period=scenario.loop.period,
        acceleration=min(A, robot.acceleration_limit or A),
        fastest=min(V, robot.speed_limit or V),
        noise=scenario.sensor.noise,
        clock=clock,
    )


def cof_just_after_tick(scenario: Any) -> float | None:
    """Lowest CoF of a first touch just after a tick, in real time; None if full braking may not be optimal, as on a robot
    whose tip swings (bound_bending.py)."""
    if scenario.robot.mode_frequency > 0.0:
        return None
    return least_cof_of(replace(touch_of(scenario), noise=0.0))
