"""Four rotors in a cross: the speeds for a thrust and torques, and the result when a rotor is at its limit.

    [u_T τ_x τ_y τ_z] = [[1 1 1 1], [0 l 0 -l], [-l 0 l 0], [c -c c -c]] f,   f_i = c_T Ω_i²        (2)

Rotor 1 is on +x, 2 on +y, 3 on -x, 4 on -y (z up); 1 and 3 turn the vehicle in one direction, 2 and 4 in the other; c is a
rotor's moment divided by its thrust. If a rotor would exceed its limit, thrust has priority, since a heavy vehicle must neither
fall nor jump; roll and pitch get the largest common fraction that still fits, so their direction is kept; yaw gets the rest.

A motor follows its commanded speed as a first-order lag. The speed half-way through a tick acts over the tick.
"""

import math
from dataclasses import dataclass

import numpy as np
from pydantic import Field

from hilt.compiled import jit
from hilt.core.scenario import Section
from hilt.core.signals import record
from hilt.core.stage import Cycle, StageKind
from hilt.core.units import Metre, Number, RadianPerSecond, Second
from hilt.maths import vec
from hilt.systems.aerial.quadrotor import PAPER_GRAVITY

ROTORS = record(arm="f8", thrust_factor="f8", moment="f8", most="f8", lag="f8", start="f8")


class Rotors(Section):
    """The rotors; the defaults are those of the paper's public code."""

    arm: Metre = Field(default=0.17, gt=0, description="l, from the centre to a rotor's axis")
    thrust_factor: Number = Field(default=11.549e-5, gt=0, description="c_T, thrust over speed squared, N·s²/rad²")
    moment: Metre = Field(default=0.016, gt=0, description="moment of a rotor over its thrust")
    max_speed: RadianPerSecond = Field(default=1100.0, gt=0)
    lag: Second = Field(default=0.0, ge=0, description="time constant of the motors, 0 for none")


@dataclass(frozen=True)
class LiftingRotors:
    """The rotors, and the mass that they carry."""

    rotors: Rotors
    mass: float  # kg


def pack_rotors(p: np.record, config: LiftingRotors, loop: Cycle) -> None:
    """Fill ROTORS; the rotors start at hover speed."""
    rotors = config.rotors
    p.arm, p.thrust_factor, p.moment, p.lag = rotors.arm, rotors.thrust_factor, rotors.moment, rotors.lag
    p.most = rotors.thrust_factor * rotors.max_speed**2
    p.start = math.sqrt(0.25 * config.mass * PAPER_GRAVITY / rotors.thrust_factor)


@jit
def wrench(f, p):
    """Thrust, and torques in b, of the four rotors' thrusts.  [Cuniato2022, eq. 2]"""
    u_T = f[0] + f[1] + f[2] + f[3]
    return u_T, (p.arm * (f[1] - f[3]), p.arm * (f[2] - f[0]), p.moment * (f[0] - f[1] + f[2] - f[3]))


@jit
def _room(f, d, most):
    """The largest share of d, at most 1, that keeps f + share d between 0 and most."""
    share = 1.0
    for i in range(4):
        if d[i] > 0.0:
            share = min(share, (most - f[i]) / d[i])
        elif d[i] < 0.0:
            share = min(share, f[i] / -d[i])
    return max(share, 0.0)


@jit
def _add(f, share, d, most):
    """f + share d; the clamp removes only rounding."""
    return (
        min(max(f[0] + share * d[0], 0.0), most),
        min(max(f[1] + share * d[1], 0.0), most),
        min(max(f[2] + share * d[2], 0.0), most),
        min(max(f[3] + share * d[3], 0.0), most),
    )


@jit
def mix(u_T, tau, p):
    """Thrusts of the rotors for a thrust and torques, within their limits: thrust before roll and pitch before yaw."""
    each = min(max(0.25 * u_T, 0.0), p.most)
    f = (each, each, each, each)
    roll, pitch = 0.5 * tau[0] / p.arm, 0.5 * tau[1] / p.arm
    tilt = (-pitch, roll, pitch, -roll)
    f = _add(f, _room(f, tilt, p.most), tilt, p.most)
    yaw = 0.25 * tau[2] / p.moment
    turn = (yaw, -yaw, yaw, -yaw)
    return _add(f, _room(f, turn, p.most), turn, p.most)


@jit
def command(sig, u_T, tau, p):
    """Write the rotor speeds for a thrust and torques, and the thrust and torques that result."""
    f = mix(u_T, tau, p)
    for i in range(4):
        sig.rotor_speed[i] = math.sqrt(f[i] / p.thrust_factor)
    sig.u_T_clamped, tau_clamped = wrench(f, p)
    vec.store(sig.tau_b_clamped, tau_clamped)


@jit
def _thrust(speed, p):
    return p.thrust_factor * speed * speed


@jit
def motors_step(sig, x, p, dt):
    half = math.exp(-0.5 * dt / p.lag) if p.lag > 0.0 else 0.0
    for i in range(4):
        behind = half * (x.speed[i] - sig.rotor_speed[i])
        sig.rotor_speed_acting[i] = sig.rotor_speed[i] + behind
        x.speed[i] = sig.rotor_speed[i] + half * behind
    s = sig.rotor_speed_acting
    f = (_thrust(s[0], p), _thrust(s[1], p), _thrust(s[2], p), _thrust(s[3], p))
    sig.u_T_acting, tau = wrench(f, p)
    vec.store(sig.tau_b_acting, tau)


@jit
def _motors_reset(sig, x, p):
    for i in range(4):
        x.speed[i] = p.start


MOTORS = StageKind(
    "motors",
    motors_step,
    reads=("rotor_speed",),
    writes=("rotor_speed_acting", "u_T_acting", "tau_b_acting"),
    state=record(speed=4),
    params=ROTORS,
    pack=pack_rotors,
    reset=_motors_reset,
)
