"""A quadrotor as one free rigid body, world z up, its frame b at the centre of mass.

    m p'' = u_T R e3 - m g e3 + f_N        I w' + w × I w = tau + tau_B   (in b)        R' = R S(w)        (1), turned z up

Thrust and torques are held in b over a tick. Each substep takes the force and the torque at the attitude half-way through it,
the angular momentum and the attitude by the rule of `rotation.momentum_rule`: order 2; a parabola and L are exact.

`quadrotor_start`, `quadrotor_move` and `quadrotor_show` are all that a system needs from a simulated vehicle.
"""

import math

import numpy as np
from pydantic import Field, model_validator

from hilt.compiled import jit
from hilt.core.scenario import Section
from hilt.core.signals import record
from hilt.core.units import Inertia, Kilogram
from hilt.dynamics.body import check_inertia, diagonal_inertia
from hilt.dynamics.rotation import angular_velocity, momentum_rule
from hilt.maths import so3, vec

PAPER_GRAVITY = 9.81  # m/s², of the simulated vehicle, as in [Cuniato2022]; the real sensor and its load have their own
SUBSTEP = 1e-3  # s, the longest step of the physics

QUADROTOR_STATE = record(p=3, v=3, q=4, L_N=3)
QUADROTOR_PARAMS = record(mass="f8", inertia=("f8", (3, 3)), inverse_inertia=("f8", (3, 3)), substep="f8", p0=3, q0=4)


class Vehicle(Section):
    """The flying vehicle with its arm, as known to flight control and estimator."""

    mass: Kilogram = Field(gt=0, description="of vehicle and arm together")
    inertia: Inertia = Field(description="about the origin of the base, in its frame; three numbers are its diagonal")

    _diagonal = diagonal_inertia

    @model_validator(mode="after")
    def _possible(self) -> "Vehicle":
        check_inertia(np.array(self.inertia), "vehicle.inertia")
        return self


def pack_quadrotor(p, vehicle, position=(0.0, 0.0, 0.0), attitude=(1.0, 0.0, 0.0, 0.0), substep=SUBSTEP):
    """Fill QUADROTOR_PARAMS."""
    p.mass = vehicle.mass
    p.inertia = np.array(vehicle.inertia)
    p.inverse_inertia = np.linalg.inv(np.array(vehicle.inertia))
    p.substep = substep
    p.p0, p.q0 = position, attitude


@jit
def quadrotor_start(x, p):
    """At rest at the start pose."""
    vec.store(x.p, vec.load(p.p0))
    so3.store(x.q, so3.load(p.q0))
    vec.store(x.v, (0.0, 0.0, 0.0))
    vec.store(x.L_N, (0.0, 0.0, 0.0))


@jit
def quadrotor_move(x, p, u_T, tau, f_N, tau_B, dt):
    """Advance by one tick under thrust u_T along b's z, torque tau (in b) and an external wrench (f in N, tau_B in b)."""
    steps = max(1, math.ceil(dt / p.substep - 1e-6))
    h = dt / steps
    position, v = vec.load(x.p), vec.load(x.v)
    q, L_N = so3.load(x.q), vec.load(x.L_N)
    torque_B = vec.add(vec.load(tau), vec.load(tau_B))
    pull_N = vec.add(vec.load(f_N), (0.0, 0.0, -p.mass * PAPER_GRAVITY))
    w_N = angular_velocity(q, L_N, p.inverse_inertia)
    for _ in range(steps):
        q_half = so3.multiply(so3.exp(vec.scale(0.5 * h, w_N)), q)
        force_N = vec.add(pull_N, so3.rotate(q_half, (0.0, 0.0, u_T)))  # [Cuniato2022, eq. 1]
        a = vec.scale(1.0 / p.mass, force_N)
        position = vec.add(position, vec.scale(h, vec.add(v, vec.scale(0.5 * h, a))))
        v = vec.add(v, vec.scale(h, a))
        q, L_N, w_N, _turn_B, _gain = momentum_rule(q, L_N, w_N, so3.rotate(q_half, torque_B), p, h)
    vec.store(x.p, position)
    vec.store(x.v, v)
    so3.store(x.q, q)
    vec.store(x.L_N, L_N)


@jit
def quadrotor_show(X_Nb, V_Nb, x, p):
    """Write pose and twist (both parts in N)."""
    q = so3.load(x.q)
    vec.store(X_Nb.p, vec.load(x.p))
    so3.store(X_Nb.q, q)
    vec.store(V_Nb.v, vec.load(x.v))
    vec.store(V_Nb.w, angular_velocity(q, vec.load(x.L_N), p.inverse_inertia))
