"""Steps 4 and 5: the force on the simulated body, and the bound on what a contact gives back.

    F̂ = max(0, F_m + f̂(x, v) - f̂(x', v'))                   Smith form: the measured force, moved from the robot to the twin
    v⁺ = v - T_b F̂ e/m;   E = ½ m (v_in² - v⁺²);   D = c ∫v² dt_b          T_b = βT
    if E < D on the way out:  v⁺ = -e √(v_in² - 2D/m), never faster than without it
    at the exit:              v⁺ = -e min(√(v_in² (1 - λ)), √(v² + 0.1 v_in²))

|v| never exceeds v_in, whatever the estimates are: F̂ ≥ 0 only brakes on the way in, E ≥ D ≥ 0 on the way out, λ ≥ 0 at the
exit. Every change of speed is a force on both bodies, so momentum is kept and the ledger knows of it.
"""

import math

from hilt.compiled import jit
from hilt.core.signals import record
from hilt.core.stage import StageKind
from hilt.maths import vec
from hilt.systems.docking.twin import model
from hilt.systems.docking.twin.contact import ABSENT, ENDS

CLOSED_BY_AT_MOST = 0.1  # of the kinetic energy at the entry


@jit
def bounded(v, v_next, v_entry, dissipated, e, mass):
    """The way out: no more kinetic energy than came in, less what the damping took. `v_next` if it is slower."""
    if v_next * e >= 0.0:
        return v_next
    fastest = math.sqrt(max(0.0, v_entry * v_entry - 2.0 * dissipated / mass))
    return -e * min(-v_next * e, fastest)


@jit
def closed(v, v_entry, loss, e):
    """The exit: what was measured at the real port decides, within a tenth of the energy."""
    wanted = v_entry * math.sqrt(max(0.0, 1.0 - loss))
    return -e * min(wanted, math.sqrt(v * v + CLOSED_BY_AT_MOST * v_entry * v_entry))


@jit
def body_step(sig, x, p, dt):
    step = sig.clock_rate * dt
    at, v = sig.x_twin, sig.v_twin
    side = sig.touch
    if side == 0:
        side = int(x.e) if sig.touch_event == ENDS else 1 if at > p.middle else -1
    e, frame = float(side), model.frame_of(sig, side)
    here, late = model.force(frame, at, v), model.force(frame, sig.x_late, sig.v_late)
    felt = sig.F_n * e if sig.touch != 0 or late > 0.0 else 0.0
    size = max(0.0, felt + here - late)

    if (sig.touch != 0 or size > 0.0) and (not x.on or e != x.e):
        x.on, x.e, sig.v_entry, sig.v2_twin = 1, e, abs(v), 0.0

    if not x.on:
        sig.v2_twin = 0.0
    v_free = v - step * size * e / p.mass
    v_next = v_free
    if x.on:
        sig.v2_twin += v * v * step if size > 0.0 else 0.0
        v_next = bounded(v, v_free, sig.v_entry, frame.c * sig.v2_twin, e, p.mass)
        before = v_next
        if sig.touch_event == ENDS:
            v_next = closed(v_next, sig.v_entry, sig.loss, e)
            sig.E_exit = 0.5 * p.mass * (v_next * v_next - before * before)
        elif sig.touch_event == ABSENT:
            v_next = e * sig.v_entry
        if sig.touch == 0 and (sig.touch_event != 0 or (size == 0.0 and here == 0.0 and late == 0.0)):
            x.on = 0
    n = vec.load(p.n_W)
    total = p.mass * (v - v_next) / step
    vec.store(sig.F_comp_W, vec.scale(size * e, n))
    vec.store(sig.F_alpha_W, vec.scale(total - size * e, n))
    vec.store(sig.F_hat_W, vec.scale(total, n))
    sig.E_contact = 0.5 * p.mass * (sig.v_entry * sig.v_entry - v_next * v_next) if x.on else 0.0
    sig.m_eff = p.mass


def _pack(p, scenario):
    p.n_W = scenario.frames.n_W
    p.mass = scenario.reduced_mass
    p.middle = 0.5 * sum(scenario.prior.surfaces(scenario))


@jit
def start_mass(sig, x, p):
    sig.m_eff = p.mass


TWIN_BODY = StageKind(
    "twin-body",
    body_step,
    reads=(
        "clock_rate", "x_twin", "v_twin", "touch", "touch_event", "F_n", "x_late", "v_late", "loss", "v_entry", "v2_twin",
        "E_exit", "frame_known", "frame_model", "frame_k", "frame_c", "frame_q", "frame_s",
    ),
    writes=("F_comp_W", "F_alpha_W", "F_hat_W", "E_contact", "m_eff", "v_entry", "v2_twin", "E_exit"),
    state=record(on="i8", e="f8"),
    params=record(n_W=3, mass="f8", middle="f8"),
    pack=_pack,
    reset=start_mass,
)  # fmt: skip
