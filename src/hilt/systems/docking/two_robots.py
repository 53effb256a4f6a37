"""Two robots that carry servicer and target, and make their relative motion together.

Each has its share of the command (maths/pair.py) and its own response (plant/robot.py). The robot that is the clock takes a
set-point in every tick. The other one has its own cycle, whose phase to the tick drifts: at its n-th cycle, at time s_n, it is
given the command for s_n + cycle, `later` ago, on the smooth curve through the loop's set-points, and moves to it within the
cycle. Both are commanded so much later that they have the same delay (core/pairing.py).
"""

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from hilt.compiled import jit
from hilt.core.pairing import Pairing
from hilt.core.scenario import Section
from hilt.core.signals import POSE, TWIST, record
from hilt.core.stage import Cycle, StageKind
from hilt.core.units import Number, Second
from hilt.maths import delay, pair, so3, spatial, vec
from hilt.plant.robot import ROBOT, Robot, RobotResponse, robot_reset, robot_step

_MOTION = record(X_WB_cmd=POSE, V_WB_cmd=TWIST, X_WB_true=POSE, V_WB_true=TWIST)
_ROBOT = record(motion=_MOTION, robot=ROBOT.state)


class Pair(Section):
    """How two robots share the relative motion, and their two clocks. Only used if there is a target_robot."""

    share: Annotated[Number, Field(ge=0, le=1)] | Literal["masses"] = Field(
        default="masses",
        description="part of the relative motion made by the target's robot; by masses: each body's own motion, seen from "
        "their common centre of mass",
    )
    clock: Literal["servicer", "target"] = Field(default="servicer", description="whose robot is the clock of the loop")
    cycle: Second = Field(default=0.004, gt=0, le=0.1, description="of the robot that is not the clock")
    phase: Second = Field(default=0.0, ge=0, description="of its cycles at the start: when its first one begins")
    drift: Number = Field(default=0.0, ge=-0.01, le=0.01, description="relative: how much longer its cycle really is")
    slack: Second = Field(
        default=0.002, ge=0, le=0.1, description="how late the loop may be before the robot that is not the clock has to wait"
    )


@jit
def _knot(line, age):
    """The command `age` samples ago, on the smooth curve through the samples."""
    near = int(age + 0.5)
    before = delay.read_position(line, near + 1.0), delay.read_attitude(line, near + 1.0)
    here = delay.read_position(line, float(near)), delay.read_attitude(line, float(near))
    after = delay.read_position(line, near - 1.0), delay.read_attitude(line, near - 1.0)
    return pair.smooth(before, here, after, near - age + 0.5)


@jit
def _cycle(x, p, dt):
    """One cycle of the robot that is not the clock: its next set-point."""
    spatial.store(x.before, spatial.load(x.next))
    spatial.store(x.next, _knot(x.line, (x.t - x.due - p.cycle + p.later) / dt))
    x.began = x.due
    x.due += p.true_cycle
    x.cycles += 1


@jit
def _command(motion, X, V):
    spatial.store(motion.X_WB_cmd, X)
    vec.store(motion.V_WB_cmd.v, V[0])
    vec.store(motion.V_WB_cmd.w, V[1])


@jit
def _twist(before, after, dt):
    """Mean twist from one pose to the next."""
    rate = 1.0 / dt
    w = so3.between(before[1], after[1]) if before[1] != after[1] else (0.0, 0.0, 0.0)
    return vec.scale(rate, vec.sub(after[0], before[0])), vec.scale(rate, w)


@jit
def _parts(sig, x, p, dt):
    """Poses and twists of the command's two parts; only turning bodies need their twists from the previous poses."""
    X_B, X_W = pair.shares(spatial.load(sig.X_WB_cmd), p.share)
    if p.rotates:
        V_B, V_W = _twist(spatial.load(x.last_B), X_B, dt), _twist(spatial.load(x.last_W), X_W, dt)
    else:
        v, zero = vec.load(sig.V_WB_cmd.v), (0.0, 0.0, 0.0)
        V_B, V_W = (vec.scale(1.0 - p.share, v), zero), (vec.scale(-p.share, v), zero)
    spatial.store(x.last_B, X_B)
    spatial.store(x.last_W, X_W)
    return X_B, V_B, X_W, V_W


@jit
def _held(x, p, X, V, dt):
    """What the robot that is not the clock is commanded at t, and how it moves there."""
    delay.push_motion(x.line, X[0], V[0], X[1], V[1])
    while x.due <= x.t:
        _cycle(x, p, dt)
    before, after = spatial.load(x.before), spatial.load(x.next)
    return pair.between(before, after, (x.t - x.began) / p.true_cycle), _twist(before, after, p.true_cycle)


@jit
def two_robots_step(sig, x, p, dt):
    x.t += dt
    X_B, V_B, X_W, V_W = _parts(sig, x, p, dt)
    if p.target_is_clock:
        X_B, V_B = _held(x, p, X_B, V_B, dt)
    else:
        X_W, V_W = _held(x, p, X_W, V_W, dt)
    _command(x.servicer.motion, X_B, V_B)
    _command(x.target.motion, X_W, V_W)
    robot_step(x.servicer.motion, x.servicer.robot, p.servicer, dt)
    robot_step(x.target.motion, x.target.robot, p.target, dt)
    B, W = x.servicer.motion, x.target.motion
    X_GB, X_GW = spatial.load(B.X_WB_true), spatial.load(W.X_WB_true)
    v, w = pair.relative_twist(
        X_GB, (vec.load(B.V_WB_true.v), vec.load(B.V_WB_true.w)), X_GW, (vec.load(W.V_WB_true.v), vec.load(W.V_WB_true.w))
    )
    spatial.store(sig.X_WB_true, pair.relative(X_GB, X_GW))
    vec.store(sig.V_WB_true.v, v)
    vec.store(sig.V_WB_true.w, w)
    pair.store(sig.hall_poses, X_GB, X_GW)
    sig.clock_phase = x.t - x.began


@dataclass(frozen=True)
class TwoRobots:
    """Both responses, and what joins them."""

    servicer: Robot
    target: Robot
    pairing: Pairing
    phase: float  # s
    drift: float
    rotates: bool


def _pack(p: np.record, both: TwoRobots, loop: Cycle) -> None:
    pairing = both.pairing
    p.share, p.rotates, p.dt = pairing.share, both.rotates, loop.period
    p.target_is_clock = pairing.clock == pairing.meets
    p.cycle, p.true_cycle = pairing.cycle, pairing.cycle * (1.0 + both.drift)
    p.phase, p.later = both.phase % pairing.cycle, pairing.later(pairing.other)
    for name, robot, own in (("servicer", both.servicer, p.servicer), ("target", both.target, p.target)):
        ROBOT.pack(own, RobotResponse(robot, pairing.lags[name], both.rotates), loop)
        if name == pairing.clock:
            own.samples += pairing.later(name) / loop.period
    p.at_rest = both.servicer.start_at_rest


@jit
def _reset(sig, x, p):
    """Both already in motion, as one robot would be; the robot with its own clock has been so for a while."""
    X_WB, v, w = spatial.load(sig.X_WB_cmd), vec.load(sig.V_WB_cmd.v), vec.load(sig.V_WB_cmd.w)
    if p.at_rest:
        v = w = (0.0, 0.0, 0.0)
    dt = p.dt
    X_B, X_W = pair.shares(X_WB, p.share)
    last = vec.sub(X_WB[0], vec.scale(dt, v)), so3.multiply(so3.exp(vec.scale(-dt, w)), X_WB[1])
    last_B, last_W = pair.shares(last, p.share)
    spatial.store(x.last_B, last_B)
    spatial.store(x.last_W, last_W)
    V_B, V_W = _twist(last_B, X_B, dt), _twist(last_W, X_W, dt)
    # Its line ends with the last command before the start, as that of the other robot does.
    X, V = (X_B, V_B) if p.target_is_clock else (X_W, V_W)
    back = vec.scale(-dt, V[0]), so3.multiply(so3.exp(vec.scale(-dt, V[1])), X[1])
    delay.fill_motion(x.line, back[0], V[0], back[1], V[1], dt)
    x.t = -dt
    x.due = p.phase - 2.0 * p.true_cycle
    _cycle(x, p, dt)
    _cycle(x, p, dt)
    x.cycles = 0
    held = pair.between(spatial.load(x.before), spatial.load(x.next), (0.0 - x.began) / p.true_cycle)
    _command(x.servicer.motion, held if p.target_is_clock else X_B, V_B)
    _command(x.target.motion, X_W if p.target_is_clock else held, V_W)
    robot_reset(x.servicer.motion, x.servicer.robot, p.servicer)
    robot_reset(x.target.motion, x.target.robot, p.target)


TWO_ROBOTS = StageKind(
    "two-robots",
    two_robots_step,
    reads=("X_WB_cmd", "V_WB_cmd"),
    writes=("X_WB_true", "V_WB_true", "hall_poses", "clock_phase"),
    state=record(
        servicer=_ROBOT,
        target=_ROBOT,
        line=delay.MOTION_LINE,
        last_B=POSE,
        last_W=POSE,
        before=POSE,
        next=POSE,
        t="f8",
        due="f8",
        began="f8",
        cycles="i8",
    ),
    params=record(
        servicer=ROBOT.params,
        target=ROBOT.params,
        dt="f8",
        share="f8",
        cycle="f8",
        true_cycle="f8",
        phase="f8",
        later="f8",
        rotates="i8",
        target_is_clock="i8",
        at_rest="i8",
    ),
    pack=_pack,
    reset=_reset,
    looks_back=lambda p: np.maximum.reduce(
        [
            p["servicer"]["samples"] + p["servicer"]["jitter"],
            p["target"]["samples"] + p["target"]["jitter"],
            (p["later"] + 2.0 * p["cycle"]) / p["dt"] + 2.0,
        ]
    ),
)
