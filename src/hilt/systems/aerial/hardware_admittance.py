"""The hardware arm yields to the human, shows the motion of the flying base, and is guarded at the human port.

    M x̄'' + D x̄' + K x̄ = h_h,        x_asked = x_rest + LPF(clamp(e_p')) + x̄ + lead        [Cuniato2022, eq. 4, eq. 5]

The paper feeds the base's displacement in as a wrench h_q made of its derivatives; with x̄ = x̃ - e_p' that is the same motion,
and 0.1 mm of noise on e_p' stays 0.1 mm where h_q would make 2.4 N of it.

The gains are those of the simulated arm, axis by axis, so that both tools yield alike. Every joule is accounted for:

    ΔE_hw = hᵀ x̄'_m T  -  x̄'_mᵀ D x̄'_m T  +  ½ x̄ᵀ dK x̄ + ½ x̄'ᵀ dM x̄'        supplied, damping, gains

The wrench works on the whole requested motion, F · Δx_asked; the part of it that is not `supplied` is the work on base, rest
motion and lead, and has its own port. Row k has the sums up to the state at t = kT.
"""

from dataclasses import dataclass

import numpy as np
from pydantic import Field

from hilt.compiled import jit
from hilt.core import ledger
from hilt.core.scenario import Section
from hilt.core.signals import PORT, record
from hilt.core.stage import Cycle, StageKind
from hilt.core.units import Metre, Metre3, Quaternion, RadianPerSecond
from hilt.maths import so3, vec
from hilt.systems.aerial import admittance, port_guard
from hilt.systems.aerial.force_filter import filter_share
from hilt.systems.aerial.gains import GainSet


class Hardware(Section):
    """Compliance of the hardware arm, and how much of the base's motion it shows."""

    follow_gains: bool = Field(default=True, description="use the gains of the simulated arm, not `gains`")
    gains: GainSet = GainSet(mass=1.0, damping=10.0, stiffness=5.0)
    radius: Metre = Field(
        default=1.0, gt=0, description="rotational gains are the translational ones times its square, per rad"
    )
    base_box: Metre = Field(default=0.05, ge=0, description="largest displacement of the base shown, per axis")
    base_bandwidth: RadianPerSecond = Field(default=20.0, gt=0, description="of the low-pass on the displacement that is shown")


@jit
def _publish(sig, x):
    """Publish the ledger of the previous ticks, and the stored energy that they have led to."""
    sig.E_hw = admittance.stored(x.compliance, x.M, x.K)
    ledger.publish(sig.W_damping, x.damping)
    ledger.publish(sig.W_gains, x.gains)
    ledger.publish(sig.W_lead_and_base, x.lead_and_base)


@jit
def _follow_gains(sig, x):
    """Adopt the arm's gains. The energy that this adds to masses and springs has its own port."""
    added = 0.0
    for i in range(6):
        dM, dK = sig.M_arm[i] - x.M[i], sig.K_arm[i] - x.K[i]
        z, v = x.compliance.z[i], x.compliance.v[i]
        added += 0.5 * (dM * v * v + dK * z * z)
        if i < 3:
            x.guard.S[i] += 0.5 * (dM * x.guard.v[i] * x.guard.v[i] + dK * x.guard.y[i] * x.guard.y[i])
        x.M[i], x.D0[i], x.K[i] = sig.M_arm[i], sig.D_arm_des[i], sig.K_arm[i]
    ledger.book(x.gains, added, 1.0, 1.0)


@jit
def _watch_port(sig, x, p, dt):
    """Update the added damping from the human's force and the encoder; base and rest motion are delayed like the servo."""
    for i in range(3):
        moved = sig.X_WB_meas.p[i] - x.followed[i]
        port_guard.observe(x.guard, i, sig.F_h_raw_H.f[i], moved, x.M[i], x.K[i], p.guard, dt)
        port_guard.adapt(x.guard, i, x.D0[i], p.guard, dt)


@jit
def _yield(sig, x, dt):
    """Advance the compliance by one tick; return the work of the wrench on it."""
    for i in range(6):
        x.D[i] = x.D0[i] + (x.guard.added[i] if i < 3 else 0.0)
    admittance.apply_wrench(x.compliance, vec.load(sig.F_h_H.f), vec.load(sig.F_h_H.tau))
    admittance.comply(x.compliance, x.M, x.D, x.K, dt)
    ledger.book(x.damping, -admittance.dissipated(x.compliance, x.D, dt), 1.0, 1.0)
    return admittance.supplied(x.compliance, dt)


@jit
def _request_pose(sig, x, p):
    """Write the requested pose; return the work of the wrench on the motion to it."""
    work = 0.0
    for i in range(3):
        shown = min(max(sig.e_p_H[i], -p.base_box), p.base_box)
        x.shown[i] += p.base_share * (shown - x.shown[i])
        z, v = x.compliance.z[i], x.compliance.v[i]
        ahead = port_guard.lead(p.guard, sig.F_h_H.f[i], z, v, x.M[i], x.D[i], x.K[i])
        rest = sig.X_HB_rest.p[i] + x.shown[i]
        x.followed[i] += p.servo_share * (rest - x.followed[i])
        place = rest + z + ahead
        work += sig.F_h_H.f[i] * (place - x.place[i])
        sig.X_WB_asked.p[i] = x.place[i] = place
    q = admittance.compliant_attitude(x.compliance, so3.load(sig.X_HB_rest.q))
    work += vec.dot(vec.load(sig.F_h_H.tau), so3.between(so3.load(x.q), q))
    so3.store(sig.X_WB_asked.q, q)
    so3.store(x.q, q)
    return work


@jit
def hardware_admittance_step(sig, x, p, dt):
    _publish(sig, x)
    if p.follow_gains:
        _follow_gains(sig, x)
    if p.guard.enabled:
        _watch_port(sig, x, p, dt)
    supplied = _yield(sig, x, dt)
    ledger.book(x.lead_and_base, supplied - _request_pose(sig, x, p), 1.0, 1.0)
    for i in range(3):
        sig.e_p_shown_H[i] = x.shown[i]
        sig.D_port[i], sig.P_port[i] = x.guard.added[i], x.guard.P[i]
    for i in range(6):
        sig.z_hw[i], sig.v_hw[i] = x.compliance.z[i], x.compliance.v[i]


@dataclass(frozen=True)
class YieldingArm:
    """Compliance of the arm, its start, and the filter and servo around it."""

    hardware: Hardware
    port: port_guard.PortPassivity
    filter_bandwidth: float  # rad/s, of the force filter
    servo_lag: float  # s
    position: Metre3  # of the tool at the start, in H
    attitude: Quaternion


def _pack(p: np.record, config: YieldingArm, loop: Cycle) -> None:
    given = config.hardware
    scale = [1.0] * 3 + [given.radius**2] * 3
    for name, value in zip("MDK", given.gains.numbers, strict=True):
        p[name] = [value * s for s in scale]
    p.follow_gains, p.base_box = given.follow_gains, given.base_box
    p.base_share = filter_share(given.base_bandwidth, loop.period)
    p.servo_share = filter_share(1.0 / config.servo_lag, loop.period)
    p.p0, p.q0 = config.position, config.attitude
    port_guard.pack_port_guard(p.guard, config.port, config.filter_bandwidth, config.servo_lag, loop.period)


@jit
def _reset(sig, x, p):
    """At rest where the tool starts."""
    for i in range(6):
        x.M[i], x.D0[i], x.D[i], x.K[i] = p.M[i], p.D[i], p.D[i], p.K[i]
    vec.store(x.place, vec.load(p.p0))
    vec.store(x.followed, vec.load(p.p0))
    so3.store(x.q, so3.load(p.q0))
    vec.store(sig.X_WB_asked.p, vec.load(p.p0))
    so3.store(sig.X_WB_asked.q, so3.load(p.q0))


HARDWARE_ADMITTANCE = StageKind(
    "hardware-admittance",
    hardware_admittance_step,
    reads=("F_h_raw_H", "F_h_H", "X_WB_meas", "X_HB_rest", "e_p_H", "M_arm", "D_arm_des", "K_arm"),
    writes=(
        "X_WB_asked",
        "z_hw",
        "v_hw",
        "e_p_shown_H",
        "D_port",
        "P_port",
        "E_hw",
        "W_damping",
        "W_gains",
        "W_lead_and_base",
    ),
    state=record(
        compliance=admittance.COMPLIANCE,
        guard=port_guard.PORT_GUARD,
        M=6,
        D0=6,
        D=6,
        K=6,
        shown=3,
        place=3,
        q=4,
        followed=3,
        damping=PORT,
        gains=PORT,
        lead_and_base=PORT,
    ),
    params=record(
        follow_gains="i8",
        M=6,
        D=6,
        K=6,
        base_box="f8",
        base_share="f8",
        servo_share="f8",
        p0=3,
        q0=4,
        guard=port_guard.PORT_GUARD_PARAMS,
    ),
    pack=_pack,
    reset=_reset,
)
