"""A HEXA motion table on an X-Y table: six crank angles and a position of the X-Y table for one pose of the mock-up.

Six rotary actuators are mounted in three pairs on the base; each swings a crank of length L in a vertical plane, and a rod of
length l with ball joints connects the crank to the plate (Pierrot et al. 1991, Uchiyama et al. 1992). With d from a crank's
pivot to its joint on the plate, u its part outwards and v upwards in the crank's plane,

    u cos θ + v sin θ = c,        c = (|d|² + L² - l²) / 2L
    θ = atan2(v, u) - atan2(√(u² + v² - c²), c)        the knee outwards

The rods hold the plate against all forces and torques only while the six lines along them are independent: their determinant,
relative to that of the neutral pose, falls to 0 where the plate can move with all cranks locked (first at about 70° of tilt).

The X-Y table takes the slow part of x and y, τ s' + s = x exactly for a command that is linear between samples; the motion
table takes the rest. At the end of its travel the X-Y table stops and the motion table takes everything.
"""

import math
from dataclasses import dataclass

import numpy as np
from pydantic import Field, model_validator

from hilt.compiled import interpreted, jit
from hilt.core import faults
from hilt.core.faults import Unfit
from hilt.core.scenario import Section
from hilt.core.signals import record
from hilt.core.stage import Cycle, StageKind
from hilt.core.units import Metre, Metre3, Number, Radian, RadianPerSecond, Second
from hilt.maths import linear, so3, vec

LEGS = 6
Pose = tuple[tuple[float, ...], tuple[float, ...]]  # position, quaternion


class Hexa(Section):
    """A motion table with six cranks. The base's z points to the plate; crank angles are 0 outwards and positive upwards."""

    base_radius: Metre = Field(default=0.40, gt=0, description="from the centre of the base to the line of a pair of actuators")
    base_half_spacing: Metre = Field(default=0.10, ge=0, description="half the distance between the cranks of a pair")
    plate_radius: Metre = Field(default=0.20, gt=0, description="from the centre of the plate to the line of a pair of joints")
    plate_half_spacing: Metre = Field(default=0.26, ge=0, description="half the distance between the joints of a pair")
    crank: Metre = Field(default=0.50, gt=0, description="length L of a crank")
    rod: Metre = Field(default=1.05, gt=0, description="length l of a rod")
    height: Metre = Field(default=0.95, gt=0, description="of the plate above the base in the neutral pose")
    angle_min: Radian = Field(default=-1.05, gt=-math.pi, description="lowest angle of a crank, 0 is horizontal and outwards")
    angle_max: Radian = Field(default=1.48, lt=math.pi, description="highest angle of a crank")
    rate_max: RadianPerSecond = Field(default=4.0, gt=0, description="highest rate of a crank")
    hold_min: Number = Field(default=0.1, gt=0, lt=1, description="least hold of the rods on the plate; 1 in the neutral pose")
    centre: Metre3 = Field(
        default=(0.0, 0.0, 0.0), description="position of the mock-up in W in the neutral pose, with the X-Y table centred"
    )

    @property
    def neutral_angle(self) -> float:
        """Angle of all cranks in the neutral pose; NaN if no crank reaches it."""
        u, v, w = self.plate_radius - self.base_radius, self.height, self.plate_half_spacing - self.base_half_spacing
        c = (u * u + v * v + w * w + self.crank**2 - self.rod**2) / (2.0 * self.crank)
        margin = u * u + v * v - c * c
        return math.atan2(v, u) - math.atan2(math.sqrt(margin), c) if margin > 0.0 else math.nan

    @model_validator(mode="after")
    def _consistent(self) -> "Hexa":
        angle = self.neutral_angle
        if math.isnan(angle):
            raise Unfit(
                f"hexa.height is {self.height:g} m; no crank of {self.crank:g} m with a rod of {self.rod:g} m holds the plate "
                "there; change hexa.height or hexa.rod",
                "hexa.height",
                "hexa.rod",
            )
        if not self.angle_min < angle < self.angle_max:
            raise Unfit(
                f"hexa.height is {self.height:g} m, which puts the cranks at {angle:.3g} rad; the angle must lie between "
                f"hexa.angle_min of {self.angle_min:g} rad and hexa.angle_max of {self.angle_max:g} rad; change hexa.height",
                "hexa.height",
                "hexa.angle_min",
                "hexa.angle_max",
            )
        return self


class XYStage(Section):
    """The X-Y table under the motion table; it takes the slow and large part of x and y."""

    time_constant: Second = Field(default=2.0, gt=0, description="τ of the low-pass that splits off the slow part")
    travel_x: Metre = Field(default=1.0, ge=0, description="± about the centre; 0 for an X-Y table that does not move")
    travel_y: Metre = Field(default=1.0, ge=0, description="± about the centre; 0 for an X-Y table that does not move")


@jit
def plate_joint(p, i, position, q):
    """Position of leg i's joint on the plate, in the frame of the base."""
    return vec.add(position, so3.rotate(q, vec.load(p.joints[i])))


@jit
def crank_tip(p, i, angle):
    """Position of the tip of crank i, in the frame of the base."""
    out = p.crank * math.cos(angle)
    pivot, outwards = vec.load(p.pivots[i]), vec.load(p.outwards[i])
    return (pivot[0] + out * outwards[0], pivot[1] + out * outwards[1], pivot[2] + p.crank * math.sin(angle))


@jit
def _leg(p, i, position, q):
    """From the crank's pivot to the joint on the plate: outwards, upwards, and the square of the distance."""
    d = vec.sub(plate_joint(p, i, position, q), vec.load(p.pivots[i]))
    return vec.dot(d, vec.load(p.outwards[i])), d[2], vec.dot(d, d)


@jit
def crank_angle(p, i, position, q):
    """Angle of crank i for a pose of the plate in the frame of the base, and the margin [m²]: below 0 out of reach."""
    u, v, square = _leg(p, i, position, q)
    c = (square + p.crank * p.crank - p.rod * p.rod) / (2.0 * p.crank)
    margin = u * u + v * v - c * c
    root = math.sqrt(margin) if margin > 0.0 else 0.0
    # The direction is measured from the upward vertical, so that it jumps only where the plate would be under the base.
    return 0.5 * math.pi + math.atan2(-u, v) - math.atan2(root, c), margin


@jit
def rod_needed(p, i, position, q):
    """The rod length closest to the real one with which leg i would reach the pose."""
    u, v, square = _leg(p, i, position, q)
    middle, swing = square + p.crank * p.crank, 2.0 * p.crank * math.sqrt(u * u + v * v)
    shortest, longest = math.sqrt(max(middle - swing, 0.0)), math.sqrt(middle + swing)
    return min(max(p.rod, shortest), longest)


@jit
def determinant(A, p, position, q, angles):
    """Determinant of the lines along the six rods: unit direction, and moment about the plate's centre in plate radii."""
    for i in range(LEGS):
        joint = plate_joint(p, i, position, q)
        n = vec.scale(1.0 / p.rod, vec.sub(joint, crank_tip(p, i, angles[i])))
        moment = vec.cross(vec.scale(1.0 / p.plate_radius, vec.sub(joint, position)), n)
        for k in range(3):
            A[i, k], A[i, 3 + k] = n[k], moment[k]
    return linear.eliminate(A, LEGS, LEGS)


@jit
def _clip(value, most):
    return min(max(value, -most), most)


@jit
def _command(sig, p):
    """The set-point, relative to the mock-up in the neutral pose."""
    return vec.sub(vec.load(sig.X_WB_cmd.p), vec.load(p.centre))


@jit
def _on_table(sig, p, command):
    """The motion table's part: the pose of the plate in the frame of the base."""
    return (command[0] - sig.stage_xy[0], command[1] - sig.stage_xy[1], command[2] + p.height)


@jit
def hexa_step(sig, x, p, dt):
    if not p.present:
        return
    command, q = _command(sig, p), so3.load(sig.X_WB_cmd.q)
    for axis in range(2):
        slow = p.keep * x.xy[axis] + p.gain_before * x.command[axis] + p.gain_after * command[axis]
        x.command[axis] = command[axis]
        x.xy[axis] = _clip(slow, p.travel[axis])
        sig.stage_xy[axis] = x.xy[axis]
    position = _on_table(sig, p, command)
    for i in range(LEGS):
        angle, margin = crank_angle(p, i, position, q)
        rate = (angle - x.angles[i]) / dt
        if not math.isfinite(margin):
            faults.trip(sig, faults.NOT_FINITE, -1, math.nan, 0.0)
        if margin < 0.0:
            faults.trip(sig, faults.HEXA_REACH, -1, rod_needed(p, i, position, q), p.rod)
        if angle < p.angle_min:
            faults.trip(sig, faults.HEXA_ANGLE, -1, angle, p.angle_min)
        if angle > p.angle_max:
            faults.trip(sig, faults.HEXA_ANGLE, -1, angle, p.angle_max)
        if abs(rate) > p.rate_max:
            faults.trip(sig, faults.HEXA_RATE, -1, abs(rate), p.rate_max)
        x.angles[i] = angle
        sig.hexa_angles[i] = angle
    hold = determinant(x.A, p, position, q, x.angles) / p.neutral
    if hold < p.hold_min:
        faults.trip(sig, faults.HEXA_HOLD, -1, 100.0 * hold, 100.0 * p.hold_min)


def pack_hexa(p, hexa: Hexa) -> None:
    """The geometry of a motion table, leg by leg: three pairs, a third of a turn apart, axes along the tangent."""
    for i in range(LEGS):
        azimuth, side = 2.0 * math.pi / 3.0 * (i // 2), 1.0 - 2.0 * (i % 2)
        outwards = np.array([math.cos(azimuth), math.sin(azimuth), 0.0])
        tangent = np.array([-math.sin(azimuth), math.cos(azimuth), 0.0])
        p.outwards[i] = outwards
        p.pivots[i] = hexa.base_radius * outwards + side * hexa.base_half_spacing * tangent
        p.joints[i] = hexa.plate_radius * outwards + side * hexa.plate_half_spacing * tangent
    for name in ("crank", "rod", "height", "angle_min", "angle_max", "rate_max", "centre", "plate_radius", "hold_min"):
        p[name] = getattr(hexa, name)
    p.neutral = interpreted(determinant)(
        np.zeros((LEGS, LEGS)), p, (0.0, 0.0, hexa.height), (1.0, 0.0, 0.0, 0.0), np.full(LEGS, hexa.neutral_angle)
    )
    p.present = 1


def pack_stage(p, stage: XYStage, dt: float) -> None:
    """The exact low-pass for a command that is linear over a tick."""
    whole = -math.expm1(-dt / stage.time_constant)
    p.keep = math.exp(-dt / stage.time_constant)
    p.gain_after = 1.0 - whole * stage.time_constant / dt
    p.gain_before = whole - p.gain_after
    p.travel = (stage.travel_x, stage.travel_y)


@dataclass(frozen=True)
class MotionTable:
    """The motion table on its X-Y table."""

    hexa: Hexa | None  # None: the motion table's legs are not modelled
    xy_stage: XYStage


def _pack(p: np.record, table: MotionTable, loop: Cycle) -> None:
    if table.hexa is not None:
        pack_hexa(p, table.hexa)
        pack_stage(p, table.xy_stage, loop.period)


@jit
def hexa_reset(sig, x, p):
    """The X-Y table starts under the mock-up, as far as its travel allows."""
    command = _command(sig, p)
    for axis in range(2):
        x.command[axis] = command[axis]
        x.xy[axis] = _clip(command[axis], p.travel[axis])
        sig.stage_xy[axis] = x.xy[axis]
    if p.present:
        for i in range(LEGS):
            x.angles[i], _ = crank_angle(p, i, _on_table(sig, p, command), so3.load(sig.X_WB_cmd.q))
            sig.hexa_angles[i] = x.angles[i]


HEXA = StageKind(
    "hexa",
    hexa_step,
    reads=("X_WB_cmd", "fault"),
    writes=("hexa_angles", "stage_xy", "fault", "fault_axis", "fault_value", "fault_limit"),
    state=record(xy=2, command=2, angles=LEGS, A=("f8", (LEGS, LEGS))),
    params=record(
        present="i8",
        pivots=("f8", (LEGS, 3)),
        outwards=("f8", (LEGS, 3)),
        joints=("f8", (LEGS, 3)),
        crank="f8",
        rod="f8",
        height="f8",
        angle_min="f8",
        angle_max="f8",
        rate_max="f8",
        centre=3,
        keep="f8",
        gain_before="f8",
        gain_after="f8",
        travel=2,
        plate_radius="f8",
        hold_min="f8",
        neutral="f8",
    ),
    pack=_pack,
    reset=hexa_reset,
)


def forward(p, angles, guess: Pose) -> Pose:
    """The pose of the plate for six crank angles, by Newton's method from a guess: |joint - tip|² = l² for six rods."""
    tips = np.array([crank_tip(p, i, float(angles[i])) for i in range(LEGS)])
    position, q = np.array(guess[0]), guess[1]
    for _ in range(50):
        arms = np.array([so3.rotate(q, vec.load(p.joints[i])) for i in range(LEGS)])
        rods = position + arms - tips
        error = (rods * rods).sum(axis=1) - p.rod**2
        step = np.linalg.solve(2.0 * np.hstack([rods, np.cross(arms, rods)]), -error)
        position = position + step[:3]
        q = so3.normalise(so3.multiply(so3.exp(tuple(step[3:])), q))
        if np.abs(step).max() < 1e-13:
            return tuple(position.tolist()), tuple(float(part) for part in q)
    raise ArithmeticError("no pose of the plate found for these crank angles; give a closer guess")
