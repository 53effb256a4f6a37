"""Steps 9 and 10 in space: the governor for the whole tip and the attitude, with limits on vectors.

Along the normal first, with all of A and the part of V not used by the motion across it; then across it, with the rest of
both. Both ends of a velocity change are inside the ball |ċ| ≤ V, so the whole change is; some of the speed is always reserved
for the normal.
"""

import math

from hilt.compiled import jit, jit_apart
from hilt.maths import so3, vec
from hilt.systems.docking.twin.governor import inverse, steer
from hilt.systems.docking.twin.predict import Motion

RESERVE = 1.2  # times the speed along the normal is reserved for it


@jit
def _component(motion, axis):
    r, dr, ddr, dddr = motion
    return Motion(vec.dot(axis, r), vec.dot(axis, dr), vec.dot(axis, ddr), vec.dot(axis, dddr))


@jit_apart
def steer_along(axis, u, du, now, later, T1, T2, preview, A, V, dt):
    """Steer one direction of a motion."""
    r, r2 = _component(now, axis), _component(later, axis)
    return steer(vec.dot(axis, u), vec.dot(axis, du), r, inverse(r, T1, T2), inverse(r2, T1, T2), T1, preview, A, V, dt)


@jit
def across(n):
    """Two directions perpendicular to n and to each other."""
    x, y, z = abs(n[0]), abs(n[1]), abs(n[2])
    least = (1.0, 0.0, 0.0) if x <= y and x <= z else (0.0, 1.0, 0.0) if y <= z else (0.0, 0.0, 1.0)
    first = vec.cross(n, least)
    first = vec.scale(1.0 / math.sqrt(vec.dot(first, first)), first)
    return first, vec.cross(n, first)


@jit
def shortened(a, most):
    square = vec.dot(a, a)
    return vec.scale(most / math.sqrt(square), a) if square > most * most else a


@jit
def braked(c, dc, A, V, dt):
    """Next tip and velocity of a command that is too fast, as may happen if the bodies turn at the start."""
    speed = math.sqrt(vec.dot(dc, dc))
    dc_next = vec.scale(max(V, speed - A * dt) / speed, dc)
    return vec.add(c, vec.scale(0.5 * dt, vec.add(dc, dc_next))), dc_next


@jit
def too_fast(dc, V):
    return math.sqrt(vec.dot(dc, dc)) > V * (1.0 + 1e-9)


@jit
def left_for_normal(n, dc, V):
    """Speed along n left over by the motion across it."""
    du = vec.dot(n, dc)
    beside = vec.sub(dc, vec.scale(du, n))
    return math.sqrt(max(0.0, V * V - vec.dot(beside, beside)))


@jit
def steer_beside(n, c, dc, du_next, now, later, closing, T1, T2, preview, A, V, dt):
    """Next tip and its velocity, which is du_next along n; `closing` is the speed along the normal in real time."""
    du = vec.dot(n, dc)
    beside = vec.sub(dc, vec.scale(du, n))
    left = math.sqrt(max(0.0, A * A - ((du_next - du) / dt) ** 2))
    first, second = across(n)
    _, d1 = steer_along(first, c, dc, now, later, T1, T2, preview, left, V, dt)
    _, d2 = steer_along(second, c, dc, now, later, T1, T2, preview, left, V, dt)
    kept = max(min(RESERVE * closing, V), abs(du_next))
    wanted = shortened(vec.add(vec.scale(d1, first), vec.scale(d2, second)), math.sqrt(max(0.0, V * V - kept * kept)))
    change = shortened(vec.sub(wanted, beside), left * dt)
    dc_next = vec.add(vec.scale(du_next, n), vec.add(beside, change))
    return vec.add(c, vec.scale(0.5 * dt, vec.add(dc, dc_next))), dc_next


@jit
def steer_tip(n, c, dc, now, later, closing, T1, T2, preview, A, V, dt):
    """Next tip and its velocity by the governor."""
    if too_fast(dc, V):
        return braked(c, dc, A, V, dt)
    _, du_next = steer_along(n, c, dc, now, later, T1, T2, preview, A, left_for_normal(n, dc, V), dt)
    return steer_beside(n, c, dc, du_next, now, later, closing, T1, T2, preview, A, V, dt)


@jit
def steer_turn(q, w, now, later, T1, T2, preview, A, V, dt):
    """Next attitude and its rate; the motions are rotations relative to the attitude q."""
    here = (0.0, 0.0, 0.0)
    g1, w1 = steer_along((1.0, 0.0, 0.0), here, w, now, later, T1, T2, preview, A, V, dt)
    g2, w2 = steer_along((0.0, 1.0, 0.0), here, w, now, later, T1, T2, preview, A, V, dt)
    g3, w3 = steer_along((0.0, 0.0, 1.0), here, w, now, later, T1, T2, preview, A, V, dt)
    return so3.renormalise(so3.multiply(so3.exp((g1, g2, g3)), q)), (w1, w2, w3)
