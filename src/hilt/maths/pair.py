"""A relative motion made by two robots: the pose of B in W, shared between a robot that moves B and one that moves W.

    q_GW = exp(-s φ)   with φ = log q_WB                   the robots turn about one axis, by shares that add up to 1
    p_GB = (1 - s) R_GW p_WB,   p_GW = -s R_GW p_WB

s is the share of the robot that moves W. Whatever it is, X_GW⁻¹ X_GB = X_WB: nothing is approximated.
"""

from hilt.compiled import jit
from hilt.maths import so3, spatial, vec


@jit
def shares(X_WB, s):
    """Return (X_GB, X_GW)."""
    phi = so3.log(X_WB[1])
    q_GW = so3.exp(vec.scale(-s, phi))
    p = so3.rotate(q_GW, X_WB[0])
    return (vec.scale(1.0 - s, p), so3.exp(vec.scale(1.0 - s, phi))), (vec.scale(-s, p), q_GW)


@jit
def store(out, X_GB, X_GW):
    """Write both poses one after the other, as in the signal `hall_poses`."""
    for i in range(3):
        out[i], out[7 + i] = X_GB[0][i], X_GW[0][i]
    for i in range(4):
        out[3 + i], out[10 + i] = X_GB[1][i], X_GW[1][i]


@jit
def relative(X_GB, X_GW):
    """X_WB."""
    return spatial.compose(spatial.inverse(X_GW), X_GB)


@jit
def relative_twist(X_GB, V_GB, X_GW, V_GW):
    """(v, ω) of B as seen from W, in W."""
    arm = vec.sub(X_GB[0], X_GW[0])
    v = vec.sub(vec.sub(V_GB[0], V_GW[0]), vec.cross(V_GW[1], arm))
    return spatial.express(so3.inverse(X_GW[1]), v, vec.sub(V_GB[1], V_GW[1]))


@jit
def reaction(X_WS, X_WQ, f, tau):
    """Wrench at a sensor Q if a sensor S on the other side of the contact measures (f, tau): the opposite, about Q, in Q."""
    f, tau = spatial.transform_wrench(X_WS, f, tau)
    return spatial.transform_wrench(spatial.inverse(X_WQ), vec.scale(-1.0, f), vec.scale(-1.0, tau))


@jit
def between(a, b, share):
    """The pose from a (share 0) to b (share 1)."""
    q = so3.interpolate(a[1], b[1], share) if a[1] != b[1] else a[1]
    return vec.add(a[0], vec.scale(share, vec.sub(b[0], a[0]))), q


@jit
def smooth(before, here, after, share):
    """A curve through the middles of two neighbouring steps, at their speeds: share 0 is the middle of the first, 1 of the
    second.

    A quadratic spline: it is exact for uniform motion, and if a faster clock reads the set-points of a slower one, the speed
    changes over a whole step instead of within one cycle.
    """
    first, second = between(before, here, 0.5), between(here, after, 0.5)
    return between(between(first, here, share), between(here, second, share), share)
