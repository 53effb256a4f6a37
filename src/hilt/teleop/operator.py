"""The operator on the ground: a force on the joystick, scaled to a reference velocity, v_r = K_s G f_m  (1), (4).

`step`   a constant speed for a while
`human`  looks at the virtual arm with a reaction time, corrects now and then, each time a little wrongly, and moves smoothly
"""

import math
from typing import Literal

from pydantic import Field, model_validator

from hilt.compiled import jit
from hilt.maths import noise, vec
from hilt.scenario import Section
from hilt.signals import record
from hilt.stage import StageKind
from hilt.units import MetrePerSecond, Number, Number3, Second

STEP = 0
HUMAN = 1
CODES = {"step": STEP, "human": HUMAN}


class Operator(Section):
    """Who moves the joystick."""

    kind: Literal["step", "human"] = "step"
    speed: MetrePerSecond = Field(gt=0, description="of the step; the most a human asks for")
    start: Second = Field(default=1.0, ge=0)
    duration: Second = Field(gt=0, description="of the step; a human has speed · duration to go")
    direction: Number3 = (1.0, 0.0, 0.0)
    reaction: Second = Field(default=0.25, ge=0, description="of a human, from what is seen to the hand")
    correction: Second = Field(default=0.6, gt=0, description="time between two decisions of a human")
    clumsiness: Number = Field(default=0.1, ge=0, lt=1, description="relative error of a decision, rms")
    smoothness: Second = Field(default=0.3, gt=0, description="time constant of a human hand, critically damped")

    @model_validator(mode="after")
    def _direction(self) -> "Operator":
        if math.hypot(*self.direction) < 1e-9:
            raise ValueError("operator.direction is 0, 0, 0; it must point where the payload is to go; give a direction")
        return self


@jit
def _decide(sig, x, p):
    """Aim at what is left of the way, as seen a reaction time ago: the decision is only now in the hand."""
    left = p.distance - (vec.dot(vec.load(sig.x_vir), vec.load(p.direction)) - p.origin)
    wanted = min(max(left / p.horizon, -p.speed), p.speed)
    if abs(left) < 1e-3:
        wanted = 0.0
    error, _ = noise.normal_pair(x.noise)
    x.pending = wanted * max(0.0, 1.0 + p.clumsiness * error)
    x.due = sig.t + p.reaction


@jit
def operator_step(sig, x, p, dt):
    speed = 0.0
    if p.kind == STEP:
        if p.start <= sig.t < p.start + p.duration:
            speed = p.speed
    else:
        if sig.t >= p.start and sig.t >= x.next_decision:
            x.next_decision = sig.t + p.correction
            _decide(sig, x, p)
        if sig.t >= x.due:
            x.aim = x.pending
        # The hand: second order, critically damped, implicit in its own rate.
        rate = 1.0 / p.smoothness
        x.rate = (x.rate + dt * rate * rate * (x.aim - x.speed)) / (1.0 + 2.0 * dt * rate)
        x.speed += dt * x.rate
        speed = min(max(x.speed, -p.speed), p.speed)
    vec.store(sig.v_r, vec.scale(speed, vec.load(p.direction)))  # [Yang2018, eq. 1, eq. 4], K_s G f_m already one number


def _pack(p, scenario):
    operator = scenario.operator
    size = math.hypot(*operator.direction)
    p.kind = CODES[operator.kind]
    p.direction = [part / size for part in operator.direction]
    for name in ("speed", "start", "duration", "reaction", "correction", "clumsiness", "smoothness"):
        p[name] = getattr(operator, name)
    p.start = scenario.transport_start
    p.distance = operator.speed * operator.duration
    # Slow down early enough for a mass that the force feedback lets follow with m K_s.
    lag = scenario.virtual.mass_ratio * scenario.payload.mass * scenario.slave.compliance
    p.horizon = 2.0 * (operator.reaction + operator.correction) + lag
    p.origin = sum(d * a for d, a in zip(p.direction, scenario.start_of_grip, strict=True))
    p.key = scenario.noise_key("operator")


@jit
def _reset(sig, x, p):
    x.noise.key = p.key


OPERATOR = StageKind(
    "operator",
    operator_step,
    reads=("t", "x_vir"),
    writes=("v_r",),
    state=record(next_decision="f8", due="f8", pending="f8", aim="f8", speed="f8", rate="f8", noise=noise.NOISE),
    params=record(
        kind="i8", direction=3, speed="f8", start="f8", duration="f8", reaction="f8", correction="f8", clumsiness="f8",
        smoothness="f8", distance="f8", horizon="f8", origin="f8", key="u8",
    ),
    pack=_pack,
    reset=_reset,
)  # fmt: skip
