"""Two free bodies in space, servicer A and target T, and the motion of one as seen from the other.

    m v' = F,   I ω' + ω × I ω = r × F        for both, with ±F at one common point        (1), (2)

A force changes momentum and angular momentum of both bodies with opposite signs at the tip of the rod, so the totals are
conserved to rounding whatever the force; then both move freely, positions with the new momenta (symplectic) and attitudes by
the exponential map with an integrator that generates no energy at any angular velocity. The pose of A's assembly frame in T's
is X_WB_sim, with W fixed to the target's mock-up; the command that makes the robot reproduce it is another signal.
"""

from dataclasses import dataclass

import numpy as np
from pydantic import Field, model_validator

from hilt.compiled import jit
from hilt.compiled.interpreted import interpreted
from hilt.core import ledger
from hilt.core.scenario import Section
from hilt.core.signals import PORT, record
from hilt.core.stage import Cycle, StageKind
from hilt.core.units import Inertia, Kilogram, Metre3, Quaternion, RadianPerSecond3
from hilt.dynamics.body import check_inertia, diagonal_inertia
from hilt.dynamics.rotation import angular_velocity, free_rule
from hilt.maths import so3, vec

_BODY = record(p=3, q=4, P=3, L=3, w=3)  # w follows from q and L; it is stored because computing it again costs more
_CONSTANTS = record(
    mass="f8", inverse_mass="f8", inertia=("f8", (3, 3)), inverse_inertia=("f8", (3, 3)), assembly=3, q_assembly=4
)


class FreeBody(Section):
    """One of the two satellites; its assembly frame carries the docking gear."""

    mass: Kilogram = Field(gt=0, description="of the satellite")
    inertia: Inertia = Field(
        default=((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
        description="about the centre of mass, in the body frame; three numbers are its diagonal; needed if dof is 6",
    )
    angular_velocity: RadianPerSecond3 = Field(default=(0.0, 0.0, 0.0), description="at the start, in the body frame")
    assembly_position: Metre3 = Field(default=(0.0, 0.0, 0.0), description="of the assembly frame, from the centre of mass")
    assembly_attitude: Quaternion = Field(default=(1.0, 0.0, 0.0, 0.0), description="of the assembly frame, w x y z")

    _diagonal = diagonal_inertia

    @model_validator(mode="after")
    def _possible(self) -> "FreeBody":
        check_inertia(np.array(self.inertia), "inertia")
        return self


@jit
def _rates(x, p):
    """Angular velocities of both bodies in N."""
    w_A = angular_velocity(so3.load(x.servicer.q), vec.load(x.servicer.L), p.servicer.inverse_inertia)
    w_T = angular_velocity(so3.load(x.target.q), vec.load(x.target.L), p.target.inverse_inertia)
    return w_A, w_T


@jit
def _point_on_A(x, p, at_B):
    """A point of the mock-up's frame B on body A, in N."""
    at_A = vec.add(vec.load(p.servicer.assembly), so3.rotate(so3.load(p.servicer.q_assembly), at_B))
    return vec.add(vec.load(x.servicer.p), so3.rotate(so3.load(x.servicer.q), at_A))


@jit
def _velocity_in_W(x, p, at_N, q_NW, w_A, w_T):
    """Velocity of the point of A relative to the same point of T, seen from the target."""
    v_A = vec.add(
        vec.scale(p.servicer.inverse_mass, vec.load(x.servicer.P)), vec.cross(w_A, vec.sub(at_N, vec.load(x.servicer.p)))
    )
    v_T = vec.add(vec.scale(p.target.inverse_mass, vec.load(x.target.P)), vec.cross(w_T, vec.sub(at_N, vec.load(x.target.p))))
    return so3.rotate_back(q_NW, vec.sub(v_A, v_T))


@jit
def relative_position(sig, x, p):
    """Relative position and velocity that the robot has to reproduce if nothing turns."""
    apart = vec.add(vec.sub(vec.load(x.servicer.p), vec.load(x.target.p)), vec.load(p.apart_N))
    closing = vec.sub(
        vec.scale(p.servicer.inverse_mass, vec.load(x.servicer.P)), vec.scale(p.target.inverse_mass, vec.load(x.target.P))
    )
    vec.store(sig.X_WB_sim.p, so3.rotate_back(so3.load(p.target.q_assembly), apart))
    vec.store(sig.V_WB_sim.v, so3.rotate_back(so3.load(p.target.q_assembly), closing))


@jit
def relative_motion(sig, x, p):
    """Pose and twist of A's assembly frame relative to T's, which the robot has to reproduce."""
    w_A, w_T = vec.load(x.servicer.w), vec.load(x.target.w)
    q_NW = so3.multiply(so3.load(x.target.q), so3.load(p.target.q_assembly))
    origin = vec.add(vec.load(x.target.p), so3.rotate(so3.load(x.target.q), vec.load(p.target.assembly)))
    o_B = _point_on_A(x, p, (0.0, 0.0, 0.0))
    vec.store(sig.X_WB_sim.p, so3.rotate_back(q_NW, vec.sub(o_B, origin)))
    q_NB = so3.multiply(so3.load(x.servicer.q), so3.load(p.servicer.q_assembly))
    so3.store(sig.X_WB_sim.q, so3.multiply(so3.inverse(q_NW), q_NB))
    vec.store(sig.V_WB_sim.v, _velocity_in_W(x, p, o_B, q_NW, w_A, w_T))
    vec.store(sig.V_WB_sim.w, so3.rotate_back(q_NW, vec.sub(w_A, w_T)))


@jit
def _publish(sig, x, p):
    """Publish the state of the bodies at t."""
    p_A, p_T, P_A, P_T = vec.load(x.servicer.p), vec.load(x.target.p), vec.load(x.servicer.P), vec.load(x.target.P)
    v_A, v_T = vec.scale(p.servicer.inverse_mass, P_A), vec.scale(p.target.inverse_mass, P_T)
    vec.store(sig.X_NA.p, p_A)
    vec.store(sig.X_NT.p, p_T)
    so3.store(sig.X_NA.q, so3.load(x.servicer.q))
    so3.store(sig.X_NT.q, so3.load(x.target.q))
    vec.store(sig.V_NA.v, v_A)
    vec.store(sig.V_NT.v, v_T)
    vec.store(sig.P_N, vec.add(P_A, P_T))
    sig.H = 0.5 * (vec.dot(P_A, v_A) + vec.dot(P_T, v_T))
    ledger.publish(sig.W_integrator, x.integrator)
    if p.rotates:
        w_A, w_T, L_A, L_T = vec.load(x.servicer.w), vec.load(x.target.w), vec.load(x.servicer.L), vec.load(x.target.L)
        vec.store(sig.V_NA.w, w_A)
        vec.store(sig.V_NT.w, w_T)
        orbital = vec.add(vec.cross(p_A, P_A), vec.cross(p_T, P_T))
        vec.store(sig.L_N, vec.add(orbital, vec.add(L_A, L_T)))
        sig.H_rot = 0.5 * (vec.dot(L_A, w_A) + vec.dot(L_T, w_T))
        ledger.publish(sig.W_rotation, x.rotation)


@jit
def _kick(x, p, tip_N, f_N, dt):
    """[He2022, eq. 1, eq. 2]: the force acts on the target, its opposite on the servicer, at one point."""
    J = vec.scale(dt, f_N)
    vec.store(x.servicer.L, vec.sub(vec.load(x.servicer.L), vec.cross(vec.sub(tip_N, vec.load(x.servicer.p)), J)))
    vec.store(x.target.L, vec.add(vec.load(x.target.L), vec.cross(vec.sub(tip_N, vec.load(x.target.p)), J)))
    vec.store(x.servicer.P, vec.sub(vec.load(x.servicer.P), J))
    vec.store(x.target.P, vec.add(vec.load(x.target.P), J))


@jit
def _fly(body, constants, w, made, dt):
    """Free motion over a tick; records the energy error of the attitude integrator, returns the new angular velocity."""
    vec.store(body.p, vec.add(vec.load(body.p), vec.scale(dt * constants.inverse_mass, vec.load(body.P))))
    q, w, gain = free_rule(so3.load(body.q), vec.load(body.L), w, constants.inverse_inertia, dt)
    so3.store(body.q, q)
    ledger.book(made, gain, 1.0, 1.0)
    return w


@jit
def _acts(force):
    return force[0] != 0.0 or force[1] != 0.0 or force[2] != 0.0


@jit
def _kick_and_fly(sig, x, p, force, dt):
    """Kick and free motion in six degrees of freedom; returns the mean velocity of the tip over the kick, in W."""
    w_A, w_T = vec.load(x.servicer.w), vec.load(x.target.w)
    mean = (0.0, 0.0, 0.0)
    if _acts(force):
        q_NW = so3.multiply(so3.load(x.target.q), so3.load(p.target.q_assembly))
        tip_N = _point_on_A(x, p, vec.load(p.tip_B))
        before = _velocity_in_W(x, p, tip_N, q_NW, w_A, w_T)
        _kick(x, p, tip_N, so3.rotate(q_NW, force), dt)
        w_A, w_T = _rates(x, p)
        mean = vec.scale(0.5, vec.add(before, _velocity_in_W(x, p, tip_N, q_NW, w_A, w_T)))
    vec.store(x.servicer.w, _fly(x.servicer, p.servicer, w_A, x.rotation, dt))
    vec.store(x.target.w, _fly(x.target, p.target, w_T, x.rotation, dt))
    relative_motion(sig, x, p)
    return mean


@jit
def _kick_and_slide(sig, x, p, force, dt):
    """The same if nothing turns."""
    before = vec.load(sig.V_WB_sim.v)
    P_A, P_T = vec.load(x.servicer.P), vec.load(x.target.P)
    if _acts(force):
        J = vec.scale(dt, so3.rotate(so3.load(p.target.q_assembly), force))
        P_A, P_T = vec.sub(P_A, J), vec.add(P_T, J)
        vec.store(x.servicer.P, P_A)
        vec.store(x.target.P, P_T)
    vec.store(x.servicer.p, vec.add(vec.load(x.servicer.p), vec.scale(dt * p.servicer.inverse_mass, P_A)))
    vec.store(x.target.p, vec.add(vec.load(x.target.p), vec.scale(dt * p.target.inverse_mass, P_T)))
    relative_position(sig, x, p)
    return vec.scale(0.5, vec.add(before, vec.load(sig.V_WB_sim.v)))


@jit
def two_bodies_step(sig, x, p, dt):
    _publish(sig, x, p)
    force = vec.load(sig.F_hat_W)
    mean = _kick_and_fly(sig, x, p, force, dt) if p.rotates else _kick_and_slide(sig, x, p, force, dt)
    if _acts(force):
        # A kick changes the energy by exactly -T F̂·(mean velocity); the ledger records -F̂·(path of the body).
        tip = vec.load(p.tip_B)
        if p.rotates:
            tip = so3.rotate(so3.load(sig.X_WB_sim.q), tip)
        moved = vec.sub(vec.add(vec.load(sig.X_WB_sim.p), tip), vec.load(sig.p_C_des_W))
        ledger.book(x.integrator, vec.dot(force, moved) - dt * vec.dot(force, mean), 1.0, 1.0)


@dataclass(frozen=True)
class TwoBodies:
    """The two satellites and their approach."""

    servicer: FreeBody
    target: FreeBody
    velocity: tuple[float, ...]  # m/s, of the approach, in W
    position: tuple[float, ...]  # m, of the servicer's assembly frame in the target's, at the start
    tip: tuple[float, ...]  # m, of the rod in the servicer's assembly frame
    rotates: bool


def _apart(bodies: TwoBodies) -> np.ndarray:
    """Vector from T's to A's assembly frame minus that from T's to A's centre of mass, in N, if nothing turns."""
    in_U = interpreted(so3.rotate_back)(bodies.servicer.assembly_attitude, bodies.servicer.assembly_position)
    return np.array(interpreted(so3.rotate)(bodies.target.assembly_attitude, in_U)) - np.array(bodies.target.assembly_position)


def _pack(p: np.record, bodies: TwoBodies, loop: Cycle) -> None:
    p.rotates = bodies.rotates
    p.tip_B, p.v0, p.X0 = bodies.tip, bodies.velocity, bodies.position
    for constants, body, rate in ((p.servicer, bodies.servicer, p.w0_A), (p.target, bodies.target, p.w0_T)):
        constants.mass = body.mass
        constants.inverse_mass = 1.0 / body.mass
        constants.inertia = np.array(body.inertia)
        constants.inverse_inertia = np.linalg.inv(np.array(body.inertia))
        constants.assembly = body.assembly_position
        constants.q_assembly = body.assembly_attitude
        rate[:] = body.angular_velocity if bodies.rotates else 0.0
    p.apart_N = _apart(bodies)


@jit
def _reset(sig, x, p):
    """The target is at rest at the origin; the servicer's assembly frame is at X0 in W, not turned, and moves with v0."""
    x.target.q[0] = 1.0
    vec.store(x.target.L, vec.matvec(p.target.inertia, vec.load(p.w0_T)))
    q_NW = so3.load(p.target.q_assembly)
    q_A = so3.multiply(q_NW, so3.inverse(so3.load(p.servicer.q_assembly)))
    so3.store(x.servicer.q, q_A)
    o_B = vec.add(vec.load(p.target.assembly), so3.rotate(q_NW, vec.load(p.X0)))
    vec.store(x.servicer.p, vec.sub(o_B, so3.rotate(q_A, vec.load(p.servicer.assembly))))
    vec.store(x.servicer.P, vec.scale(p.servicer.mass, so3.rotate(q_NW, vec.load(p.v0))))
    vec.store(x.servicer.L, so3.rotate(q_A, vec.matvec(p.servicer.inertia, vec.load(p.w0_A))))
    w_A, w_T = _rates(x, p)
    vec.store(x.servicer.w, w_A)
    vec.store(x.target.w, w_T)
    relative_motion(sig, x, p)


TWO_BODIES = StageKind(
    "two-bodies",
    two_bodies_step,
    reads=("F_hat_W", "p_C_des_W"),
    writes=(
        "X_NA",
        "V_NA",
        "X_NT",
        "V_NT",
        "P_N",
        "L_N",
        "H",
        "H_rot",
        "X_WB_sim",
        "V_WB_sim",
        "W_integrator",
        "W_rotation",
    ),
    state=record(servicer=_BODY, target=_BODY, integrator=PORT, rotation=PORT),
    params=record(rotates="i8", apart_N=3, tip_B=3, v0=3, X0=3, w0_A=3, w0_T=3, servicer=_CONSTANTS, target=_CONSTANTS),
    pack=_pack,
    reset=_reset,
)
