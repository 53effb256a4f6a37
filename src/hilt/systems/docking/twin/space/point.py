"""Step 3 in space: the point where the force acts, relative to the believed tip, from force and torque.

    τ - r_tip × f = d × f,      d_⊥ = f × (τ - r_tip × f)/f²

Only across the force: points along its line cannot be distinguished. Mean over all contacts, weighted by f², in the robot's
frame. It is displayed but not used: a wrong tip has to be corrected in the scenario.
"""

from hilt.compiled import jit
from hilt.core.signals import record
from hilt.maths import so3, vec

POINT = record(total=3, weight="f8")


@jit
def learn(x, f_W, tau_W, arm_W, q_WB):
    """Add one sample in contact; torque and lever arm about the sensor's origin. Returns the mean offset in B so far."""
    off = vec.cross(f_W, vec.sub(tau_W, vec.cross(arm_W, f_W)))
    vec.store(x.total, vec.add(vec.load(x.total), so3.rotate_back(q_WB, off)))
    x.weight += vec.dot(f_W, f_W)
    return vec.scale(1.0 / x.weight, vec.load(x.total))
