"""In a lab, measurements take the place of the truth: ledger and counters of the simulated world use them instead."""

import numpy as np

from hilt.compiled import jit
from hilt.core.signals import record
from hilt.core.stage import Cycle, StageKind
from hilt.maths import so3, vec
from hilt.sense.tool_load import MOTION, TOOL_LOAD, Mounting, take_off


@jit
def motion_observed_step(sig, x, p, dt):
    """Take the encoders' motion of the mock-up as the true one."""
    vec.store(sig.X_WB_true.p, vec.load(sig.X_WB_meas.p))
    so3.store(sig.X_WB_true.q, so3.load(sig.X_WB_meas.q))
    vec.store(sig.V_WB_true.v, vec.load(sig.V_WB_meas.v))
    vec.store(sig.V_WB_true.w, vec.load(sig.V_WB_meas.w))


@jit
def wrench_observed_step(sig, x, p, dt):
    """Take the measured wrench, minus the load of the tool and shifted to the centre of mass, as the true one."""
    f_S, tau_S = vec.load(sig.F_So_S.f), vec.load(sig.F_So_S.tau)
    if p.tool.present:
        f_S, tau_S = take_off(sig, x, p.tool, f_S, tau_S, dt)
    q_WB = so3.load(sig.X_WB_true.q)
    q_WS = so3.multiply(q_WB, so3.load(p.tool.q_BS))
    f = so3.rotate(q_WS, f_S)
    arm_W = so3.rotate(q_WB, vec.load(p.p_BcmSo_B))
    vec.store(sig.F_Bcm_true_W.f, f)
    vec.store(sig.F_Bcm_true_W.tau, vec.add(so3.rotate(q_WS, tau_S), vec.cross(arm_W, f)))


def _pack(p: np.record, mounting: Mounting, loop: Cycle) -> None:
    TOOL_LOAD.pack(p.tool, mounting, loop)
    p.p_BcmSo_B = mounting.from_centre


MOTION_OBSERVED = StageKind(
    "motion-observed", motion_observed_step, reads=("X_WB_meas", "V_WB_meas"), writes=("X_WB_true", "V_WB_true")
)
WRENCH_OBSERVED = StageKind(
    "wrench-observed",
    wrench_observed_step,
    reads=("F_So_S", "X_WB_true", "X_WB_meas", "V_WB_meas"),
    writes=("F_Bcm_true_W",),
    state=MOTION,
    params=record(tool=TOOL_LOAD.params, p_BcmSo_B=3),
    pack=_pack,
)
