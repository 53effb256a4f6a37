"""An arm with more than one mode between its motors and its tip: play and friction in the gears, a second mass, stiffness
by posture.

    motor x_m ── play b, K_1, C_1 ── link m_1 ── K_2, C_2 ── tip m_2 ◄── F

    m_1 ẍ_1 = f_1 + f_h - f_2              f_1 = g(x_m - x_1) of the gears: no force within ± b/2, outside spring and damper
                                           f_h = K_1 (x_m - x_1 - z) within ± F_h: the gears stick; at the limit they slip
    m_2 ẍ_2 = f_2 - F(x_2, ẋ_2)            f_2 = K_2 (x_1 - x_2) + C_2 (ẋ_1 - ẋ_2)

With one mode there is no link: the gears carry the tip. If the stiffness depends on the posture, both springs are K e^(s x_m).
The flanks of the gears push and never pull, and z moves only while they slip, so play and friction only lose energy.
Integrated with fourth-order Runge-Kutta, as in bending.py.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from hilt.compiled import jit
from hilt.core.signals import record
from hilt.core.stage import Cycle, StageKind
from hilt.maths import vec
from hilt.systems.docking.bending import STEP, Bending, Drive, driven
from hilt.systems.docking.contact import (
    CONTACT,
    Meeting,
    count_collision,
    force_of,
    move_frames,
    signed_force,
    tip_by_encoders,
)

MOST_CHANGE = 2.0  # |ln| of the stiffness relative to the start: no arm has a posture beyond this


@dataclass(frozen=True)
class SecondMode:
    """Second mode of the same arm, above the first."""

    frequency: float  # ω_2, rad/s
    damping_ratio: float
    share: float  # of the static compliance of the tip


@dataclass(frozen=True)
class Chain:
    """Two masses and two springs with the modes of the arm when the motors are held."""

    link_mass: float
    tip_mass: float
    gear_stiffness: float
    gear_damping: float
    link_stiffness: float
    link_damping: float

    def fastest(self, contact_stiffness: float) -> float:
        """Highest angular frequency with the tip in contact [rad/s]."""
        k1, k2, k = self.gear_stiffness, self.link_stiffness, contact_stiffness
        if self.link_mass == 0.0:
            return math.sqrt((k1 + k) / self.tip_mass)
        a, b, d = (k1 + k2) / self.link_mass, (k2 + k) / self.tip_mass, k2 * k2 / (self.link_mass * self.tip_mass)
        return math.sqrt(0.5 * (a + b) + math.sqrt(0.25 * (a - b) ** 2 + d))


@dataclass(frozen=True)
class Arm:
    """Everything between motors and tip."""

    first: Bending
    second: SecondMode | None
    backlash: float  # m, total
    stiffness_slope: float  # 1/m
    friction: float  # N, in the gears

    @property
    def chain(self) -> Chain:
        first, second = self.first, self.second
        if second is None:
            damping = 2.0 * first.damping_ratio * first.frequency * first.mass
            return Chain(0.0, first.mass, first.stiffness, damping, 0.0, 0.0)
        return chain_of(first, second)

    def steps(self, contact_stiffness: float, dt: float) -> int:
        """Number of steps in a tick."""
        chain = self.chain
        if self.friction > 0.0:  # while the gears stick, they are twice as stiff
            chain = replace(chain, gear_stiffness=2.0 * chain.gear_stiffness)
        return max(1, math.ceil(min(chain.fastest(contact_stiffness) * dt / STEP, 1e9)))


def chain_of(first: Bending, second: SecondMode) -> Chain:
    """Compute masses and springs from the modes.

    Excited at the tip, a chain has an antiresonance ω_a between its modes, (K_1 + K_2)/m_1 = ω_a²; the share σ of the second
    mode in the compliance gives ω_a² = ω_1²ω_2²/(ω_1² + σ(ω_2² - ω_1²)). Each σ between 0 and 1 gives exactly one chain.
    The dampers follow from the damping ratios of the modes; they may come out negative.
    """
    K, a, b = first.stiffness, first.frequency**2, second.frequency**2
    antiresonance = a * b / (a + second.share * (b - a))
    tip_mass = K * antiresonance / (a * b)
    link_stiffness = tip_mass * (a + b - antiresonance)
    gear_stiffness = K * link_stiffness / (link_stiffness - K)
    link_mass = (gear_stiffness + link_stiffness) / antiresonance
    links = [1.0 - tip_mass * w / link_stiffness for w in (a, b)]  # amplitude of the link in each mode, relative to the tip
    masses = [tip_mass + link_mass * link**2 for link in links]
    lost = [
        2.0 * z * math.sqrt(w) * m for z, w, m in zip((first.damping_ratio, second.damping_ratio), (a, b), masses, strict=True)
    ]
    stretched = np.array([[link**2, (1.0 - link) ** 2] for link in links])
    gear_damping, link_damping = np.linalg.solve(stretched, lost)
    return Chain(link_mass, tip_mass, gear_stiffness, float(gear_damping), link_stiffness, float(link_damping))


def damping_range(first: Bending, second: SecondMode) -> tuple[float, float]:
    """Range of the second mode's damping ratio for that of the first; at each end one of the two dampers is zero."""
    ends = [chain_of(first, SecondMode(second.frequency, zeta, second.share)) for zeta in (0.0, 1.0)]
    low, high = ((end.gear_damping, end.link_damping) for end in ends)
    # Each damper is linear in ζ_2, and that of the gears decreases.
    return -low[1] / (high[1] - low[1]), low[0] / (low[0] - high[0])


@jit
def gear_force(stiffness, damping, half, stretch, rate):
    """Force of the motors on the arm. With play, the flanks push and never pull."""
    if half == 0.0:
        return stiffness * stretch + damping * rate
    if stretch > half:
        return max(0.0, stiffness * (stretch - half) + damping * rate)
    if stretch < -half:
        return min(0.0, stiffness * (stretch + half) + damping * rate)
    return 0.0


@jit
def friction_force(stiffness, most, stuck):
    """Friction force of gears stretched by `stuck` since their last slip."""
    return min(max(stiffness * stuck, -most), most)


@jit
def slipped(stiffness, most, stretch, z):
    """z after the gears have slipped until no more than `most` is left."""
    return min(max(z, stretch - most / stiffness), stretch + most / stiffness)


@jit
def _stiffer(p, x_m):
    """Stiffness of the posture relative to the start."""
    if p.slope == 0.0:
        return 1.0
    return math.exp(min(max(p.slope * x_m, -MOST_CHANGE), MOST_CHANGE))


@jit
def _pulls(p, shift, z, drive, s, dt, y):
    """(ẋ_1, ẍ_1, ẋ_2, ẍ_2)"""
    link, link_v, tip, tip_v = y
    x_m, v_m = driven(drive, s, dt)
    more = _stiffer(p, x_m)
    _, _, force = signed_force(p, shift, tip, tip_v)
    pulled = gear_force(more * p.gear_stiffness, p.gear_damping, p.half, x_m - link, v_m - link_v)
    pulled += friction_force(p.gear_stiffness, p.friction_of_gears, x_m - link - z)
    if p.link_mass == 0.0:
        a = (pulled - force) / p.tip_mass
        return tip_v, a, tip_v, a
    passed = more * p.link_stiffness * (link - tip) + p.link_damping * (link_v - tip_v)
    return link_v, (pulled - passed) / p.link_mass, tip_v, (passed - force) / p.tip_mass


@jit
def _ahead(y, h, k):
    return y[0] + h * k[0], y[1] + h * k[1], y[2] + h * k[2], y[3] + h * k[3]


@jit
def _swing(x, p, at, rate, dt):
    """Advance the arm by one tick, to the encoder position `at`."""
    if not x.started:
        x.started, x.motor, x.motor_v = 1, at, rate
        x.link, x.link_v, x.tip, x.tip_v = at, rate, at, rate
        return
    drive = Drive(x.motor, x.motor_v, at, rate)
    x.motor, x.motor_v = at, rate
    h, y = dt / p.steps, (x.link, x.link_v, x.tip, x.tip_v)
    for i in range(p.steps):
        s, half, whole = i / p.steps, (i + 0.5) / p.steps, (i + 1.0) / p.steps
        k1 = _pulls(p, x.shift, x.slipped, drive, s, dt, y)
        k2 = _pulls(p, x.shift, x.slipped, drive, half, dt, _ahead(y, 0.5 * h, k1))
        k3 = _pulls(p, x.shift, x.slipped, drive, half, dt, _ahead(y, 0.5 * h, k2))
        k4 = _pulls(p, x.shift, x.slipped, drive, whole, dt, _ahead(y, h, k3))
        y = _ahead(_ahead(y, h / 6.0, k1), h / 3.0, k2)
        y = _ahead(_ahead(y, h / 3.0, k3), h / 6.0, k4)
        x.slipped = slipped(p.gear_stiffness, p.friction_of_gears, driven(drive, whole, dt)[0] - y[0], x.slipped)
    x.link, x.link_v, x.tip, x.tip_v = y


@jit
def arm_step(sig, x, p, dt):
    at, v = tip_by_encoders(sig, p)
    n = vec.load(p.n_W)
    move_frames(sig, x, p)
    motor, rate = vec.dot(n, at) - p.middle, vec.dot(n, v)
    _swing(x, p, motor, rate, dt)
    side, depth, force = signed_force(p, x.shift, x.tip, x.tip_v)
    v = vec.add(v, vec.scale(x.tip_v - rate, n))
    count_collision(sig, x, p, side, x.tip - x.shift)
    vec.store(sig.F_C_true_W, force_of(p, n, side, side * force, v, x.tip_v))
    vec.store(sig.p_C_true_W, vec.add(at, vec.scale(x.tip - motor, n)))
    sig.penetration = depth


@dataclass(frozen=True)
class ArmMeeting:
    """The same contact, at the tip of such an arm."""

    meeting: Meeting
    arm: Arm


def _pack(p: np.record, met: ArmMeeting, loop: Cycle) -> None:
    CONTACT.pack(p, met.meeting, loop)
    arm, chain = met.arm, met.arm.chain
    p.link_mass, p.tip_mass = chain.link_mass, chain.tip_mass
    p.gear_stiffness, p.gear_damping = chain.gear_stiffness, chain.gear_damping
    p.link_stiffness, p.link_damping = chain.link_stiffness, chain.link_damping
    p.half, p.slope, p.friction_of_gears = 0.5 * arm.backlash, arm.stiffness_slope, arm.friction
    p.steps = arm.steps(met.meeting.contact.stiffest, loop.period)


ARM_CONTACT = StageKind(
    "arm-contact",
    arm_step,
    reads=CONTACT.reads,
    writes=CONTACT.writes,
    state=record(
        **dict.fromkeys(("touching", "started"), "i8"),
        **dict.fromkeys(("shift", "motor", "motor_v", "link", "link_v", "tip", "tip_v", "slipped"), "f8"),
    ),
    params=record(
        **{name: CONTACT.params[name] for name in CONTACT.params.names or ()},
        **dict.fromkeys(("link_mass", "gear_stiffness", "gear_damping", "link_stiffness", "link_damping"), "f8"),
        **dict.fromkeys(("half", "slope", "friction_of_gears"), "f8"),
    ),
    pack=_pack,
)
