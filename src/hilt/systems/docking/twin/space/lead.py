"""Step 6: tip and attitude ahead of the robot, as free flight and what the contact adds along G_q and G_w.

    y'' = -f̂/m_eff                                         one scalar, in the steps of the twin
    tip = q + q̇ h + m_eff y G_q,      turn = ω h + m_eff y G_w

A motion is (r, ṙ, r̈, r⃛) in real time, with virtual time running at β.
"""

from hilt.compiled import jit
from hilt.maths import vec


@jit
def bend(reference, curve, at, v, horizon, rate):
    """y and its derivatives: `curve` is (x, v, a) of the twin after `horizon` of virtual time, `reference` its motion."""
    return curve[0] - at - v * horizon, curve[1] - v, rate * rate * curve[2], reference[3]


@jit
def motion_ahead(start, v, along, added, horizon, rate, slope):
    """Free flight from `start` with v, and what is added in the direction `along`."""
    flow = vec.add(v, vec.scale(added[1], along))
    return (
        vec.add(vec.add(start, vec.scale(horizon, v)), vec.scale(added[0], along)),
        vec.scale(rate, flow),
        vec.add(vec.scale(added[2], along), vec.scale(slope, flow)),
        vec.scale(added[3], along),
    )
