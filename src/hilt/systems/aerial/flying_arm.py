"""A quadrotor with an arm of six joints under it: one table defines the chain, the MuJoCo model and the rigid body.

The arm is anthropomorphic with a spherical wrist: shoulder about x and y, elbow about y, wrist about z (along the forearm), x
and y. At zero angles it hangs straight down. The shoulder's first axis is horizontal: with a vertical one a tool under the
shoulder would be in a singular posture; the wrist's last axis is that of the elbow, so a tool that hangs upright while the arm
moves fore and aft keeps the wrist's axes square. Most of the mass is at the shoulder, as it must be on a flying base.

With the tool at HOME, 19 mm off the middle, the arm's weight exerts 0.19 N·m on the base about x and none about y: the wrench
estimator has to find this in hover.
"""

import math
from dataclasses import dataclass

import numpy as np
from pydantic import Field, model_validator

from hilt.core.faults import Unfit
from hilt.core.scenario import Section
from hilt.core.units import (
    Kilogram,
    KilogramSquareMetre,
    NewtonMetre,
    NewtonMetrePerRadian,
    NewtonMetreSecond,
    Number,
    Positive,
    RadianPerSecond,
    Second,
)
from hilt.dynamics.body import check_inertia
from hilt.maths import chain
from hilt.maths.chain import CHAIN, CHAIN_WORK
from hilt.maths.once import so3, vec
from hilt.systems.aerial.quadrotor import PAPER_GRAVITY

JOINTS = 6
X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
Vector = tuple[float, ...]


@dataclass(frozen=True)
class Link:
    """A joint and the cylinder, upright at zero angles, whose middle is half of `reach` below it."""

    axis: Vector
    reach: float  # m, from this joint down to the next one, or to the tool
    length: float  # m, of the cylinder
    radius: float  # m
    mass: float  # kg
    lower: float  # rad
    upper: float


LINKS = (
    Link(X, 0.0, 0.050, 0.030, 0.405, -1.5, 1.5),
    Link(Y, 0.240, 0.240, 0.020, 0.260, -2.6, 2.6),
    Link(Y, 0.240, 0.240, 0.018, 0.160, 0.1, 2.7),
    Link(Z, 0.0, 0.040, 0.020, 0.070, -2.8, 2.8),
    Link(X, 0.0, 0.040, 0.020, 0.050, -1.3, 1.3),
    Link(Y, 0.060, 0.060, 0.012, 0.060, -2.8, 2.8),
)
SHOULDER = (-0.067, 0.019, 0.0)  # m, in b
HOME = (0.0, 0.019, -0.260)  # m, the tool in b

_Moment = Positive[KilogramSquareMetre]


class FlyingArm(Section):
    """True base and servos; what flight control believes is in `vehicle`. The defaults are those of the paper's public code."""

    base_mass: Kilogram = Field(default=11.68, gt=0, description="of the base without the arm (1.005 kg)")
    base_inertia: tuple[_Moment, _Moment, _Moment] = Field(
        default=(0.777, 0.777, 1.112), description="of the base about its middle, which is the origin of b"
    )
    torque: NewtonMetre = Field(default=5.0, gt=0, description="limit of a joint")
    speed: RadianPerSecond = Field(default=1.57, gt=0, description="limit of a joint")
    stiffness: NewtonMetrePerRadian = Field(default=150.0, gt=0, description="k of the servos of shoulder and elbow")
    damping: NewtonMetreSecond = Field(default=4.5, gt=0, description="d of the servos of shoulder and elbow")
    wrist: Number = Field(
        default=0.15, gt=0, description="k and d of the wrist's joints, relative to those of shoulder and elbow"
    )
    integral_time: Second = Field(default=0.2, gt=0, description="T_i of a servo")

    @model_validator(mode="after")
    def _possible(self) -> "FlyingArm":
        check_inertia(np.diag(self.base_inertia), "flying_arm.base_inertia")
        return self

    @property
    def servo_gains(self) -> tuple[np.ndarray, np.ndarray]:
        """k and d of each joint."""
        share = np.array((1.0, 1.0, 1.0, self.wrist, self.wrist, self.wrist))
        return self.stiffness * share, self.damping * share


@dataclass(frozen=True)
class Lump:
    """Mass, centre of mass and inertia about it, in b, of the whole vehicle with its arm held."""

    mass: float
    centre: np.ndarray
    inertia: np.ndarray


def posture_for(place: Vector, attitude: Vector = (1.0, 0.0, 0.0, 0.0)) -> np.ndarray:
    """Angles for the tool's origin at `place` and its frame turned by `attitude`, both in b; the elbow is in front.

    The arm's plane turns about x, upper arm and forearm form a triangle in it, and the wrist turns the tool to its attitude.
    """
    upper, fore, hand = LINKS[1].reach, LINKS[2].reach, LINKS[5].reach
    ahead, left, up = vec.sub(vec.add(place, so3.rotate(attitude, (0.0, 0.0, hand))), SHOULDER)
    shown = ", ".join(f"{part:g}" for part in place)
    down = math.hypot(left, up)
    distance = math.hypot(ahead, down)
    if not abs(upper - fore) < distance < upper + fore:
        raise Unfit(
            f"tool.position is {shown} m, which puts the wrist {distance:.3g} m from the flying arm's shoulder; it must be "
            f"less than {upper + fore:g} m; move the tool closer to the base",
            "tool.position",
        )
    swing = math.atan2(left, -up)
    elbow = math.acos((distance**2 - upper**2 - fore**2) / (2.0 * upper * fore))
    inside = math.acos((distance**2 + upper**2 - fore**2) / (2.0 * upper * distance))
    shoulder = -math.atan2(ahead, down) - inside
    forearm = so3.multiply(so3.exp((swing, 0.0, 0.0)), so3.exp((0.0, shoulder + elbow, 0.0)))
    x, y, z = (so3.rotate(so3.multiply(so3.inverse(forearm), attitude), axis) for axis in (X, Y, Z))
    wrist = (math.atan2(-y[0], y[1]), math.asin(min(max(y[2], -1.0), 1.0)), math.atan2(-x[2], z[2]))
    posture = np.array((swing, shoulder, elbow, *wrist))
    for i, (angle, link) in enumerate(zip(posture, LINKS, strict=True)):
        if not link.lower <= angle <= link.upper:
            raise Unfit(
                f"tool.position is {shown} m, which puts joint {i + 1} of the flying arm at {angle:.3g} rad; it must be from "
                f"{link.lower:g} to {link.upper:g} rad; move or turn the tool",
                "tool.position",
            )
    return posture


def pack_flying_chain(p, section: FlyingArm) -> None:
    """Pack the table of links as a chain whose base is b."""
    chain.pack_chain(
        p,
        axis=[link.axis for link in LINKS],
        origin=[SHOULDER, *((0.0, 0.0, -link.reach) for link in LINKS[:-1])],
        tool=(0.0, 0.0, -LINKS[-1].reach),
        limits=[(link.lower, link.upper) for link in LINKS],
        speeds=[section.speed] * JOINTS,
    )
    p.weight[:3] = 1.0 / LINKS[1].reach  # the arm is small: a link's length is weighted like a radian


def _cylinder(link: Link) -> tuple[float, Vector]:
    """Height of its centre relative to the joint, and its inertia."""
    across = link.mass * (3.0 * link.radius**2 + link.length**2) / 12.0
    return -0.5 * link.reach, (across, across, 0.5 * link.mass * link.radius**2)


def lump(section: FlyingArm, posture: np.ndarray) -> Lump:
    """The vehicle as one rigid body."""
    work, p = np.zeros(1, CHAIN_WORK)[0], np.zeros(1, CHAIN)[0]
    pack_flying_chain(p, section)
    chain.forward(work, p, posture, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0))
    parts = [(section.base_mass, np.zeros(3), np.diag(section.base_inertia))]
    turn = (1.0, 0.0, 0.0, 0.0)
    for i, link in enumerate(LINKS):
        turn = so3.multiply(turn, so3.exp(vec.scale(posture[i], link.axis)))
        height, inertia = _cylinder(link)
        R = np.array([so3.rotate(turn, axis) for axis in (X, Y, Z)]).T
        parts.append((link.mass, work.o[i] + R @ (0.0, 0.0, height), R @ np.diag(inertia) @ R.T))
    masses = np.array([part[0] for part in parts])
    centre = masses @ np.array([part[1] for part in parts]) / masses.sum()
    inertia_C = np.zeros((3, 3))
    for mass, place, inertia_own in parts:
        r = place - centre
        inertia_C += inertia_own + mass * (r @ r * np.eye(3) - np.outer(r, r))
    return Lump(float(masses.sum()), centre, inertia_C)


def _numbers(values) -> str:
    return " ".join(repr(float(value)) for value in values)


def flying_xml(section: FlyingArm, step: float, locked: np.ndarray | None = None) -> str:
    """The table as a MuJoCo model; `locked` is a posture in which the arm is welded, without joints."""
    inner = f'<site name="E" pos="{_numbers((0.0, 0.0, -LINKS[-1].reach))}"/>'
    places = [SHOULDER, *((0.0, 0.0, -link.reach) for link in LINKS[:-1])]
    for i, link in reversed(list(enumerate(LINKS))):
        height, inertia = _cylinder(link)
        turn = (1.0, 0.0, 0.0, 0.0) if locked is None else so3.exp(vec.scale(locked[i], link.axis))
        joint = "" if locked is not None else f'<joint name="joint{i}" axis="{_numbers(link.axis)}"/>'
        inner = (
            f'<body name="link{i}" pos="{_numbers(places[i])}" quat="{_numbers(turn)}">{joint}<inertial '
            f'pos="0 0 {height!r}" mass="{link.mass!r}" diaginertia="{_numbers(inertia)}"/>{inner}</body>'
        )
    gears = [_numbers(row) for row in np.eye(6)]
    actuators = [f'<general site="b" gear="{gears[i]}"/>' for i in (2, 3, 4, 5)]
    actuators += [f'<general site="E" refsite="N" gear="{gear}"/>' for gear in gears]
    if locked is None:
        limit = f'forcelimited="true" forcerange="{_numbers((-section.torque, section.torque))}"'
        for i, (k, d) in enumerate(zip(*section.servo_gains, strict=True)):
            actuators.append(f'<position joint="joint{i}" kp="{float(k)!r}" kv="{float(d)!r}" {limit}/>')
    # Implicit in the servos' damping; without servos the most accurate one.
    return (
        f'<mujoco><compiler angle="radian"/><option timestep="{step!r}" gravity="0 0 {-PAPER_GRAVITY!r}" '
        f'integrator="{"implicitfast" if locked is None else "RK4"}"/><worldbody><site name="N"/><body name="base"><freejoint/>'
        f'<inertial pos="0 0 0" mass="{section.base_mass!r}" diaginertia="{_numbers(section.base_inertia)}"/>'
        f'<site name="b"/>{inner}</body></worldbody><actuator>{"".join(actuators)}</actuator></mujoco>'
    )
