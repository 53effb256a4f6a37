"""Steps 9 and 10: the command that makes the robot follow the reference, within its limits.

U = r + T1 ṙ + T2 r̈,    U̇ = ṙ + T1 r̈ + T2 r⃛            inverse robot, now and a preview δ later (U2, U̇2)
a = 6 (U2 - u)/δ² - (4 u̇ + 2 U̇2)/δ                      cubic that ends there
if |a| > A:  a = clip(r̈ + T1 r⃛, ±0.8 A) + time-optimal catch-up on (u - U, u̇ - U̇)
|a| ≤ A,  |u̇| ≤ V;   u += T (u̇ + u̇⁺)/2
"""

import math

from hilt.compiled import jit

LINEAR_WITHIN = 0.005  # s


@jit
def clip(value, most):
    return min(max(value, -most), most)


@jit
def inverse(motion, T1, T2):
    """(U, U̇): command for which the robot moves as `motion`."""
    r, dr, ddr, dddr = motion
    return r + T1 * dr + T2 * ddr, dr + T1 * ddr + T2 * dddr


@jit
def catch_up(error, rate, most):
    """Acceleration that brings (error, rate) to zero in the shortest time with |a| ≤ most; linear near zero."""
    size = abs(error)
    if size < 2.0 * most * LINEAR_WITHIN * LINEAR_WITHIN:
        wanted, bend = -error / LINEAR_WITHIN, -rate / LINEAR_WITHIN
    else:
        speed = math.sqrt(2.0 * most * size)
        wanted, bend = math.copysign(speed, -error), -most * rate / speed
    return clip(bend + (wanted - rate) / LINEAR_WITHIN, most)


@jit
def steer(u, du, now, now_inverse, later_inverse, T1, preview, A, V, dt):
    """The next command (u, u̇), one tick ahead. `now` is its reference; the inverses are for it and for a preview later."""
    U2, dU2 = later_inverse
    span = preview + dt
    a = 6.0 * (U2 - u) / (span * span) - (4.0 * du + 2.0 * dU2) / span
    if not abs(a) <= A:
        U, dU = now_inverse
        a = clip(now.ddr + T1 * now.dddr, 0.8 * A) + catch_up(u + dt * du - U, du - dU, A)
    a = clip(a, A) if math.isfinite(a) else 0.0
    du_next = clip(du + dt * a, V)
    return u + 0.5 * dt * (du + du_next), du_next
