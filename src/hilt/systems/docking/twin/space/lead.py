"""Step 8 in space: tip and attitude ahead of the robot, as free flight plus the contact's contribution along G_q and G_w.

y'' = -f̂/m_eff                                         the twin along the normal, minus its free flight
tip = q + q̇ h + m_eff y G_q,      turn = ω h + m_eff y G_w
"""

from hilt.compiled import jit
from hilt.maths import vec
from hilt.systems.docking.twin.predict import Motion, in_real_time


@jit
def bend(frame, mass, there, at, v):
    """y: the contact's contribution to a flight from `at` with v until `there`; acceleration without the clock's part."""
    jerk = in_real_time(frame, mass, there).dddr
    return Motion(there.x - at - v * there.horizon, there.v - v, there.rate * there.rate * there.a, jerk)


@jit
def motion_ahead(start, v, along, y, there):
    """Free flight from `start` with v until `there`, plus y in the direction `along`."""
    flow = vec.add(v, vec.scale(y.dr, along))
    return Motion(
        vec.add(vec.add(start, vec.scale(there.horizon, v)), vec.scale(y.r, along)),
        vec.scale(there.rate, flow),
        vec.add(vec.scale(y.ddr, along), vec.scale(there.slope, flow)),
        vec.scale(y.dddr, along),
    )
