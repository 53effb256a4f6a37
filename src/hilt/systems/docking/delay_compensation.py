"""Compensating the robot's delay in the contact force: PIC, DAC and PIDA (He & Shen 2022).

    F_comp = max(0, F_act·e + k̂ (p_des - p)·e + ĉ (v_des - v)·e) e               (21) to (24); contact only pushes
    v⁺ = v - T F_comp/m_eff;   E⁺ = E + (F_comp - F_d)(v + v⁺)/2 T                (14), (16); F_d = max(ĉ, 0) v
    if E⁺ < 0 on the way out:  v⁺ = -√(v² + 2(E - F_d v T)/m_eff)                 (17), (19)
                               F_α = m_eff (v - v⁺)/T - F_comp ≤ 0
    F̂ = F_comp + F_α                                                              (29)

`none` uses the measured force unchanged; `pic` has no energy controller and no clamp; `dac` has no k̂, ĉ terms; `pida` has
all of them. The controller is scalar along the force. The printed one works axis by axis: it is `pida-literal` (with the sign
of eq. 19 corrected, which as printed adds energy) and fails when the contact is oblique. The moment follows
from the contact point.
"""

import math
from dataclasses import dataclass

import numpy as np

from hilt.compiled import jit
from hilt.core import ledger
from hilt.core.signals import PORT, record
from hilt.core.stage import Cycle, StageKind
from hilt.maths import so3, vec

NONE = 0
PIC = 1
DAC = 2
PIDA = 3
PIDA_LITERAL = 4
TWIN = 5  # has its own stages: compensate/twin
CODES = {"none": NONE, "pic": PIC, "dac": DAC, "pida": PIDA, "pida-literal": PIDA_LITERAL, "twin": TWIN}


@jit
def effective_mass(sig, p, e):
    """Effective mass along e at the tip: 1/m = 1/m_s + 1/m_t + Σ (r×e)·I⁻¹(r×e); geometry relative to the target."""
    inverse = p.inverse_masses
    if p.rotates:
        q = so3.load(sig.X_WB_sim.q)
        turn_s = vec.cross(vec.load(p.p_AcmC_B), so3.rotate_back(q, e))
        turn_t = vec.cross(vec.sub(vec.load(sig.p_C_des_W), vec.load(p.p_Tcm_W)), e)
        inverse += vec.dot(turn_s, vec.matvec(p.inverse_inertia_A, turn_s)) + vec.dot(
            turn_t, vec.matvec(p.inverse_inertia_T, turn_t)
        )
    return 1.0 / inverse


@jit
def energy_controller(x, f, damping, v, mass, dt):
    """Force along e so that the contact returns no more energy than it absorbed.  [He2022, eq. 14, eq. 16, eq. 17, eq. 19]"""
    v_next = v - dt * f / mass
    before = ledger.energy(x.observer)
    alpha = 0.0
    if before + (f - damping) * 0.5 * (v + v_next) * dt < 0.0 and v <= 0.0:
        v_next = -math.sqrt(max(0.0, v * v + 2.0 * (before - damping * v * dt) / mass))
        alpha = min(0.0, mass * (v - v_next) / dt - f)
        v_next = v - dt * (f + alpha) / mass
    ledger.book(x.observer, f + alpha - damping, 0.5 * (v + v_next), dt)
    return alpha


@jit
def literal_controller(x, f, damping, v, dt):
    """[He2022, eq. 15 to eq. 19] axis by axis, with a minus sign in eq. 19."""
    elastic = vec.sub(f, vec.scale(damping, v))  # [He2022, eq. 16]
    ledger.book(x.observer, vec.dot(elastic, v) + vec.dot(vec.load(x.alpha), vec.load(x.v)), 1.0, dt)  # [He2022, eq. 15]
    energy = ledger.energy(x.observer)
    size = vec.dot(f, f)
    square = vec.dot(elastic, elastic)
    for i in range(3):
        x.alpha[i] = 0.0
        share = energy * abs(f[i]) / math.sqrt(size) if size > 0.0 else 0.0  # [He2022, eq. 18]
        if share < 0.0 and square > 0.0:
            # [He2022, eq. 17, eq. 19]: α cancels; -E_i/(v_i T) remains
            weight = vec.dot(v, elastic) / square * elastic[i]
            work = weight * v[i] * dt
            x.alpha[i] = -share / work * weight if work != 0.0 else 0.0
    vec.store(x.v, v)
    return vec.load(x.alpha)


@jit
def compensate_step(sig, x, p, dt):
    zero = (0.0, 0.0, 0.0)
    f, alpha = zero, zero
    sig.m_eff = 0.0
    if p.method == NONE:
        f = vec.load(sig.F_mea_W)
    elif sig.in_contact:
        if not x.on:
            x.observer.into = x.observer.out = 0.0
            vec.store(x.alpha, zero)
            x.on = 1
        e, v = vec.load(sig.e_W), vec.load(sig.v_C_des_W)
        size = vec.dot(vec.load(sig.F_act_W), e)
        damping = max(sig.c_hat, 0.0) if sig.identified else 0.0
        if p.method != DAC and sig.identified:
            behind = vec.sub(vec.load(sig.p_C_des_W), vec.load(sig.p_C_W))
            slower = vec.sub(v, vec.load(sig.v_C_W))
            size += sig.k_hat * vec.dot(behind, e) + sig.c_hat * vec.dot(slower, e)  # [He2022, eq. 21, eq. 22, eq. 23, eq. 24]
        if p.method != PIC:
            size = max(0.0, size)
        f = vec.scale(size, e)
        if p.method == DAC or p.method == PIDA:
            sig.m_eff = effective_mass(sig, p, e)
            v_n = vec.dot(v, e)
            alpha = vec.scale(energy_controller(x, size, damping * v_n, v_n, sig.m_eff, dt), e)
        elif p.method == PIDA_LITERAL:
            alpha = literal_controller(x, f, damping, v, dt)
    else:
        x.on = 0
    vec.store(sig.F_comp_W, f)
    vec.store(sig.F_alpha_W, alpha)
    vec.store(sig.F_hat_W, vec.add(f, alpha))  # [He2022, eq. 29]
    sig.E_contact = ledger.energy(x.observer)


@dataclass(frozen=True)
class Compensation:
    """The method, and the bodies whose energy it watches."""

    method: str
    reduced_mass: float  # kg
    rotates: bool
    lever_arms: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # from Docking.lever_arms


def _pack(p: np.record, config: Compensation, loop: Cycle) -> None:
    p.method = CODES[config.method]
    p.inverse_masses = 1.0 / config.reduced_mass
    p.rotates = config.rotates
    p.p_AcmC_B, p.inverse_inertia_A, p.p_Tcm_W, p.inverse_inertia_T = config.lever_arms


COMPENSATE = StageKind(
    "compensate",
    compensate_step,
    reads=(
        "in_contact",
        "e_W",
        "p_C_W",
        "v_C_W",
        "p_C_des_W",
        "v_C_des_W",
        "F_mea_W",
        "F_act_W",
        "k_hat",
        "c_hat",
        "identified",
        "X_WB_sim",
    ),
    writes=("F_comp_W", "F_alpha_W", "F_hat_W", "E_contact", "m_eff"),
    state=record(on="i8", observer=PORT, alpha=3, v=3),
    params=record(
        method="i8",
        inverse_masses="f8",
        rotates="i8",
        p_AcmC_B=3,
        inverse_inertia_A=("f8", (3, 3)),
        p_Tcm_W=3,
        inverse_inertia_T=("f8", (3, 3)),
    ),
    pack=_pack,
)
