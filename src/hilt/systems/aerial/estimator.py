"""Estimator of the external wrench on the vehicle, from its momentum, without force sensor or accelerometer.

    p = m v (in N),   p' = u_T R e3 - m g e3 + f        l = I ω (in b),   l' = τ - ω × Iω + τ_ext
    f̂' = K1 (K2 (p - p̂) - f̂),   p̂' = known + f̂;       K1 = 2w,  K2 = w/2:     f̂ = w²/(s + w)² f

A step of f therefore appears as 1 - (1 + wt) e^{-wt}: 63 % after 2.15/w, 90 % after 3.89/w, no overshoot. `known` is the
mixer's output after clamping.

Over a tick the momentum gives the exact mean of what acted, (p⁺ - p)/T - known; the two lags take it as held and are solved
exactly. So the response is that of the filter at any rate, and momentum is differentiated only through the filter.
"""

import math
from dataclasses import dataclass

import numpy as np
from pydantic import Field

from hilt.compiled import jit
from hilt.core.scenario import Section
from hilt.core.signals import record
from hilt.core.stage import Cycle, StageKind
from hilt.core.units import RadianPerSecond
from hilt.maths import so3, vec
from hilt.systems.aerial.quadrotor import PAPER_GRAVITY, Vehicle


class Estimator(Section):
    """The wrench estimator; the defaults are those of the paper's public code."""

    enabled: bool = True
    bandwidth: RadianPerSecond = Field(default=20.0, gt=0, description="w of force, roll and pitch")
    yaw_bandwidth: RadianPerSecond = Field(default=10.0, gt=0, description="w of yaw")


@jit
def second_order(first, second, i, seen, turn):
    """Two equal lags in series over one tick, `turn` = w T; `seen` is held."""
    a = math.exp(-turn)
    behind = first[i] - seen
    second[i] = seen + a * (second[i] - seen + turn * behind)
    first[i] = seen + a * behind


@jit
def estimator_step(sig, x, p, dt):
    q = so3.load(sig.X_Nb_meas.q)
    w_B = so3.rotate_back(q, vec.load(sig.V_Nb_meas.w))
    momentum = vec.scale(p.mass, vec.load(sig.V_Nb_meas.v))
    spin = vec.matvec(p.inertia, w_B)
    axis = so3.rotate(q, (0.0, 0.0, 1.0))
    gyro = vec.cross(w_B, spin)
    if p.enabled and x.started:
        for i in range(3):
            # Attitude and gyroscopic torque change over a tick: using their means keeps 100 Hz as accurate as 1 kHz.
            known = sig.u_T_clamped * 0.5 * (x.axis[i] + axis[i]) - (p.mass * PAPER_GRAVITY if i == 2 else 0.0)
            known_turn = sig.tau_b_clamped[i] - 0.5 * (x.gyro[i] + gyro[i])
            second_order(x.f_first, x.f, i, (momentum[i] - x.momentum[i]) / dt - known, p.w * dt)
            w = p.w_yaw if i == 2 else p.w
            second_order(x.tau_first, x.tau, i, (spin[i] - x.spin[i]) / dt - known_turn, w * dt)
    x.started = 1
    vec.store(x.momentum, momentum)
    vec.store(x.spin, spin)
    vec.store(x.axis, axis)
    vec.store(x.gyro, gyro)
    vec.store(sig.f_hat_N, vec.load(x.f))
    vec.store(sig.tau_hat_b, vec.load(x.tau))


@dataclass(frozen=True)
class EstimatedVehicle:
    """The estimator, and the vehicle as it knows it."""

    estimator: Estimator
    vehicle: Vehicle


def _pack(p: np.record, config: EstimatedVehicle, loop: Cycle) -> None:
    p.enabled = config.estimator.enabled
    p.mass = config.vehicle.mass
    p.inertia = np.array(config.vehicle.inertia)
    p.w, p.w_yaw = config.estimator.bandwidth, config.estimator.yaw_bandwidth


ESTIMATOR = StageKind(
    "estimator",
    estimator_step,
    reads=("X_Nb_meas", "V_Nb_meas", "u_T_clamped", "tau_b_clamped"),
    writes=("f_hat_N", "tau_hat_b"),
    state=record(started="i8", momentum=3, spin=3, axis=3, gyro=3, f_first=3, f=3, tau_first=3, tau=3),
    params=record(enabled="i8", mass="f8", inertia=("f8", (3, 3)), w="f8", w_yaw="f8"),
    pack=_pack,
)
