"""Laws of a contact between two surfaces: the force that pushes them apart, and the friction that resists sliding.

    spring    k δ^n                                    n = 1 linear, n = 1.5 Hertz
    damper    c δ'           a separate force          pulls at the end of a contact, unless it is cut
    damper    (1 + λ δ')     Hunt and Crossley         fades with the spring, so nothing jumps when a contact begins or ends

δ is the depth of the contact, δ' its rate. Surfaces only push: a negative force is zero. How much of the speed v survives a
Hunt-Crossley contact depends on λ v only: e = 1 - ⅔ λ v for small λ v, whatever the stiffness.
"""

import math

from hilt.compiled import jit

SLIDING_SPEED = 1e-4  # m/s: friction that depends on the speed alone fades out below this


@jit
def hunt_crossley(spring, dissipation, rate):
    """Force of a spring with a damper that fades with it.

    F = k δ^n (1 + λ δ')
    """
    return max(0.0, spring * (1.0 + dissipation * rate))


@jit
def stored(stiffness, exponent, depth):
    """Energy of the spring k δ^n at a depth."""
    return stiffness * depth ** (exponent + 1.0) / (exponent + 1.0) if depth > 0.0 else 0.0


@jit
def mean_spring(stiffness, exponent, before, after):
    """Mean force of the spring between two depths: stored energy over distance, so that no step generates energy."""
    distance = after - before
    if abs(distance) > 1e-6 * (abs(before) + abs(after)):
        return (stored(stiffness, exponent, after) - stored(stiffness, exponent, before)) / distance
    middle = 0.5 * (before + after)
    return stiffness * middle**exponent if middle > 0.0 else 0.0


@jit
def friction_per_speed(friction, normal, speed_square):
    """Coulomb friction divided by the sliding speed, smooth at rest; a factor ≥ 0, so the force always opposes the sliding.

    µ F / √(v² + v_s²)
    """
    return friction * normal / math.sqrt(speed_square + SLIDING_SPEED * SLIDING_SPEED)
