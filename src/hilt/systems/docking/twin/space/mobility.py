"""Steps 5 and 8 in space: response of the relative tip position and attitude of the bodies to an impulse along n at the tip.

    G_q = n/m_s + n/m_t + (I_s⁻¹(r_s×n))×r_s + (I_t⁻¹(r_t×n))×r_t        velocity of the tip per impulse
    G_w = I_s⁻¹(r_s×n) + I_t⁻¹(r_t×n)                                    angular velocity per impulse
    1/m_eff = n·G_q

Exact, because the bodies are virtual. All in W; an impulse +J n on the target and -J n on the servicer changes the relative
velocity of the tip by -J G_q and the relative angular velocity by -J G_w.
"""

import numpy as np

from hilt.compiled import jit
from hilt.core.signals import record
from hilt.maths import so3, vec
from hilt.systems.docking.twin.beliefs import TwinBeliefs

LEVERS = record(inverse_masses="f8", p_AcmC_B=3, inverse_inertia_A=("f8", (3, 3)), p_Tcm_W=3, inverse_inertia_T=("f8", (3, 3)))


@jit
def answers(levers, q_WB, tip_W, n):
    """(G_q, G_w) for an impulse along n."""
    arm_A, arm_T = vec.load(levers.p_AcmC_B), vec.sub(tip_W, vec.load(levers.p_Tcm_W))
    turn_A = vec.matvec(levers.inverse_inertia_A, vec.cross(arm_A, so3.rotate_back(q_WB, n)))
    turn_T = vec.matvec(levers.inverse_inertia_T, vec.cross(arm_T, n))
    turned = vec.add(so3.rotate(q_WB, vec.cross(turn_A, arm_A)), vec.cross(turn_T, arm_T))
    return vec.add(vec.scale(levers.inverse_masses, n), turned), vec.add(so3.rotate(q_WB, turn_A), turn_T)


def pack_levers(levers: np.record, beliefs: TwinBeliefs) -> None:
    levers.inverse_masses = 1.0 / beliefs.mass
    levers.p_AcmC_B, levers.inverse_inertia_A, levers.p_Tcm_W, levers.inverse_inertia_T = beliefs.lever_arms
