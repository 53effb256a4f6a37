"""The lead of the compensated force over the measured one: the shift at which the two agree best while there is contact.

    S(s) = Σ |F_mea|(t) |F_hat|(t - s)   over the ticks t in which the controller sees a contact, |s| ≤ reach

F_hat counts from the start of a contact until `reach` ticks after its end. Both directions are summed from past values:
terms that need future values are added once these are known. In flight there is nothing to do.
"""

import math

import numpy as np

from hilt.compiled import jit
from hilt.core.signals import record
from hilt.maths import vec

MOST = 256  # ticks
_LENGTH = MOST + 1
_MIDDLE, _ONE = np.uint64(MOST), np.uint64(1)  # unsigned indices cannot be negative, so the sums can be vectorised
PARAMS = record(reach="i8")
# Values are written twice, `_LENGTH` apart, so that the latest ones are contiguous.
STATE = record(measured=2 * _LENGTH, used=2 * _LENGTH, sums=2 * MOST + 1, at="i8", since="i8", seen="i8", used_any="i8")


def reach(delay: float, period: float) -> int:
    """Largest lead that is searched [ticks]; the lead compensates a delay, so it is about as long."""
    return min(MOST, 8 + math.ceil(1.25 * delay / period))


@jit
def _clear(m):
    for i in range(2 * _LENGTH):
        m.measured[i] = 0.0
        m.used[i] = 0.0


@jit
def correlate(m, q, in_contact, F_mea_W, F_hat_W):
    """Process one tick: the measured force and the force that drives the bodies."""
    if in_contact:
        if m.since == 0:
            _clear(m)
        m.since = q.reach + 1
    if m.since == 0:
        return
    m.since -= 1
    measured, used = math.sqrt(vec.dot(F_mea_W, F_mea_W)), math.sqrt(vec.dot(F_hat_W, F_hat_W))
    m.at = m.at + 1 if m.at + 1 < _LENGTH else 0
    last = m.at + _LENGTH
    now = np.uint64(last)
    m.used[m.at] = m.used[last] = used
    m.measured[m.at] = m.measured[last] = measured if in_contact else 0.0
    if used != 0.0:
        m.used_any = 1
    if in_contact:
        if measured != 0.0:
            m.seen = 1
        for s in range(np.uint64(q.reach + 1)):
            m.sums[_MIDDLE + s] += measured * m.used[now - s]
    for s in range(_ONE, np.uint64(q.reach + 1)):
        m.sums[_MIDDLE - s] += m.measured[now - s] * used


def shift(m: np.ndarray) -> np.ndarray:
    """Shift with the largest sum for each run [ticks], interpolated."""
    sums = m["sums"]
    runs, best = np.arange(len(m)), np.argmax(sums, axis=1)
    inside = (best > 0) & (best < 2 * MOST)
    left, middle, right = (sums[runs, np.clip(best + i, 0, 2 * MOST)] for i in (-1, 0, 1))
    bend = left - 2.0 * middle + right
    with np.errstate(all="ignore"):
        part = np.where(inside & (bend != 0.0), 0.5 * (left - right) / bend, 0.0)
    return best - MOST + part
