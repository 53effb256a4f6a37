"""A force-controlled slave arm: a mass driven by a motor with a lag, that may meet a wall and hold a payload.

    m v' = f + f_grip - f_wall - b v;    f' = (f_c - f)/tau;    f_wall = max(0, k s + c s') along the wall's normal while s > 0

The motor's force is constant within a tick, so force times displacement is exactly its work. Wall and grip are solved at the
end of each of a few substeps (backward Euler), so the stiffest wall is stable at any tick. The caller describes the grip by
its force on the arm at the start of the tick, and how that force falls with displacement and speed.
"""

import math

from pydantic import Field

from hilt.compiled import jit
from hilt.core.scenario import Section
from hilt.core.signals import record
from hilt.core.units import Kilogram, Metre, NewtonPerMetre, NewtonSecondPerMetre, Second
from hilt.maths import vec

_FINE = 0.1  # rad of the wall's own oscillation in a substep
_MOST_SUBSTEPS = 64


class ForceArm(Section):
    """The slave arm in bilateral mode, and the wall in front of it."""

    mass: Kilogram = Field(default=5.0, gt=0, description="of the arm, at the hand")
    friction: NewtonSecondPerMetre = Field(default=1.0, ge=0)
    motor_lag: Second = Field(default=0.002, ge=0, description="time constant of the motors' force")
    wall_stiffness: NewtonPerMetre = Field(default=0.0, ge=0, description="0 for no wall")
    wall_damping: NewtonSecondPerMetre = Field(default=50.0, ge=0)
    wall_distance: Metre = Field(default=0.05, ge=0, description="from the start, along operator.direction")


STATE = record(x=3, v=3, f=3, f_wall="f8")
PARAMS = record(mass="f8", friction="f8", share="f8", k="f8", c="f8", normal=3, wall="f8", substeps="i8")


def pack(p, arm: ForceArm, direction, start, period: float) -> None:
    """Fill PARAMS; `direction` is a unit vector towards the wall, `start` the initial position of the hand."""
    p.mass, p.friction = arm.mass, arm.friction
    p.share = 1.0 - math.exp(-period / arm.motor_lag) if arm.motor_lag > 0.0 else 1.0
    p.k, p.c, p.normal = arm.wall_stiffness, arm.wall_damping, direction
    p.wall = sum(d * x for d, x in zip(direction, start, strict=True)) + arm.wall_distance
    p.substeps = min(max(math.ceil(period * math.sqrt(arm.wall_stiffness / arm.mass) / _FINE), 1), _MOST_SUBSTEPS)


@jit
def force_arm_move(x, p, f_c, f_grip, k_grip, d_grip, dt):
    """One tick under the commanded force f_c; returns the wall's mean force along its normal.

    f_grip: force of the grip on the arm now; it falls by k_grip per metre and by d_grip per m/s (0, 0: it is held).
    x.f is then the motor's force in this tick, x.x and x.v the arm's position and velocity at its end.
    """
    vec.store(x.f, vec.add(vec.load(x.f), vec.scale(p.share, vec.sub(f_c, vec.load(x.f)))))
    h = dt / p.substeps
    n = vec.load(p.normal)
    inertia = p.mass + h * (p.friction + d_grip) + h * h * k_grip
    pushed = 0.0
    for _ in range(p.substeps):
        v = vec.load(x.v)
        force = vec.add(vec.load(x.f), vec.add(f_grip, vec.scale(d_grip, v)))
        momentum = vec.add(vec.scale(p.mass, v), vec.scale(h, force))
        v_next = vec.scale(1.0 / inertia, momentum)
        depth = vec.dot(n, vec.load(x.x)) - p.wall
        f_wall = 0.0
        if p.k > 0.0 and depth + h * vec.dot(n, v_next) > 0.0:
            along = (vec.dot(n, momentum) - h * p.k * depth) / (inertia + h * p.c + h * h * p.k)
            f_wall = max(0.0, p.k * (depth + h * along) + p.c * along)  # a wall does not pull
            v_next = vec.scale(1.0 / inertia, vec.sub(momentum, vec.scale(h * f_wall, n)))
        change = vec.add(vec.scale(k_grip * h, v_next), vec.scale(d_grip, vec.sub(v_next, v)))
        f_grip = vec.sub(f_grip, change)
        vec.store(x.v, v_next)
        vec.store(x.x, vec.add(vec.load(x.x), vec.scale(h, v_next)))
        pushed += f_wall
    x.f_wall = pushed / p.substeps
    return x.f_wall
