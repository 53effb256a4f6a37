"""Two robots that carry servicer and target and share their relative motion.

Each has its share of the command (maths/pair.py) and its own response (plant/robot.py). The robot that is the clock takes a
set-point in every tick, the other one in its own cycles (plant/own_clock.py). Their commands are delayed so that both
have the same total delay (core/pairing.py).
"""

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from hilt.compiled import jit
from hilt.core.pairing import OwnClock, Shared
from hilt.core.signals import POSE, TWIST, record
from hilt.core.stage import Cycle, StageKind
from hilt.core.units import Number
from hilt.maths import pair, so3, spatial, vec
from hilt.plant import own_clock
from hilt.plant.own_clock import OWN_CLOCK, OWN_CLOCK_PARAMS, mean_twist
from hilt.plant.robot import ROBOT, Robot, RobotResponse, robot_reset, robot_step

_MOTION = record(X_WB_cmd=POSE, V_WB_cmd=TWIST, X_WB_true=POSE, V_WB_true=TWIST)
_ROBOT = record(motion=_MOTION, robot=ROBOT.state)


class Pair(OwnClock):
    """How two robots share the relative motion, and their clocks. Only used if there is a target_robot."""

    share: Annotated[Number, Field(ge=0, le=1)] | Literal["masses"] = Field(
        default="masses",
        description="part of the relative motion made by the target's robot; masses: each robot makes its body's own motion "
        "relative to the common centre of mass",
    )
    clock: Literal["servicer", "target"] = Field(default="servicer", description="whose robot is the clock of the loop")


@jit
def _command(motion, X, V):
    spatial.store(motion.X_WB_cmd, X)
    vec.store(motion.V_WB_cmd.v, V[0])
    vec.store(motion.V_WB_cmd.w, V[1])


@jit
def _parts(sig, x, p, dt):
    """Poses and twists of the two parts of the command; only turning bodies need twists from the previous poses."""
    X_B, X_W = pair.shares(spatial.load(sig.X_WB_cmd), p.share)
    if p.rotates:
        V_B, V_W = mean_twist(spatial.load(x.last_B), X_B, dt), mean_twist(spatial.load(x.last_W), X_W, dt)
    else:
        v, zero = vec.load(sig.V_WB_cmd.v), (0.0, 0.0, 0.0)
        V_B, V_W = (vec.scale(1.0 - p.share, v), zero), (vec.scale(-p.share, v), zero)
    spatial.store(x.last_B, X_B)
    spatial.store(x.last_W, X_W)
    return X_B, V_B, X_W, V_W


@jit
def two_robots_step(sig, x, p, dt):
    x.clock.t += dt
    X_B, V_B, X_W, V_W = _parts(sig, x, p, dt)
    if p.target_is_clock:
        X_B, V_B = own_clock.held(x.clock, p.clock, X_B, V_B, dt)
    else:
        X_W, V_W = own_clock.held(x.clock, p.clock, X_W, V_W, dt)
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
    sig.clock_phase = x.clock.t - x.clock.began


@dataclass(frozen=True)
class TwoRobots:
    """Both responses, and how they are paired."""

    servicer: Robot
    target: Robot
    pairing: Shared
    phase: float  # s
    drift: float
    rotates: bool


def _pack(p: np.record, both: TwoRobots, loop: Cycle) -> None:
    pairing = both.pairing
    p.share, p.rotates, p.dt = pairing.share, both.rotates, loop.period
    p.target_is_clock = pairing.clock == pairing.meets
    own_clock.pack(p.clock, pairing.cycle, both.phase, both.drift, pairing.later(pairing.other))
    for name, robot, own in (("servicer", both.servicer, p.servicer), ("target", both.target, p.target)):
        ROBOT.pack(own, RobotResponse(robot, pairing.lags[name], both.rotates), loop)
        if name == pairing.clock:
            own.samples += pairing.later(name) / loop.period
    p.at_rest = both.servicer.start_at_rest


@jit
def _reset(sig, x, p):
    """Start both in motion, as one robot would be; the robot with its own clock has been moving for a while."""
    X_WB, v, w = spatial.load(sig.X_WB_cmd), vec.load(sig.V_WB_cmd.v), vec.load(sig.V_WB_cmd.w)
    if p.at_rest:
        v = w = (0.0, 0.0, 0.0)
    dt = p.dt
    X_B, X_W = pair.shares(X_WB, p.share)
    last = vec.sub(X_WB[0], vec.scale(dt, v)), so3.multiply(so3.exp(vec.scale(-dt, w)), X_WB[1])
    last_B, last_W = pair.shares(last, p.share)
    spatial.store(x.last_B, last_B)
    spatial.store(x.last_W, last_W)
    V_B, V_W = mean_twist(last_B, X_B, dt), mean_twist(last_W, X_W, dt)
    X, V = (X_B, V_B) if p.target_is_clock else (X_W, V_W)
    held = own_clock.begin(x.clock, p.clock, X, V, dt)
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
        clock=OWN_CLOCK,
        last_B=POSE,
        last_W=POSE,
    ),
    params=record(
        servicer=ROBOT.params,
        target=ROBOT.params,
        dt="f8",
        share="f8",
        clock=OWN_CLOCK_PARAMS,
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
            (p["clock"]["later"] + 2.0 * p["clock"]["cycle"]) / p["dt"] + 2.0,
        ]
    ),
)
