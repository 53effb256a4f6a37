"""The virtual arm and payload that the operator sees: no delay, a simple grip, six degrees of freedom.

    V = V_r - K_s F - D (V1 - V2)                                        (5), V1 and V2 the last two twists
    F = K_t (X - X_t) + D_t (V - V_t)                                    (7), its sign corrected
    M V_t' = F                                                           (8), (9)

The explicit form, as printed, diverges at any step, since K_s D_t + 2 D is above one. `implicit` solves for F at the end of
the step, with the D term lagged and Y the mobility of the payload at its grip:

    b = K_t T + D_t;  [1 + b (K_s + T Y)] F = K_t (X - X_t) + b (V_r - D (V1 - V2) - V_t)

The paper's B(φ) converts rates of Euler angles into rates of turn; quaternions do not need it, and X - X_t is the rotation
vector between them. A hand that closes or opens scales K_t and D_t as the real fingers do (fingers.py), at once when the
operator commands it; the real ones follow when the command reaches orbit. After an outage the hand on orbit has an offset; when
everything has come to rest the virtual arm is moved to the hand's reported position. Orbit does not see this: what it is sent
excludes the shift, so nothing moves there.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import Field

from hilt.compiled import jit
from hilt.core.scenario import Section
from hilt.core.signals import record
from hilt.core.stage import Cycle, StageKind
from hilt.core.units import Metre3, NewtonMetrePerRadian, NewtonMetreSecond, NewtonPerMetre, NewtonSecondPerMetre, Number
from hilt.dynamics.body import Body
from hilt.dynamics.rotation import momentum_rule
from hilt.maths import linear, so3, vec
from hilt.systems.payload import fingers
from hilt.systems.payload.grip import Grip
from hilt.systems.payload.identify import GRIP_TIME
from hilt.systems.payload.slave import Slave

IMPLICIT = 0
EXPLICIT = 1
CODES = {"implicit": IMPLICIT, "explicit": EXPLICIT}
MASS_RATE = 0.05  # 1/s, by which the mass may change in motion: a faster change would be felt
MASS_DOUBT = 0.03  # relative deviation above which a reported mass is not used
STILL = 1e-4  # m/s
RESYNC_REST = 1.0  # s of rest, beyond the round trip to orbit, before the virtual arm is moved to the slave arm


class Virtual(Section):
    """Beliefs of the ground about the payload."""

    mass_ratio: Number = Field(default=1.0, gt=0, description="virtual mass / real mass")
    inertia_ratio: Number = Field(default=1.0, gt=0, description="virtual inertia / real inertia")
    centre_of_mass_error: Metre3 = Field(default=(0.0, 0.0, 0.0), description="virtual minus real position of it")
    grip_stiffness: NewtonPerMetre = Field(default=746e3, gt=0, description="K_t")
    grip_damping: NewtonSecondPerMetre = Field(default=1000.0, ge=0, description="D_t")
    grip_rotational_stiffness: NewtonMetrePerRadian = Field(default=0.0, ge=0, description="0: the payload turns in the hand")
    grip_rotational_damping: NewtonMetreSecond = Field(default=0.0, ge=0)
    identify: bool = Field(default=False, description="identify mass and grip on orbit, and use the result")
    step: Literal["implicit", "explicit"] = Field(
        default="implicit", description="explicit is the form printed in the paper; it diverges"
    )


@jit
def _grip(x, p):
    """From the centre of mass to the grip, in W; the grip's position and velocity."""
    r = so3.rotate(so3.load(x.q_t), vec.load(p.grip_com_B))
    return r, vec.add(vec.load(x.c), r), vec.add(vec.load(x.v_t), vec.cross(vec.load(x.w_t), r))


@jit
def _mobility(x, p, r, j):
    """Column j of Y: effect of a unit force (0 to 2) or torque (3 to 5) at the grip on the grip's twist."""
    unit = (1.0 if j % 3 == 0 else 0.0, 1.0 if j % 3 == 1 else 0.0, 1.0 if j % 3 == 2 else 0.0)
    v = vec.scale(1.0 / x.mass, unit) if j < 3 else (0.0, 0.0, 0.0)
    if not p.rotates:
        return v, (0.0, 0.0, 0.0)
    q = so3.load(x.q_t)
    tau = vec.cross(r, unit) if j < 3 else unit
    w = so3.rotate(q, vec.matvec(p.inverse_inertia, so3.rotate_back(q, tau)))
    return vec.add(v, vec.cross(w, r)), w


@jit
def _gain(x, p, i):
    """Stiffness and damping of the virtual grip along axis i of six, as far as the fingers are closed."""
    K, D = (x.K_t, x.D_t) if i < 3 else (p.K_r, p.D_r)
    return x.share * K, x.share * D


@jit
def _wrench(x, p, r, dt):
    """Fill x.F from x.apart, x.lagged and x.V_t."""
    n = 6 if p.rotates else 3
    for i in range(6):
        x.F[i] = 0.0
    if p.step == EXPLICIT:
        for i in range(n):
            K, D = _gain(x, p, i)
            x.F[i] = K * x.apart[i] + D * (x.V1[i] - x.V_t[i])  # [Yang2018, eq. 7]
        return
    for j in range(n):
        v, w = _mobility(x, p, r, j)
        for i in range(n):
            K, D = _gain(x, p, i)
            b = K * dt + D
            x.A[i, j] = b * dt * (v[i] if i < 3 else w[i - 3])
            if i == j:
                x.A[i, i] += 1.0 + b * p.K_s[i]
    for i in range(n):
        K, D = _gain(x, p, i)
        x.A[i, n] = K * x.apart[i] + (K * dt + D) * (x.lagged[i] - x.V_t[i])
    linear.solve(x.A, n)
    for i in range(n):
        x.F[i] = x.A[i, n]


@jit
def _move_payload(x, p, r, dt):
    f, tau = (x.F[0], x.F[1], x.F[2]), (x.F[3], x.F[4], x.F[5])
    v = vec.add(vec.load(x.v_t), vec.scale(dt / x.mass, f))  # [Yang2018, eq. 8, eq. 9]
    vec.store(x.v_t, v)
    vec.store(x.c, vec.add(vec.load(x.c), vec.scale(dt, v)))  # [Yang2018, eq. 10]
    if p.rotates:
        torque = vec.add(vec.cross(r, f), tau)
        q, L, w, _, _ = momentum_rule(so3.load(x.q_t), vec.load(x.L), vec.load(x.w_t), torque, p, dt)
        so3.store(x.q_t, q)
        vec.store(x.L, L)
        vec.store(x.w_t, w)


@jit
def _put(x, p, place):
    """Put hand and payload at rest, the hand at a given position."""
    r, _, _ = _grip(x, p)
    vec.store(x.x, place)
    vec.store(x.c, vec.sub(place, r))
    vec.store(x.v_t, (0.0, 0.0, 0.0))
    for i in range(3):
        x.V1[i] = x.V2[i] = 0.0


@jit
def _learn(sig, x, p, dt):
    """Adopt the result from orbit: after the push, at rest, all at once; in motion only the mass, slowly and smoothly."""
    if p.push and not x.learnt:
        if sig.pushed_ground > 0.5:
            x.learnt = 1
            x.mass, x.K_t, x.D_t = sig.m_ground, sig.k_ground, GRIP_TIME * sig.k_ground
            _put(x, p, vec.load(sig.x_s_ground))
    elif 0.0 < sig.m_sigma_ground < MASS_DOUBT * sig.m_ground:
        most = MASS_RATE * dt * x.mass
        x.mass += min(max(sig.m_ground - x.mass, -most), most)


@jit
def _resynchronise(sig, x, p, dt):
    """At rest, and when orbit must be at rest too: show the offset that orbit has kept since an outage."""
    commanded = abs(sig.v_r[0]) + abs(sig.v_r[1]) + abs(sig.v_r[2])
    moves = abs(x.V1[0]) + abs(x.V1[1]) + abs(x.V1[2])
    x.rest = 0.0 if commanded > 0.0 or moves > STILL else x.rest + dt
    if x.rest < p.rest:
        return
    for i in range(3):
        shift = -sig.offset_ground[i] - x.shift[i]
        x.shift[i] += shift
        x.x[i] += shift
        if x.share > 0.0:  # an open hand leaves the payload where it is
            x.c[i] += shift


@jit
def virtual_arm_step(sig, x, p, dt):
    if p.identify:
        _learn(sig, x, p, dt)
    _resynchronise(sig, x, p, dt)
    r, x_g, v_g = _grip(x, p)
    q = so3.load(x.q)
    turned = so3.between(so3.load(x.q_t), q)
    apart = vec.sub(vec.load(x.x), x_g)
    far = math.sqrt(vec.dot(apart, apart))
    sig.grip_open_vir = fingers.move(x.fingers, p.fingers, sig.hand_open_r > fingers.HALF, far, dt)
    x.share = 1.0 - sig.grip_open_vir
    for i in range(3):
        x.apart[i], x.apart[3 + i] = x.x[i] - x_g[i], turned[i]
        x.V_t[i], x.V_t[3 + i] = v_g[i], x.w_t[i]
        x.lagged[i] = sig.v_r[i] - p.D[i] * (x.V1[i] - x.V2[i])
        x.lagged[3 + i] = sig.w_r[i] - p.D[3 + i] * (x.V1[3 + i] - x.V2[3 + i])
    _wrench(x, p, r, dt)
    _move_payload(x, p, r, dt)
    for i in range(6):
        x.V2[i] = x.V1[i]
        x.V1[i] = x.lagged[i] - p.K_s[i] * x.F[i]  # [Yang2018, eq. 5]
    for i in range(3):
        x.x[i] += dt * x.V1[i]  # [Yang2018, eq. 6]
    so3.store(x.q, so3.renormalise(so3.multiply(so3.exp((dt * x.V1[3], dt * x.V1[4], dt * x.V1[5])), q)))
    _publish(sig, x, p)


@jit
def _publish(sig, x, p):
    _, x_g, v_g = _grip(x, p)
    for i in range(3):
        sig.f_vir[i], sig.tau_vir[i] = x.F[i], x.F[3 + i]
        sig.v_vir[i], sig.w_vir[i] = x.V1[i], x.V1[3 + i]
        sig.x_vir[i] = x.x[i]
        sig.x_vir_up[i] = x.x[i] - x.shift[i]
        sig.w_tvir[i] = x.w_t[i]
    vec.store(sig.x_tvir, x_g)
    vec.store(sig.v_tvir, v_g)
    so3.store(sig.q_vir, so3.load(x.q))
    so3.store(sig.q_tvir, so3.load(x.q_t))
    sig.m_vir = x.mass


@dataclass(frozen=True)
class GroundModel:
    """The slave arm and its payload as the ground models them."""

    virtual: Virtual
    slave: Slave
    payload: Body
    grip: Grip
    start: tuple[float, ...]  # m, of the hand in W
    offset: tuple[float, ...]  # m, from the grip to the hand at the start
    open_first: bool  # the hand is open at the start
    push: bool  # whether the payload is pushed to identify it
    playout_delay: float  # s, of the link, one way


def _pack(p: np.record, model: GroundModel, loop: Cycle) -> None:
    virtual, slave, body = model.virtual, model.slave, model.payload
    p.mass = virtual.mass_ratio * body.mass
    p.inverse_inertia = np.linalg.inv(virtual.inertia_ratio * np.array(body.inertia))
    p.rotates = body.dof == 6
    p.grip_com_B = np.array(model.grip.position) - body.centre_of_mass - virtual.centre_of_mass_error
    p.K_t, p.D_t = virtual.grip_stiffness, virtual.grip_damping
    p.K_r, p.D_r = virtual.grip_rotational_stiffness, virtual.grip_rotational_damping
    p.K_s[:3], p.K_s[3:] = slave.compliance, slave.rotational_compliance
    p.D[:3], p.D[3:] = slave.damping, slave.rotational_damping
    p.step = CODES[virtual.step]
    p.x0, p.offset = model.start, model.offset
    fingers.pack(p.fingers, model.grip.closing, model.grip.reach, model.open_first)
    p.identify, p.push = virtual.identify, model.push
    p.rest = RESYNC_REST + 2.0 * model.playout_delay


@jit
def _reset(sig, x, p):
    x.mass, x.K_t, x.D_t = p.mass, p.K_t, p.D_t
    x.q[0] = x.q_t[0] = 1.0
    _put(x, p, vec.load(p.x0))
    vec.store(x.c, vec.sub(vec.load(x.c), vec.load(p.offset)))
    fingers.reset(x.fingers, p.fingers)
    sig.grip_open_vir = x.fingers.open
    x.share = 1.0 - x.fingers.open
    _publish(sig, x, p)


VIRTUAL_ARM = StageKind(
    "virtual-arm",
    virtual_arm_step,
    reads=(
        "v_r",
        "w_r",
        "hand_open_r",
        "pushed_ground",
        "m_ground",
        "m_sigma_ground",
        "k_ground",
        "x_s_ground",
        "offset_ground",
    ),
    writes=(
        "x_vir",
        "v_vir",
        "q_vir",
        "w_vir",
        "x_vir_up",
        "x_tvir",
        "v_tvir",
        "q_tvir",
        "w_tvir",
        "f_vir",
        "tau_vir",
        "m_vir",
        "grip_open_vir",
    ),
    state=record(
        x=3,
        q=4,
        c=3,
        v_t=3,
        q_t=4,
        L=3,
        w_t=3,
        V1=6,
        V2=6,
        V_t=6,
        apart=6,
        lagged=6,
        F=6,
        A=("f8", (6, 7)),
        mass="f8",
        K_t="f8",
        D_t="f8",
        learnt="i8",
        shift=3,
        rest="f8",
        fingers=fingers.FINGERS,
        share="f8",
    ),
    params=record(
        mass="f8",
        inverse_inertia=("f8", (3, 3)),
        rotates="i8",
        grip_com_B=3,
        K_t="f8",
        D_t="f8",
        K_r="f8",
        D_r="f8",
        K_s=6,
        D=6,
        step="i8",
        x0=3,
        identify="i8",
        push="i8",
        rest="f8",
        offset=3,
        fingers=fingers.FINGERS_PARAMS,
    ),
    pack=_pack,
    reset=_reset,
)
