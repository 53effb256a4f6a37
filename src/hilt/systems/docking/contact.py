"""A rod between a front and a rear frame at rest: point contact on two parallel planes, or on a cone in front (drogue.py).

F = max(0, k δ + c δ') along the normal        linear  [He2022, eq. 5]
F = max(0, k_H δ^1.5 + c δ')                   hertz
F = max(0, k_H δ^1.5 (1 + λ δ'))               hunt-crossley
friction: µ F against the sliding of the tip, smooth below 0.1 mm/s
a robot that yields under load, K_r: K_r (d - δ) = F(δ), d: depth from its encoders, which do not see the deflection
"""

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
from hilt.core.units import Count, Metre, Metre3, NewtonPerMetre, NewtonSecondPerMetre, Number, Number3, Radian
from hilt.dynamics.contact_laws import friction_per_speed, hunt_crossley
from hilt.maths import so3, vec
from hilt.systems.docking.bending import Bending, Drive, driven, steps_of
from hilt.systems.docking.drogue import depth_in_cone

SHARPEST_APEX = 1e-4  # m, rounding of a cone's apex for a rod without a radius
NEAR = 0.8  # a collision is over when the tip is back within this fraction of its free travel


class Contact(Section):
    """Contact of the rod with a frame."""

    kind: Literal["linear", "hertz", "hunt-crossley"] = "linear"
    stiffness: NewtonPerMetre = Field(gt=0, description="of the front frame")
    damping: NewtonSecondPerMetre = Field(default=0.0, ge=0, description="of both frames")
    rear_stiffness_ratio: Number = Field(default=1.0, gt=0, description="stiffness of the rear frame relative to the front one")
    hertz_coefficient: Number = Field(default=6e6, gt=0, description="N/m^1.5, for kinds hertz and hunt-crossley")
    dissipation: Number = Field(
        default=0.0, ge=0, le=1000, description="λ in s/m, for kind hunt-crossley: a contact at speed v keeps 1 - ⅔ λ v of it"
    )
    friction: Number = Field(default=0.0, ge=0, description="coefficient µ")

    @model_validator(mode="after")
    def _one_damper(self) -> "Contact":
        if self.kind == "hunt-crossley" and self.damping > 0:
            raise Unfit(
                f"contact.damping is {self.damping:g} N·s/m but contact.kind is hunt-crossley, which loses energy through "
                "contact.dissipation; set contact.damping = 0",
                "contact.damping",
                "contact.kind",
            )
        if self.kind != "hunt-crossley" and self.dissipation > 0:
            raise Unfit(
                f"contact.dissipation is {self.dissipation:g} s/m but contact.kind is {self.kind}, which does not use it; "
                'set contact.kind = "hunt-crossley" or contact.dissipation = 0',
                "contact.dissipation",
                "contact.kind",
            )
        return self

    @property
    def is_hertz(self) -> bool:
        """Whether the spring is k_H δ^1.5."""
        return self.kind != "linear"

    @property
    def stiffest(self) -> float:
        """Stiffness of the stiffer frame."""
        return self.stiffness * max(1.0, self.rear_stiffness_ratio)

    @property
    def is_lossless(self) -> bool:
        return self.damping == 0.0 and self.dissipation == 0.0 and self.friction == 0.0


class Frames(Section):
    """Two parallel frames; the rod starts midway between them."""

    gap: Metre = Field(gt=0, description="distance from the start of the rod's axis to each frame")
    normal: Number3 = Field(default=(1.0, 0.0, 0.0), description="from the rear to the front frame, in W")

    cone: Radian = Field(
        default=0.0,
        ge=0,
        le=1.2,
        description="slope of the front frame as a cone (drogue) around its axis; 0 for a flat frame",
    )
    shift: Metre = Field(default=0.0, description="distance by which both frames move along the normal, once")
    shift_after: Count = Field(default=2, ge=1, description="number of collisions after which the frames move")

    @model_validator(mode="after")
    def _direction(self) -> "Frames":
        if math.hypot(*self.normal) < 1e-9:
            raise Unfit(
                "frames.normal is 0, 0, 0; it must point from the rear to the front frame; give a direction", "frames.normal"
            )
        return self

    @property
    def n_W(self) -> tuple[float, ...]:
        size = math.hypot(*self.normal)
        return tuple(part / size for part in self.normal)


class Rod(Section):
    """The docking rod carried by the robot."""

    tip: Metre3 = Field(default=(0.0, 0.0, 0.0), description="in the frame that the robot moves")
    radius: Metre = Field(default=0.005, ge=0)


@jit
def _normal_force(p, k, k_hertz, depth, rate):
    spring = k_hertz * depth * math.sqrt(depth) if p.hertz else k * depth
    if p.dissipation > 0.0:
        return hunt_crossley(spring, p.dissipation, rate)
    return max(0.0, spring + p.damping * rate)


@jit
def _depth(p, k, k_hertz, d, before, dt):
    """δ for a robot that yields: K_r (d - δ) = spring(δ) (1 + λ (δ - δ⁻)/T) + c (δ - δ⁻)/T; the step is implicit and thus
    generates no energy."""
    damper = p.damping / dt
    if not p.hertz:
        return (p.robot_stiffness * d + damper * before) / (p.robot_stiffness + k + damper)
    depth = d  # both sides are monotone and convex: Newton's method converges from one side
    for _ in range(8):
        spring, slope = k_hertz * depth * math.sqrt(depth), 1.5 * k_hertz * math.sqrt(depth)
        if p.dissipation > 0.0:
            slope = max(0.0, slope * (1.0 + p.dissipation * (depth - before) / dt)) + spring * p.dissipation / dt
            spring = hunt_crossley(spring, p.dissipation, (depth - before) / dt)
        excess = spring + damper * (depth - before) - p.robot_stiffness * (d - depth)
        depth = max(0.0, depth - excess / (slope + damper + p.robot_stiffness))
    return depth


@jit
def _felt(x, p, k, k_hertz, d, rate, dt):
    """(δ, F) for a depth d from the encoders that increases at `rate`."""
    if p.robot_stiffness == 0.0:
        return d, _normal_force(p, k, k_hertz, d, rate)
    x.depth = min(d, _depth(p, k, k_hertz, d, x.depth, dt))
    return x.depth, p.robot_stiffness * (d - x.depth)


@jit
def signed_force(p, shift, at, rate):
    """(side, depth, force along the normal) of a tip at `at` from midway between the frames."""
    along = at - shift
    if along > p.free:
        depth = along - p.free
        return 1, depth, _normal_force(p, p.stiffness, p.hertz_stiffness, depth, rate)
    if along < -p.free:
        depth, r = -along - p.free, p.rear_ratio
        return -1, depth, -_normal_force(p, r * p.stiffness, r * p.hertz_stiffness, depth, -rate)
    return 0, 0.0, 0.0


@jit
def _pull(p, shift, drive, s, dt, at, rate):
    """Acceleration of a bending robot's tip."""
    x_m, v_m = driven(drive, s, dt)
    _, _, force = signed_force(p, shift, at, rate)
    return p.mode**2 * (x_m - at) + 2.0 * p.mode_damping * p.mode * (v_m - rate) - force / p.tip_mass


@jit
def _bend(x, p, shift, at, rate, dt):
    """Advance the tip of a bending robot by one tick, to the encoder position `at`."""
    if not x.bending:
        x.bending, x.tip, x.tip_v, x.motor, x.motor_v = 1, at, rate, at, rate
        return
    drive = Drive(x.motor, x.motor_v, at, rate)
    x.motor, x.motor_v = at, rate
    h, y, v = dt / p.steps, x.tip, x.tip_v
    for i in range(p.steps):
        s, half, whole = i / p.steps, (i + 0.5) / p.steps, (i + 1.0) / p.steps
        a1 = _pull(p, shift, drive, s, dt, y, v)
        v2 = v + 0.5 * h * a1
        a2 = _pull(p, shift, drive, half, dt, y + 0.5 * h * v, v2)
        v3 = v + 0.5 * h * a2
        a3 = _pull(p, shift, drive, half, dt, y + 0.5 * h * v2, v3)
        v4 = v + h * a3
        a4 = _pull(p, shift, drive, whole, dt, y + h * v3, v4)
        y += h / 6.0 * (v + 2.0 * v2 + 2.0 * v3 + v4)
        v += h / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)
    x.tip, x.tip_v = y, v


@jit
def count_collision(sig, x, p, side, along):
    """Count collisions: one begins at a touch and ends when the tip is well clear again, or at the other frame."""
    if side != 0 and (x.touching == 0 or side != x.touching):
        sig.collision += 1
        x.touching = side
    elif abs(along) < NEAR * p.free:
        x.touching = 0
    if sig.collision > p.collisions or (sig.collision == p.collisions and x.touching == 0):
        sig.done = 1
    sig.contact = side


@jit
def tip_by_encoders(sig, p):
    """(position, velocity) of the tip according to the encoders."""
    tip = vec.load(p.tip_B)
    if p.rotates:
        tip = so3.rotate(so3.load(sig.X_WB_true.q), tip)
    at = vec.add(vec.load(sig.X_WB_true.p), tip)
    v = vec.load(sig.V_WB_true.v)
    if p.rotates:
        v = vec.add(v, vec.cross(vec.load(sig.V_WB_true.w), tip))
    return at, v


@jit
def move_frames(sig, x, p):
    """Shift the frames once, while they are not touched."""
    if x.touching == 0 and sig.collision >= p.shift_after:
        x.shift = p.shift


@jit
def force_of(p, n, side, force, v, rate):
    """Force on the target: along the normal, and friction against the sliding."""
    f = vec.scale(side * force, n)
    if p.friction > 0.0 and force > 0.0:
        sliding = vec.sub(v, vec.scale(rate, n))
        f = vec.add(f, vec.scale(friction_per_speed(p.friction, force, vec.dot(sliding, sliding)), sliding))
    return f


@jit
def contact_step(sig, x, p, dt):
    at, v = tip_by_encoders(sig, p)
    n = vec.load(p.n_W)
    move_frames(sig, x, p)
    along, rate = vec.dot(n, at) - p.middle - x.shift, vec.dot(n, v)

    side, force, depth = 0, 0.0, 0.0
    inside, near = along - p.free, along
    if p.cone_sine > 0.0 and along > 0.0:
        inside, n = depth_in_cone(p, n, at, along)
        rate, near = vec.dot(n, v), inside + p.free
    if p.bends:
        motor = along + x.shift
        _bend(x, p, x.shift, motor, rate, dt)
        side, depth, force = signed_force(p, x.shift, x.tip, x.tip_v)
        force *= side
        at, near = vec.add(at, vec.scale(x.tip - motor, n)), x.tip - x.shift
        v = vec.add(v, vec.scale(x.tip_v - rate, n))
        rate = x.tip_v
    elif inside > 0.0:
        side = 1
        depth, force = _felt(x, p, p.stiffness, p.hertz_stiffness, inside, rate, dt)
    elif along < -p.free:
        side, r = -1, p.rear_ratio
        depth, force = _felt(x, p, r * p.stiffness, r * p.hertz_stiffness, -along - p.free, -rate, dt)
    else:
        x.depth = 0.0

    count_collision(sig, x, p, side, near)
    vec.store(sig.F_C_true_W, force_of(p, n, side, force, v, rate))
    if p.robot_stiffness > 0.0 and not p.bends:
        at = vec.sub(at, vec.scale(side * force / p.robot_stiffness, n))
    vec.store(sig.p_C_true_W, at)
    sig.penetration = depth


@dataclass(frozen=True)
class Meeting:
    """Rod, frames and contact law, the start of the tip, and the number of collisions."""

    contact: Contact
    frames: Frames
    rod: Rod
    start_of_tip: tuple[float, ...]  # m, in W
    robot_stiffness: float  # N/m, 0 for rigid
    bending: Bending | None  # of a robot whose tip swings
    rotates: bool
    collisions: int  # after which the run ends


def _pack(p: np.record, meeting: Meeting, loop: Cycle) -> None:
    contact, frames, rod = meeting.contact, meeting.frames, meeting.rod
    p.hertz, p.dissipation = contact.is_hertz, contact.dissipation
    p.stiffness, p.damping, p.rear_ratio = contact.stiffness, contact.damping, contact.rear_stiffness_ratio
    p.hertz_stiffness, p.friction = contact.hertz_coefficient, contact.friction
    p.n_W = frames.n_W
    p.tip_B = rod.tip
    p.rotates = meeting.rotates
    p.free = frames.gap - rod.radius
    p.middle = sum(n * a for n, a in zip(frames.n_W, meeting.start_of_tip, strict=True))
    p.collisions = meeting.collisions
    p.robot_stiffness = meeting.robot_stiffness
    p.shift, p.shift_after = frames.shift, frames.shift_after
    p.cone_sine, p.cone_cosine = math.sin(frames.cone), math.cos(frames.cone)
    p.axis_W, p.apex = meeting.start_of_tip, max(rod.radius, SHARPEST_APEX)
    bending = meeting.bending
    p.bends = bending is not None
    if bending is not None:
        p.mode, p.mode_damping, p.tip_mass = bending.frequency, bending.damping_ratio, bending.mass
        p.steps = steps_of(bending, contact.stiffest, loop.period)


CONTACT = StageKind(
    "contact",
    contact_step,
    reads=("X_WB_true", "V_WB_true", "collision", "done"),
    writes=("F_C_true_W", "p_C_true_W", "penetration", "contact", "collision", "done"),
    state=record(
        **dict.fromkeys(("touching", "bending"), "i8"),
        **dict.fromkeys(("depth", "shift", "tip", "tip_v", "motor", "motor_v"), "f8"),
    ),
    params=record(
        hertz="i8",
        stiffness="f8",
        damping="f8",
        rear_ratio="f8",
        hertz_stiffness="f8",
        dissipation="f8",
        friction="f8",
        n_W=3,
        tip_B=3,
        rotates="i8",
        free="f8",
        middle="f8",
        collisions="i8",
        robot_stiffness="f8",
        shift="f8",
        shift_after="i8",
        cone_sine="f8",
        cone_cosine="f8",
        axis_W=3,
        apex="f8",
        **dict.fromkeys(("bends", "steps"), "i8"),
        **dict.fromkeys(("mode", "mode_damping", "tip_mass"), "f8"),
    ),
    pack=_pack,
)
