"""From rest to rest with the least jerk."""

from hilt.compiled import jit


@jit
def quintic(share):
    """Way and its slope, from 0 to 1: 10 s³ - 15 s⁴ + 6 s⁵, with no step in speed or acceleration; held outside."""
    s = min(max(share, 0.0), 1.0)
    return s * s * s * (10.0 - s * (15.0 - 6.0 * s)), 30.0 * s * s * (1.0 - s) * (1.0 - s)
