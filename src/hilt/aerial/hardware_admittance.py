"""The hardware arm gives way to the human, shows what the flying base does, and is guarded at the human port.

    M x̄'' + D x̄' + K x̄ = h_h,        x_cmd = x_rest + LPF(clamp(e_p')) + x̄ + lead        [Cuniato2022, eq. 4, eq. 5]

The paper feeds the base's displacement in as a wrench h_q made of its derivatives; with x̄ = x̃ - e_p' that is the same motion,
and 0.1 mm of noise on e_p' stays 0.1 mm where h_q would make 2.4 N of it.
"""

from pydantic import Field

from hilt.aerial import admittance, port_guard
from hilt.aerial.force_filter import filter_share
from hilt.aerial.gains import GainSet
from hilt.compiled import jit
from hilt.maths import so3, vec
from hilt.scenario import Section
from hilt.signals import record
from hilt.stage import StageKind
from hilt.units import Metre, RadianPerSecond


class Hardware(Section):
    """How the hardware arm gives way, and how much of the base's motion it shows."""

    gains: GainSet = GainSet(mass=1.0, damping=10.0, stiffness=5.0)
    radius: Metre = Field(default=1.0, gt=0, description="gains of turns are those of shifts times its square, per rad")
    base_box: Metre = Field(default=0.05, ge=0, description="of the base's displacement, at most this much of an axis is shown")
    base_bandwidth: RadianPerSecond = Field(default=20.0, gt=0, description="of the low-pass on the displacement shown")


@jit
def _watch_port(sig, x, p, dt):
    """Added damping for this tick from what the human and the encoder say."""
    for i in range(3):
        way = sig.X_WB_meas.p[i] - sig.X_HT_rest.p[i] - x.shown[i]
        port_guard.observe(x.guard, i, sig.F_h_raw_H.f[i], way, p.M[i], p.K[i], p.guard, dt)
        port_guard.adapt(x.guard, i, p.D[i], p.guard, dt)
        x.D[i] = p.D[i] + x.guard.added[i]


@jit
def hardware_admittance_step(sig, x, p, dt):
    if p.guard.enabled:
        _watch_port(sig, x, p, dt)
    admittance.apply_wrench(x.compliance, vec.load(sig.F_h_H.f), vec.load(sig.F_h_H.tau))
    admittance.comply(x.compliance, p.M, x.D, p.K, dt)
    for i in range(3):
        shown = min(max(sig.e_p_H[i], -p.base_box), p.base_box)
        x.shown[i] += p.base_share * (shown - x.shown[i])
        z, v = x.compliance.z[i], x.compliance.v[i]
        ahead = port_guard.lead(p.guard, sig.F_h_H.f[i], z, v, p.M[i], x.D[i], p.K[i])
        place = sig.X_HT_rest.p[i] + x.shown[i] + z + ahead
        sig.V_WB_des.v[i] = (place - x.place[i]) / dt if x.started else 0.0
        sig.X_WB_des.p[i] = x.place[i] = place
        sig.e_p_shown_H[i] = x.shown[i]
        sig.D_port[i], sig.P_port[i] = x.guard.added[i], x.guard.P[i]
    x.started = 1
    so3.store(sig.X_WB_des.q, admittance.compliant_attitude(x.compliance, so3.load(sig.X_HT_rest.q)))
    vec.store(sig.V_WB_des.w, admittance.compliant_turn_rate(x.compliance))
    for i in range(6):
        sig.z_hw[i], sig.v_hw[i] = x.compliance.z[i], x.compliance.v[i]


def _pack(p, scenario):
    given = scenario.hardware
    scale = [1.0] * 3 + [given.radius**2] * 3
    for name, figure in zip("MDK", given.gains.figures, strict=True):
        p[name] = [figure * s for s in scale]
    p.base_box = given.base_box
    p.base_share = filter_share(given.base_bandwidth, scenario.loop.period)
    p.p0, p.q0 = scenario.start_of_tool
    port_guard.pack_port_guard(p.guard, scenario)


@jit
def _reset(sig, x, p):
    """At rest where the tool starts."""
    for i in range(6):
        x.D[i] = p.D[i]
    vec.store(sig.X_WB_des.p, vec.load(p.p0))
    so3.store(sig.X_WB_des.q, so3.load(p.q0))


HARDWARE_ADMITTANCE = StageKind(
    "hardware-admittance",
    hardware_admittance_step,
    reads=("F_h_raw_H", "F_h_H", "X_WB_meas", "X_HT_rest", "e_p_H"),
    writes=("X_WB_des", "V_WB_des", "z_hw", "v_hw", "e_p_shown_H", "D_port", "P_port"),
    state=record(
        compliance=admittance.COMPLIANCE, guard=port_guard.PORT_GUARD, D=6, shown=3, place=3, started="i8"
    ),
    params=record(
        M=6, D=6, K=6, base_box="f8", base_share="f8", p0=3, q0=4, guard=port_guard.PORT_GUARD_PARAMS
    ),
    pack=_pack,
    reset=_reset,
)  # fmt: skip
