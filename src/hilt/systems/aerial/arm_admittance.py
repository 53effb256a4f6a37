"""The simulated arm yields with gains that the task changes and the energy tank pays for.

    task's gain set ──► ramp ──► tank ──► M x̃'' + D x̃' + K x̃ = h_e ──► X_bE_cmd = X_bE_des moved by x̃    [Cuniato2022, eq. 8]

Damping follows its ramp unchecked: it stores nothing.
"""

from dataclasses import dataclass

import numpy as np

from hilt.compiled import jit
from hilt.core.signals import record
from hilt.core.stage import Cycle, StageKind
from hilt.maths import so3, vec
from hilt.systems.aerial import admittance, gains, tank


@jit
def _publish(sig, x, p):
    for i in range(6):
        sig.z_arm[i], sig.v_arm[i] = x.compliance.z[i], x.compliance.v[i]
        sig.M_arm_des[i], sig.D_arm_des[i], sig.K_arm_des[i] = x.ramp.M_des[i], x.ramp.D_des[i], x.ramp.K_des[i]
        sig.M_arm[i], sig.K_arm[i] = x.M[i], x.K[i]
    sig.E_arm = admittance.stored(x.compliance, x.M, x.K)
    sig.E_tank, sig.tank_granted = x.tank.energy, x.tank.granted
    sig.E_audit = tank.audit(x.tank, sig.E_arm, p.tank)


@jit
def arm_admittance_step(sig, x, p, dt):
    gains.ramp_gains(x.ramp, p.table, p.ramp, sig.gain_set, dt)
    gains.want(x.ramp, x.M, x.K, dt)
    tank.grant(x.tank, x.compliance, x.M, x.ramp.D_des, x.K, x.ramp.dM, x.ramp.dK, p.tank, dt)
    admittance.apply_wrench(x.compliance, vec.load(sig.F_E_b.f), vec.load(sig.F_E_b.tau))
    admittance.comply(x.compliance, x.M, x.ramp.D_des, x.K, dt)
    tank.refill(x.tank, x.compliance, x.ramp.D_des, p.tank, dt)
    for i in range(3):
        sig.X_bE_cmd.p[i] = sig.X_bE_des.p[i] + x.compliance.z[i]
        sig.V_bE_cmd.v[i] = x.compliance.v[i]
    so3.store(sig.X_bE_cmd.q, admittance.compliant_attitude(x.compliance, so3.load(sig.X_bE_des.q)))
    vec.store(sig.V_bE_cmd.w, admittance.compliant_turn_rate(x.compliance))
    _publish(sig, x, p)


@dataclass(frozen=True)
class CompliantArm:
    """The gains, and the tank that pays for their rise."""

    gains: gains.Gains
    tank: tank.Tank


def _pack(p: np.record, config: CompliantArm, loop: Cycle) -> None:
    p.table, p.ramp = config.gains.table(), config.gains.ramp
    tank.pack_tank(p.tank, config.tank)


@jit
def _reset(sig, x, p):
    """At rest in the set that the task starts with."""
    gains.begin(x.ramp, p.table, sig.gain_set)
    for i in range(6):
        x.M[i], x.K[i] = x.ramp.M_des[i], x.ramp.K_des[i]
    tank.fill(x.tank, p.tank, 0.0)
    _publish(sig, x, p)


ARM_ADMITTANCE = StageKind(
    "arm-admittance",
    arm_admittance_step,
    reads=("gain_set", "X_bE_des", "F_E_b", "E_arm"),
    writes=(
        "X_bE_cmd",
        "V_bE_cmd",
        "z_arm",
        "v_arm",
        "M_arm_des",
        "D_arm_des",
        "K_arm_des",
        "M_arm",
        "K_arm",
        "E_arm",
        "E_tank",
        "tank_granted",
        "E_audit",
    ),
    state=record(compliance=admittance.COMPLIANCE, ramp=gains.RAMP, tank=tank.TANK, M=6, K=6),
    params=record(table=("f8", (3, 3, 6)), ramp="f8", tank=tank.TANK_PARAMS),
    pack=_pack,
    reset=_reset,
)
