"""Step 1: the force along the frames' normal, and where the tip was when it was felt.

The sensor is late by τ_p, so the encoder is read at t - τ_p, between two samples: no derivative of the force anywhere.
A number that is not finite is not taken over; the guard stops the run. The row's simulated tip is the twin's, not the
command's.
"""

import math

from hilt.compiled import jit
from hilt.core.signals import record
from hilt.core.stage import StageKind
from hilt.maths import vec
from hilt.systems.docking.twin import line, model
from hilt.systems.docking.twin.give_way import tip_speed


@jit
def felt(sig, give):
    """The tip of a robot that gives way; and what must have been felt where a sample was lost."""
    if sig.touch == 0:
        return
    frame = model.frame_of(sig, sig.touch)
    sig.x_late -= give * sig.F_n
    sig.v_late = tip_speed(frame, give, sig.x_late, sig.v_late)
    if not sig.fresh:
        sig.F_n = frame.e * model.force(frame, sig.x_late, sig.v_late)


@jit
def sense_step(sig, x, p, dt):
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


def _pack(p, scenario):
    p.n_W = scenario.frames.n_W
    p.samples = scenario.assumed_sensor_delay / scenario.loop.period
    p.dt = scenario.loop.period
    p.give = scenario.prior.give(scenario)
    p.x0 = sum(n * a for n, a in zip(scenario.frames.n_W, scenario.start_of_tip, strict=True))
    under_way = sum(n * v for n, v in zip(scenario.frames.n_W, scenario.approach.velocity, strict=True))
    p.v0 = 0.0 if scenario.robot.start_at_rest else under_way
    p.behind = scenario.prior.robot(scenario).lag


@jit
def _reset(sig, x, p):
    x.at, x.rate = p.x0 - (p.dt + p.behind) * p.v0, p.v0
    line.fill(x.line, x.at, x.rate, p.dt)


TWIN_SENSE = StageKind(
    "twin-sense",
    sense_step,
    reads=(
        *("F_mea_W", "p_C_W", "v_C_W", "touch", "fresh"),
        *model.SIGNALS,
    ),
    writes=("F_n", "x_late", "v_late"),
    state=record(line=line.PAIR_LINE, force="f8", at="f8", rate="f8"),
    params=record(n_W=3, samples="f8", give="f8", dt="f8", x0="f8", v0="f8", behind="f8"),
    pack=_pack,
    reset=_reset,
)  # fmt: skip
