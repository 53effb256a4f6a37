"""The operator on the ground: a force on the joystick, scaled to a reference velocity, v_r = K_s G f_m  (1), (4).

`step`     a constant speed, and rate of turn, for a limited time
`human`    watches the virtual arm with a reaction time, corrects now and then with a small error each time, and moves smoothly
`profile`  a given list of times and speeds along the direction
`live`     a joystick, read through shared memory
`hand`     no reference at all: a hand on the master arm, with force feedback (bilateral.py)

The shaper smooths any command with a minimum-jerk bell: a step becomes a ramp without corners, and distances are unchanged.

The operator also closes and opens the slave hand: at given times, or whenever `operator.hand_open` is changed in a run.
"""

import itertools
import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import Field, model_validator

from hilt.compiled import jit
from hilt.core.faults import Unfit
from hilt.core.scenario import Section
from hilt.core.signals import record
from hilt.core.stage import Cycle, StageKind
from hilt.core.units import MetrePerSecond, Number, Number3, RadianPerSecond, Second
from hilt.maths import noise, vec
from hilt.systems.payload.fingers import HALF

STEP, HUMAN, PROFILE, LIVE, HAND = range(5)
CODES = {"step": STEP, "human": HUMAN, "profile": PROFILE, "live": LIVE, "hand": HAND}
POINTS = 1024  # of a profile
TAPS = 4096  # of the shaper, a power of two
NEVER = 1e300  # s


class Operator(Section):
    """The operator at the joystick."""

    kind: Literal["step", "human", "profile", "live", "hand"] = "step"
    speed: MetrePerSecond = Field(gt=0, description="of the step; the maximum for a human or a joystick")
    start: Second = Field(default=1.0, ge=0)
    duration: Second = Field(gt=0, description="of the step; a human has to cover speed · duration")
    direction: Number3 = (1.0, 0.0, 0.0)
    turn_rate: RadianPerSecond = Field(default=0.0, description="of the step about turn_axis; the maximum for a joystick")
    turn_axis: Number3 = (0.0, 0.0, 1.0)
    reaction: Second = Field(default=0.25, ge=0, description="reaction time of a human, from eye to hand")
    correction: Second = Field(default=0.6, gt=0, description="time between two decisions of a human")
    clumsiness: Number = Field(default=0.1, ge=0, lt=1, description="relative error of a decision, rms")
    smoothness: Second = Field(default=0.3, gt=0, description="time constant of a human hand, critically damped")
    profile: tuple[tuple[Second, MetrePerSecond], ...] = Field(default=(), description="times from start, and speeds")
    joystick: str = Field(
        default="",
        pattern="^[A-Za-z0-9_-]*$",
        max_length=100,
        description="for live: name of the shared memory; if not given, the loop's mailbox is used",
    )
    shaper: Second = Field(default=0.0, ge=0, description="length of the minimum-jerk bell; 0 for none")
    close_at: Second = Field(
        default=0.0, ge=0, description="time on the ground at which the hand is closed; 0: it holds the payload from the start"
    )
    release_at: Second | None = Field(
        default=None, ge=0, description="time on the ground at which it is opened; never if not given"
    )
    hand_open: Number = Field(
        default=0.0, ge=0, le=1, description="above 0.5 the hand is open, whatever the time: for a live run"
    )

    @model_validator(mode="after")
    def _possible(self) -> "Operator":
        for name in ("direction", "turn_axis"):
            if math.hypot(*getattr(self, name)) < 1e-9:
                raise Unfit(f"operator.{name} is 0, 0, 0, which has no direction; give a non-zero vector", f"operator.{name}")
        if self.kind == "profile":
            times = [time for time, _ in self.profile]
            if not 2 <= len(times) <= POINTS or any(b <= a for a, b in itertools.pairwise(times)):
                raise Unfit(
                    f"operator.profile has {len(times)} points; it must have 2 to {POINTS}, each later than the previous one; "
                    "write [[time, speed], ...]",
                    "operator.profile",
                )
        if self.release_at is not None and self.release_at <= self.close_at:
            raise Unfit(
                f"operator.release_at is {self.release_at:g} s; it must be later than operator.close_at = {self.close_at:g} s; "
                "release later, or leave it out",
                "operator.release_at",
                "operator.close_at",
            )
        return self

    @property
    def begins_open(self) -> bool:
        """Whether the hand is open when a run starts."""
        return self.close_at > 0.0 or self.hand_open > HALF


@jit
def _decide(sig, x, p):
    """Aim at the remaining distance, as seen a reaction time ago: the decision reaches the hand only now."""
    left = p.distance - (vec.dot(vec.load(sig.x_vir), vec.load(p.direction)) - p.origin)
    wanted = min(max(left / p.horizon, -p.speed), p.speed)
    if abs(left) < 1e-3:
        wanted = 0.0
    error, _ = noise.normal_pair(x.noise)
    x.pending = wanted * max(0.0, 1.0 + p.clumsiness * error)
    x.due = sig.t + p.reaction


@jit
def _human(sig, x, p, dt):
    if sig.t >= p.start and sig.t >= x.next_decision:
        x.next_decision = sig.t + p.correction
        _decide(sig, x, p)
    if sig.t >= x.due:
        x.aim = x.pending
    # The hand: second order, critically damped, implicit in its own rate.
    rate = 1.0 / p.smoothness
    x.rate = (x.rate + dt * rate * rate * (x.aim - x.speed)) / (1.0 + 2.0 * dt * rate)
    x.speed += dt * x.rate
    return min(max(x.speed, -p.speed), p.speed)


@jit
def _profile(x, p, t):
    """The speed between two points; 0 outside."""
    if t < p.times[0] or t > p.times[p.points - 1]:
        return 0.0
    while x.point < p.points - 2 and t > p.times[x.point + 1]:
        x.point += 1
    k = x.point
    share = (t - p.times[k]) / (p.times[k + 1] - p.times[k])
    return p.speeds[k] + share * (p.speeds[k + 1] - p.speeds[k])


@jit
def _shape(x, p):
    """Replace x.command by its mean over the shaper's length, weighted with the bell."""
    x.newest = (x.newest + 1) & (TAPS - 1)
    for i in range(6):
        x.past[x.newest, i] = x.command[i]
        x.command[i] = 0.0
    for k in range(p.taps):
        age = (x.newest - k) & (TAPS - 1)
        for i in range(6):
            x.command[i] += p.bell[k] * x.past[age, i]


@jit
def operator_step(sig, x, p, dt):
    acts = p.start <= sig.t < p.start + p.duration
    speed = turn = 0.0
    if p.kind == STEP and acts:
        speed, turn = p.speed, p.turn_rate
    elif p.kind == HUMAN:
        speed = _human(sig, x, p, dt)
    elif p.kind == PROFILE:
        speed = _profile(x, p, sig.t - p.start)
    for i in range(3):
        x.command[i], x.command[3 + i] = speed * p.direction[i], turn * p.turn_axis[i]
        if p.kind == LIVE and sig.t >= p.start:
            x.command[i], x.command[3 + i] = p.speed * sig.joystick[i], p.turn_rate * sig.joystick[3 + i]
    if p.taps > 0:
        _shape(x, p)
    for i in range(3):  # [Yang2018, eq. 1, eq. 4], K_s G f_m already one number
        sig.v_r[i], sig.w_r[i] = x.command[i], x.command[3 + i]
    is_open = p.hand_open > HALF or sig.t < p.close_at or sig.t >= p.release_at
    sig.hand_open_r = 1.0 if is_open else 0.0


def bell(length: float, period: float) -> np.ndarray:
    """Weights of the shaper: the speed of a minimum-jerk motion, 30 s² (1 - s)², summing to one."""
    s = (np.arange(round(length / period)) + 0.5) * period / length if length > 0 else np.zeros(0)
    weights = s**2 * (1.0 - s) ** 2
    return weights / weights.sum() if len(s) else weights


@dataclass(frozen=True)
class OperatorTask:
    """The operator, and the payload to move."""

    operator: Operator
    start: float  # s, when the transport begins
    lag: float  # s, by which the payload follows the hand
    position: tuple[float, ...]  # m, of the hand at the start, in W


def _pack(p: np.record, task: OperatorTask, loop: Cycle) -> None:
    operator = task.operator
    p.kind = CODES[operator.kind]
    p.direction = np.array(operator.direction) / math.hypot(*operator.direction)
    p.turn_axis = np.array(operator.turn_axis) / math.hypot(*operator.turn_axis)
    for name in ("speed", "duration", "turn_rate", "reaction", "correction", "clumsiness", "smoothness"):
        p[name] = getattr(operator, name)
    p.close_at, p.hand_open = operator.close_at, operator.hand_open
    p.release_at = NEVER if operator.release_at is None else operator.release_at
    p.start = task.start
    p.distance = operator.speed * operator.duration
    # Slow down early enough for a mass that follows with the time constant m K_s of the force feedback.
    p.horizon = 2.0 * (operator.reaction + operator.correction) + task.lag + operator.shaper
    p.origin = sum(d * a for d, a in zip(p.direction, task.position, strict=True))
    p.key = loop.noise_key("operator")
    p.points = len(operator.profile)
    for k, (time, speed) in enumerate(operator.profile):
        p.times[k], p.speeds[k] = time, speed
    weights = bell(operator.shaper, loop.period)
    p.taps = len(weights)
    p.bell[: p.taps] = weights


@jit
def _reset(sig, x, p):
    x.noise.key = p.key


OPERATOR = StageKind(
    "operator",
    operator_step,
    reads=("t", "x_vir", "joystick"),
    writes=("v_r", "w_r", "hand_open_r"),
    state=record(
        next_decision="f8",
        due="f8",
        pending="f8",
        aim="f8",
        speed="f8",
        rate="f8",
        noise=noise.NOISE,
        point="i8",
        command=6,
        past=("f8", (TAPS, 6)),
        newest="i8",
    ),
    params=record(
        kind="i8",
        direction=3,
        turn_axis=3,
        speed="f8",
        turn_rate="f8",
        start="f8",
        duration="f8",
        reaction="f8",
        correction="f8",
        clumsiness="f8",
        smoothness="f8",
        distance="f8",
        horizon="f8",
        origin="f8",
        key="u8",
        points="i8",
        times=POINTS,
        speeds=POINTS,
        taps="i8",
        bell=TAPS,
        close_at="f8",
        release_at="f8",
        hand_open="f8",
    ),
    pack=_pack,
    reset=_reset,
)
