"""The master device on the ground, and the hand that holds it.

    m v' = f_hand - f_m - b v;    f_hand = K_h (y - x) + B_h (y' - v);    f_m' = (f_mc - f_m)/tau

y is the hand's intended position: a quintic along the operator's direction, then held. The motor's force is constant within a
tick; the hand is solved at its end (backward Euler). Encoders measure the position in steps, and the speed from it, low-passed.
"""

import math
from dataclasses import dataclass

import numpy as np
from pydantic import Field

from hilt.compiled import jit
from hilt.core.scenario import Section
from hilt.core.signals import record
from hilt.core.stage import Cycle, StageKind
from hilt.core.units import Kilogram, Metre, NewtonPerMetre, NewtonSecondPerMetre, Second
from hilt.maths import vec
from hilt.maths.quintic import quintic


class Hand(Section):
    """The human hand on the master device, and its motion."""

    stiffness: NewtonPerMetre = Field(default=300.0, gt=0, description="60 N/m loose, 1000 N/m clenched")
    damping: NewtonSecondPerMetre = Field(default=15.0, ge=0)
    distance: Metre = Field(
        default=0.1, description="length of its motion along operator.direction, beginning at operator.start"
    )
    time: Second = Field(default=2.0, gt=0, description="duration of that motion")


class Master(Section):
    """The master device."""

    mass: Kilogram = Field(default=1.0, gt=0, description="of device and hand")
    friction: NewtonSecondPerMetre = Field(default=0.5, ge=0)
    motor_lag: Second = Field(default=0.002, ge=0, description="time constant of the motors' force")
    resolution: Metre = Field(default=1e-6, ge=0, description="step of the encoder; 0 for none")
    speed_filter: Second = Field(default=0.001, ge=0, description="time constant of the measured speed")


@jit
def _rounded(a, step):
    return math.floor(a / step + 0.5) * step if step > 0.0 else a


@jit
def master_step(sig, x, p, dt):
    if p.held and x.started:
        share, slope = quintic((sig.t - p.start) / p.time)
        h = dt
        for i in range(3):
            target = p.x0[i] + p.travel[i] * share
            rate = p.travel[i] * slope / p.time
            x.f[i] += p.motor_share * (sig.f_mc[i] - x.f[i])
            hand = p.K * (target - x.x[i]) + p.B * rate
            x.v[i] = (p.mass * x.v[i] + h * (hand - x.f[i])) / (p.mass + h * (p.friction + p.B) + h * h * p.K)
            x.x[i] += h * x.v[i]
            sig.f_hand[i] = p.K * (target - x.x[i]) + p.B * (rate - x.v[i])
            seen = _rounded(x.x[i] - p.x0[i], p.resolution) + p.x0[i]
            sig.v_m[i] += p.speed_share * ((seen - sig.x_m[i]) / dt - sig.v_m[i])
            sig.x_m[i] = seen
            sig.f_m[i] = x.f[i]
    x.started = 1


@dataclass(frozen=True)
class HeldMaster:
    """The device, and the hand that moves it."""

    hand: Hand
    device: Master
    direction: tuple[float, ...]  # of the hand's motion, of any length
    start: float  # s, when it begins
    position: tuple[float, ...]  # m, of the hand at the start
    held: bool  # otherwise the operator has a joystick


def _pack(p: np.record, master: HeldMaster, loop: Cycle) -> None:
    hand, device, dt = master.hand, master.device, loop.period
    size = math.hypot(*master.direction)
    p.K, p.B = hand.stiffness, hand.damping
    p.travel = [hand.distance * part / size for part in master.direction]
    p.start, p.time = master.start, hand.time
    p.mass, p.friction, p.resolution = device.mass, device.friction, device.resolution
    p.motor_share = 1.0 - math.exp(-dt / device.motor_lag) if device.motor_lag > 0.0 else 1.0
    p.speed_share = 1.0 - math.exp(-dt / device.speed_filter) if device.speed_filter > 0.0 else 1.0
    p.x0, p.held = master.position, master.held


@jit
def _reset(sig, x, p):
    vec.store(x.x, vec.load(p.x0))
    vec.store(sig.x_m, vec.load(p.x0))


MASTER = StageKind(
    "master",
    master_step,
    reads=("t", "f_mc", "x_m", "v_m", "f_m", "f_hand"),
    writes=("x_m", "v_m", "f_m", "f_hand"),
    state=record(x=3, v=3, f=3, started="i8"),
    params=record(
        held="i8",
        K="f8",
        B="f8",
        travel=3,
        start="f8",
        time="f8",
        mass="f8",
        friction="f8",
        resolution="f8",
        motor_share="f8",
        speed_share="f8",
        x0=3,
    ),
    pack=_pack,
    reset=_reset,
)
