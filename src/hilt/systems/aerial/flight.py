"""Flight control along a path: geometric tracking on SE(3), world z up.

    F = -K_p e_p - K_v e_v + m g e3 + m a_d - f̂        e_p = p - p_d,  e_v = v - v_d        (6), turned z up
    z_d = F/|F| within a cone about the vertical;  u_T = F·(R e3);  y_d = z_d × x(ψ)/|·|,  x_d = y_d × z_d
    e_R = ½ (R_dᵀR - RᵀR_d)^∨,   e_ω = ω - Rᵀω_d
    τ = -K_R e_R - K_ω e_ω + ω × Iω - I (ω × Rᵀω_d - Rᵀω̇_d) - τ̂                            (7)

The gains are in N/m, N·s/m, N·m and N·m·s, not per mass. ω_d is only the planned turn about the vertical: the rate of z_d
itself is not fed forward. With that feed-forward a push would displace the base a third as far, but noise in the velocity and
steps in f̂ would reach the rotors differentiated.

Outside the cone the sideways part of F is shortened, so that the vehicle gives up position before height; F_z and u_T stay
above a tenth of the weight, since stopped rotors have no torque.
"""

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from hilt.compiled import jit
from hilt.core.scenario import Section
from hilt.core.signals import record
from hilt.core.stage import Cycle, StageKind
from hilt.core.units import NewtonMetre, NewtonPerMetre, NewtonSecondPerMetre, Positive, Radian, Unit
from hilt.maths import so3, vec
from hilt.systems.aerial import rotors
from hilt.systems.aerial.quadrotor import PAPER_GRAVITY, Vehicle

LEAST_LIFT = 0.1  # of the weight

_Stiffness = Positive[NewtonPerMetre]
_Damping = Positive[NewtonSecondPerMetre]
_Torque = Positive[NewtonMetre]
_Turn = Positive[Annotated[float, Unit("N·m·s")]]


class Flight(Section):
    """Gains and limits of the flight control; the defaults are those of the paper's public code."""

    stiffness: tuple[_Stiffness, _Stiffness, _Stiffness] = Field(default=(20.0, 20.0, 50.0), description="K_p, world axes")
    damping: tuple[_Damping, _Damping, _Damping] = Field(
        default=(20.0 / 1.2, 20.0 / 1.2, 50.0 / 1.2), description="K_v, world axes"
    )
    attitude_stiffness: tuple[_Torque, _Torque, _Torque] = Field(
        default=(120.0, 120.0, 80.0), description="K_R, body axes, per rad"
    )
    attitude_damping: tuple[_Turn, _Turn, _Turn] = Field(default=(30.0, 30.0, 20.0), description="K_ω, body axes")
    max_tilt: Radian = Field(default=math.radians(10.0), gt=0, lt=1.5, description="of the desired thrust from the vertical")
    max_yaw_torque: NewtonMetre = Field(default=1.5, gt=0)


@jit
def desired_force(e_p, e_v, a_d, f_hat, p):
    """F in N, without limits.  [Cuniato2022, eq. 6]"""
    return (
        -p.K_p[0] * e_p[0] - p.K_v[0] * e_v[0] + p.mass * a_d[0] - f_hat[0],
        -p.K_p[1] * e_p[1] - p.K_v[1] * e_v[1] + p.mass * a_d[1] - f_hat[1],
        -p.K_p[2] * e_p[2] - p.K_v[2] * e_v[2] + p.mass * a_d[2] - f_hat[2] + p.mass * PAPER_GRAVITY,
    )


@jit
def within_cone(F, p):
    """F with its sideways part shortened to the cone."""
    lift = max(F[2], LEAST_LIFT * p.mass * PAPER_GRAVITY)
    side = math.sqrt(F[0] * F[0] + F[1] * F[1])
    share = min(1.0, lift * p.tan_tilt / side) if side > 0.0 else 1.0
    return (share * F[0], share * F[1], lift)


@jit
def attitude_for(z, yaw):
    """q_Nd with R_d e3 along z and y_d = z × x(ψ): turn by ψ about z, then about the new x, then about the new y."""
    c, s = math.cos(yaw), math.sin(yaw)
    ahead, left = c * z[0] + s * z[1], c * z[1] - s * z[0]
    roll = math.atan2(-left, z[2])
    pitch = math.atan2(ahead, math.sqrt(left * left + z[2] * z[2]))
    return so3.multiply(so3.multiply(so3.exp((0.0, 0.0, yaw)), so3.exp((roll, 0.0, 0.0))), so3.exp((0.0, pitch, 0.0)))


@jit
def attitude_error(q, q_d):
    """e_R in b: sine of the angle times the axis, 2 w u of the quaternion q_d⁻¹ q.  [Cuniato2022, eq. 7]"""
    e = so3.multiply(so3.inverse(q_d), q)
    return vec.scale(2.0 * e[0], (e[1], e[2], e[3]))


@jit
def attitude_torque(q, w_B, q_d, w_d_N, a_d_N, p):
    """τ in b; w_d_N and a_d_N are the desired rate and its derivative, in N.  [Cuniato2022, eq. 7]"""
    e_R = attitude_error(q, q_d)
    w_d = so3.rotate_back(q, w_d_N)
    e_w = vec.sub(w_B, w_d)
    push = (
        -p.K_R[0] * e_R[0] - p.K_w[0] * e_w[0],
        -p.K_R[1] * e_R[1] - p.K_w[1] * e_w[1],
        -p.K_R[2] * e_R[2] - p.K_w[2] * e_w[2],
    )
    gyro = vec.cross(w_B, vec.matvec(p.inertia, w_B))
    ahead = vec.matvec(p.inertia, vec.sub(so3.rotate_back(q, a_d_N), vec.cross(w_B, w_d)))
    return vec.add(push, vec.add(gyro, ahead))


@jit
def flight_step(sig, x, p, dt):
    q = so3.load(sig.X_Nb_meas.q)
    w_B = so3.rotate_back(q, vec.load(sig.V_Nb_meas.w))
    e_p = vec.sub(vec.load(sig.X_Nb_meas.p), vec.load(sig.p_bd_N))
    e_v = vec.sub(vec.load(sig.V_Nb_meas.v), vec.load(sig.v_bd_N))

    F = within_cone(desired_force(e_p, e_v, vec.load(sig.a_bd_N), vec.load(sig.f_hat_N), p), p)
    q_d = attitude_for(F, sig.yaw_bd)
    u_T = max(vec.dot(F, so3.rotate(q, (0.0, 0.0, 1.0))), LEAST_LIFT * p.mass * PAPER_GRAVITY)
    tau = attitude_torque(q, w_B, q_d, (0.0, 0.0, sig.yaw_rate_bd), (0.0, 0.0, sig.yaw_acc_bd), p)
    tau = vec.sub(tau, vec.load(sig.tau_hat_b))
    tau = (tau[0], tau[1], min(max(tau[2], -p.max_yaw), p.max_yaw))

    vec.store(sig.e_p_N, e_p)
    so3.store(sig.q_Nbd, q_d)
    sig.u_T = u_T
    vec.store(sig.tau_b, tau)
    rotors.command(sig, u_T, tau, p.rotors)


@dataclass(frozen=True)
class FlightControl:
    """Gains and limits, with the vehicle and its rotors as known to flight control."""

    flight: Flight
    vehicle: Vehicle
    rotors: rotors.Rotors


def _pack(p: np.record, config: FlightControl, loop: Cycle) -> None:
    flight = config.flight
    p.mass = config.vehicle.mass
    p.inertia = np.array(config.vehicle.inertia)
    p.K_p, p.K_v = flight.stiffness, flight.damping
    p.K_R, p.K_w = flight.attitude_stiffness, flight.attitude_damping
    p.tan_tilt = math.tan(flight.max_tilt)
    p.max_yaw = flight.max_yaw_torque
    rotors.pack_rotors(p.rotors, rotors.LiftingRotors(config.rotors, config.vehicle.mass), loop)


FLIGHT = StageKind(
    "flight",
    flight_step,
    reads=(
        "X_Nb_meas",
        "V_Nb_meas",
        "p_bd_N",
        "v_bd_N",
        "a_bd_N",
        "yaw_bd",
        "yaw_rate_bd",
        "yaw_acc_bd",
        "f_hat_N",
        "tau_hat_b",
    ),
    writes=("e_p_N", "q_Nbd", "u_T", "tau_b", "rotor_speed", "u_T_clamped", "tau_b_clamped"),
    params=record(
        mass="f8",
        inertia=("f8", (3, 3)),
        K_p=3,
        K_v=3,
        K_R=3,
        K_w=3,
        tan_tilt="f8",
        max_yaw="f8",
        rotors=rotors.ROTORS,
    ),
    pack=_pack,
)
