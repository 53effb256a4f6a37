"""Steps 4, 5 and 10: impulses on the two bodies, and the bound on what a contact gives back.

    F̂ = max(0, F_m + f̂(x, v) - f̂(x', v'))                   along n, as in one degree of freedom
    J = T_b F̂;   v_n⁺ = v_n - J/m_eff;   E += J (v_n + v_n⁺)/2        exactly the kinetic energy that both bodies lose
    if E < D on the way out:  v_n⁺ = -√(v_n² + 2(E - D)/m_eff), never faster than without it
    at the exit:              v_n⁺ = -√(v_n² + 2(E - λK_n - W_t)/m_eff), at most √(v_n² + 0.1 v_in²);  K_n = ½ m_eff v_in²

±J n at the one common point: momentum is exact for any J, and between impulses the bodies are free. So E ≥ 0 says that the
*total* kinetic energy is not above that at the entry, whatever n, m_eff, the estimates and the measured force are.

Friction is passive: what is measured across n acts on the bodies only while E stays above D, and its work W_t, where it is more
than noise, is not given back at the exit.
"""

import math

from hilt.compiled import jit
from hilt.core.signals import record
from hilt.core.stage import StageKind
from hilt.maths import so3, vec
from hilt.systems.docking.twin import model
from hilt.systems.docking.twin.body import CLOSED_BY_AT_MOST, start_mass
from hilt.systems.docking.twin.contact import ABSENT, ENDS
from hilt.systems.docking.twin.six.mobility import LEVERS, answers, pack_levers

SLIDES = 5.0  # deviations of the noise: a frame that was never felt to do more has no friction


@jit
def fastest_out(v, energy, kept, inverse_mass):
    """|v⁺| at which the bodies have `kept` less than at the entry; `energy` is what they have lost so far."""
    return math.sqrt(max(0.0, v * v + 2.0 * (energy - kept) * inverse_mass))


@jit
def rub(sig, x, p, i, q, n, v, kept, step):
    """Step 10: the measured force across n as an impulse, while the bodies stay within their energy; velocity after it."""
    across = vec.load(sig.F_mea_W)
    across = vec.sub(across, vec.scale(vec.dot(n, across), n))
    vec.store(x.across, (0.0, 0.0, 0.0))
    if vec.dot(across, across) > (SLIDES * p.force_noise) ** 2:
        x.rubs[i] = 1
    if not x.rubs[i] or not math.isfinite(vec.dot(across, across)):
        return v
    per_impulse, _ = answers(p.levers, q, vec.load(sig.p_C_des_W), across)
    after = vec.sub(v, vec.scale(step, per_impulse))
    way = vec.scale(0.5 * step, vec.add(v, after))
    taken = vec.dot(across, way)
    if not x.energy + taken >= kept:
        return v
    vec.store(x.across, across)
    x.energy += taken
    x.rubbed += taken
    x.rubbed_variance += p.force_noise * p.force_noise * vec.dot(way, way)
    return after


@jit
def body_step(sig, x, p, dt):
    step = sig.clock_rate * dt
    n, q, v_tip = vec.load(sig.n_hat_W), so3.load(sig.X_WB_sim.q), vec.load(sig.v_C_des_W)
    inverse = vec.dot(n, answers(p.levers, q, vec.load(sig.p_C_des_W), n)[0])
    side = sig.touch
    if side == 0:
        side = int(x.e) if sig.touch_event == ENDS else 1 if sig.x_twin > p.middle else -1
    e, frame = float(side), model.frame_of(sig, side)
    here, late = model.force(frame, sig.x_twin, sig.v_twin), model.force(frame, sig.x_late, sig.v_late)
    felt = sig.F_n * e if sig.touch != 0 or late > 0.0 else 0.0
    size = max(0.0, felt + here - late)

    if (sig.touch != 0 or size > 0.0) and (not x.on or e != x.e):
        x.on, x.e, sig.v_entry, sig.v2_twin = 1, e, abs(sig.v_twin), 0.0
        x.energy = x.rubbed = x.rubbed_variance = 0.0
    if not x.on:
        sig.v2_twin = 0.0
    v = v_next = sig.v_twin
    vec.store(x.across, (0.0, 0.0, 0.0))
    if x.on:
        sig.v2_twin += v * v * step if size > 0.0 else 0.0
        kept = frame.c * sig.v2_twin
        if p.rubs and sig.touch != 0 and size > 0.0:
            v = vec.dot(n, rub(sig, x, p, model.place_of(side), q, n, v_tip, kept, step))
        v_next = v - step * size * e * inverse
        if v_next * e < 0.0:
            v_next = -e * min(-v_next * e, fastest_out(v, x.energy, kept, inverse))
        before = v_next
        if sig.touch_event == ENDS:
            rubbed = x.rubbed if x.rubbed > 2.0 * math.sqrt(x.rubbed_variance) else 0.0
            left = fastest_out(v, x.energy, max(0.0, sig.loss * 0.5 / inverse * sig.v_entry**2 + rubbed), inverse)
            v_next = -e * min(left, math.sqrt(v * v + CLOSED_BY_AT_MOST * sig.v_entry**2))
            sig.E_exit = 0.5 / inverse * (v_next * v_next - before * before)
        elif sig.touch_event == ABSENT:
            v_next = e * fastest_out(v, x.energy, 0.0, inverse)
        x.energy += 0.5 / inverse * (v * v - v_next * v_next)
        if sig.touch == 0 and (sig.touch_event != 0 or (size == 0.0 and here == 0.0 and late == 0.0)):
            x.on = 0
    total = (v - v_next) / (inverse * step)
    across = vec.load(x.across)
    vec.store(sig.F_comp_W, vec.add(vec.scale(size * e, n), across))
    vec.store(sig.F_alpha_W, vec.scale(total - size * e, n))
    vec.store(sig.F_hat_W, vec.add(vec.scale(total, n), across))
    sig.E_contact = x.energy if x.on else 0.0
    sig.m_eff = 1.0 / inverse


def _pack(p, scenario):
    pack_levers(p.levers, scenario)
    p.mass = scenario.reduced_mass
    p.middle = 0.5 * sum(scenario.prior.surfaces(scenario))
    p.force_noise = max(scenario.sensor.noise, 1e-3)
    p.rubs = scenario.prior.normal_doubt == 0.0  # else a force across n may be the normal's error


SIX_BODY = StageKind(
    "twin-six-body",
    body_step,
    reads=(
        "clock_rate", "X_WB_sim", "p_C_des_W", "v_C_des_W", "n_hat_W", "x_twin", "v_twin", "touch", "touch_event", "F_n",
        "F_mea_W", "x_late", "v_late", "loss", "v_entry", "v2_twin", "E_exit",
        "frame_known", "frame_model", "frame_k", "frame_c", "frame_q", "frame_s",
    ),
    writes=("F_comp_W", "F_alpha_W", "F_hat_W", "E_contact", "m_eff", "v_entry", "v2_twin", "E_exit"),
    state=record(on="i8", e="f8", energy="f8", rubbed="f8", rubbed_variance="f8", across=3, rubs=("i8", (2,))),
    params=record(levers=LEVERS, mass="f8", middle="f8", force_noise="f8", rubs="i8"),
    pack=_pack,
    reset=start_mass,
)  # fmt: skip
