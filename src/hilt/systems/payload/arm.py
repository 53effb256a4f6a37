"""The slave arms: motion of the hands.

`point`    hands that follow the commanded twist after a dead time, with whatever force it takes
`jointed`  arms of seven joints that follow commanded joint speeds through geared servos, and yield to the wrench a little
           (arm_model.py); the wrench of a tick is that at its start
`robot`    one hand on a robot of the facility, which takes poses and has its own clock (robot_arm.py): as on devices

In bilateral mode the arm is driven by force, not by velocity: a mass that may meet a wall (force_arm.py).
"""

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from pydantic import Field

from hilt.compiled import jit
from hilt.core.scenario import Section
from hilt.core.signals import record
from hilt.core.stage import Cycle, StageKind
from hilt.core.units import Metre3, Newton, Newton3, Second
from hilt.maths import delay, so3, vec
from hilt.plant.robot import Robot
from hilt.systems.payload import force_arm
from hilt.systems.payload.arm_model import ARM as JOINTED_STATE
from hilt.systems.payload.arm_model import (
    ARM_PARAMS,
    JOINTS,
    JointedArm,
    arm_hand,
    arm_move,
    arm_reset,
    joint_angle,
    pack_arm,
    stands,
)
from hilt.systems.payload.force_arm import ForceArm, force_arm_move
from hilt.systems.payload.grip import Grip


class Arm(Section):
    """The slave arms and their wrist sensors."""

    model: Literal["point", "jointed", "robot"] = "point"
    count: Literal[1, 2] = Field(default=1, description="arms that hold the payload")
    delay: Second = Field(default=0.0, ge=0, description="dead time of a point arm")
    jointed: JointedArm = JointedArm()
    robot: Robot = Field(default=Robot(), description="response of the robot that carries the hand, for model robot")
    start: Metre3 = Field(default=(0.0, 0.0, 0.0), description="initial offset of an open hand from its grip")
    force_noise: Newton = Field(default=0.0, ge=0, description="rms of each axis of a wrist sensor")
    force_bias: Newton3 = Field(default=(0.0, 0.0, 0.0), description="of all wrist sensors together")


@jit
def _point_arms(sig, x, p, dt):
    """Move the hands with the twist of the last tick, after the dead time; two hands move as one body."""
    delay.push_wrench(x.line, sig.v_sc, sig.w_sc)  # a line of six numbers
    v, w = delay.read(x.line, p.samples, 0), delay.read(x.line, p.samples, 3)
    place, q = vec.load(x.place), so3.load(x.q)
    if x.started:
        place = vec.add(place, vec.scale(dt, v))
        q = so3.renormalise(so3.multiply(so3.exp(vec.scale(dt, w)), q))
    vec.store(x.place, place)
    so3.store(x.q, q)
    for i in range(p.count):
        r = so3.rotate(q, vec.load(p.apart[i]))
        show_hand(sig, i, vec.add(place, r), q, vec.add(v, vec.cross(w, r)), w)


@jit
def _jointed_arms(sig, x, p, dt):
    for i in range(p.count):
        if x.started:
            wrench = sig.hand_wrenches[6 * i : 6 * i + 6]
            f, tau = vec.scale(-1.0, vec.load(wrench)), vec.scale(-1.0, vec.load(wrench[3:]))
            arm_move(x.arms[i], p.arms[i], sig.qd_arm_c[JOINTS * i : JOINTS * (i + 1)], f, tau, dt)
        place, q, v, w = arm_hand(x.arms[i], p.arms[i])
        show_hand(sig, i, place, q, v, w)
        for j in range(JOINTS):
            sig.q_arm[JOINTS * i + j] = joint_angle(x.arms[i], j)


@jit
def _force_arm(sig, x, p, dt):
    """Move one hand by force; the grip's force on it starts as in the last tick, and falls with the grip's stiffness."""
    if x.started:
        f_grip, share = vec.scale(-1.0, vec.load(sig.hand_wrenches)), 1.0 - sig.grip_open
        held = share * p.k_grip, share * p.d_grip
        pushed = force_arm_move(x.driven, p.driven, vec.load(sig.f_sc), f_grip, held[0], held[1], dt)
        vec.store(sig.wall_W, vec.scale(pushed, vec.load(p.driven.normal)))
    vec.store(sig.f_sm, vec.load(x.driven.f))
    show_hand(sig, 0, vec.load(x.driven.x), (1.0, 0.0, 0.0, 0.0), vec.load(x.driven.v), (0.0, 0.0, 0.0))


@jit
def show_hand(sig, i, p, q, v, w):
    """Write a hand's pose and twist to the signals."""
    vec.store(sig.hands[7 * i : 7 * i + 3], p)
    so3.store(sig.hands[7 * i + 3 : 7 * i + 7], q)
    vec.store(sig.hand_twists[6 * i : 6 * i + 3], v)
    vec.store(sig.hand_twists[6 * i + 3 : 6 * i + 6], w)


@jit
def measure_hands(sig, count):
    """Pose and twist midway between the hands, from the arms' encoders."""
    share = 1.0 / count
    last = count - 1
    for i in range(3):
        sig.x_s[i] = share * (sig.hands[i] + last * sig.hands[7 + i])
        sig.v_s[i] = share * (sig.hand_twists[i] + last * sig.hand_twists[6 + i])
        sig.w_s[i] = share * (sig.hand_twists[3 + i] + last * sig.hand_twists[9 + i])
    q = so3.load(sig.hands[3:7])
    so3.store(sig.q_s, so3.interpolate(q, so3.load(sig.hands[10:14]), 0.5) if count == 2 else q)


@jit
def point_arms_step(sig, x, p, dt):
    _point_arms(sig, x, p, dt)
    x.started = 1
    measure_hands(sig, p.count)


@jit
def jointed_arms_step(sig, x, p, dt):
    _jointed_arms(sig, x, p, dt)
    x.started = 1
    measure_hands(sig, p.count)


@jit
def force_arm_step(sig, x, p, dt):
    _force_arm(sig, x, p, dt)
    x.started = 1
    measure_hands(sig, p.count)


@dataclass(frozen=True)
class HoldingArms:
    """The arms, the payload that they hold, and the wall in front of them."""

    arm: Arm
    force_arm: ForceArm
    grip: Grip
    grips: tuple[tuple[float, ...], ...]  # m, one for each hand, in the payload's frame
    start: tuple[float, ...]  # m, of the hand, or between the hands, in W
    direction: tuple[float, ...]  # towards the wall of a force-controlled arm, of any length
    bilateral: bool
    gripped: bool


def _pack(p: np.record, config: HoldingArms, loop: Cycle) -> None:
    arm, grip, dt = config.arm, config.grip, loop.period
    p.count = arm.count
    p.samples = arm.delay / dt
    p.x0 = config.start
    p.apart[: arm.count] = np.array(config.grips) - grip.position
    if arm.model == "jointed" and not config.bilateral:
        hands = [tuple(p.x0 + p.apart[i]) for i in range(arm.count)]
        for i, stand in enumerate(stands(arm.jointed, hands)):
            pack_arm(p.arms[i], arm.jointed, stand, dt)
    size = math.hypot(*config.direction)
    direction = tuple(part / size for part in config.direction)
    force_arm.pack(p.driven, config.force_arm, direction, config.start, dt)
    if config.gripped:
        p.k_grip, p.d_grip = grip.stiffness, grip.damping


@jit
def _reset(sig, x, p):
    vec.store(x.place, vec.load(p.x0))
    vec.store(x.driven.x, vec.load(p.x0))
    x.q[0] = 1.0
    for i in range(p.count):
        show_hand(sig, i, vec.add(vec.load(p.x0), vec.load(p.apart[i])), so3.load(x.q), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
        arm_reset(x.arms[i], p.arms[i])
        for j in range(JOINTS):
            sig.q_arm[JOINTS * i + j] = joint_angle(x.arms[i], j)
    measure_hands(sig, p.count)


_SHOWN = ("hands", "hand_twists", "x_s", "q_s", "v_s", "w_s")
POINT_ARMS = StageKind(
    "point-arms",
    point_arms_step,
    reads=("v_sc", "w_sc", "hands", "hand_twists"),
    writes=(*_SHOWN, "q_arm"),
    state=record(
        line=delay.WRENCH_LINE,
        place=3,
        q=4,
        started="i8",
        arms=(JOINTED_STATE, (2,)),
        driven=force_arm.STATE,
    ),
    params=record(
        count="i8",
        samples="f8",
        x0=3,
        apart=("f8", (2, 3)),
        arms=(ARM_PARAMS, (2,)),
        driven=force_arm.PARAMS,
        k_grip="f8",
        d_grip="f8",
    ),
    pack=_pack,
    reset=_reset,
)
JOINTED_ARMS = replace(
    POINT_ARMS,
    name="jointed-arms",
    step=jointed_arms_step,
    reads=("qd_arm_c", "hand_wrenches", "hands", "hand_twists"),
)
FORCE_ARM = replace(
    POINT_ARMS,
    name="force-arm",
    step=force_arm_step,
    reads=("f_sc", "hand_wrenches", "grip_open", "hands", "hand_twists"),
    writes=(*_SHOWN, "q_arm", "wall_W", "f_sm"),
)
