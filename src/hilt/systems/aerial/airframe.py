"""Motion of the simulated vehicle: the first stage of a tick, so that a row shows it at the row's time.

Since the last tick it has moved under the wind and the push of that row, the rotors' thrust and torques, the wrench at the tool
and the commanded angles of the arm, all of which are still in the row. Then wind and push are set for the time from t to t + T.

Two simulators share one interface, `start`, `move` and `show`:

    mujoco   base and arm with joints and servos (flying_body.py); `locked` welds the arm
    rigid    the same masses, the arm welded in its first posture, as one body (hilt.dynamics.quadrotor): a cross-check

The rigid one moves the common centre of mass C: thrust u_T e3 at b, wind f_w at b and wrench F_E at the tool become

    f = f_w + f_E,    τ_C = τ - c × u_T e3 - c × Rᵀf_w + (e - c) × Rᵀf_E + Rᵀτ_E        c, e: positions of C and E in b

Gusts are a first-order Gauss-Markov process in each direction, exact at any T: g⁺ = a g + σ √(1 - a²) n,  a = e^{-T/T_g}.
"""

import math
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Literal

import numpy as np
from pydantic import Field

from hilt.compiled import jit
from hilt.core import faults
from hilt.core.scenario import Section
from hilt.core.signals import POSE, TWIST, record
from hilt.core.stage import Cycle, StageKind
from hilt.core.units import Metre3, Newton, Newton3, Quaternion, Second
from hilt.maths import so3, vec
from hilt.maths.noise import NOISE, normal_vector
from hilt.systems.aerial import flying_body
from hilt.systems.aerial.flying_arm import JOINTS, FlyingArm, lump, posture_for
from hilt.systems.aerial.flying_body import FLYING_ARM, FLYING_ARM_PARAMS, LOST
from hilt.systems.aerial.planner import WayPoint
from hilt.systems.aerial.quadrotor import (
    QUADROTOR_PARAMS,
    QUADROTOR_STATE,
    pack_quadrotor,
    quadrotor_move,
    quadrotor_show,
    quadrotor_start,
)

MUJOCO = 0
RIGID = 1
KINDS = {"mujoco": MUJOCO, "rigid": RIGID}


class Simulator(Section):
    """Simulator of the vehicle's motion."""

    kind: Literal["mujoco", "rigid"] = "mujoco"
    locked: bool = Field(
        default=False, description="weld the arm of the MuJoCo model in its first posture, to compare with `rigid`"
    )


class ToolPush(Section):
    """A constant force at the tool for a limited time."""

    force: Newton3 = Field(default=(0.0, 0.0, 0.0), description="in the world frame")
    start: Second = Field(default=0.0, ge=0)
    duration: Second = Field(default=0.5, gt=0)


class Wind(Section):
    """Force of the wind on the base."""

    mean: Newton3 = Field(default=(0.0, 0.0, 0.0), description="in the world frame")
    gust: Newton = Field(default=0.0, ge=0, description="standard deviation of the gusts, in each direction")
    gust_time: Second = Field(default=1.0, gt=0, description="correlation time of the gusts")


@jit
def _rigid_move(x, p, u_T, tau, wind_N, f_E_N, tau_E_N, steps, dt):
    """Move the rigid vehicle. The levers turn with it, so the wrench is recomputed half-way through every substep."""
    c, e = vec.load(p.centre), vec.load(p.tool.p)
    f_N = vec.add(wind_N, f_E_N)
    thrust = vec.cross(c, (0.0, 0.0, u_T))
    h = dt / steps
    vec.store(x.f, f_N)
    quadrotor_show(x.X, x.V, x.body, p.body)
    for _ in range(steps):
        q = so3.multiply(so3.exp(vec.scale(0.5 * h, vec.load(x.V.w))), so3.load(x.body.q))
        outside = vec.add(vec.cross(vec.sub(e, c), so3.rotate_back(q, f_E_N)), so3.rotate_back(q, tau_E_N))
        wind = vec.cross(c, so3.rotate_back(q, wind_N))
        vec.store(x.tau, vec.sub(outside, vec.add(thrust, wind)))
        quadrotor_move(x.body, p.body, u_T, tau, x.f, x.tau, h)
        quadrotor_show(x.X, x.V, x.body, p.body)


@jit
def _point(X, V, place, x, c):
    """Pose and twist of a point of the rigid vehicle, given in b."""
    q, w = so3.load(x.X.q), vec.load(x.V.w)
    r = so3.rotate(q, vec.sub(place, c))
    vec.store(X.p, vec.add(vec.load(x.X.p), r))
    so3.store(X.q, q)
    vec.store(V.v, vec.add(vec.load(x.V.v), vec.cross(w, r)))
    vec.store(V.w, w)


@jit
def _rigid_flies(x):
    place, v, w = vec.load(x.X.p), vec.load(x.V.v), vec.load(x.V.w)
    return vec.dot(place, place) + vec.dot(v, v) + vec.dot(w, w) < LOST * LOST


@jit
def _rigid_show(sig, x, p):
    c = vec.load(p.centre)
    quadrotor_show(x.X, x.V, x.body, p.body)
    _point(sig.X_Nb_meas, sig.V_Nb_meas, (0.0, 0.0, 0.0), x, c)
    _point(sig.X_NE, sig.V_NE, vec.load(p.tool.p), x, c)
    so3.store(sig.X_NE.q, so3.multiply(so3.load(x.X.q), so3.load(p.tool.q)))
    for i in range(JOINTS):
        sig.q_uam[i], sig.qd_uam[i], sig.tau_uam[i] = p.posture[i], 0.0, 0.0


@jit
def _share(t, dt, p):
    """Fraction of the tick starting at t in which the push acts, so that its impulse is the same at any rate."""
    both = min(t + dt, p.push_end) - max(t, p.push_start)
    return min(max(both / dt, 0.0), 1.0)


@jit
def _weather(sig, x, p, t, dt):
    """Push and wind for the tick that begins at t."""
    share = _share(t, dt, p)
    a = math.exp(-dt / p.gust_time)
    n = normal_vector(x.noise)
    for i in range(3):
        x.gust[i] = a * x.gust[i] + p.gust * math.sqrt(1.0 - a * a) * n[i]
        sig.push_N[i] = share * p.push[i]
        sig.wind_N[i] = p.wind[i] + x.gust[i]


@jit
def airframe_step(sig, x, p, dt):
    if x.started:
        _move(sig, x, p, dt)
        _weather(sig, x, p, x.now, dt)
    x.started, x.now = 1, sig.t + dt


@jit
def _move(sig, x, p, dt):
    """From the last tick to this one, with the inputs that the last tick left in the row."""
    f_E_N = vec.add(vec.load(sig.F_E_N.f), vec.load(sig.push_N))
    tau_E_N, wind_N = vec.load(sig.F_E_N.tau), vec.load(sig.wind_N)
    if p.kind == MUJOCO:
        flies = flying_body.flying_move(x.arm, p.arm, sig.u_T_acting, sig.tau_b_acting, wind_N, f_E_N, tau_E_N, sig.q_uam_c, dt)
        if flies:
            flying_body.flying_show(sig, x.arm, p.arm)
    else:
        steps = p.arm.substeps
        _rigid_move(x.rigid, p.rigid, sig.u_T_acting, sig.tau_b_acting, wind_N, f_E_N, tau_E_N, steps, dt)
        flies = _rigid_flies(x.rigid)
        if flies:
            _rigid_show(sig, x.rigid, p.rigid)
    if not flies:  # a non-finite state is a fault here: boxes and limits before the hardware might hide it
        faults.trip(sig, faults.NOT_FINITE, -1, math.nan, 0.0)


@dataclass(frozen=True)
class FlyingVehicle:
    """The vehicle, its start, and its disturbances."""

    simulator: Simulator
    flying_arm: FlyingArm
    start: WayPoint
    tool_position: Metre3  # in the frame of the base
    tool_attitude: Quaternion
    push: ToolPush
    wind: Wind


def _pack(p: np.record, config: FlyingVehicle, loop: Cycle) -> None:
    simulator, section, dt = config.simulator, config.flying_arm, loop.period
    first, tool = config.start, (config.tool_position, config.tool_attitude)
    attitude = so3.exp((0.0, 0.0, first.yaw))
    p.kind = KINDS[simulator.kind]
    posture = posture_for(*tool)
    flying_body.pack_flying_arm(p.arm, section, (first.position, attitude), posture, simulator.locked, dt)
    whole = lump(section, posture)
    centre_N = vec.add(first.position, so3.rotate(attitude, tuple(whole.centre)))
    body = SimpleNamespace(mass=whole.mass, inertia=whole.inertia)
    pack_quadrotor(p.rigid.body, body, centre_N, attitude, flying_body.LONGEST_STEP)
    p.rigid.centre, p.rigid.posture = whole.centre, posture
    p.rigid.tool.p, p.rigid.tool.q = tool
    push, wind = config.push, config.wind
    p.push, p.push_start, p.push_end = push.force, push.start, push.start + push.duration
    p.wind, p.gust, p.gust_time = wind.mean, wind.gust, wind.gust_time
    p.key, p.dt = np.uint64(loop.noise_key("wind")), dt


@jit
def _reset(sig, x, p):
    x.noise.key = p.key
    flying_body.flying_start(x.arm, p.arm)
    quadrotor_start(x.rigid.body, p.rigid.body)
    if p.kind == MUJOCO:
        flying_body.flying_show(sig, x.arm, p.arm)
    else:
        _rigid_show(sig, x.rigid, p.rigid)
    # The gusts start in their stationary distribution.
    n = normal_vector(x.noise)
    for i in range(3):
        x.gust[i] = p.gust * n[i]
    _weather(sig, x, p, 0.0, p.dt)


AIRFRAME = StageKind(
    "airframe",
    airframe_step,
    reads=("fault", "t", "u_T_acting", "tau_b_acting", "F_E_N", "q_uam_c", "push_N", "wind_N"),
    writes=(
        "X_Nb_meas",
        "V_Nb_meas",
        "X_NE",
        "V_NE",
        "q_uam",
        "qd_uam",
        "tau_uam",
        "wind_N",
        "push_N",
        "fault",
        "fault_axis",
        "fault_value",
        "fault_limit",
    ),
    state=record(
        arm=FLYING_ARM,
        rigid=record(body=QUADROTOR_STATE, X=POSE, V=TWIST, f=3, tau=3),
        noise=NOISE,
        gust=3,
        started="i8",
        now="f8",
    ),
    params=record(
        kind="i8",
        arm=FLYING_ARM_PARAMS,
        rigid=record(body=QUADROTOR_PARAMS, centre=3, tool=POSE, posture=JOINTS),
        push=3,
        push_start="f8",
        push_end="f8",
        wind=3,
        gust="f8",
        gust_time="f8",
        key="u8",
        dt="f8",
    ),
    pack=_pack,
    reset=_reset,
)
