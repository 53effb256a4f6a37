"""The slave hands on the payload's grips: a spring and a damper connect each hand to its grip, along and about three axes.

f = K (x_s - x_g) + D (v_s - v_g)        on the payload, at its grip; within ± play the spring does nothing
τ = K_r log(q_s q_g⁻¹) + D_r (ω_s - ω_g)

Both are scaled by how far the fingers are closed (fingers.py).

With two hands the grips are on both sides of the nominal grip; the slave law uses the sum at that point. A wrist also
measures a wall that its hand pushes against.
"""

import math
from dataclasses import dataclass

import numpy as np
from pydantic import Field

from hilt.compiled import jit
from hilt.core.scenario import Section
from hilt.core.signals import record
from hilt.core.stage import Cycle, StageKind
from hilt.core.units import Metre, Metre3, NewtonMetrePerRadian, NewtonMetreSecond, NewtonPerMetre, NewtonSecondPerMetre, Second
from hilt.maths import noise, so3, vec
from hilt.systems.payload import fingers


class Grip(Section):
    """The real joint between hand and payload."""

    stiffness: NewtonPerMetre = Field(default=20e3, gt=0)
    damping: NewtonSecondPerMetre = Field(default=300.0, ge=0)
    rotational_stiffness: NewtonMetrePerRadian = Field(default=0.0, ge=0, description="0: the payload turns in the hand")
    rotational_damping: NewtonMetreSecond = Field(default=0.0, ge=0)
    play: Metre = Field(default=0.0, ge=0)
    closing: Second = Field(
        default=0.1, gt=0, description="time in which the fingers build up the grip's stiffness, or release it"
    )
    reach: Metre = Field(default=0.02, gt=0, description="of the fingers: a grip further from the hand is missed")
    position: Metre3 = Field(
        default=(0.0, 0.0, 0.0), description="of the grip, in the payload's frame; with two grips, their midpoint"
    )
    spacing: Metre = Field(default=0.6, gt=0, description="between the grips of two hands, along y")


@jit
def stretched(p, x_s, x_g):
    """Stretch of the spring from grip to hand [m]; 0 within the play."""
    stretch = vec.sub(x_s, x_g)
    if p.play > 0.0:
        size = math.sqrt(vec.dot(stretch, stretch))
        stretch = vec.scale(max(0.0, 1.0 - p.play / size) if size > 0.0 else 0.0, stretch)
    return stretch


@jit
def hold(p, x_s, q_s, v_s, w_s, x_g, q_g, v_g, w_g):
    """Force and torque of a closed hand on a grip."""
    f = vec.add(vec.scale(p.stiffness, stretched(p, x_s, x_g)), vec.scale(p.damping, vec.sub(v_s, v_g)))
    tau = vec.add(vec.scale(p.K_r, so3.between(q_g, q_s)), vec.scale(p.D_r, vec.sub(w_s, w_g)))
    return f, tau


@jit
def _close(sig, x, p, dt):
    """Move the fingers; return the fraction of the grip that acts: how far they are closed."""
    q, far = so3.load(sig.X_WB_true.q), 0.0
    for i in range(p.hands):
        x_g = vec.add(vec.load(sig.X_WB_true.p), so3.rotate(q, vec.load(p.grips_B[i])))
        apart = vec.sub(vec.load(sig.hands[7 * i : 7 * i + 3]), x_g)
        far = max(far, math.sqrt(vec.dot(apart, apart)))
    sig.grip_open = fingers.move(x.fingers, p.fingers, sig.hand_open_orbit > fingers.HALF, far, dt)
    return 1.0 - sig.grip_open


@jit
def grip_step(sig, x, p, dt):
    share = _close(sig, x, p, dt)
    q, w = so3.load(sig.X_WB_true.q), vec.load(sig.V_WB_true.w)
    com_W = so3.rotate(q, vec.load(p.com_B))
    place_W = so3.rotate(q, vec.load(p.grip_B))
    f_all = tau_all = tau_com = (0.0, 0.0, 0.0)
    for i in range(p.hands):
        grip_W = so3.rotate(q, vec.load(p.grips_B[i]))
        x_g = vec.add(vec.load(sig.X_WB_true.p), grip_W)
        v_g = vec.add(vec.load(sig.V_WB_true.v), vec.cross(w, grip_W))
        hand, twist, wrench = (
            sig.hands[7 * i : 7 * i + 7],
            sig.hand_twists[6 * i : 6 * i + 6],
            sig.hand_wrenches[6 * i : 6 * i + 6],
        )
        f, tau = hold(p, vec.load(hand), so3.load(hand[3:]), vec.load(twist), vec.load(twist[3:]), x_g, q, v_g, w)
        f, tau = vec.scale(share, f), vec.scale(share, tau)
        vec.store(wrench, f)
        vec.store(wrench[3:], tau)
        f_all = vec.add(f_all, f)
        tau_all = vec.add(tau_all, vec.add(tau, vec.cross(vec.sub(grip_W, place_W), f)))
        tau_com = vec.add(tau_com, vec.add(tau, vec.cross(vec.sub(grip_W, com_W), f)))
        measured = vec.add(vec.add(f, vec.load(sig.wall_W)), vec.scale(1.0 / p.hands, vec.load(p.bias)))
        if p.noise > 0.0:
            measured = vec.add(measured, vec.scale(p.noise, noise.normal_vector(x.noise)))
        vec.store(sig.f_hands[3 * i : 3 * i + 3], measured)
    vec.store(sig.F_Bcm_true_W.f, f_all)
    vec.store(sig.F_Bcm_true_W.tau, tau_com)
    for i in range(3):
        sig.f_s[i] = sig.f_hands[i] + sig.f_hands[3 + i]
    vec.store(sig.tau_s, tau_all)


@dataclass(frozen=True)
class GrippedPayload:
    """The joint, the payload and the wrist sensors of the hands."""

    grip: Grip
    grips: tuple[tuple[float, ...], ...]  # m, one for each hand, in the payload's frame
    centre_of_mass: tuple[float, ...]  # m, in the same frame
    force_noise: float  # N
    force_bias: tuple[float, ...]  # N
    gripped: bool
    open_first: bool  # the hand is open at the start


def _pack(p: np.record, config: GrippedPayload, loop: Cycle) -> None:
    grip, count = config.grip, len(config.grips)
    p.stiffness, p.damping, p.play = grip.stiffness, grip.damping, grip.play
    p.K_r, p.D_r = grip.rotational_stiffness, grip.rotational_damping
    p.grip_B, p.com_B = grip.position, config.centre_of_mass
    p.hands = count
    p.grips_B[:count] = config.grips
    p.noise, p.bias = config.force_noise, config.force_bias
    p.key = loop.noise_key("arm.force_noise")
    fingers.pack(p.fingers, grip.closing, grip.reach, config.open_first)
    if not config.gripped:
        p.stiffness = p.damping = p.K_r = p.D_r = 0.0


@jit
def _reset(sig, x, p):
    x.noise.key = p.key
    fingers.reset(x.fingers, p.fingers)
    sig.grip_open = x.fingers.open


GRIP = StageKind(
    "grip",
    grip_step,
    reads=("hands", "hand_twists", "wall_W", "X_WB_true", "V_WB_true", "f_hands", "hand_open_orbit"),
    writes=("F_Bcm_true_W", "hand_wrenches", "f_hands", "f_s", "tau_s", "grip_open"),
    state=record(noise=noise.NOISE, fingers=fingers.FINGERS),
    params=record(
        stiffness="f8",
        damping="f8",
        K_r="f8",
        D_r="f8",
        play="f8",
        grip_B=3,
        com_B=3,
        hands="i8",
        grips_B=("f8", (2, 3)),
        noise="f8",
        bias=3,
        key="u8",
        fingers=fingers.FINGERS_PARAMS,
    ),
    pack=_pack,
    reset=_reset,
)
