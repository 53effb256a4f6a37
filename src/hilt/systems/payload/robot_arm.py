"""The slave hand on a robot of the facility that takes poses, beside the table: its command, and its motion in simulation.

    X_Ws_cmd(t + T) = X_Ws_cmd(t) moved by the twist commanded from t to t + T

The table's clock drives the loop. The hand's robot has its own cycle (plant/own_clock.py) and its own response
(plant/robot.py); its commands are delayed accordingly (core/pairing.py).
"""

from dataclasses import dataclass

import numpy as np

from hilt.compiled import jit
from hilt.core.pairing import Joined
from hilt.core.signals import POSE, TWIST, record
from hilt.core.stage import Cycle, StageKind
from hilt.maths import so3, spatial, vec
from hilt.plant import own_clock
from hilt.plant.own_clock import OWN_CLOCK, OWN_CLOCK_PARAMS
from hilt.plant.robot import ROBOT, Robot, RobotResponse, robot_reset, robot_step
from hilt.systems.payload.arm import measure_hands, show_hand

TABLE, ARM = "table", "arm"  # names of the robots in a rig file
_MOTION = record(X_WB_cmd=POSE, V_WB_cmd=TWIST, X_WB_true=POSE, V_WB_true=TWIST)


def joined(cycle: float, period: float, slack: float) -> Joined:
    """Pairing of the table and the arm that holds its payload."""
    return Joined(
        *(TABLE, ARM, TABLE, cycle, period, slack),
        command="X_Ws_cmd",
        measured=("x_s", "q_s", "v_s", "w_s"),
        truth=("hands", "hand_twists"),
        sensors={TABLE: "F_So_S", ARM: "F_Qo_Q"},
    )


@jit
def hand_command_step(sig, x, p, dt):
    X, v, w = spatial.load(sig.X_Ws_cmd), vec.load(sig.v_sc), vec.load(sig.w_sc)
    q = so3.renormalise(so3.multiply(so3.exp(vec.scale(dt, w)), X[1])) if w != (0.0, 0.0, 0.0) else X[1]
    spatial.store(sig.X_Ws_cmd, (vec.add(X[0], vec.scale(dt, v)), q))


@dataclass(frozen=True)
class HandCommand:
    """Initial position of the hand."""

    start: tuple[float, ...]  # m, in W


def _pack_start(p: np.record, command: HandCommand, loop: Cycle) -> None:
    p.start = command.start


@jit
def _reset_command(sig, x, p):
    spatial.store(sig.X_Ws_cmd, (vec.load(p.start), (1.0, 0.0, 0.0, 0.0)))


HAND_COMMAND = StageKind(
    "hand-command",
    hand_command_step,
    reads=("v_sc", "w_sc", "X_Ws_cmd"),
    writes=("X_Ws_cmd",),
    params=record(start=3),
    pack=_pack_start,
    reset=_reset_command,
)


@jit
def robot_arm_step(sig, x, p, dt):
    x.clock.t += dt
    command = vec.load(sig.v_sc), vec.load(sig.w_sc)
    X, V = own_clock.held(x.clock, p.clock, spatial.load(sig.X_Ws_cmd), command, dt)
    motion = x.motion
    spatial.store(motion.X_WB_cmd, X)
    vec.store(motion.V_WB_cmd.v, V[0])
    vec.store(motion.V_WB_cmd.w, V[1])
    robot_step(motion, x.robot, p.robot, dt)
    _show(sig, motion)
    sig.clock_phase = x.clock.t - x.clock.began


@jit
def _show(sig, motion):
    X, V = spatial.load(motion.X_WB_true), motion.V_WB_true
    show_hand(sig, 0, X[0], X[1], vec.load(V.v), vec.load(V.w))
    measure_hands(sig, 1)


@dataclass(frozen=True)
class RobotArm:
    """The robot, its clock, and the initial position of the hand."""

    robot: Robot
    pairing: Joined
    phase: float  # s
    drift: float
    start: tuple[float, ...]  # m, in W


def _pack(p: np.record, arm: RobotArm, loop: Cycle) -> None:
    pairing = arm.pairing
    ROBOT.pack(p.robot, RobotResponse(arm.robot, arm.robot.delay, True), loop)
    own_clock.pack(p.clock, pairing.cycle, arm.phase, arm.drift, pairing.later(pairing.other))
    p.start, p.dt = arm.start, loop.period


@jit
def _reset(sig, x, p):
    """At rest at the start."""
    start, zero = (vec.load(p.start), (1.0, 0.0, 0.0, 0.0)), (0.0, 0.0, 0.0)
    own_clock.begin(x.clock, p.clock, start, (zero, zero), p.dt)
    for pose in (x.motion.X_WB_cmd, x.motion.X_WB_true):
        spatial.store(pose, start)
    robot_reset(x.motion, x.robot, p.robot)
    _show(sig, x.motion)


ROBOT_ARM = StageKind(
    "robot-arm",
    robot_arm_step,
    reads=("v_sc", "w_sc", "X_Ws_cmd", "hands", "hand_twists"),
    writes=("hands", "hand_twists", "x_s", "q_s", "v_s", "w_s", "clock_phase"),
    state=record(motion=_MOTION, robot=ROBOT.state, clock=OWN_CLOCK),
    params=record(robot=ROBOT.params, clock=OWN_CLOCK_PARAMS, start=3, dt="f8"),
    pack=_pack,
    reset=_reset,
    looks_back=lambda p: np.maximum(
        p["robot"]["samples"] + p["robot"]["jitter"],
        (p["clock"]["later"] + 2.0 * p["clock"]["cycle"]) / p["dt"] + 2.0,
    ),
)
