"""From the simulated centre of mass to the mock-up's frame on the simulated body.

p_WB = p_WBcm - R_WB c
"""

import numpy as np

from hilt.compiled import jit
from hilt.core.signals import record
from hilt.core.stage import Cycle, StageKind
from hilt.dynamics.body import Body
from hilt.maths import so3, vec


@jit
def setpoint_step(sig, x, p, dt):
    q_WB = so3.load(sig.X_WBcm_next.q)
    c_W = so3.rotate(q_WB, vec.load(p.p_BoBcm_B))
    w_W = vec.load(sig.V_WBcm_next.w)
    vec.store(sig.X_WB_sim.p, vec.sub(vec.load(sig.X_WBcm_next.p), c_W))
    so3.store(sig.X_WB_sim.q, q_WB)
    vec.store(sig.V_WB_sim.v, vec.sub(vec.load(sig.V_WBcm_next.v), vec.cross(w_W, c_W)))
    vec.store(sig.V_WB_sim.w, w_W)


def _pack(p: np.record, body: Body, loop: Cycle) -> None:
    p.p_BoBcm_B = body.centre_of_mass


@jit
def _reset(sig, x, p):
    setpoint_step(sig, x, p, 0.0)  # the robot starts where the body starts


SETPOINT = StageKind(
    "setpoint",
    setpoint_step,
    reads=("X_WBcm_next", "V_WBcm_next"),
    writes=("X_WB_sim", "V_WB_sim"),
    params=record(p_BoBcm_B=3),
    pack=_pack,
    reset=_reset,
)
