"""The twin's frames: one-sided springs, linear with damping or Hertzian.

    f̂(x, v) = max(0, k δ + c δ')        δ = (x - ŝ) e > 0;  linear
    f̂(x)    = (q δ)^(3/2)                                   Hertz

A frame that was never touched has no force, because nothing is known about it. A frame is described along one normal, so the
same code serves one degree of freedom and a normal in space.
"""

import math
from typing import NamedTuple

from hilt.compiled import jit

LINEAR, HERTZ = 0, 1
UNSEEN, SEEN, KNOWN = 0, 1, 2
HERTZ_INTEGRAL = 0.81757644  # ∫ √(1 - u^2.5) du from 0 to 1
SIGNALS = ("frame_known", "frame_model", "frame_k", "frame_c", "frame_q", "frame_s")  # a frame as published in the signals


class Frame(NamedTuple):
    """What the twin knows about the frame on side e of its normal."""

    e: float  # 1 front, -1 rear
    known: int
    model: int
    k: float  # N/m
    c: float  # N·s/m
    q: float  # N^(2/3)/m
    surface: float  # ŝ along the normal, m


@jit
def place_of(e):
    """Index of the frame on side e; the front frame is first."""
    return 0 if e > 0 else 1


@jit
def frame_of(sig, e):
    """The frame on side e, from the signals."""
    i = place_of(e)
    k, c, q, surface = sig.frame_k[i], sig.frame_c[i], sig.frame_q[i], sig.frame_s[i]
    return Frame(float(e), sig.frame_known[i], sig.frame_model[i], k, c, q, surface)


@jit
def depth_in(frame, x):
    """Depth of x inside the frame [m]; 0 in front of it and for a frame not touched yet."""
    depth = (x - frame.surface) * frame.e
    return depth if frame.known != UNSEEN and depth > 0.0 else 0.0


@jit
def force(frame, x, v):
    """f̂ along e, never negative."""
    depth = depth_in(frame, x)
    if depth == 0.0:
        return 0.0
    if frame.model == HERTZ:
        root = math.sqrt(frame.q * depth)
        return root * root * root
    return max(0.0, frame.k * depth + frame.c * v * frame.e)


@jit
def slope(frame, x):
    """∂f̂/∂x along e."""
    depth = depth_in(frame, x)
    if depth == 0.0:
        return 0.0
    return 1.5 * frame.q * math.sqrt(frame.q * depth) if frame.model == HERTZ else frame.k


@jit
def force_rate(frame, x, v, a):
    """df̂/dt along a motion with velocity v and acceleration a."""
    depth = depth_in(frame, x)
    if depth == 0.0:
        return 0.0
    if frame.model == HERTZ:
        return slope(frame, x) * v * frame.e
    pressed = frame.k * depth + frame.c * v * frame.e > 0.0
    return (frame.k * v + frame.c * a) * frame.e if pressed else 0.0


@jit
def left_at(frame, v):
    """Depth [m] at which a motion with velocity v loses contact: on the way out the damper pulls, until kδ + cδ' = 0."""
    return max(0.0, -frame.c * v * frame.e / frame.k) if frame.model == LINEAR and frame.known != UNSEEN else 0.0


@jit
def v2_in_contact(frame, last_at, at, v):
    """∫ v² dt = ∫ v dx from one sample to the next, only while in contact; v is the velocity between them."""
    least = left_at(frame, v)
    now, before = max(depth_in(frame, at), least), max(depth_in(frame, last_at), least)
    return max(0.0, v * frame.e * (now - before))


@jit
def stored(frame, depth):
    """Energy stored in the spring [J]."""
    if frame.model == HERTZ:
        root = math.sqrt(frame.q * depth)
        return 0.4 * root * root * root * depth
    return 0.5 * frame.k * depth * depth


@jit
def v2_in_space(frame, mass, v):
    """∫ v² dt of a whole contact in space, without damping: 2 v δ_max ∫√(1 - u^p) du, p = 2.5 for Hertz and 2 for linear."""
    if frame.model == HERTZ:
        return 2.0 * HERTZ_INTEGRAL * v * (1.25 * mass * v * v / (frame.q * math.sqrt(frame.q))) ** 0.4
    return 0.5 * math.pi * v * v * math.sqrt(mass / frame.k)
