"""A robot that yields under load by C metres per newton. Its encoders do not see this, so it is modelled.

    x = x_enc - C F,      v (1 + C f') = v_enc             position of the real tip; f': stiffness of the frame there
    r <- r + C f̂(r),      ṙ, r̈, r⃛ <- (1 + C f') ×          set-point for which the tip is at r

The frame's stiffness is used, never the time derivative of the force. C = 0 changes nothing.
"""

from hilt.compiled import jit
from hilt.maths import vec
from hilt.systems.docking.twin import model
from hilt.systems.docking.twin.predict import Motion


@jit
def tip_speed(frame, C, x, v):
    return v / (1.0 + C * model.slope(frame, x))


@jit
def bent(frame, C, x):
    """(C f̂, C f') of a tip at x along the normal."""
    return C * frame.e * model.force(frame, x, 0.0), C * model.slope(frame, x)


@jit
def stretched(frame, C, motion):
    """Robot motion for which the tip moves as `motion` against the frame, along the normal."""
    give, slope = bent(frame, C, motion.r)
    g = 1.0 + slope
    return Motion(motion.r + give, g * motion.dr, g * motion.ddr, g * motion.dddr)


@jit
def _along(n, slope, a):
    return vec.add(a, vec.scale(slope * vec.dot(n, a), n))


@jit
def stretched_tip(frame, C, n, x, motion):
    """The same for a tip in space, at x along the normal n."""
    give, slope = bent(frame, C, x)
    tip = vec.add(motion.r, vec.scale(give, n))
    return Motion(tip, _along(n, slope, motion.dr), _along(n, slope, motion.ddr), _along(n, slope, motion.dddr))
