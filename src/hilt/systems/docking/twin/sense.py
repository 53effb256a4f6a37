"""Step 1: the force along the frames' normal, the position of the tip at the time of the force, and the simulated tip.

The sensor is late by τ_p, so the encoder is read at t - τ_p, between two samples: no derivative of the force is used.
A non-finite value is ignored here; the guard stops the run.

In space the delay line holds the whole tip position, and the normals are learnt here (step 3): within a tick all values along a
normal must refer to the same n.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from hilt.compiled import jit
from hilt.core.signals import record
from hilt.core.stage import Cycle, StageKind
from hilt.maths import delay, so3, vec
from hilt.systems.docking.twin import line, model
from hilt.systems.docking.twin.beliefs import TwinBeliefs, along
from hilt.systems.docking.twin.bending.chain import Tip, move_free
from hilt.systems.docking.twin.bending.encoder import ENCODER, WEIGHTS, pack_weights, weigh
from hilt.systems.docking.twin.contact import BEGINS, ENDS
from hilt.systems.docking.twin.give_way import tip_speed
from hilt.systems.docking.twin.space import planes, point


@jit
def felt(sig, give):
    """Correct the tip for a robot that yields, and replace the force of a lost sample by the expected one."""
    if sig.touch == 0:
        return
    frame = model.frame_of(sig, sig.touch)
    sig.x_late -= give * sig.F_n
    sig.v_late = tip_speed(frame, give, sig.x_late, sig.v_late)
    if not sig.fresh:
        sig.F_n = frame.e * model.force(frame, sig.x_late, sig.v_late)


@jit
def sense_on_a_line_step(sig, x, p, dt):
    n = vec.load(p.n_W)
    force, at, rate = vec.dot(n, sig.F_mea_W), vec.dot(n, sig.p_C_W), vec.dot(n, sig.v_C_W)
    if math.isfinite(force):
        x.force = force
    if math.isfinite(at) and math.isfinite(rate):
        x.at, x.rate = at, rate
    line.push(x.line, x.at, x.rate)
    sig.F_n = x.force
    sig.x_late, _ = line.read(x.line, p.samples, 0)
    sig.v_late, _ = line.read(x.line, p.samples, 1)
    felt(sig, p.give)
    sig.x_sim, sig.v_sim = vec.dot(n, sig.p_C_des_W), vec.dot(n, sig.v_C_des_W)


@jit
def observe(sig, x, x_m, v_m, dt):
    """Advance the observed tip by one tick, to the encoder values (x_m, v_m)."""
    tip = Tip(sig.bend_k_hat, sig.bend_w_hat, sig.bend_z_hat)
    if not sig.fresh and sig.touch != 0:
        frame = model.frame_of(sig, sig.touch)
        sig.F_n = frame.e * model.force(frame, x.tip, x.tip_v)
    if sig.learnt != 0:
        x.tip, x.tip_v = sig.learnt_x, sig.learnt_v
    force = -0.5 * (x.last_force + sig.F_n)
    x.tip, x.tip_v = move_free(tip, x.tip, x.tip_v, 0.5 * (x.x_m + x_m), 0.5 * (x.v_m + v_m), force, dt)
    x.x_m, x.v_m, x.last_force = x_m, v_m, sig.F_n
    sig.x_late, sig.v_late, sig.x_m_late, sig.v_m_late = x.tip, x.tip_v, x_m, v_m


@jit
def sense_bending_step(sig, x, p, dt):
    """On a robot that bends: compute the tip from the encoders and the measured force by its equation of motion, open loop."""
    n = vec.load(p.n_W)
    force, at, rate = vec.dot(n, sig.F_mea_W), vec.dot(n, sig.p_C_W), vec.dot(n, sig.v_C_W)
    if math.isfinite(force):
        x.force = force
    if math.isfinite(at) and math.isfinite(rate):
        weigh(x.encoder, p.weights, at, rate, sig.v_m_hat, dt)
    line.push(x.line, x.encoder.at, x.encoder.rate)
    sig.F_n = x.force
    x_m, _ = line.read(x.line, p.samples, 0)
    v_m, _ = line.read(x.line, p.samples, 1)
    observe(sig, x, x_m, v_m, dt)
    sig.x_sim, sig.v_sim = vec.dot(n, sig.p_C_des_W), vec.dot(n, sig.v_C_des_W)


@jit
def _finite(a):
    return math.isfinite(a[0]) and math.isfinite(a[1]) and math.isfinite(a[2])


@jit
def learn_normal(sig, x, p, late):
    """Update the normal, using the contact model of the last tick."""
    if sig.touch != 0:
        plane = x.planes[model.place_of(sig.touch)]
        if sig.touch_event == BEGINS:
            planes.anchor(plane, late)
        planes.turn_to_force(plane, vec.load(x.force), p.force_noise, p.threshold)
    elif sig.touch_event == ENDS:
        i = model.place_of(x.side)
        planes.turn_to_places(x.planes[i], sig.frame_s[i])


@jit
def sense_in_space_step(sig, x, p, dt):
    if _finite(sig.F_mea_W):
        vec.store(x.force, vec.load(sig.F_mea_W))
    if _finite(sig.p_C_W) and _finite(sig.v_C_W):
        vec.store(x.at, vec.load(sig.p_C_W))
        vec.store(x.rate, vec.load(sig.v_C_W))
    delay.push_wrench(x.line, vec.load(x.at), vec.load(x.rate))
    late = delay.read(x.line, p.samples, 0)
    learn_normal(sig, x, p, late)
    force, tau = vec.load(x.force), so3.rotate(so3.load(p.q_WS), vec.load(sig.F_So_filt_S.tau))
    if sig.touch != 0 and abs(sig.F_n) > planes.FELT * p.threshold and _finite(tau):
        arm = vec.sub(late, vec.load(p.sensor_W))
        vec.store(sig.tip_offset_B, point.learn(x.point, force, tau, arm, so3.load(sig.X_WB_meas.q)))

    tip = vec.load(sig.p_C_des_W)
    x.side = sig.touch if sig.touch != 0 else 1 if planes.along(x.planes[model.place_of(x.side)], tip) > p.middle else -1
    plane = x.planes[model.place_of(x.side)]
    n = vec.load(plane.n)
    vec.store(sig.n_hat_W, n)
    sig.F_n = vec.dot(n, force)
    sig.x_late, sig.v_late = planes.along(plane, late), vec.dot(n, delay.read(x.line, p.samples, 3))
    felt(sig, p.give)
    sig.x_sim, sig.v_sim = planes.along(plane, tip), vec.dot(n, vec.load(sig.v_C_des_W))
    away = vec.sub(tip, vec.load(plane.a))
    sig.doubt = math.sqrt(plane.variance * vec.dot(away, away))


@jit
def sense_bending_in_space_step(sig, x, p, dt):
    sense_in_space_step(sig, x, p, dt)
    n = vec.load(p.n_W)
    weigh(x.encoder, p.weights, vec.dot(n, vec.load(x.at)), vec.dot(n, vec.load(x.rate)), sig.v_m_hat, dt)
    line.push(x.along, x.encoder.at, x.encoder.rate)
    x_m, _ = line.read(x.along, p.samples, 0)
    v_m, _ = line.read(x.along, p.samples, 1)
    observe(sig, x, x_m, v_m, dt)


def _pack(p: np.record, beliefs: TwinBeliefs, loop: Cycle) -> None:
    p.samples, p.dt = beliefs.sensor_delay / loop.period, loop.period
    p.n_W, p.give, p.behind = beliefs.normal, beliefs.give, beliefs.robot.lag


def _pack_on_a_line(p: np.record, beliefs: TwinBeliefs, loop: Cycle) -> None:
    _pack(p, beliefs, loop)
    p.x0, p.v0 = beliefs.start, beliefs.start_speed


def _pack_bending(p: np.record, beliefs: TwinBeliefs, loop: Cycle) -> None:
    _pack_on_a_line(p, beliefs, loop)
    pack_weights(p.weights, beliefs, loop)


def _pack_in_space(p: np.record, beliefs: TwinBeliefs, loop: Cycle) -> None:
    _pack(p, beliefs, loop)
    p.variance, p.middle = beliefs.normal_doubt**2, beliefs.middle
    p.tip_B, p.at_rest = beliefs.tip_B, beliefs.at_rest
    p.sensor_W, p.q_WS = beliefs.sensor_position, beliefs.sensor_attitude
    p.force_noise, p.threshold = max(beliefs.force_noise, 1e-3), beliefs.threshold
    p.side = 1 if along(beliefs.normal, beliefs.approach) > 0 else -1


def _pack_bending_in_space(p: np.record, beliefs: TwinBeliefs, loop: Cycle) -> None:
    _pack_in_space(p, beliefs, loop)
    p.give = 0.0  # the tip is observed
    pack_weights(p.weights, beliefs, loop)


@jit
def _reset_on_a_line(sig, x, p):
    x.at, x.rate = p.x0 - (p.dt + p.behind) * p.v0, p.v0
    line.fill(x.line, x.at, x.rate, p.dt)


@jit
def _reset_bending(sig, x, p):
    x.encoder.at, x.encoder.rate, x.encoder.share = p.x0 - (p.dt + p.behind) * p.v0, p.v0, 1.0
    line.fill(x.line, x.encoder.at, p.v0, p.dt)
    x.tip = x.x_m = x.encoder.at - p.samples * p.dt * p.v0
    x.tip_v = x.v_m = p.v0


@jit
def _reset_in_space(sig, x, p):
    rod = vec.load(p.tip_B)
    tip = vec.add(vec.load(sig.X_WB_sim.p), rod)
    v = vec.add(vec.load(sig.V_WB_sim.v), vec.cross(vec.load(sig.V_WB_sim.w), rod))
    if p.at_rest:
        v = (0.0, 0.0, 0.0)
    for i in range(2):
        plane = x.planes[i]
        vec.store(plane.n, vec.load(p.n_W))
        vec.store(plane.a, tip)
        plane.h, plane.variance = p.middle, p.variance
    vec.store(sig.n_hat_W, vec.load(p.n_W))
    x.side = p.side
    vec.store(x.at, vec.sub(tip, vec.scale(p.dt + p.behind, v)))
    vec.store(x.rate, v)
    for age in range(len(x.line.buffer) - 1, -1, -1):
        delay.push_wrench(x.line, vec.sub(vec.load(x.at), vec.scale(age * p.dt, v)), v)


@jit
def _reset_bending_in_space(sig, x, p):
    _reset_in_space(sig, x, p)
    n = vec.load(p.n_W)
    x.encoder.at, x.encoder.rate, x.encoder.share = vec.dot(n, x.at), vec.dot(n, x.rate), 1.0
    line.fill(x.along, x.encoder.at, x.encoder.rate, p.dt)
    x.tip_v = x.v_m = x.encoder.rate
    x.tip = x.x_m = x.encoder.at - p.samples * p.dt * x.v_m


_READS = ("F_mea_W", "p_C_W", "v_C_W", "p_C_des_W", "v_C_des_W", "touch", "fresh", *model.SIGNALS)
_WRITES = ("F_n", "x_late", "v_late", "x_sim", "v_sim")

SENSE_ON_A_LINE = StageKind(
    "twin-sense",
    sense_on_a_line_step,
    reads=_READS,
    writes=_WRITES,
    state=record(line=line.PAIR_LINE, force="f8", at="f8", rate="f8"),
    params=record(n_W=3, samples="f8", give="f8", dt="f8", x0="f8", v0="f8", behind="f8"),
    pack=_pack_on_a_line,
    reset=_reset_on_a_line,
    looks_back=lambda p: p["samples"],
)

SENSE_BENDING = StageKind(
    "twin-sense-bending",
    sense_bending_step,
    reads=(*_READS, "v_m_hat", "bend_k_hat", "bend_w_hat", "bend_z_hat", "learnt", "learnt_x", "learnt_v"),
    writes=(*_WRITES, "x_m_late", "v_m_late"),
    state=record(
        line=line.PAIR_LINE,
        encoder=ENCODER,
        **dict.fromkeys(("force", "tip", "tip_v", "x_m", "v_m", "last_force"), "f8"),
    ),
    params=record(n_W=3, weights=WEIGHTS, **dict.fromkeys(("samples", "give", "dt", "x0", "v0", "behind"), "f8")),
    pack=_pack_bending,
    reset=_reset_bending,
    looks_back=lambda p: p["samples"],
)

_IN_SPACE: dict[str, Any] = {
    **dict.fromkeys(("force", "at", "rate"), 3),
    "line": delay.WRENCH_LINE,
    "side": "i8",
    "planes": (planes.PLANE, (2,)),
    "point": point.POINT,
}

_IN_SPACE_PARAMS: dict[str, Any] = {
    **dict.fromkeys(("tip_B", "sensor_W", "n_W"), 3),
    **dict.fromkeys(("variance", "samples", "force_noise", "threshold", "middle", "give", "dt", "behind"), "f8"),
    **dict.fromkeys(("at_rest", "side"), "i8"),
    "q_WS": 4,
}

SENSE_IN_SPACE = StageKind(
    "twin-sense-in-space",
    sense_in_space_step,
    reads=(*_READS, "F_So_filt_S", "X_WB_meas", "touch_event", "F_n", "tip_offset_B"),
    writes=(*_WRITES, "n_hat_W", "doubt", "tip_offset_B"),
    state=record(**_IN_SPACE),
    params=record(**_IN_SPACE_PARAMS),
    pack=_pack_in_space,
    reset=_reset_in_space,
    looks_back=lambda p: p["samples"],
)

SENSE_BENDING_IN_SPACE = replace(
    SENSE_IN_SPACE,
    name="twin-sense-bending-in-space",
    step=sense_bending_in_space_step,
    reads=tuple(dict.fromkeys((*SENSE_IN_SPACE.reads, *SENSE_BENDING.reads))),
    writes=(*SENSE_IN_SPACE.writes, "x_m_late", "v_m_late"),
    state=record(
        **_IN_SPACE, along=line.PAIR_LINE, encoder=ENCODER, **dict.fromkeys(("tip", "tip_v", "x_m", "v_m", "last_force"), "f8")
    ),
    params=record(**_IN_SPACE_PARAMS, weights=WEIGHTS),
    pack=_pack_bending_in_space,
    reset=_reset_bending_in_space,
)
