"""Three-vectors as tuples: they live in registers, so a step can use as many as it likes and allocate nothing."""

import math

from hilt.compiled import jit


@jit
def load(a):
    """A field of a record, as a tuple."""
    return (a[0], a[1], a[2])


@jit
def store(out, a):
    """Write a tuple into a field of a record."""
    out[0] = a[0]
    out[1] = a[1]
    out[2] = a[2]


@jit
def add(a, b):
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


@jit
def sub(a, b):
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


@jit
def scale(s, a):
    return (s * a[0], s * a[1], s * a[2])


@jit
def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@jit
def shortened(a, most):
    """`a`, shortened to length `most` if it is longer."""
    length = math.sqrt(dot(a, a))
    return scale(most / length, a) if length > most else a


@jit
def cross(a, b):
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


@jit
def matvec(m, a):
    """Matrix of a record's field times a vector."""
    return (
        m[0, 0] * a[0] + m[0, 1] * a[1] + m[0, 2] * a[2],
        m[1, 0] * a[0] + m[1, 1] * a[1] + m[1, 2] * a[2],
        m[2, 0] * a[0] + m[2, 1] * a[1] + m[2, 2] * a[2],
    )
