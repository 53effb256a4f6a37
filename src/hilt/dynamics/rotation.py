"""A free body's rotation: momentum with the exponential map, and Euler rules for comparison.

The state is the angular momentum in the world frame and the attitude, so `momentum` keeps L exactly when nothing acts:

    L⁺ = L + T τ        L_B = Rᵀ(L + ½T τ),  ω_B = I⁻¹ L_B        q⁺ = q exp(T I⁻¹(L_B - ½T ω_B × L_B))

A body on which nothing acts has its own rule, `free_rule`, which also conserves the energy, at any angular velocity.

Euler's rule, which gains energy even without a torque, so that no controller at the port can correct it:

    a = I⁻¹ (τ - ω × I ω)        ω⁺ = ω + T a        q⁺ = q exp(T ω) (`explicit`) or q exp(T ω⁺) (`euler`)       (in B)

The energy that the rule generates is the change of ½ ω·L minus the work of the torque on the turn, computed independently:
½T² aᵀ I a + T τ·ω for Euler, T τ·½(ω + ω⁺) + ½ (L·ω⁺ - L⁺·ω) for `momentum`; the ledger's sum checks it.
"""

import numpy as np

from hilt.compiled import jit
from hilt.core import ledger
from hilt.core.signals import PORT, record
from hilt.core.stage import Cycle, StageKind
from hilt.dynamics.body import SimulatedBody
from hilt.dynamics.integrators import CODES, EULER, EXPLICIT
from hilt.maths import so3, vec

MOST_ITERATES = 30  # each reduces the error by a factor of about half the turn of the tick
ROUNDING = 1e-15  # of the turn


@jit
def angular_velocity(q, L_W, inverse_inertia):
    """ω_W = R I⁻¹ Rᵀ L_W."""
    return so3.rotate(q, vec.matvec(inverse_inertia, so3.rotate_back(q, L_W)))


@jit
def momentum_rule(q, L_W, w_before, tau_W, p, dt):
    """Next attitude, momentum and angular velocity, the turn of the tick in B, and the work of body and torque in the tick."""
    L_B = so3.rotate_back(q, vec.add(L_W, vec.scale(0.5 * dt, tau_W)))
    w_B = vec.matvec(p.inverse_inertia, L_B)
    # Seen from the body the momentum turns backwards: half a tick later it is L - ½T ω × L.
    L_half = vec.sub(L_B, vec.scale(0.5 * dt, vec.cross(w_B, L_B)))
    turn_B = vec.scale(dt, vec.matvec(p.inverse_inertia, L_half))
    q_next = so3.renormalise(so3.multiply(q, so3.exp(turn_B)))
    L_next = vec.add(L_W, vec.scale(dt, tau_W))
    w_after = angular_velocity(q_next, L_next, p.inverse_inertia)
    gain = 0.5 * dt * vec.dot(tau_W, vec.add(w_before, w_after)) + 0.5 * (vec.dot(L_W, w_after) - vec.dot(L_next, w_before))
    return q_next, L_next, w_after, turn_B, gain


@jit
def free_turn(L_B, inverse_inertia, dt):
    """Turn of a free body over a tick, in B, and its quaternion: θ = T I⁻¹ ½(L_B + exp(-θ) L_B).

    The momentum seen from the body changes perpendicular to θ and to the mean momentum, L_B⁺ - L_B ∝ θ × ½(L_B + L_B⁺), and
    the energy by (L_B⁺ - L_B)·I⁻¹ ½(L_B + L_B⁺): zero if θ is parallel to that rate, whatever its length. The half step of
    `momentum_rule` is the first iterate. A turn too fast for the tick is replaced by one about the momentum, at its mean rate,
    which also conserves both.
    """
    w_B = vec.matvec(inverse_inertia, L_B)
    turn = vec.scale(dt, vec.matvec(inverse_inertia, vec.sub(L_B, vec.scale(0.5 * dt, vec.cross(w_B, L_B)))))
    for _ in range(MOST_ITERATES):
        q_turn = so3.exp(turn)
        mean = vec.scale(0.5, vec.add(L_B, so3.rotate_back(q_turn, L_B)))
        better = vec.scale(dt, vec.matvec(inverse_inertia, mean))
        off = vec.sub(better, turn)
        if vec.dot(off, off) <= ROUNDING * ROUNDING * vec.dot(turn, turn):
            return turn, q_turn
        turn = better
    turn = vec.scale(dt * vec.dot(w_B, L_B) / vec.dot(L_B, L_B), L_B)
    return turn, so3.exp(turn)


@jit
def free_rule(q, L_W, w_before, inverse_inertia, dt):
    """Next attitude and angular velocity of a body on which nothing acts, and the energy error due to rounding."""
    _, q_turn = free_turn(so3.rotate_back(q, L_W), inverse_inertia, dt)
    q_next = so3.renormalise(so3.multiply(q, q_turn))
    w_after = angular_velocity(q_next, L_W, inverse_inertia)
    return q_next, w_after, 0.5 * (vec.dot(L_W, w_after) - vec.dot(L_W, w_before))


@jit
def euler_rule(q, L_W, tau_W, p, dt):
    """The same by Euler's rule in the body frame."""
    L_B = so3.rotate_back(q, L_W)
    tau_B = so3.rotate_back(q, tau_W)
    w_B = vec.matvec(p.inverse_inertia, L_B)
    torque_B = vec.sub(tau_B, vec.cross(w_B, L_B))
    a_B = vec.matvec(p.inverse_inertia, torque_B)
    w_next_B = vec.add(w_B, vec.scale(dt, a_B))
    turn_B = vec.scale(dt, w_B if p.kind == EXPLICIT else w_next_B)
    q_next = so3.renormalise(so3.multiply(q, so3.exp(turn_B)))
    L_next = so3.rotate(q_next, vec.matvec(p.inertia, w_next_B))
    gain = dt * vec.dot(tau_B, w_B) + 0.5 * dt * dt * vec.dot(a_B, torque_B)
    return q_next, L_next, so3.rotate(q_next, w_next_B), turn_B, gain


@jit
def rotation_step(sig, x, p, dt):
    q = so3.load(x.q)
    L_W = vec.load(x.L_W)
    w_W = angular_velocity(q, L_W, p.inverse_inertia)
    so3.store(sig.X_WBcm.q, q)
    vec.store(sig.V_WBcm.w, w_W)
    vec.store(sig.L_W, L_W)
    sig.H_rot = 0.5 * vec.dot(L_W, w_W)
    ledger.publish(sig.W_rotation, x.made)

    if p.rotates:
        tau_W = vec.load(sig.F_Bcm_W.tau)
        tau_B = so3.rotate_back(q, tau_W)  # a turn's axis is the same before and after it
        if p.kind == EULER or p.kind == EXPLICIT:
            q, L_W, w_W, turn_B, gain = euler_rule(q, L_W, tau_W, p, dt)
        else:
            q, L_W, w_W, turn_B, gain = momentum_rule(q, L_W, w_W, tau_W, p, dt)
        # The port sees only attitudes: it cannot see whole turns within a tick.
        ledger.book(x.made, gain - vec.dot(tau_B, so3.shortest(turn_B)), 1.0, 1.0)
        so3.store(x.q, q)
        vec.store(x.L_W, L_W)
    so3.store(sig.X_WBcm_next.q, q)
    vec.store(sig.V_WBcm_next.w, w_W)


def _pack(p: np.record, simulated: SimulatedBody, loop: Cycle) -> None:
    body = simulated.body
    inertia = np.array(body.inertia)
    p.inertia = inertia
    p.inverse_inertia = np.linalg.inv(inertia)
    p.rotates = body.dof == 6
    p.kind = CODES[simulated.integrator.kind]
    p.q0 = body.attitude
    p.w0_B = body.angular_velocity


@jit
def _reset(sig, x, p):
    q = so3.load(p.q0)
    w_W = so3.rotate(q, vec.load(p.w0_B))
    so3.store(x.q, q)
    vec.store(x.L_W, so3.rotate(q, vec.matvec(p.inertia, vec.load(p.w0_B))))
    so3.store(sig.X_WBcm_next.q, q)
    vec.store(sig.V_WBcm_next.w, w_W)


ROTATION = StageKind(
    "rotation",
    rotation_step,
    reads=("F_Bcm_W",),
    writes=("X_WBcm.q", "V_WBcm.w", "X_WBcm_next.q", "V_WBcm_next.w", "L_W", "H_rot", "W_rotation"),
    state=record(q=4, L_W=3, made=PORT),
    params=record(inertia=("f8", (3, 3)), inverse_inertia=("f8", (3, 3)), rotates="i8", kind="i8", q0=4, w0_B=3),
    pack=_pack,
    reset=_reset,
)
