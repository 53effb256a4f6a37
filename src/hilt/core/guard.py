"""The guard: the last call of every tick. It checks the command itself and trusts no other stage.

A fault stops the run before the command is sent. All limits come from the scenario. The first command is checked like any
other: against the command's velocity at the start of the scenario, or against rest if the robot starts at rest.

Without a fault the command is copied to X_WB_sent; a rig with devices overwrites it with what was actually sent.
"""

import math
from dataclasses import dataclass

import numpy as np
from pydantic import Field, model_validator

from hilt.compiled import jit
from hilt.core import faults
from hilt.core.faults import Unfit
from hilt.core.scenario import Section
from hilt.core.signals import record
from hilt.core.stage import Cycle, StageKind
from hilt.core.units import (
    Joule,
    Metre3,
    MetrePerSecond,
    MetrePerSecond2,
    MetrePerSecondCubed,
    Newton,
    NewtonMetre,
    Positive,
    RadianPerSecond,
    RadianPerSecond2,
)
from hilt.maths import so3, vec

NEVER = 1e150  # a limit that is never reached; its square is still finite


class Limits(Section):
    """Limits that protect the hardware and the people around it. A rig always has its own; the defaults are for simulations,
    which hurt nobody, and stop a run only when its loop has run away."""

    force: Newton = Field(default=1e6, gt=0, description="measured by the sensor")
    torque: NewtonMetre = Field(default=1e6, gt=0, description="measured by the sensor")
    speed: MetrePerSecond = Field(default=100.0, gt=0, description="of commands")
    angular_speed: RadianPerSecond = Field(default=100.0, gt=0, description="of commands")
    acceleration: MetrePerSecond2 = Field(default=1e6, gt=0, description="of commands")
    angular_acceleration: Positive[RadianPerSecond2] | None = Field(
        default=None, description="of commands; unlimited if not given"
    )
    jerk: Positive[MetrePerSecondCubed] | None = Field(default=None, description="of commands; unlimited if not given")
    energy: Joule = Field(default=1e9, gt=0, description="kinetic energy of the simulated body")
    workspace_min: Metre3 = Field(
        default=(-100.0, -100.0, -100.0), description="lower corner of the box of commanded positions"
    )
    workspace_max: Metre3 = Field(default=(100.0, 100.0, 100.0), description="its upper corner")

    @model_validator(mode="after")
    def _box(self) -> "Limits":
        for axis, low, high in zip("xyz", self.workspace_min, self.workspace_max, strict=True):
            if not low < high:
                raise Unfit(
                    f"limits.workspace_min {axis} is {low:g} m and limits.workspace_max {axis} is {high:g} m; "
                    "the first must be smaller; swap them",
                    "limits.workspace_min",
                    "limits.workspace_max",
                )
        return self


# For computations that no robot executes: beyond what a scenario allows, so not checked like one.
UNLIMITED = Limits.model_construct(
    force=NEVER,
    torque=NEVER,
    speed=NEVER,
    angular_speed=NEVER,
    acceleration=NEVER,
    energy=NEVER,
    workspace_min=(-NEVER, -NEVER, -NEVER),
    workspace_max=(NEVER, NEVER, NEVER),
)


@jit
def _check(sig, code, square, limit):
    """Trip if a value exceeds its limit. Squares are compared: the root is needed only for the fault's value."""
    if square > limit * limit:
        faults.trip(sig, code, -1, math.sqrt(square), limit)


@jit
def guard_step(sig, x, p, dt):
    f, tau = vec.load(sig.F_So_S.f), vec.load(sig.F_So_S.tau)
    position = vec.load(sig.X_WB_cmd.p)
    q, last = so3.load(sig.X_WB_cmd.q), so3.load(x.q)
    rate = 1.0 / dt
    velocity = vec.scale(rate, vec.sub(position, vec.load(x.p)))
    change = vec.scale(rate, vec.sub(velocity, vec.load(x.v)))
    jolt = (0.0, 0.0, 0.0) if x.blind else vec.scale(rate, vec.sub(change, vec.load(x.a)))
    turn = vec.scale(rate, so3.between(last, q)) if q != last else (0.0, 0.0, 0.0)  # a logarithm is expensive
    spin = vec.scale(rate, vec.sub(turn, vec.load(x.w)))

    force, torque, speed = vec.dot(f, f), vec.dot(tau, tau), vec.dot(velocity, velocity)
    acceleration, angular_speed = vec.dot(change, change), vec.dot(turn, turn)
    energy = sig.H + sig.H_rot

    # One sum is enough: it is not finite if any term is not. The other differences are finite if these are.
    if not math.isfinite(force + torque + speed + acceleration + angular_speed + energy + q[0]):
        faults.trip(sig, faults.NOT_FINITE, -1, math.nan, 0.0)
    _check(sig, faults.FORCE, force, p.force)
    _check(sig, faults.TORQUE, torque, p.torque)
    for i in range(3):
        if position[i] < p.workspace_min[i]:
            faults.trip(sig, faults.WORKSPACE, i, position[i], p.workspace_min[i])
        if position[i] > p.workspace_max[i]:
            faults.trip(sig, faults.WORKSPACE, i, position[i], p.workspace_max[i])
    _check(sig, faults.SPEED, speed, p.speed)
    _check(sig, faults.ANGULAR_SPEED, angular_speed, p.angular_speed)
    _check(sig, faults.ACCELERATION, acceleration, p.acceleration)
    _check(sig, faults.ANGULAR_ACCELERATION, vec.dot(spin, spin), p.angular_acceleration)
    _check(sig, faults.JERK, vec.dot(jolt, jolt), p.jerk)
    if energy > p.energy:
        faults.trip(sig, faults.ENERGY, -1, energy, p.energy)

    vec.store(x.p, position)
    vec.store(x.v, velocity)
    vec.store(x.a, change)
    so3.store(x.q, q)
    vec.store(x.w, turn)
    x.blind = 0
    if sig.fault == faults.NONE:
        vec.store(sig.X_WB_sent.p, position)
        so3.store(sig.X_WB_sent.q, q)


@dataclass(frozen=True)
class Guarded:
    """Limits, and whether the robot is at rest at the first set-point."""

    limits: Limits
    at_rest: bool = True


def _pack(p: np.record, guarded: Guarded, loop: Cycle) -> None:
    for name in Limits.model_fields:
        limit = getattr(guarded.limits, name)
        p[name] = NEVER if limit is None else limit
    p.at_rest = guarded.at_rest


@jit
def start(x, position, q, v, w, blind):
    """Check the next set-point against this pose and twist; `blind` if the acceleration before it is unknown."""
    vec.store(x.p, position)
    vec.store(x.v, v)
    vec.store(x.a, (0.0, 0.0, 0.0))
    so3.store(x.q, q)
    vec.store(x.w, w)
    x.blind = blind


@jit
def _reset(sig, x, p):
    position, q, zero = vec.load(sig.X_WB_cmd.p), so3.load(sig.X_WB_cmd.q), (0.0, 0.0, 0.0)
    vec.store(sig.X_WB_sent.p, position)
    so3.store(sig.X_WB_sent.q, q)
    if p.at_rest:
        start(x, position, q, zero, zero, 0)
    else:
        start(x, position, q, vec.load(sig.V_WB_cmd.v), vec.load(sig.V_WB_cmd.w), 1)


GUARD = StageKind(
    "guard",
    guard_step,
    reads=("F_So_S", "X_WB_cmd", "V_WB_cmd", "H", "H_rot", "fault"),
    writes=("fault", "fault_axis", "fault_value", "fault_limit", "X_WB_sent"),
    state=record(p=3, v=3, a=3, q=4, w=3, blind="i8"),
    params=record(
        force="f8",
        torque="f8",
        speed="f8",
        angular_speed="f8",
        acceleration="f8",
        angular_acceleration="f8",
        jerk="f8",
        energy="f8",
        workspace_min=3,
        workspace_max=3,
        at_rest="i8",
    ),
    pack=_pack,
    reset=_reset,
)
