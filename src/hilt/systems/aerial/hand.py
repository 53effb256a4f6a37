"""A human hand on the hardware's tool: takes hold, moves it, mounts a tool, lets go, and trembles.

    f = g [ k (x_hand - x) + d (v_hand - v) + tremor ],      τ = g [ -κ log(q q_grip⁻¹) - δ ω ] + r × f

at the tool's origin, r from it to the grip. The hand's path starts where it takes hold, so nothing jumps:
x_hand = x_grip + amplitude · sin(2π f t) along `direction`. g goes smoothly from 0 to 1 and back. The mounted tool is a mass on
the sensor, weight and inertia: m (g - a). Before `handover` the hand carries it. The load that is on the sensor from the start
(`force_filter.load_mass`) is included.
"""

import math
from dataclasses import dataclass

import numpy as np
from pydantic import Field, model_validator

from hilt.compiled import jit
from hilt.core import ledger
from hilt.core.faults import Unfit
from hilt.core.gravity import STANDARD_GRAVITY
from hilt.core.scenario import Section
from hilt.core.signals import PORT, record
from hilt.core.stage import Cycle, StageKind
from hilt.core.units import (
    Hertz,
    Kilogram,
    Metre,
    Metre3,
    Newton,
    NewtonPerMetre,
    NewtonSecondPerMetre,
    Number,
    Number3,
    Second,
)
from hilt.maths import noise, so3, vec
from hilt.maths.quintic import quintic

AWAY = 0
HOLDS = 1
GONE = 2
WANDER = 2.0  # rad/√s by which the tremor's phase drifts


class Hand(Section):
    """The hand that holds the hardware's tool."""

    stiffness: NewtonPerMetre = Field(ge=0, description="150 N/m is a relaxed hand, 1000 N/m a firm one, 0 N/m none")
    damping: NewtonSecondPerMetre = Field(default=5.0, ge=0)
    turning_stiffness: Number = Field(default=0.0, ge=0, description="κ, N·m/rad")
    turning_damping: Number = Field(default=0.0, ge=0, description="δ, N·m·s/rad")
    amplitude: Metre = Field(description="of the motion along which the hand moves the tool")
    frequency: Hertz = Field(default=0.3, gt=0)
    direction: Number3 = (1.0, 0.0, 0.0)
    grip: Metre3 = Field(default=(0.0, 0.0, 0.0), description="where the hand holds, in the tool's frame")
    start: Second = Field(default=1.0, ge=0, description="when the hand takes hold")
    grasp: Second = Field(default=0.3, gt=0, description="time to take hold or to let go")
    handover: Second = Field(default=0.0, ge=0, description="when the arm takes over the weight of the mounted tool")
    release: Second = Field(default=1e9, gt=0, description="when the hand lets go")
    tremor: Newton = Field(default=0.0, ge=0, description="rms per axis")
    tremor_frequency: Hertz = Field(default=10.0, gt=0)
    tool_mass: Kilogram = Field(default=0.0, ge=0, description="of the tool that the hand mounts")
    tool_centre: Metre3 = Field(
        default=(0.0, 0.0, 0.0), description="centre of mass of that tool, in the frame of the arm's tool"
    )

    @model_validator(mode="after")
    def _consistent(self) -> "Hand":
        if math.hypot(*self.direction) < 1e-9:
            raise Unfit("hand.direction is 0, 0, 0; it must point where the hand moves; give a direction", "hand.direction")
        if self.release <= self.start:
            raise Unfit(
                f"hand.release is {self.release:g} s; it must come after hand.start = {self.start:g} s; raise it",
                "hand.release",
                "hand.start",
            )
        return self


@jit
def _path(p, t):
    """Displacement and speed of the hand since it took hold: a sine that fades in over its first quarter."""
    after = max(t - p.start, 0.0)
    angle = p.omega * after
    fade, slope = quintic(angle / (0.5 * math.pi))
    moved = p.amplitude * fade * math.sin(angle)
    rate = p.amplitude * p.omega * (fade * math.cos(angle) + slope / (0.5 * math.pi) * math.sin(angle))
    return moved, rate


@jit
def _tremor(x, p, dt):
    if p.tremor == 0.0:
        return (0.0, 0.0, 0.0)
    drift = noise.normal_vector(x.noise)
    for i in range(3):
        x.phase[i] += p.tremor_omega * dt + WANDER * math.sqrt(dt) * drift[i]
    size = math.sqrt(2.0) * p.tremor
    return (size * math.sin(x.phase[0]), size * math.sin(x.phase[1]), size * math.sin(x.phase[2]))


@jit
def hand_wrench(x, p, t, place, v, q, w, dt):
    """Force and torque of the hand on the tool, at the tool's origin."""
    arm = so3.rotate(q, vec.load(p.grip_B))
    at, rate = vec.add(place, arm), vec.add(v, vec.cross(w, arm))
    if t < p.start or t >= p.release + p.grasp:
        x.state = AWAY if t < p.start else GONE
        return (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    if x.state != HOLDS:
        vec.store(x.x_grip, at)
        so3.store(x.q_grip, q)
        x.state = HOLDS
    takes, _ = quintic((t - p.start) / p.grasp)
    leaves, _ = quintic((t - p.release) / p.grasp)
    hold = takes * (1.0 - leaves)
    moved, speed = _path(p, t)
    direction = vec.load(p.direction)
    stretch = vec.sub(vec.add(vec.load(x.x_grip), vec.scale(moved, direction)), at)
    slip = vec.sub(vec.scale(speed, direction), rate)
    f = vec.add(vec.scale(p.stiffness, stretch), vec.scale(p.damping, slip))
    f = vec.scale(hold, vec.add(f, _tremor(x, p, dt)))
    turn = so3.between(so3.load(x.q_grip), q)
    tau = vec.sub(vec.scale(-p.turning_stiffness, turn), vec.scale(p.turning_damping, w))
    return f, vec.add(vec.scale(hold, tau), vec.cross(arm, f))


@jit
def _load(mass, centre_B, q, a):
    """Weight and inertia of the load on the sensor, at the tool's origin."""
    f = (-mass * a[0], -mass * a[1], -mass * (STANDARD_GRAVITY + a[2]))
    return f, vec.cross(so3.rotate(q, vec.load(centre_B)), f)


@jit
def _book(x, f, tau, place, q):
    """Add the work of the hand: the mean wrench of the tick times the true motion."""
    if x.started:
        moved, turned = vec.sub(place, vec.load(x.p)), so3.between(so3.load(x.q), q)
        f_mean, tau_mean = vec.scale(0.5, vec.add(f, vec.load(x.f))), vec.scale(0.5, vec.add(tau, vec.load(x.tau)))
        ledger.book_wrench(x.port, f_mean, tau_mean, moved, turned)
    vec.store(x.p, place)
    so3.store(x.q, q)
    vec.store(x.f, f)
    vec.store(x.tau, tau)


@jit
def hand_step(sig, x, p, dt):
    place, q = vec.load(sig.X_WB_true.p), so3.load(sig.X_WB_true.q)
    v, w = vec.load(sig.V_WB_true.v), vec.load(sig.V_WB_true.w)
    f, tau = hand_wrench(x, p, sig.t, place, v, q, w, dt)
    _book(x, f, tau, place, q)
    a = vec.scale(1.0 / dt, vec.sub(v, vec.load(x.v))) if x.started else (0.0, 0.0, 0.0)
    taken, _ = quintic((sig.t - p.handover) / p.grasp)
    f_tool, tau_tool = _load(taken * p.tool_mass, p.tool_centre, q, a)
    f_own, tau_own = _load(p.own_mass, p.own_centre, q, a)
    f, tau = vec.add(f, vec.add(f_tool, f_own)), vec.add(tau, vec.add(tau_tool, tau_own))
    vec.store(x.v, v)
    x.started = 1
    vec.store(sig.F_Bcm_true_W.f, f)
    vec.store(sig.F_Bcm_true_W.tau, tau)
    ledger.publish(sig.W_human, x.port)
    sig.hand_state = x.state


@dataclass(frozen=True)
class HandAtTool:
    """The hand, and the load on the sensor from the start."""

    hand: Hand
    load_mass: float  # kg
    load_centre: Metre3  # in the tool's frame


def _pack(p: np.record, config: HandAtTool, loop: Cycle) -> None:
    hand = config.hand
    size = math.hypot(*hand.direction)
    p.direction = [part / size for part in hand.direction]
    for name in (
        "stiffness",
        "damping",
        "turning_stiffness",
        "turning_damping",
        "amplitude",
        "start",
        "grasp",
        "handover",
        "release",
        "tremor",
        "tool_mass",
        "tool_centre",
    ):
        p[name] = getattr(hand, name)
    if hand.stiffness == 0.0:  # nobody holds the tool
        p.damping = p.turning_stiffness = p.turning_damping = 0.0
    p.grip_B = hand.grip
    p.own_mass, p.own_centre = config.load_mass, config.load_centre
    p.omega, p.tremor_omega = 2.0 * math.pi * hand.frequency, 2.0 * math.pi * hand.tremor_frequency
    p.key = loop.noise_key("hand.tremor")


@jit
def _reset(sig, x, p):
    x.noise.key = p.key


HAND = StageKind(
    "hand",
    hand_step,
    reads=("t", "X_WB_true", "V_WB_true"),
    writes=("F_Bcm_true_W", "W_human", "hand_state"),
    state=record(
        state="i8", started="i8", x_grip=3, q_grip=4, p=3, q=4, v=3, f=3, tau=3, phase=3, port=PORT, noise=noise.NOISE
    ),
    params=record(
        stiffness="f8",
        damping="f8",
        turning_stiffness="f8",
        turning_damping="f8",
        amplitude="f8",
        omega="f8",
        direction=3,
        grip_B=3,
        start="f8",
        grasp="f8",
        handover="f8",
        release="f8",
        tremor="f8",
        tremor_omega="f8",
        tool_mass="f8",
        tool_centre=3,
        own_mass="f8",
        own_centre=3,
        key="u8",
    ),
    pack=_pack,
    reset=_reset,
)
