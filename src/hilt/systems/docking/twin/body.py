"""Steps 4 and 5: the force on the simulated bodies, and the bound on the energy that a contact returns.

    F̂ = max(0, F_m + f̂(x, v) - f̂(x', v'))                   Smith predictor: measured force, shifted from the robot to the twin
    J = T_b F̂;   v⁺ = v - J e/m;   E⁺ = E + ½ m (v² - v⁺²);   D = c ∫v² dt_b                       T_b = βT
    if E < D on the way out:  v⁺ = -e √(v² + 2(E - D)/m), never faster than without it
    at the exit:              v⁺ = -e min(√(v² + 2(E - λK - W_t)/m), √(v² + 0.1 v_in²)),         K = ½ m v_in²

All along the normal n; m is the effective mass of the contact: the reduced mass on a line, m_eff of mobility.py in space. W_t
is the work of friction (friction.py), in space only.

±J n acts on both bodies at one common point and between impulses they are free, so momentum is exact for any J and E is exactly
the kinetic energy that both have lost since the entry. F̂ ≥ 0 only brakes on the way in, E ≥ D ≥ 0 on the way out, λ ≥ 0 at the
exit: the *total* kinetic energy is never above that at the entry, whatever n, m, the estimates and the measured force are.
"""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from hilt.compiled import jit
from hilt.core.signals import record
from hilt.core.stage import Cycle, StageKind
from hilt.maths import so3, vec
from hilt.systems.docking.twin import model
from hilt.systems.docking.twin.beliefs import TwinBeliefs
from hilt.systems.docking.twin.contact import ABSENT, ENDS
from hilt.systems.docking.twin.space import friction
from hilt.systems.docking.twin.space.mobility import LEVERS, answers, pack_levers

CLOSED_BY_AT_MOST = 0.1  # of the kinetic energy at the entry


class Account(NamedTuple):
    """At a speed of √square along n the bodies have lost `lost` of their kinetic energy at the entry."""

    square: float
    lost: float
    mass: float  # m
    inverse: float  # 1/m


@jit
def smith(sig, x, middle):
    """Step 4: return the active frame, F̂ along its e, and whether both twin and robot are outside it."""
    side = sig.touch
    if side == 0:
        side = int(x.e) if sig.touch_event == ENDS else 1 if sig.x_sim > middle else -1
    frame = model.frame_of(sig, side)
    here, late = model.force(frame, sig.x_sim, sig.v_sim), model.force(frame, sig.x_late, sig.v_late)
    felt = sig.F_n * frame.e if sig.touch != 0 or late > 0.0 else 0.0
    return frame, max(0.0, felt + here - late), here == 0.0 and late == 0.0


@jit
def enter(sig, x, frame, size):
    """Whether a contact begins in this tick; records the current speed of the bodies."""
    new = (sig.touch != 0 or size > 0.0) and (not x.on or frame.e != x.e)
    if new:
        x.on, x.e, x.energy, sig.v_entry = 1, frame.e, 0.0, abs(sig.v_sim)
    if new or not x.on:
        sig.v2_twin = 0.0
    else:
        sig.v2_twin += model.v2_in_contact(frame, x.last_at, sig.x_sim, sig.v_sim)
    x.last_at = sig.x_sim
    return new


@jit
def left_of(account, kept):
    """Speed at which the bodies have `kept` less kinetic energy than at the entry."""
    return math.sqrt(max(0.0, account.square + 2.0 * (account.lost - kept) * account.inverse))


@jit
def bounded(v_next, account, dissipated, e):
    """Speed on the way out: at most the kinetic energy at the entry minus the damping loss; `v_next` if slower."""
    return v_next if v_next * e >= 0.0 else -e * min(-v_next * e, left_of(account, dissipated))


@jit
def closed(v, v_entry, account, loss, e):
    """Exit speed: set by the energy measured at the real contact, changed by at most a tenth of the energy."""
    return -e * min(left_of(account, loss), math.sqrt(v * v + CLOSED_BY_AT_MOST * v_entry * v_entry))


@jit
def after(sig, x, frame, size, outside, v, v_next, account, rubbed):
    """Step 5: return v⁺; v_next is the speed after F̂ alone."""
    if not x.on:
        return v
    e = frame.e
    v_next = bounded(v_next, account, frame.c * sig.v2_twin, e)
    if sig.touch_event == ENDS:
        before, loss = v_next, sig.loss * 0.5 / account.inverse * sig.v_entry**2
        v_next = closed(v, sig.v_entry, account, max(0.0, loss + rubbed), e)
        sig.E_exit = 0.5 * account.mass * (v_next * v_next - before * before)
    elif sig.touch_event == ABSENT:
        v_next = e * left_of(account, 0.0)
    x.energy = account.lost + 0.5 * account.mass * (account.square - v_next * v_next)
    if sig.touch == 0 and (sig.touch_event != 0 or (size == 0.0 and outside)):
        x.on = 0
    return v_next


@jit
def push(sig, x, n, force, total, mass):
    """Apply every change of speed as a force on both bodies, so that momentum is conserved and the ledger records it."""
    vec.store(sig.F_comp_W, vec.scale(force, n))
    vec.store(sig.F_alpha_W, vec.scale(total - force, n))
    vec.store(sig.F_hat_W, vec.scale(total, n))
    sig.E_contact = x.energy if x.on else 0.0
    sig.m_eff = mass


@jit
def body_on_a_line_step(sig, x, p, dt):
    step, v = sig.clock_rate * dt, sig.v_sim
    frame, size, outside = smith(sig, x, p.middle)
    enter(sig, x, frame, size)
    account = Account(sig.v_entry * sig.v_entry, 0.0, p.mass, 1.0 / p.mass)
    v_next = after(sig, x, frame, size, outside, v, v - step * size * frame.e / p.mass, account, 0.0)
    push(sig, x, vec.load(p.n_W), size * frame.e, p.mass * (v - v_next) / step, p.mass)


@jit
def body_learnt_step(sig, x, p, dt):
    """On a robot that bends the loss of a contact is known only later, in flight; the exit speed is corrected then."""
    body_on_a_line_step(sig, x, p, dt)
    if sig.learnt == 0 or x.on or sig.v_sim * sig.learnt >= 0.0:
        return
    v, e = sig.v_sim, float(sig.learnt)
    kinetic = 0.5 * p.mass * sig.v_entry * sig.v_entry
    account = Account(sig.v_entry * sig.v_entry, 0.0, p.mass, 1.0 / p.mass)
    v_next = closed(v, sig.v_entry, account, sig.loss * kinetic, e)
    push(sig, x, vec.load(p.n_W), 0.0, p.mass * (v - v_next) / (sig.clock_rate * dt), p.mass)
    sig.E_exit += 0.5 * p.mass * (v_next * v_next - v * v)


@jit
def body_in_space_step(sig, x, p, dt):
    step, v_tip, across = sig.clock_rate * dt, vec.load(sig.v_C_des_W), friction.NOTHING
    n, q, tip = vec.load(sig.n_hat_W), so3.load(sig.X_WB_sim.q), vec.load(sig.p_C_des_W)
    inverse = vec.dot(n, answers(p.levers, q, tip, n)[0])
    frame, size, outside = smith(sig, x, p.middle)
    if enter(sig, x, frame, size):
        friction.begin(x.friction)
    if p.rubs and sig.touch != 0 and size > 0.0:
        i, room = model.place_of(frame.e), x.energy - frame.c * sig.v2_twin
        force = vec.load(sig.F_mea_W)
        across, v_tip, taken = friction.rub(x.friction, i, force, p.force_noise, n, p.levers, q, tip, v_tip, room, step)
        x.energy += taken
    v = vec.dot(n, v_tip)
    account = Account(v * v, x.energy, 1.0 / inverse, inverse)  # the mass changes during a contact, and friction absorbs energy
    v_next = v - step * size * frame.e * inverse
    v_next = after(sig, x, frame, size, outside, v, v_next, account, friction.work(x.friction))
    push(sig, x, n, size * frame.e, (v - v_next) / (inverse * step), 1.0 / inverse)
    vec.store(sig.F_comp_W, vec.add(vec.load(sig.F_comp_W), across))
    vec.store(sig.F_hat_W, vec.add(vec.load(sig.F_hat_W), across))


@jit
def body_learnt_in_space_step(sig, x, p, dt):
    """As on a line: corrected in flight, where energy is constant, by an impulse at the current tip."""
    body_in_space_step(sig, x, p, dt)
    if sig.learnt == 0 or x.on or sig.v_sim * sig.learnt >= 0.0:
        return
    n, q, tip = vec.load(sig.n_hat_W), so3.load(sig.X_WB_sim.q), vec.load(sig.p_C_des_W)
    inverse = vec.dot(n, answers(p.levers, q, tip, n)[0])
    v, e = sig.v_sim, float(sig.learnt)
    account = Account(v * v, x.energy, 1.0 / inverse, inverse)
    loss = sig.loss * 0.5 / inverse * sig.v_entry**2 + friction.work(x.friction)
    v_next = closed(v, sig.v_entry, account, max(0.0, loss), e)
    returned = 0.5 * account.mass * (v_next * v_next - v * v)
    push(sig, x, n, 0.0, (v - v_next) / (inverse * sig.clock_rate * dt), account.mass)
    x.energy -= returned
    sig.E_exit += returned


def _pack_on_a_line(p: np.record, beliefs: TwinBeliefs, loop: Cycle) -> None:
    p.n_W, p.mass, p.middle = beliefs.normal, beliefs.mass, beliefs.middle


def _pack_in_space(p: np.record, beliefs: TwinBeliefs, loop: Cycle) -> None:
    pack_levers(p.levers, beliefs)
    p.mass, p.middle = beliefs.mass, beliefs.middle
    p.force_noise = max(beliefs.force_noise, 1e-3)
    p.rubs = beliefs.normal_doubt == 0.0  # otherwise a force across n may be due to an error of the normal


@jit
def _reset(sig, x, p):
    sig.m_eff = p.mass


_READS = (
    *("clock_rate", "x_sim", "v_sim", "touch", "touch_event", "F_n", "x_late", "v_late", "loss", "v_entry", "v2_twin"),
    *("E_exit", *model.SIGNALS),
)
_WRITES = ("F_comp_W", "F_alpha_W", "F_hat_W", "E_contact", "m_eff", "v_entry", "v2_twin", "E_exit")

BODY_ON_A_LINE = StageKind(
    "twin-body",
    body_on_a_line_step,
    reads=_READS,
    writes=_WRITES,
    state=record(on="i8", e="f8", energy="f8", last_at="f8"),
    params=record(n_W=3, mass="f8", middle="f8"),
    pack=_pack_on_a_line,
    reset=_reset,
)

BODY_LEARNT = replace(BODY_ON_A_LINE, name="twin-body-learnt", step=body_learnt_step, reads=(*BODY_ON_A_LINE.reads, "learnt"))

BODY_IN_SPACE = StageKind(
    "twin-body-in-space",
    body_in_space_step,
    reads=(*_READS, "X_WB_sim", "p_C_des_W", "v_C_des_W", "n_hat_W", "F_mea_W"),
    writes=_WRITES,
    state=record(on="i8", e="f8", energy="f8", last_at="f8", friction=friction.FRICTION),
    params=record(levers=LEVERS, mass="f8", middle="f8", force_noise="f8", rubs="i8"),
    pack=_pack_in_space,
    reset=_reset,
)

BODY_LEARNT_IN_SPACE = replace(
    BODY_IN_SPACE, name="twin-body-learnt-in-space", step=body_learnt_in_space_step, reads=(*BODY_IN_SPACE.reads, "learnt")
)
