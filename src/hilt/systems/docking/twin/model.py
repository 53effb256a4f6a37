"""The twin's frames: one-sided springs, linear with damping or after Hertz.

    f̂(x, v) = max(0, k δ + c δ')        δ = (x - ŝ) e > 0;  linear
    f̂(x)    = (q δ)^(3/2)                                   Hertz

A frame that was never touched has no force: nothing can be known of it. A frame is a tuple of plain numbers along one normal,
so the same twin serves one degree of freedom and a normal in space.
"""

import math

from hilt.compiled import jit

LINEAR, HERTZ = 0, 1
UNSEEN, SEEN, KNOWN = 0, 1, 2


@jit
def place_of(e):
    """Front frame first."""
    return 0 if e > 0 else 1


@jit
def frame_of(sig, e):
    """(e, known, model, k, c, q, ŝ) of the frame on side e."""
    i = place_of(e)
    return (
        float(e), sig.frame_known[i], sig.frame_model[i], sig.frame_k[i], sig.frame_c[i], sig.frame_q[i], sig.frame_s[i],
    )  # fmt: skip


@jit
def force(frame, x, v):
    """f̂ along e, never negative."""
    e, known, model, k, c, q, surface = frame
    depth = (x - surface) * e
    if known == UNSEEN or not depth > 0.0:
        return 0.0
    if model == HERTZ:
        root = math.sqrt(q * depth)
        return root * root * root
    return max(0.0, k * depth + c * v * e)


@jit
def slope(frame, x):
    """∂f̂/∂x along e."""
    e, known, model, k, _, q, surface = frame
    depth = (x - surface) * e
    if known == UNSEEN or not depth > 0.0:
        return 0.0
    return 1.5 * q * math.sqrt(q * depth) if model == HERTZ else k


@jit
def force_rate(frame, x, v, a):
    """df̂/dt along a motion with velocity v and acceleration a."""
    e, known, model, k, c, q, surface = frame
    depth = (x - surface) * e
    if known == UNSEEN or not depth > 0.0:
        return 0.0
    if model == HERTZ:
        return 1.5 * q * math.sqrt(q * depth) * v * e
    return (k * v + c * a) * e if k * depth + c * v * e > 0.0 else 0.0
