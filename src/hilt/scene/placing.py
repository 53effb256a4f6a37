"""Numbers of a picture, compiled: `out` has 8 per node (position, attitude, shown), then 7 per arrow.

A pose that is not known yet (attitude 0) or not finite is not shown, so a diverging run cannot break a picture.
"""

import math

from hilt.compiled import jit, jit_apart
from hilt.maths import so3, vec

UPRIGHT = (1.0, 0.0, 0.0, 0.0)


@jit_apart
def put(out, i, p, q):
    """Put node i at a pose; returns whether it is shown."""
    size = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]
    shown = math.isfinite(p[0] + p[1] + p[2] + size) and size > 0.25
    at = 8 * i
    if not shown:
        p, q = (0.0, 0.0, 0.0), UPRIGHT
    else:
        q = so3.normalise(q)
    for k in range(3):
        out[at + k] = p[k]
    for k in range(4):
        out[at + 3 + k] = q[k]
    out[at + 7] = 1.0 if shown else 0.0
    return shown


@jit
def hide(out, i):
    out[8 * i + 7] = 0.0


@jit_apart
def put_arrow(out, nodes, i, p, f, least):
    """Put arrow i at p with the vector f in its unit; not shown below `least`."""
    at = 8 * nodes + 7 * i
    square = vec.dot(f, f)
    shown = math.isfinite(p[0] + p[1] + p[2] + square) and square > least * least
    for k in range(3):
        out[at + k] = p[k] if shown else 0.0
        out[at + 3 + k] = f[k] if shown else 0.0
    out[at + 6] = 1.0 if shown else 0.0


@jit_apart
def put_chain(out, first, p, q, base_p, base_q):
    """Put the links of a serial chain (hilt.maths.chain), each at its joint, then its tool; returns the tool's position."""
    at, turn = base_p, base_q
    for i in range(p.joints):
        at = vec.add(at, so3.rotate(turn, vec.load(p.origin[i])))
        half = 0.5 * q[i]
        s = math.sin(half)
        turn = so3.multiply(turn, (math.cos(half), s * p.axis[i, 0], s * p.axis[i, 1], s * p.axis[i, 2]))
        put(out, first + i, at, turn)
    hand = vec.add(at, so3.rotate(turn, vec.load(p.tool)))
    put(out, first + p.joints, hand, so3.multiply(turn, so3.load(p.tool_q)))
    return hand
