"""Steps 2 and 3: when a contact begins and ends, and the contact model of the frame.

    F·e = k (x' - x_ref) e + c v' e + b        linear; ŝ = x_ref - e b/k
    F^(2/3) = q (x' - x_ref) e + b_H           Hertz;  ŝ = x_ref - e b_H/q

Both are fitted side by side during a contact; the one that predicts the force clearly better is used. Each frame has its own
parameters. x' and v' are the measured motion at the time of the force sample.
"""

import math
from dataclasses import replace

import numpy as np

from hilt.compiled import jit
from hilt.core.signals import record
from hilt.core.stage import Cycle, StageKind
from hilt.systems.docking.twin import model
from hilt.systems.docking.twin.beliefs import TwinBeliefs
from hilt.systems.docking.twin.fit import FIT_2, FIT_3, update_2, update_3

NOTHING, BEGINS, ENDS, ABSENT, CAME_TO_NOTHING = 0, 1, 2, 3, 4
CHOOSE_AFTER, WATCHED_OVER, CLEARLY = 0.016, 0.012, 0.4  # s, s, share of the other's mean square
MOVED = 0.08  # of the peak depth
DAMPING_OF_CRITICAL = 0.004  # of √(k m)

_FRAME = record(
    known="i8", model="i8", line=FIT_3, hertz=FIT_2, line_surface="f8", hertz_surface="f8", c_used="f8"
)  # line: k, c, b; hertz: q, b_H


@jit
def _surface(frame):
    return frame.hertz_surface if frame.model == model.HERTZ else frame.line_surface


@jit
def start_line(frame, p, b):
    """Start a new contact: the offset is unknown again."""
    P = frame.line.P
    P[0, 2] = P[1, 2] = P[2, 0] = P[2, 1] = 0.0
    P[2, 2] = p.offset_deviation**2
    frame.line.theta[2] = b


@jit
def start_hertz(frame, p, force, b):
    P = frame.hertz.P
    P[0, 1] = P[1, 0] = 0.0
    slope = 2.0 / 3.0 / max(force, p.threshold) ** (1.0 / 3.0)  # of F^(2/3)
    P[1, 1] = (slope * p.offset_deviation) ** 2
    frame.hertz.theta[1] = b


@jit
def as_known(x, frame, p, e, at, rate, force):
    """(whether the frame as known before explains the force, k δ and q δ of that frame)"""
    by_line = frame.line.theta[0] * (at - x.line_before) * e
    by_hertz = frame.hertz.theta[0] * (at - x.hertz_before) * e
    expected = by_line + frame.c_used * rate * e if frame.model == model.LINEAR else max(by_hertz, 0.0) ** 1.5
    return (force - expected) ** 2 <= 25.0 * p.offset_deviation**2, by_line, by_hertz


@jit
def meet(x, frame, p, e, at, rate, force):
    """Step 2, first sample: it may average values before and after the touch, so it locates the surface only roughly."""
    x.was_known, x.surface_before = frame.known, _surface(frame)
    x.line_before, x.hertz_before = frame.line_surface, frame.hertz_surface
    x.samples, x.peak, x.deepest = 0, 0.0, at * e
    x.line_square = x.hertz_square = 0.0
    line, hertz = frame.line, frame.hertz
    if frame.known == model.UNSEEN:
        frame.known, frame.c_used = model.SEEN, 0.0
        line.theta[0], line.theta[1], hertz.theta[0] = p.stiffness, 0.0, p.hertz
        line.P[0, 0], line.P[1, 1], line.P[0, 1], line.P[1, 0] = p.P_k, p.P_c, 0.0, 0.0
        hertz.P[0, 0] = p.P_q
    elif as_known(x, frame, p, e, at, rate, force)[0]:
        return
    frame.line_surface = at - e * (force - frame.c_used * rate * e) / line.theta[0]
    frame.hertz_surface = at - e * force ** (2.0 / 3.0) / hertz.theta[0]


@jit
def begin(x, frame, p, e, at, rate, force):
    """Step 2, second sample: the fit of the contact starts here."""
    x.at = at
    line, hertz = frame.line, frame.hertz
    b, b_hertz = force - frame.c_used * rate * e, max(force, 0.0) ** (2.0 / 3.0)
    if x.was_known != model.UNSEEN:
        line.P[0, 0] += (0.1 * line.theta[0]) ** 2
        hertz.P[0, 0] += (0.1 * hertz.theta[0]) ** 2
        same, by_line, by_hertz = as_known(x, frame, p, e, at, rate, force)
        if same and frame.model == model.LINEAR:
            b = by_line
        elif same:
            b_hertz = by_hertz
    start_line(frame, p, b)
    start_hertz(frame, p, force, b_hertz)


@jit
def learn(x, frame, p, e, at, rate, force, fresh, dt):
    """Step 3: process one sample."""
    if x.samples == 0 and fresh:
        begin(x, frame, p, e, at, rate, force)
    elif x.samples == 0:
        return
    x.samples += 1
    x.peak, x.deepest = max(x.peak, force), max(x.deepest, at * e)
    if not fresh or not force > max(0.5 * p.threshold, 0.05 * x.peak):
        return
    line, hertz = frame.line, frame.hertz
    depth, v = (at - x.at) * e, rate * e
    R = p.force_variance + (line.theta[0] * p.position_noise) ** 2 + (1e-3 * x.peak) ** 2
    y = force - (line.theta[0] * depth + line.theta[1] * v + line.theta[2])
    root = force ** (1.0 / 3.0)
    expected = hertz.theta[0] * depth + hertz.theta[1]
    y_hertz = force - max(expected, 0.0) ** 1.5
    update_3(line, (depth, v, 1.0), y, R)
    update_2(hertz, (depth, 1.0), root * root - expected, R * (2.0 / 3.0 / root) ** 2)
    line.theta[0] = min(max(line.theta[0], p.least), p.most)
    hertz.theta[0] = min(max(hertz.theta[0], 0.1 * p.hertz), 10.0 * p.hertz)
    frame.line_surface = x.at - e * line.theta[2] / line.theta[0]
    frame.hertz_surface = x.at - e * hertz.theta[1] / hertz.theta[0]
    c, critical = line.theta[1], math.sqrt(line.theta[0] * p.mass)
    frame.c_used = c if c > max(3.0 * math.sqrt(max(line.P[1, 1], 0.0)), DAMPING_OF_CRITICAL * critical) else 0.0

    share = dt / WATCHED_OVER
    x.line_square += share * (y * y - x.line_square)
    x.hertz_square += share * (y_hertz * y_hertz - x.hertz_square)
    if x.samples * dt > CHOOSE_AFTER:
        if x.hertz_square < CLEARLY * x.line_square and x.line_square > 2.0 * R:
            frame.model = model.HERTZ
        elif x.line_square < CLEARLY * x.hertz_square and x.hertz_square > 2.0 * R:
            frame.model = model.LINEAR


@jit
def end(x, frame, e):
    """End a contact; a surface that has moved is unknown again."""
    surface = _surface(frame)
    moved = abs(surface - x.surface_before) > MOVED * (x.deepest - surface * e)
    frame.known = model.SEEN if x.was_known != model.UNSEEN and moved else model.KNOWN


@jit
def forget(x, frame):
    """Discard a false contact; if it had only one sample, the frame is restored."""
    if x.samples == 0:
        frame.known, frame.line_surface, frame.hertz_surface = x.was_known, x.line_before, x.hertz_before


@jit
def publish(sig, frame, i):
    sig.frame_known[i], sig.frame_model[i] = frame.known, frame.model
    sig.frame_k[i], sig.frame_c[i], sig.frame_q[i] = frame.line.theta[0], frame.c_used, frame.hertz.theta[0]
    sig.frame_s[i] = _surface(frame)


@jit
def contact_step(sig, x, p, dt):
    sig.touch_event = NOTHING
    F, at, rate = sig.F_n, sig.x_late, sig.v_late
    size = abs(F)
    if sig.touch != 0:
        e = sig.touch
        frame = x.frames[model.place_of(e)]
        shown = model.frame_of(sig, e)
        inside = model.force(shown, at, rate) > 0.0
        leaving = sig.v_sim * e < 0.0
        over = not inside and size < p.threshold and model.force(shown, sig.x_sim, sig.v_sim) == 0.0
        odd = F * e < -p.threshold or (not leaving and not inside and size < 0.5 * p.threshold)
        if odd or (leaving and over and x.samples == 0):
            sig.touch_event, sig.touch = CAME_TO_NOTHING, 0
            forget(x, frame)
        elif leaving and over:
            sig.touch_event, sig.touch = ENDS, 0
            end(x, frame, e)
        else:
            learn(x, frame, p, e, at, rate, F * e, sig.fresh, dt)
        publish(sig, frame, model.place_of(e))
    elif size > p.threshold and sig.fresh:  # a lost sample repeats the force of a contact that has ended
        e = 1 if F > 0.0 else -1
        frame = x.frames[model.place_of(e)]
        sig.touch, sig.touch_event = e, BEGINS
        meet(x, frame, p, float(e), at, rate, F * e)
        publish(sig, frame, model.place_of(e))
    else:
        e = 1 if at > p.middle else -1
        frame = x.frames[model.place_of(e)]
        shown = model.frame_of(sig, e)
        expected = model.force(shown, at, rate)
        if expected > 4.0 * p.threshold + 0.15 * math.sqrt(shown.k * p.mass) * abs(rate) and F * e < 0.3 * expected:
            sig.touch_event = ABSENT
            frame.known = model.UNSEEN
            publish(sig, frame, model.place_of(e))
    i = model.place_of(sig.touch)
    line = x.frames[i].line
    sig.k_hat, sig.c_hat, sig.k_var, sig.c_var = line.theta[0], x.frames[i].c_used, line.P[0, 0], line.P[1, 1]
    sig.identified = 1 if sig.touch != 0 and sig.k_var < (0.2 * sig.k_hat) ** 2 else 0


def _pack(p: np.record, beliefs: TwinBeliefs, loop: Cycle) -> None:
    noise, k, mass = beliefs.force_noise, beliefs.stiffness, beliefs.mass
    p.threshold, p.mass, p.stiffness, p.position_noise = beliefs.threshold, mass, k, beliefs.position_noise
    p.force_variance = noise**2 + 1e-4
    p.least, p.most = 0.02 * k, 50.0 * k
    p.P_k, p.P_c = (0.4 * k) ** 2, (0.05 * 2.0 * math.sqrt(k * mass)) ** 2
    peak = beliefs.approach_speed * math.sqrt(k * mass)
    p.offset_deviation = max(2.0 * noise + 0.3 * beliefs.threshold, 0.01 * peak)  # damping acts immediately, even without noise
    hertz = k * peak ** (-1.0 / 3.0)  # as deep and as strong at its peak as the linear contact would be
    p.hertz, p.P_q = hertz, hertz**2
    p.surfaces, p.middle = beliefs.surfaces, beliefs.middle


@jit
def _reset(sig, x, p):
    for i in range(2):
        frame = x.frames[i]
        frame.line.theta[0], frame.hertz.theta[0] = p.stiffness, p.hertz
        frame.line_surface = frame.hertz_surface = p.surfaces[i]
        publish(sig, frame, i)


@jit
def contact_learnt_step(sig, x, p, dt):
    """On a robot that bends: values learnt after the last contact replace those fitted during it."""
    if sig.learnt != 0:
        for i in range(2):
            frame, here = x.frames[i], i == model.place_of(sig.learnt)
            if sig.learnt_law[i] == model.HERTZ:
                frame.model, frame.hertz.theta[0] = model.HERTZ, sig.learnt_q[i]
                frame.hertz_surface = sig.learnt_s if here else frame.hertz_surface
            elif sig.learnt_law[i] == model.LINEAR:
                frame.model, frame.line.theta[0] = model.LINEAR, sig.learnt_k[i]
                frame.line.theta[1] = frame.c_used = sig.learnt_c[i]
                frame.line_surface = sig.learnt_s if here else frame.line_surface
            publish(sig, frame, i)
    contact_step(sig, x, p, dt)
    for i in range(2):  # until its bending is known, a robot that bends looks like a damped frame
        frame = x.frames[i]
        frame.c_used = sig.frame_c[i] = sig.learnt_c[i]
    sig.c_hat = sig.frame_c[model.place_of(sig.touch)]


TWIN_CONTACT = StageKind(
    "twin-contact",
    contact_step,
    reads=("F_n", "x_late", "v_late", "x_sim", "v_sim", "touch", "fresh", *model.SIGNALS),
    writes=("touch", "touch_event", *model.SIGNALS, "k_hat", "c_hat", "k_var", "c_var", "identified"),
    state=record(
        frames=(_FRAME, (2,)),
        **dict.fromkeys(("at", "peak", "deepest", "surface_before", "line_before", "hertz_before"), "f8"),
        **dict.fromkeys(("line_square", "hertz_square"), "f8"),
        **dict.fromkeys(("samples", "was_known"), "i8"),
    ),
    params=record(
        **dict.fromkeys(("threshold", "mass", "position_noise", "force_variance", "offset_deviation", "middle"), "f8"),
        **dict.fromkeys(("stiffness", "least", "most", "P_k", "P_c", "hertz", "P_q"), "f8"),
        surfaces=2,
    ),
    pack=_pack,
    reset=_reset,
)

CONTACT_LEARNT = replace(
    TWIN_CONTACT,
    name="twin-contact-learnt",
    step=contact_learnt_step,
    reads=(*TWIN_CONTACT.reads, "learnt", "learnt_law", "learnt_k", "learnt_q", "learnt_c", "learnt_s"),
)
