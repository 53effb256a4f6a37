"""The wrench of the contact, shifted from the sensor to the centre of mass and turned into the world frame.

f_W = R_WB R_BS f_S        tau_Bcm = R_WB R_BS tau_So + (R_WB (s - c)) × f_W
"""

import numpy as np

from hilt.compiled import jit
from hilt.core.signals import record
from hilt.core.stage import Cycle, StageKind
from hilt.maths import so3, vec
from hilt.sense.tool_load import Mounting


@jit
def wrench_at_com_step(sig, x, p, dt):
    q_WB = so3.load(sig.X_WB_meas.q)
    q_WS = so3.multiply(q_WB, so3.load(p.q_BS))
    f_W = so3.rotate(q_WS, vec.load(sig.F_So_net_S.f))
    arm_W = so3.rotate(q_WB, vec.load(p.p_BcmSo_B))
    vec.store(sig.F_Bcm_W.f, f_W)
    vec.store(sig.F_Bcm_W.tau, vec.add(so3.rotate(q_WS, vec.load(sig.F_So_net_S.tau)), vec.cross(arm_W, f_W)))


def _pack(p: np.record, mounting: Mounting, loop: Cycle) -> None:
    p.q_BS, p.p_BcmSo_B = mounting.attitude, mounting.from_centre


WRENCH_AT_COM = StageKind(
    "wrench-at-com",
    wrench_at_com_step,
    reads=("F_So_net_S", "X_WB_meas"),
    writes=("F_Bcm_W",),
    params=record(q_BS=4, p_BcmSo_B=3),
    pack=_pack,
)
