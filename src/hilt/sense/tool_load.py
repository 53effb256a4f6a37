"""The load on a sensor that moves: weight and inertia forces of tool and mock-up are subtracted from the measured wrench.

    f_mea = b_f + m (g - a_c) + f            a_c = a + α × c + ω × (ω × c)
    τ_mea = b_τ + c × m (g - a_c) - I α - ω × I ω + τ

all at the sensor's origin and in its axes; a is the acceleration of that origin, c the centre of mass, I about it. The sensor
measures the force of the world on the tool, so the weight has the sign of a push. The remainder, f and τ, is the contact.
The accelerations come from measured velocities, low-passed: they lag by t_s = `smooth`. A simulated mass M driven by the
remainder then responds later by m/M (t_s - the delay of sensor and filter). The load's own motion feeds back through the
robot; by the small-gain theorem that loop is stable while m < M/2 and the robot does not overshoot.
"""

from dataclasses import dataclass

import numpy as np
from pydantic import Field, model_validator

from hilt.compiled import jit
from hilt.core.gravity import STANDARD_GRAVITY
from hilt.core.scenario import Section
from hilt.core.signals import record
from hilt.core.stage import Cycle, StageKind
from hilt.core.units import Inertia, Kilogram, Metre3, MetrePerSecond2, Newton3, NewtonMetre3, Quaternion, Second
from hilt.dynamics.body import check_inertia, diagonal_inertia
from hilt.maths import so3, vec

GRAVITY = (0.0, 0.0, -STANDARD_GRAVITY)  # [m/s²] in W, whose z points up


class Load(Section):
    """A body attached to the sensor."""

    mass: Kilogram = Field(ge=0, description="of everything attached to the sensor")
    centre_of_mass: Metre3 = Field(description="from the sensor's origin, in its axes")
    inertia: Inertia = Field(
        default=((0.0,) * 3,) * 3,
        description="about the centre of mass, in the sensor's axes; three numbers are its diagonal; 0 for a point mass",
    )
    gravity: tuple[MetrePerSecond2, MetrePerSecond2, MetrePerSecond2] = Field(default=GRAVITY, description="in W")

    _diagonal = diagonal_inertia

    @model_validator(mode="after")
    def _possible(self) -> "Load":
        if any(part for row in self.inertia for part in row):
            check_inertia(np.array(self.inertia), "tool.inertia")
        return self


class ToolLoad(Load):
    """The load to subtract, and the sensor's reading without load."""

    force_bias: Newton3 = Field(default=(0.0, 0.0, 0.0), description="reading without load")
    torque_bias: NewtonMetre3 = Field(default=(0.0, 0.0, 0.0), description="reading without load")
    smooth: Second = Field(default=0.02, ge=0, description="time constant of the low-pass on the accelerations")

    @property
    def shows(self) -> bool:
        """Whether there is anything to subtract."""
        return self.mass > 0 or any(self.force_bias) or any(self.torque_bias)


LOAD = record(mass="f8", centre_of_mass=3, inertia=("f8", (3, 3)), gravity=3)
MOTION = record(v=3, w=3, a=3, alpha=3, started="i8")


@jit
def accelerations(x, q_WB, v, w, position, share, dt):
    """Low-passed differences of velocity (at the sensor) and angular velocity, into x.a and x.alpha, in W; x is a MOTION."""
    v = vec.add(v, vec.cross(w, so3.rotate(q_WB, position)))
    if x.started:
        a = vec.scale(1.0 / dt, vec.sub(v, vec.load(x.v)))
        alpha = vec.scale(1.0 / dt, vec.sub(w, vec.load(x.w)))
        vec.store(x.a, vec.add(vec.load(x.a), vec.scale(share, vec.sub(a, vec.load(x.a)))))
        vec.store(x.alpha, vec.add(vec.load(x.alpha), vec.scale(share, vec.sub(alpha, vec.load(x.alpha)))))
    x.started = 1
    vec.store(x.v, v)
    vec.store(x.w, w)


@jit
def load_wrench(q_WS, a, w, alpha, p):
    """Force and torque of the load at the sensor's origin, in its axes; a of that origin, w and alpha in W; p has a LOAD."""
    c = vec.load(p.centre_of_mass)
    w_S, alpha_S = so3.rotate_back(q_WS, w), so3.rotate_back(q_WS, alpha)
    apparent = so3.rotate_back(q_WS, vec.sub(vec.load(p.gravity), a))  # g - a
    apparent = vec.sub(apparent, vec.add(vec.cross(alpha_S, c), vec.cross(w_S, vec.cross(w_S, c))))  # g - a_c
    f = vec.scale(p.mass, apparent)
    turn = vec.add(vec.matvec(p.inertia, alpha_S), vec.cross(w_S, vec.matvec(p.inertia, w_S)))
    return f, vec.sub(vec.cross(c, f), turn)


@jit
def unload(f, tau, q_WS, a, w, alpha, p):
    """A measured wrench at the sensor's origin in its axes, minus bias, weight and inertia forces."""
    load_f, load_tau = load_wrench(q_WS, a, w, alpha, p)
    f = vec.sub(vec.sub(f, vec.load(p.force_bias)), load_f)
    tau = vec.sub(vec.sub(tau, vec.load(p.torque_bias)), load_tau)
    return f, tau


@jit
def take_off(sig, x, p, f, tau, dt):
    """The contact part of a wrench measured now; x is a MOTION, updated here."""
    q_WB, w = so3.load(sig.X_WB_meas.q), vec.load(sig.V_WB_meas.w)
    accelerations(x, q_WB, vec.load(sig.V_WB_meas.v), w, vec.load(p.position), p.share, dt)
    return unload(f, tau, so3.multiply(q_WB, so3.load(p.q_BS)), vec.load(x.a), w, vec.load(x.alpha), p)


@jit
def tool_load_step(sig, x, p, dt):
    f, tau = vec.load(sig.F_So_filt_S.f), vec.load(sig.F_So_filt_S.tau)
    if p.present:
        f, tau = take_off(sig, x, p, f, tau, dt)
    vec.store(sig.F_So_net_S.f, f)
    vec.store(sig.F_So_net_S.tau, tau)


@dataclass(frozen=True)
class Mounting:
    """Where a sensor sits on the body that carries it, and the load subtracted from its readings."""

    position: Metre3  # of the sensor's origin, in the body frame
    attitude: Quaternion  # of the sensor, in the body frame
    centre_of_mass: Metre3  # of the body, in its frame
    tool: ToolLoad | None = None

    @property
    def from_centre(self) -> tuple[float, ...]:
        """From the body's centre of mass to the sensor's origin, in the body frame [m]."""
        return tuple(a - c for a, c in zip(self.position, self.centre_of_mass, strict=True))


def pack_load(p, load: ToolLoad) -> None:
    """Fill the parameters that `unload` needs."""
    for name in ("mass", "centre_of_mass", "inertia", "gravity", "force_bias", "torque_bias"):
        p[name] = getattr(load, name)


def _pack(p: np.record, mounting: Mounting, loop: Cycle) -> None:
    p.position, p.q_BS = mounting.position, mounting.attitude
    tool = mounting.tool
    if tool is not None:
        p.present = tool.shows
        pack_load(p, tool)
        p.share = loop.period / (tool.smooth + loop.period)


TOOL_LOAD = StageKind(
    "tool-load",
    tool_load_step,
    reads=("F_So_filt_S", "X_WB_meas", "V_WB_meas"),
    writes=("F_So_net_S",),
    state=MOTION,
    params=record(
        present="i8",
        mass="f8",
        centre_of_mass=3,
        inertia=("f8", (3, 3)),
        gravity=3,
        force_bias=3,
        torque_bias=3,
        position=3,
        q_BS=4,
        share="f8",
    ),
    pack=_pack,
)
