"""From rest to rest with the least jerk."""

import math

from hilt.compiled import jit

PEAK_SPEED, PEAK_ACCELERATION = 1.875, 10.0 / math.sqrt(3.0)  # the largest on the way from 0 to 1 in unit time


@jit
def quintic(share):
    """Way and its slope, from 0 to 1: 10 s³ - 15 s⁴ + 6 s⁵, with no step in speed or acceleration; held outside."""
    s = min(max(share, 0.0), 1.0)
    return s * s * s * (10.0 - s * (15.0 - 6.0 * s)), 30.0 * s * s * (1.0 - s) * (1.0 - s)
