"""Rotations: unit quaternions w, x, y, z as tuples, their exponential and logarithm.

`q_WB` turns a vector expressed in B into the same vector expressed in W; `q_WB · q_BS = q_WS`.
"""

import math

from hilt.compiled import jit
from hilt.maths import vec


@jit
def load(a):
    """A quaternion field of a record, as a tuple."""
    return (a[0], a[1], a[2], a[3])


@jit
def store(out, q):
    out[0] = q[0]
    out[1] = q[1]
    out[2] = q[2]
    out[3] = q[3]


@jit
def multiply(a, b):
    return (
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    )


@jit
def inverse(q):
    return (q[0], -q[1], -q[2], -q[3])


@jit
def normalise(q):
    s = 1.0 / math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    return (s * q[0], s * q[1], s * q[2], s * q[3])


@jit
def rotate(q, a):
    """R(q) a, as a + 2 w (u × a) + 2 u × (u × a)."""
    u = (q[1], q[2], q[3])
    t = vec.scale(2.0, vec.cross(u, a))
    return vec.add(vec.add(a, vec.scale(q[0], t)), vec.cross(u, t))


@jit
def rotate_back(q, a):
    """R(q)ᵀ a."""
    return rotate(inverse(q), a)


@jit
def exp(phi):
    """The rotation by |phi| about phi."""
    angle = math.sqrt(vec.dot(phi, phi))
    half = 0.5 * angle
    # sin(x/2)/x by its series where the quotient would lose digits: the next term is below 1e-17 of the first
    s = math.sin(half) / angle if angle > 1e-4 else 0.5 - angle * angle / 48.0
    return (math.cos(half), s * phi[0], s * phi[1], s * phi[2])


@jit
def log(q):
    """The rotation vector of q, at most half a turn long: log(exp(phi)) = phi."""
    sign = 1.0 if q[0] >= 0.0 else -1.0
    u = (sign * q[1], sign * q[2], sign * q[3])
    s = math.sqrt(vec.dot(u, u))
    if s > 1e-8:
        return vec.scale(2.0 * math.atan2(s, sign * q[0]) / s, u)
    return vec.scale(2.0, u)


@jit
def between(a, b):
    """Rotation vector, in the frame both are given in, that turns a into b."""
    return log(multiply(b, inverse(a)))


@jit
def interpolate(a, b, share):
    """The attitude on the way from a (share 0) to b (share 1) at constant rate."""
    return multiply(exp(vec.scale(share, between(a, b))), a)
