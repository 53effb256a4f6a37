"""A cable, and a hook on the hardware's tool that snaps over it.

The cable is a mass on a spring, free in the two directions across it; the hook is carried by the tool. With u the cable's
sideways distance from the hook's middle and w its height over the throat, the cable may be in a V, |u| ≤ w tan α up to the
mouth's half-width, and below it in a slot u = 0 of depth q = -w:

    walls     N = max(0, k d + c d'),  d the distance from the allowed region;     friction μ N against the slip
    gate      F(q) (1 ± friction),  F = F_s sin(½π q/q_peak) up to q_peak, then linear to 0 at q_latch
    latched   beyond q_latch: the bottom is a wall at q_bottom, the closed gate one at q_latch, which breaks at `retention` F_s

A cable that passes beside the mouth touches nothing. Opening the gate takes (1 + friction) F_s (2 q_peak/π + (q_latch -
q_peak)/2), all of it lost when it closes. All walls come from potentials that only fall when a state changes, so contact
generates no energy: `work` (of the tool on the cable) = stored + `lost`, up to O(substep) of the semi-implicit Euler rule.

Over a tick the tool moves in a straight line. The force published is the mean of the tick, as a sensor that averages sees it.
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
from hilt.core.units import Kilogram, Metre, Metre3, Newton, NewtonPerMetre, NewtonSecondPerMetre, Number, Radian, Second
from hilt.maths import so3, vec

ABOVE, INSIDE, BESIDE, LATCHED = 0, 1, 2, 3  # where the cable is, seen from the hook
SLIP = 5e-3  # m/s over which dry friction builds up: a steeper slope would be too stiff for the substep


class Cable(Section):
    """The cable and the hook; the position is relative to the rest position of the hardware's tool at the start."""

    present: bool = False
    position: Metre3 = Field(default=(0.0, 0.0, 0.15), description="where the task believes the cable to be, in H")
    offset: Metre = Field(default=0.0, description="sideways distance from there to the cable's true position")
    along: Literal["x", "y"] = Field(default="y", description="axis of H that the cable runs along; sideways is the other")
    mass: Kilogram = Field(default=0.5, gt=0, description="moving mass of the cable")
    stiffness: NewtonPerMetre = Field(default=800.0, gt=0)
    damping_ratio: Number = Field(default=0.08, ge=0, le=1000)
    hook: Metre3 = Field(default=(0.0, 0.0, 0.0), description="the hook's throat, in the tool's frame; it opens upwards")
    mouth: Metre = Field(default=0.030, gt=0, description="half the width of the mouth")
    half_angle: Radian = Field(default=math.radians(40.0), gt=0.1, lt=1.5, description="α of the V, from the vertical")
    wall_stiffness: NewtonPerMetre = Field(default=8e3, gt=0)
    wall_damping: NewtonSecondPerMetre = Field(default=60.0, ge=0)
    friction: Number = Field(default=0.3, ge=0, description="μ on the walls")
    gate_force: Newton = Field(default=30.0, gt=0, description="F_s, largest force of the gate's spring")
    gate_friction: Number = Field(default=0.2, ge=0, lt=1, description="as a fraction of the gate's force, against its motion")
    gate_peak: Metre = Field(default=0.006, gt=0, description="depth at which the gate's force is F_s")
    gate_latch: Metre = Field(default=0.010, gt=0, description="depth at which it closes behind the cable")
    bottom: Metre = Field(default=0.014, gt=0, description="depth of the slot")
    retention: Number = Field(default=2.0, gt=0, description="force that tears the closed gate open, relative to F_s")
    substep: Second = Field(default=1e-4, ge=1e-6, le=2e-4, description="longest step of the cable's motion")

    @model_validator(mode="after")
    def _in_order(self) -> "Cable":
        if not self.gate_peak < self.gate_latch < self.bottom:
            raise Unfit(
                f"cable.gate_peak, gate_latch and bottom are {self.gate_peak:g}, {self.gate_latch:g} and {self.bottom:g} m; "
                "each must be deeper than the previous one; change them",
                "cable.gate_peak",
                "cable.gate_latch",
                "cable.bottom",
            )
        return self

    @property
    def mouth_height(self) -> float:
        """Height of the mouth over the throat [m]."""
        return self.mouth / math.tan(self.half_angle)

    @property
    def gate_work(self) -> float:
        """Energy to open the gate [J]."""
        return (
            (1.0 + self.gate_friction)
            * self.gate_force
            * (2.0 * self.gate_peak / math.pi + 0.5 * (self.gate_latch - self.gate_peak))
        )


@jit
def gate_force(q, p):
    """Force of the gate's spring at depth q."""
    if q <= 0.0 or q >= p.latch:
        return 0.0
    return p.F_s * (math.sin(0.5 * math.pi * q / p.peak) if q < p.peak else (p.latch - q) / (p.latch - p.peak))


@jit
def gate_energy(q, p):
    """Energy stored in the gate's spring."""
    rise = 2.0 * p.peak / math.pi
    if q <= p.peak:
        return p.F_s * rise * (1.0 - math.cos(0.5 * math.pi * max(q, 0.0) / p.peak))
    left = max(p.latch - q, 0.0)
    span = p.latch - p.peak
    return p.F_s * (rise + 0.5 * (span - left * left / span))


@jit
def distance_outside(u, w, p):
    """Distance of the cable from its allowed region while the gate is open, and the direction (u, w) back to it."""
    side = 1.0 if u > 0.0 else -1.0
    out = abs(u)
    to_wall = out * p.cos - w * p.sin
    if w >= 0.0 or (out * p.sin + w * p.cos > 0.0 and to_wall < out):
        return max(to_wall, 0.0), -side * p.cos, p.sin
    return out, -side, 0.0


@jit
def _wall(d, n_u, n_w, v_u, v_w, p):
    """Force of a wall on the cable, and the power lost in it."""
    if d <= 0.0:
        return 0.0, 0.0, 0.0
    rate = -(n_u * v_u + n_w * v_w)
    normal = max(0.0, p.k * d + p.c * rate)
    slip = n_w * v_u - n_u * v_w
    rub = p.mu * normal * math.tanh(slip / SLIP)
    return normal * n_u - rub * n_w, normal * n_w + rub * n_u, (normal - p.k * d) * rate + rub * slip


@jit
def hook_energy(place, u, w, p):
    """Energy stored in walls and gate."""
    if place == INSIDE:
        d, _n_u, _n_w = distance_outside(u, w, p)
        return 0.5 * p.k * d * d + gate_energy(-w, p)
    if place == LATCHED:
        low, high = max(-w - p.bottom, 0.0), max(w + p.latch, 0.0)
        return 0.5 * p.k * (u * u + low * low + high * high)
    return 0.0


@jit
def hook_force(place, u, w, v_u, v_w, p):
    """Force of the hook on the cable, and the power lost between them."""
    if place == INSIDE:
        d, n_u, n_w = distance_outside(u, w, p)
        f_u, f_w, lost = _wall(d, n_u, n_w, v_u, v_w, p)
        spring = gate_force(-w, p)
        rub = p.gate_friction * spring * math.tanh(-v_w / SLIP)
        return f_u, f_w + spring + rub, lost - rub * v_w
    if place == LATCHED:
        f_u, f_w, lost = _wall(abs(u), -1.0 if u > 0.0 else 1.0, 0.0, v_u, v_w, p)
        low_u, low_w, low_lost = _wall(-w - p.bottom, 0.0, 1.0, v_u, v_w, p)
        high_u, high_w, high_lost = _wall(w + p.latch, 0.0, -1.0, v_u, v_w, p)
        return f_u + low_u + high_u, f_w + low_w + high_w, lost + low_lost + high_lost
    return 0.0, 0.0, 0.0


@jit
def place_of(place, u, w, p):
    """The cable's new state, from its previous one."""
    if place == LATCHED:
        return INSIDE if p.k * (w + p.latch) > p.hold else LATCHED
    if w >= p.height:
        return ABOVE
    if place == ABOVE:
        d, _n_u, _n_w = distance_outside(u, w, p)
        return INSIDE if d <= 0.0 else BESIDE
    return LATCHED if place == INSIDE and -w >= p.latch else place


@jit
def cable_energy(x, p):
    """Energy of the cable and its spring."""
    speed = x.v[0] * x.v[0] + x.v[1] * x.v[1]
    return 0.5 * p.mass * speed + 0.5 * p.stiffness * (x.y[0] * x.y[0] + x.y[1] * x.y[1])


@jit
def move_cable(x, p, s, z, dt):
    """Advance by dt while the throat moves straight to (s, z), relative to the cable; returns the mean force on the tool."""
    steps = max(1, math.ceil(dt / p.substep - 1e-6))
    h = dt / steps
    v_s, v_z = (s - x.hook[0]) / dt, (z - x.hook[1]) / dt
    sum_s = sum_z = 0.0
    for _ in range(steps):
        u, w = x.y[0] - x.hook[0], x.y[1] - x.hook[1]
        place = place_of(x.place, u, w, p)
        if place != x.place:
            x.lost += hook_energy(x.place, u, w, p) - hook_energy(place, u, w, p)
            x.place = place
        f_s, f_z, lost = hook_force(place, u, w, x.v[0] - v_s, x.v[1] - v_z, p)
        x.lost += h * (lost + p.damping * (x.v[0] * x.v[0] + x.v[1] * x.v[1]))
        x.work += h * (f_s * v_s + f_z * v_z)
        sum_s -= f_s / steps
        sum_z -= f_z / steps
        x.v[0] += h * (f_s - p.stiffness * x.y[0] - p.damping * x.v[0]) / p.mass
        x.v[1] += h * (f_z - p.stiffness * x.y[1] - p.damping * x.v[1]) / p.mass
        x.y[0] += h * x.v[0]
        x.y[1] += h * x.v[1]
        x.hook[0] += h * v_s
        x.hook[1] += h * v_z
    return sum_s, sum_z


@jit
def cable_step(sig, x, p, dt):
    arm = so3.rotate(so3.load(sig.X_WB_true.q), vec.load(p.hook_B))
    throat = vec.add(vec.load(sig.X_WB_true.p), arm)
    s, z = throat[p.side] - p.place[p.side], throat[2] - p.place[2]
    if not x.started:
        x.hook[0], x.hook[1] = s, z
        x.started = 1
    f_s, f_z = move_cable(x, p, s, z, dt) if p.present else (0.0, 0.0)
    f = (f_s, 0.0, f_z) if p.side == 0 else (0.0, f_s, f_z)
    at = (p.place[0] + x.y[0], throat[1], p.place[2] + x.y[1])
    if p.side == 1:
        at = (throat[0], p.place[1] + x.y[0], p.place[2] + x.y[1])
    tau = vec.cross(arm, f)
    for i in range(3):
        sig.F_Bcm_true_W.f[i] += f[i]
        sig.F_Bcm_true_W.tau[i] += tau[i]
    vec.store(sig.F_cable_true_H, f)
    vec.store(sig.p_cable_true_H, at)
    sig.latched_true = 1 if x.place == LATCHED else 0


def pack_cable(p, cable, start=(0.0, 0.0, 0.0)) -> None:
    """Fill the parameters; `start` is the rest position of the tool, in H."""
    p.present, p.side = cable.present, 0 if cable.along == "y" else 1
    p.place = [a + b for a, b in zip(start, cable.position, strict=True)]
    p.place[p.side] += cable.offset
    p.hook_B = cable.hook
    p.mass, p.stiffness = cable.mass, cable.stiffness
    p.damping = 2.0 * cable.damping_ratio * math.sqrt(cable.mass * cable.stiffness)
    p.height, p.sin, p.cos = cable.mouth_height, math.sin(cable.half_angle), math.cos(cable.half_angle)
    p.k, p.c, p.mu = cable.wall_stiffness, cable.wall_damping, cable.friction
    p.F_s, p.gate_friction, p.hold = cable.gate_force, cable.gate_friction, cable.retention * cable.gate_force
    p.peak, p.latch, p.bottom = cable.gate_peak, cable.gate_latch, cable.bottom
    p.substep = cable.substep


@dataclass(frozen=True)
class HungCable:
    """The cable, and where the hardware's tool starts, in H."""

    cable: Cable
    start: Metre3


def _pack(p: np.record, config: HungCable, loop: Cycle) -> None:
    pack_cable(p, config.cable, config.start)


CABLE = StageKind(
    "cable",
    cable_step,
    reads=("X_WB_true", "F_Bcm_true_W"),
    writes=("F_Bcm_true_W", "F_cable_true_H", "p_cable_true_H", "latched_true"),
    state=record(started="i8", place="i8", y=2, v=2, hook=2, work="f8", lost="f8"),
    params=record(
        present="i8",
        side="i8",
        place=3,
        hook_B=3,
        mass="f8",
        stiffness="f8",
        damping="f8",
        height="f8",
        sin="f8",
        cos="f8",
        k="f8",
        c="f8",
        mu="f8",
        F_s="f8",
        gate_friction="f8",
        hold="f8",
        peak="f8",
        latch="f8",
        bottom="f8",
        substep="f8",
    ),
    pack=_pack,
)
