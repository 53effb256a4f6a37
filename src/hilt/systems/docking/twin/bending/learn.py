"""Learn from a contact about a robot that bends and about the frame, in the flight after it.

Each tick does a bounded part of the work. When it is complete, bending, frames, position of the tip and loss of the contact are
replaced together. The loss is that of the damped oscillation
    λ = 1 - exp[-2ζ_c (π - 2 asin ζ_c)/√(1 - ζ_c²)]
and ζ_c is used only if neither noise nor a wrong sensor delay nor a wrong model can explain it: an unexplained force r that
reverses with the velocity looks like ζ_c = r/(√2 F) for a peak F. A model that was wrong once remains suspect: r is the largest
of all contacts.

What is learnt about a frame also shows what its earlier contacts should have absorbed. The excess energy D of the bodies,
    D <- D (1 - λ) + K (λ - λ_b)            K = ½ m v_in², λ_b: absorbed by this contact
    D <- D + Σ K_i (λ_new - λ_old)          when λ of a frame changes: over its contacts, each times 1 - λ of all later ones
is corrected by the next contact: λ_b = λ + (1 - λ) D/K, within 0 … 1, so a contact never returns more than it received.
"""

import math

import numpy as np

from hilt.compiled import jit
from hilt.core.signals import record
from hilt.core.stage import Cycle, StageKind
from hilt.systems.docking.twin import model
from hilt.systems.docking.twin.beliefs import TwinBeliefs
from hilt.systems.docking.twin.bending.chain import Tip, move_free
from hilt.systems.docking.twin.bending.fit import ALIKE, FIT, RESULT, begin, go_on, is_complete, unexplained
from hilt.systems.docking.twin.bending.knowledge import (
    ALL,
    AT,
    DAMPED,
    KEEP,
    KNOWLEDGE,
    NO_LAW,
    PLACE,
    SIZE,
    SPEED,
    STIFF,
    K,
    W,
    Z,
    describe,
    extract,
    solve,
    update,
    widen,
)
from hilt.systems.docking.twin.bending.samples import BANK, KEPT, PAST, clear, place, remember
from hilt.systems.docking.twin.contact import BEGINS, ENDS

IDLE, FITTING, CATCHING_UP = 0, 1, 2
DEVIATIONS = 4.0  # of ζ_c
MOST_DAMPED = 0.9  # ζ_c
BADLY, WORSE = (
    1.4,
    2.0,
)  # mean square / noise above which a law does not explain a contact: first contact with a frame, later ones
LONGEST = 0.001  # s, of a step
IN_TIME = 0.2  # s before the next touch: the plan looks ahead, and its derivatives still have to be computed
WORK = 120  # steps of the tip per tick, for a tick of 1 ms or less


@jit
def _prepare(sig, x, p, result, law):
    """Set the prior of the fit and its start."""
    bank, i = x.banks[1 - x.filling], model.place_of(x.of)
    describe(x.known, p, i, law)
    extract(x.known, i, result.prior, result.C)
    result.prior[PLACE], result.prior[AT], result.prior[SPEED] = x.place, bank.tip[bank.first], bank.tip_v[bank.first]
    for a in range(SIZE):
        for b in range(SIZE):
            result.precision[a, b] = 0.0
    for column in range(KEEP):
        for a in range(KEEP):
            x.unit[a] = 1.0 if a == column else 0.0
        solve(result.C, x.unit, x.L, x.column)
        for a in range(KEEP):
            result.precision[a, column] = x.column[a]
    result.precision[PLACE, PLACE], result.precision[AT, AT] = 1.0 / p.place**2, 1.0 / p.at**2
    result.precision[SPEED, SPEED] = 1.0 / p.speed**2
    for a in range(SIZE):
        x.fit.start[a] = result.prior[a]
    x.fit.start[STIFF] = math.log(x.q if law == model.HERTZ else x.k)
    if law != x.model:  # a Hertz contact begins earlier than that of a linear spring with the same peak
        x.fit.start[PLACE] += x.of * (0.25 if law == model.LINEAR else -0.25) * x.peak / x.k


@jit
def _start(sig, x, p):
    """End a contact: close its bank and start the fit."""
    x.of = x.e
    i = model.place_of(x.of)
    x.filling = 1 - x.filling
    clear(x.banks[x.filling])
    x.place, x.k, x.q, x.model = sig.frame_s[i], sig.frame_k[i], sig.frame_q[i], sig.frame_model[i]
    x.met, x.tried, x.phase = x.known.law[i], 0, FITTING
    law = x.met if x.met != NO_LAW else model.LINEAR
    _prepare(sig, x, p, x.results[0], law)
    begin(x.fit, x.results[0], law, x.of, math.sqrt(x.known.C[W, W]), p.prior[Z])


@jit
def _hurry(sig):
    """Whether the next touch is so close that learning must end; unfinished results would be lost for that touch."""
    ahead = model.frame_of(sig, 1 if sig.v_sim > 0.0 else -1)
    return sig.touch != 0 or (ahead.surface - sig.x_sim) * ahead.e < IN_TIME * abs(sig.v_sim)


@jit
def _fitted(sig, x, p, hurry):
    """Handle a complete fit; the other law is tried if this one does not explain the contact."""
    first, other = x.results[0], x.results[1]
    badly = first.square > (BADLY if x.met == NO_LAW else WORSE) * p.variance * first.used
    if x.tried == 0 and badly and not hurry:
        law = model.HERTZ if first.law == model.LINEAR else model.LINEAR
        _prepare(sig, x, p, other, law)
        x.tried = 1
        begin(x.fit, other, law, x.of, math.sqrt(x.known.C[W, W]), p.prior[Z])
        return
    x.chosen = 1 if x.tried == 1 and other.cost < first.cost else 0
    result = x.results[x.chosen]
    describe(x.known, p, model.place_of(x.of), result.law)
    x.tip, x.tip_v, x.sample, x.phase = result.at, result.v, 0, CATCHING_UP


@jit
def _catch_up(x, p, dt, most):
    """Recompute the tip since the contact with the new bending; True when it has reached the newest sample."""
    result, bank, old = x.results[x.chosen], x.banks[x.filling], x.banks[1 - x.filling]
    if bank.lost:
        x.tip, x.tip_v = bank.tip[place(bank, bank.count - 1)], bank.tip_v[place(bank, bank.count - 1)]
        return True
    tip = Tip(math.exp(result.theta[K]), math.exp(result.theta[W]), math.exp(result.theta[Z]))
    while x.sample < bank.count and most > 0:
        after = place(bank, x.sample)
        x1, v1, F1 = bank.x_m[after], bank.v_m[after], bank.force[after]
        if x.sample == 0:
            last = place(old, old.count - 1)
            x0, v0, F0 = old.x_m[last], old.v_m[last], old.force[last]
        else:
            here = place(bank, x.sample - 1)
            x0, v0, F0 = bank.x_m[here], bank.v_m[here], bank.force[here]
        x.tip, x.tip_v = move_free(tip, x.tip, x.tip_v, 0.5 * (x0 + x1), 0.5 * (v0 + v1), -0.5 * (F0 + F1), dt)
        x.sample += 1
        most -= 1
    return x.sample == bank.count


@jit
def loss_of(zc):
    return 1.0 - math.exp(-2.0 * zc * (math.pi - 2.0 * math.asin(zc)) / math.sqrt(1.0 - zc * zc))


@jit
def damping_of(x, p, i):
    """ζ_c of frame i, 0 if something else could explain it."""
    if x.known.law[i] != model.LINEAR:
        return 0.0
    zc, k = x.known.value[DAMPED + 2 * i], math.exp(x.known.value[STIFF + 2 * i])
    least = 0.5 * math.sqrt(k / p.mass) * (0.03 * p.delay + 20e-6)  # a wrong sensor delay looks like damping
    least += x.misfit / (math.sqrt(2.0 * k * p.mass) * p.approach)  # so does a wrong model
    return zc if zc > DEVIATIONS * math.sqrt(x.known.C[DAMPED + 2 * i, DAMPED + 2 * i]) + least else 0.0


@jit
def loss_in(x, p, i):
    """Loss of a contact with frame i for the effective mass x.mass; ζ_c refers to p.mass."""
    return loss_of(min(damping_of(x, p, i) * math.sqrt(p.mass / x.mass), MOST_DAMPED))


@jit
def _revise(x, p):
    """Revise what earlier contacts should have absorbed, with the current estimates."""
    for i in range(2):
        now = loss_of(min(damping_of(x, p, i), MOST_DAMPED))
        x.owed += (now - x.believed[i]) * x.met_energy[i]
        x.believed[i] = now


@jit
def _record_loss(sig, x, p):
    """Compute λ_b of the contact that has ended."""
    loss = loss_in(x, p, model.place_of(x.of))
    kinetic = 0.5 * x.mass * sig.v_entry * sig.v_entry
    sig.loss = min(max(loss + (1.0 - loss) * x.owed / kinetic, 0.0), 1.0) if kinetic > 0.0 else loss
    x.kinetic = kinetic


@jit
def _settle(sig, x, p):
    """Add the last contact to the earlier ones; nothing more is learnt from it."""
    i = model.place_of(x.of)
    loss = loss_in(x, p, i)
    x.owed = x.owed * (1.0 - loss) + x.kinetic * (loss - sig.loss)
    for side in range(2):
        x.met_energy[side] *= 1.0 - loss
    x.met_energy[i] += x.kinetic * math.sqrt(p.mass / x.mass)
    x.kinetic = 0.0


@jit
def _adopt(sig, x, p):
    """Replace all estimates together."""
    result, i = x.results[x.chosen], model.place_of(x.of)
    for column in range(SIZE):
        for a in range(SIZE):
            x.fit.right[a] = 1.0 if a == column else 0.0
        if not solve(result.left, x.fit.right, x.fit.L, x.fit.step):
            return
        for a in range(SIZE):
            x.P[a, column] = x.fit.step[a]
    x.misfit = max(x.misfit, math.sqrt(unexplained(result.square, result.used, p)))
    update(x.known, i, result, x.P, x.G)
    widen(x.known, i, result.doubt, x.G, x.shift)
    for a in range(ALL):
        x.known.C[a, a] += p.drift[a] ** 2
    sig.bend_k_hat, sig.bend_w_hat = math.exp(x.known.value[K]), math.exp(x.known.value[W])
    sig.bend_z_hat = math.exp(x.known.value[Z])
    for side in range(2):
        k, law = math.exp(x.known.value[STIFF + 2 * side]), x.known.law[side]
        sig.learnt_law[side] = law
        if law == model.HERTZ:
            sig.learnt_q[side], sig.learnt_c[side] = k, 0.0
        else:
            sig.learnt_k[side], sig.learnt_c[side] = k, 2.0 * damping_of(x, p, side) * math.sqrt(k * p.mass)
    _revise(x, p)
    _record_loss(sig, x, p)
    sig.learnt_s, sig.learnt_x, sig.learnt_v, sig.learnt = result.theta[PLACE], x.tip, x.tip_v, x.of


@jit
def _work(sig, x, p, dt):
    if x.phase == FITTING:
        result = x.results[x.tried]
        left = go_on(x.fit, x.banks[1 - x.filling], p, dt, p.work)
        hurry = _hurry(sig)
        if left > 0 and is_complete(x.fit, result, p, hurry):
            _fitted(sig, x, p, hurry)
    elif x.phase == CATCHING_UP and sig.touch == 0 and _catch_up(x, p, dt, 8 * p.work):
        _adopt(sig, x, p)
        x.phase = IDLE


@jit
def learn_step(sig, x, p, dt):
    sig.learnt = 0
    if sig.touch_event == BEGINS:
        if x.kinetic > 0.0:
            _settle(sig, x, p)
        x.e, x.peak, x.mass = sig.touch, 0.0, sig.m_eff
    x.peak = max(x.peak, abs(sig.F_n))
    ends = sig.touch_event == ENDS
    remember(x.banks[x.filling], p.past, sig, sig.touch != 0 or ends)
    if ends:
        _start(sig, x, p)
        _record_loss(sig, x, p)
    else:
        _work(sig, x, p, dt)


def _pack(p: np.record, beliefs: TwinBeliefs, loop: Cycle) -> None:
    bending, dt = beliefs.bending, loop.period
    assert bending is not None, "only for a robot that bends"
    p.delay, p.threshold = beliefs.sensor_delay, beliefs.threshold
    p.mass = beliefs.first_mass if beliefs.rotates else beliefs.mass
    p.past = min(int(PAST / dt), KEPT // 2)
    p.steps = max(1, math.ceil(dt / LONGEST - 1e-9))
    p.work = max(1, round(WORK * max(dt, LONGEST) / LONGEST / p.steps))
    p.alike, p.approach = max(1.0, ALIKE / dt), beliefs.approach_speed
    peak = beliefs.approach_speed * math.sqrt(beliefs.stiffness * p.mass)
    p.variance = beliefs.force_noise**2 + 1e-4 + (1e-3 * peak) ** 2
    prior = bending.stiffness, bending.frequency, max(bending.damping_ratio, 1e-3), beliefs.stiffness
    p.prior = (*np.log(prior), 0.0, np.log(beliefs.stiffness), 0.0)
    p.hertz = math.log(beliefs.stiffness * peak ** (-1.0 / 3.0))  # same depth at the peak as the linear spring
    p.deviation = (0.06, 0.1, 0.4, 0.4, 0.05, 0.4, 0.05)
    p.drift = (0.002, 0.002, 0.01, 0.01, 0.0001, 0.01, 0.0001)
    p.place, p.at, p.speed = 1e-3, 0.0025 * beliefs.approach_speed, 0.05 * beliefs.approach_speed


@jit
def _reset(sig, x, p):
    for a in range(ALL):
        x.known.value[a], x.known.C[a, a] = p.prior[a], p.deviation[a] ** 2
    x.known.law[0] = x.known.law[1] = NO_LAW
    sig.learnt_law[0] = sig.learnt_law[1] = NO_LAW
    sig.bend_k_hat, sig.bend_w_hat, sig.bend_z_hat = math.exp(p.prior[K]), math.exp(p.prior[W]), math.exp(p.prior[Z])


TWIN_LEARN = StageKind(
    "twin-learn",
    learn_step,
    reads=(
        *("x_m_late", "v_m_late", "x_late", "v_late", "F_n", "touch", "touch_event", "loss", "m_eff", "v_entry"),
        *("x_sim", "v_sim", *model.SIGNALS, "bend_k_hat", "bend_w_hat", "bend_z_hat"),
    ),
    writes=(
        *("bend_k_hat", "bend_w_hat", "bend_z_hat", "loss"),
        *("learnt", "learnt_law", "learnt_k", "learnt_q", "learnt_c", "learnt_s", "learnt_x", "learnt_v"),
    ),
    state=record(
        banks=(BANK, (2,)),
        known=KNOWLEDGE,
        fit=FIT,
        results=(RESULT, (2,)),
        **dict.fromkeys(("filling", "e", "of", "phase", "tried", "chosen", "met", "model", "sample"), "i8"),
        **dict.fromkeys(("peak", "place", "k", "q", "tip", "tip_v", "mass", "misfit", "kinetic", "owed"), "f8"),
        **dict.fromkeys(("believed", "met_energy"), 2),
        **dict.fromkeys(("unit", "column"), KEEP),
        **dict.fromkeys(("L", "P"), ("f8", (SIZE, SIZE))),
        G=("f8", (2, KEEP)),
        shift=ALL,
    ),
    params=record(
        **dict.fromkeys(("prior", "deviation", "drift"), ALL),
        **dict.fromkeys(("delay", "mass", "variance", "alike", "approach", "threshold", "hertz"), "f8"),
        **dict.fromkeys(("place", "at", "speed"), "f8"),
        **dict.fromkeys(("past", "steps", "work"), "i8"),
    ),
    pack=_pack,
    reset=_reset,
)
