"""The virtual arm and payload that the operator sees: no delay, a simple grip.

    v = v_r - K_s f - D (v1 - v2)                                        (5), v1 and v2 the last two velocities
    f = K_t (x - x_t) + D_t (v - v_t)                                    (7), its sign mended
    v_t' = f/m                                                           (8), (9)

Done explicitly as printed this diverges at any step, since K_s D_t + 2 D is above one. `implicit` solves for f at the end of
the step, with the D term lagged:

    b = K_t T + D_t;  f = [K_t (x - x_t) + b (v_r - D (v1 - v2) - v_t)] / [1 + b (K_s + T/m)]
"""

from typing import Literal

from pydantic import Field

from hilt.compiled import jit
from hilt.scenario import Section
from hilt.signals import record
from hilt.stage import StageKind
from hilt.teleop.identify import GRIP_TIME
from hilt.teleop.link import playout_ticks
from hilt.units import NewtonPerMetre, NewtonSecondPerMetre, Number

IMPLICIT = 0
EXPLICIT = 1
CODES = {"implicit": IMPLICIT, "explicit": EXPLICIT}


class Virtual(Section):
    """What the ground believes."""

    mass_ratio: Number = Field(default=1.0, gt=0, description="virtual mass / real mass")
    grip_stiffness: NewtonPerMetre = Field(default=746e3, gt=0, description="K_t")
    grip_damping: NewtonSecondPerMetre = Field(default=1000.0, ge=0, description="D_t")
    identify: bool = Field(default=False, description="push gently on orbit first, and take over the mass and grip found")
    step: Literal["implicit", "explicit"] = Field(default="implicit", description="explicit is the printed form; it diverges")


@jit
def _learn(sig, x):
    """Take over what orbit has found, at rest: mass, grip and place at once."""
    x.mass, x.K_t, x.D_t = sig.m_sent, sig.k_sent, GRIP_TIME * sig.k_sent
    for i in range(3):
        x.x[i] = x.x_t[i] = sig.x_sent[i]
        x.v_t[i] = x.v1[i] = x.v2[i] = 0.0


@jit
def virtual_arm_step(sig, x, p, dt):
    if p.identify and sig.tick == p.report_tick:
        _learn(sig, x)
    for i in range(3):
        lagged = sig.v_r[i] - p.D * (x.v1[i] - x.v2[i])
        if p.step == IMPLICIT:
            b = x.K_t * dt + x.D_t
            f = (x.K_t * (x.x[i] - x.x_t[i]) + b * (lagged - x.v_t[i])) / (1.0 + b * (p.K_s + dt / x.mass))
        else:
            f = x.K_t * (x.x[i] - x.x_t[i]) + x.D_t * (x.v1[i] - x.v_t[i])  # [Yang2018, eq. 7]
        v = lagged - p.K_s * f  # [Yang2018, eq. 5]
        x.v_t[i] += dt * f / x.mass  # [Yang2018, eq. 8, eq. 9]
        x.x[i] += dt * v  # [Yang2018, eq. 6]
        x.x_t[i] += dt * x.v_t[i]  # [Yang2018, eq. 10]
        x.v2[i] = x.v1[i]
        x.v1[i] = v
        sig.f_vir[i] = f
        sig.x_vir[i] = x.x[i]
        sig.v_vir[i] = v
        sig.x_tvir[i] = x.x_t[i]
        sig.v_tvir[i] = x.v_t[i]


def _pack(p, scenario):
    virtual, slave = scenario.virtual, scenario.slave
    p.mass = virtual.mass_ratio * scenario.payload.mass
    p.K_t, p.D_t = virtual.grip_stiffness, virtual.grip_damping
    p.K_s, p.D = slave.compliance, slave.damping
    p.step = CODES[virtual.step]
    p.x0 = scenario.start_of_grip
    p.identify = virtual.identify
    p.report_tick = round(scenario.identify.push_end / scenario.loop.period) + 1 + playout_ticks(scenario)


@jit
def _reset(sig, x, p):
    x.mass, x.K_t, x.D_t = p.mass, p.K_t, p.D_t
    for i in range(3):
        x.x[i] = x.x_t[i] = p.x0[i]
        sig.x_vir[i] = sig.x_tvir[i] = p.x0[i]


VIRTUAL_ARM = StageKind(
    "virtual-arm",
    virtual_arm_step,
    reads=("tick", "v_r", "m_sent", "k_sent", "x_sent"),
    writes=("x_vir", "v_vir", "x_tvir", "v_tvir", "f_vir"),
    state=record(x=3, x_t=3, v_t=3, v1=3, v2=3, mass="f8", K_t="f8", D_t="f8"),
    params=record(mass="f8", K_t="f8", D_t="f8", K_s="f8", D="f8", step="i8", x0=3, identify="i8", report_tick="i8"),
    pack=_pack,
    reset=_reset,
)
