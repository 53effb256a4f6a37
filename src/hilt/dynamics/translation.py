"""A free body's translation: the integrators of De Stefano et al. 2017, their energy observer and controller.

The state at t_k moves to t_{k+1} under the force measured at t_k, held over the tick:

    v(k)   = v(k-1) + T F(k-1)/m                                                    (6)
    ΔH(k)  = T² F(k-1)²/(2m)                                                        (10)
    E⁻     = E(k-1) - ΔH(k)                                                         (16), one increment a step
    v_pc   = -E⁻/(T F*)  if E⁻ < 0, else 0                                          (17), (18)
    v_c(k) = v(k) - v_pc,  E(k) = E⁻ + v_pc F* T,  x(k) = x(k-1) + T v_c(k)         (19), (5)

`passive` takes F* = F(k-1), the force that was held: v_pc = T F/(2m). `passive-literal` takes F* = F(k) as printed, which
divides by nearly zero at every change of sign and takes the force one tick later. For both |F| below a threshold counts as
zero, |v_pc| is at most T |F*|/m, and the rest stays in E. The uncorrected v is the state.
"""

import numpy as np

from hilt.compiled import jit
from hilt.core import ledger
from hilt.core.signals import PORT, record
from hilt.core.stage import Cycle, StageKind
from hilt.dynamics.body import SimulatedBody
from hilt.dynamics.integrators import CODES, EXPLICIT, MOMENTUM, PASSIVE, PASSIVE_LITERAL, TRAPEZOID


@jit
def controller_velocity(kind, energy, force, mass, threshold, dt):
    """The velocity that the passivity controller removes, v_pc [m/s].  [DeStefano2017, eq. 17, eq. 18]"""
    if energy >= 0.0 or abs(force) <= threshold or kind not in (PASSIVE, PASSIVE_LITERAL):
        return 0.0
    # With the held force v_pc is T F/(2m), half of this bound; but a rounding error left in E, divided by a force of
    # 1e-200 N, is not. With the force as printed, this bound keeps it finite. The rest stays in E.
    most = dt * abs(force) / mass
    return min(max(-energy / (dt * force), -most), most)


@jit
def moving_velocity(kind, v_before, v_after):
    """The velocity at which the position moves, before any correction."""
    if kind == EXPLICIT:
        return v_before
    if kind in (TRAPEZOID, MOMENTUM):
        return 0.5 * (v_before + v_after)
    return v_after


@jit
def translation_step(sig, x, p, dt):
    ledger.publish(sig.W_integrator, x.integrator)
    ledger.publish(sig.W_controller, x.controller)
    sig.H = 0.0
    for i in range(3):
        sig.X_WBcm.p[i] = x.p[i]
        sig.V_WBcm.v[i] = x.v[i]
        sig.H += 0.5 * p.mass * x.v[i] * x.v[i]
        sig.E_obs[i] = ledger.energy(x.observer[i])
        sig.E_obs_free[i] = ledger.energy(x.observer_free[i])

    for i in range(p.axes):
        force = sig.F_Bcm_W.f[i]
        drive = x.force_before[i] if p.kind == PASSIVE_LITERAL else force
        v_before = x.v[i]
        v_after = v_before + dt * drive / p.mass  # [DeStefano2017, eq. 6]

        # [DeStefano2017, eq. 10] as a port: the force on half the change of velocity
        half_step = 0.5 * dt * drive / p.mass
        ledger.book(x.observer_free[i], -drive, half_step, dt)
        ledger.book(x.observer[i], -drive, half_step, dt)  # [DeStefano2017, eq. 16]
        v_pc = controller_velocity(p.kind, ledger.energy(x.observer[i]), force, p.mass, p.threshold, dt)
        ledger.book(x.observer[i], force, v_pc, dt)

        v_move = moving_velocity(p.kind, v_before, v_after)
        sig.v_pc[i] = v_pc
        sig.v_c[i] = v_move - v_pc  # [DeStefano2017, eq. 19]
        sig.beta[i] = v_pc / force if force != 0.0 else 0.0

        # ΔH of the body is drive · mean velocity; the port delivers force · commanded velocity.
        ledger.book(x.integrator, drive * 0.5 * (v_before + v_after) - force * v_move, 1.0, dt)
        ledger.book(x.controller, force, v_pc, dt)

        x.force_before[i] = force
        x.v[i] = v_after
        x.p[i] += dt * sig.v_c[i]  # [DeStefano2017, eq. 5]

    for i in range(3):
        sig.X_WBcm_next.p[i] = x.p[i]
        sig.V_WBcm_next.v[i] = x.v[i]


def _pack(p: np.record, simulated: SimulatedBody, loop: Cycle) -> None:
    body, integrator = simulated.body, simulated.integrator
    p.mass = body.mass
    p.axes = 1 if body.dof == 1 else 3
    p.kind = CODES[integrator.kind]
    p.threshold = integrator.force_threshold
    p.p0 = body.position
    p.v0 = body.velocity


@jit
def _reset(sig, x, p):
    for i in range(3):
        x.p[i] = sig.X_WBcm_next.p[i] = p.p0[i]
        x.v[i] = sig.V_WBcm_next.v[i] = p.v0[i]


TRANSLATION = StageKind(
    "translation",
    translation_step,
    reads=("F_Bcm_W",),
    writes=(
        "X_WBcm.p",
        "V_WBcm.v",
        "X_WBcm_next.p",
        "V_WBcm_next.v",
        "H",
        "v_pc",
        "v_c",
        "beta",
        "E_obs",
        "E_obs_free",
        "W_integrator",
        "W_controller",
    ),
    state=record(p=3, v=3, force_before=3, observer=(PORT, (3,)), observer_free=(PORT, (3,)), integrator=PORT, controller=PORT),
    params=record(mass="f8", axes="i8", kind="i8", threshold="f8", p0=3, v0=3),
    pack=_pack,
    reset=_reset,
)
