"""A robot that gives way under load by C metres per newton: its encoders do not see it, so it is reckoned with.

    x = x_enc - C F,      v (1 + C f') = v_enc             where the real tip is; f': stiffness of the frame there
    r <- r + C f̂(r),      ṙ, r̈, r⃛ <- (1 + C f') ×          where the robot must be told to be, so that the tip is at r

Of the frame's stiffness, not of the force's slope in time: no derivative of the force anywhere. C = 0 changes nothing.
"""

from hilt.compiled import jit
from hilt.maths import vec
from hilt.systems.docking.twin import model


@jit
def tip_speed(frame, C, x, v):
    return v / (1.0 + C * model.slope(frame, x))


@jit
def stretched(frame, C, reference):
    """What the robot must do so that its tip does (r, ṙ, r̈, r⃛) against the frame."""
    r, dr, ddr, dddr = reference
    g = 1.0 + C * model.slope(frame, r)
    return r + C * frame.e * model.force(frame, r, 0.0), g * dr, g * ddr, g * dddr


@jit
def stretched_tip(frame, C, n, x, motion):
    """The same for a tip in space that is at x along the normal n."""
    r, dr, ddr, dddr = motion
    g, give = C * model.slope(frame, x), C * frame.e * model.force(frame, x, 0.0)
    return (
        vec.add(r, vec.scale(give, n)),
        vec.add(dr, vec.scale(g * vec.dot(n, dr), n)),
        vec.add(ddr, vec.scale(g * vec.dot(n, ddr), n)),
        vec.add(dddr, vec.scale(g * vec.dot(n, dddr), n)),
    )
