"""Minimum-jerk motion from rest to rest."""

import math
from collections.abc import Iterable

import numpy as np

from hilt.compiled import jit

PEAK_SPEED, PEAK_ACCELERATION, PEAK_JERK = 1.875, 10.0 / math.sqrt(3.0), 60.0  # peaks of a motion from 0 to 1 in unit time


@jit
def quintic(share):
    """Position from 0 to 1, 10 s³ - 15 s⁴ + 6 s⁵, and its slope; no step in speed or acceleration, constant outside."""
    s = min(max(share, 0.0), 1.0)
    return s * s * s * (10.0 - s * (15.0 - 6.0 * s)), 30.0 * s * s * (1.0 - s) * (1.0 - s)


@jit
def quintic_bend(share):
    """Second derivative of the position, for `share` from 0 to 1."""
    return 60.0 * share * (1.0 - share) * (1.0 - 2.0 * share)


def quintic_positions(shares: Iterable[float]) -> np.ndarray:
    """The positions at many shares."""
    return np.array([quintic(float(share))[0] for share in shares])
