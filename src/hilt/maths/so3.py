"""Rotations: unit quaternions w, x, y, z as tuples, their exponential and logarithm.

`q_WB` turns a vector expressed in B into the same vector expressed in W; `q_WB · q_BS = q_WS`.
"""

import math

from hilt.compiled import jit
from hilt.maths import vec

SMALL = 1e-4  # square of an angle below which series are used


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
def renormalise(q):
    """Renormalise a quaternion that has drifted from unit length by rounding: one Newton step, no root."""
    s = 1.5 - 0.5 * (q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
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
    square = vec.dot(phi, phi)
    if square < SMALL:
        # The series are exact to rounding here and much cheaper; the turn of one tick is small.
        s = 0.5 - square * (1.0 / 48.0 - square / 3840.0)
        return (1.0 - square * (0.125 - square * (1.0 / 384.0)), s * phi[0], s * phi[1], s * phi[2])
    angle = math.sqrt(square)
    s = math.sin(0.5 * angle) / angle
    return (math.cos(0.5 * angle), s * phi[0], s * phi[1], s * phi[2])


@jit
def log(q):
    """The rotation vector of q, at most half a turn long: log(exp(phi)) = phi."""
    sign = 1.0 if q[0] >= 0.0 else -1.0
    u = (sign * q[1], sign * q[2], sign * q[3])
    square = vec.dot(u, u)
    if square < SMALL:
        # 2 arcsin(s)/s by its series, exact to rounding
        return vec.scale(2.0 + square * (1.0 / 3.0 + square * (0.15 + square * (5.0 / 56.0))), u)
    s = math.sqrt(square)
    return vec.scale(2.0 * math.atan2(s, sign * q[0]) / s, u)


@jit
def shortest(phi):
    """The rotation vector of the same rotation that is at most half a turn long: log(exp(phi))."""
    square = vec.dot(phi, phi)
    if square <= math.pi * math.pi:
        return phi
    angle = math.sqrt(square)
    return vec.scale(1.0 - 2.0 * math.pi * math.floor(angle / (2.0 * math.pi) + 0.5) / angle, phi)


@jit
def between(a, b):
    """Rotation vector, in the frame both are given in, that turns a into b."""
    return log(multiply(b, inverse(a)))


@jit
def interpolate(a, b, share):
    """The attitude between a (share 0) and b (share 1), at a constant rate."""
    return multiply(exp(vec.scale(share, between(a, b))), a)
