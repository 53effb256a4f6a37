"""The bound of a first touch for each phase within a tick, and as a distribution if there is noise.

The surface is touched `phase` ticks before the next sample, 0 < phase ≤ 1. Its force exceeds the threshold at the first sample
that is at least w = F_th/(k v T) ticks after the touch, so a touch is detected w to w + 1 ticks later, w + ½ on average.
With noise σ a sample at the force F exceeds the threshold with probability Φ((F - F_th)/σ), independently for each sample.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from hilt.systems.docking.analysis.bound import Touch, least_peak

PHASES = 40
GRID = 9  # times at which the bound is computed; it is smooth in between
SURE = 1e-9  # probability of a detection later than all those counted
MOST_TICKS = 2000


@dataclass(frozen=True)
class Spread:
    """CoF_min of a first touch and its probabilities, in ascending order."""

    cof: np.ndarray
    chance: np.ndarray

    @property
    def mean(self) -> float:
        return float(self.cof @ self.chance)

    def quantile(self, share: float) -> float:
        return float(self.cof[min(int(np.searchsorted(np.cumsum(self.chance), share)), len(self.cof) - 1)])


def felt_after(touch: Touch, phase: float) -> float:
    """Time from the touch to the first sample above the threshold [s], without noise."""
    return (phase + max(0, math.ceil(touch.unfelt / touch.period - phase - 1e-9))) * touch.period


def chances(touch: Touch, phase: float) -> Iterator[tuple[float, float]]:
    """Yield (time from the touch to the first sample above the threshold [s], its probability)."""
    if touch.noise == 0.0:
        yield felt_after(touch, phase), 1.0
        return
    left = 1.0
    for tick in range(MOST_TICKS):
        time = (phase + tick) * touch.period
        beyond = (touch.spring(touch.tip_speed * time) + touch.damping * touch.tip_speed - touch.threshold) / touch.noise
        chance = left * 0.5 * math.erfc(-beyond / math.sqrt(2.0))
        yield time, chance
        left -= chance
        if left < SURE:
            return


def least_cofs(touch: Touch, felt: np.ndarray) -> np.ndarray | None:
    """CoF_min for each detection time [s] after the touch; None if full braking is not known to be optimal."""
    grid = np.linspace(felt.min(), felt.max() + 1e-9, GRID)
    peaks = [least_peak(replace(touch, sensor=touch.sensor + float(time) - touch.felt)) for time in grid]
    if any(peak is None for peak in peaks):
        return None
    found: np.ndarray = np.maximum(1.0, np.interp(felt, grid, np.array(peaks, float)) / touch.ideal)
    return found


def spread_of(touch: Touch, phase: float | None = None) -> Spread | None:
    """Distribution of CoF_min over all phases, equally likely, or at one phase."""
    phases = [(i + 0.5) / PHASES for i in range(PHASES)] if phase is None else [phase]
    times, shares = np.array([pair for each in phases for pair in chances(touch, each)]).T
    cof = least_cofs(touch, times)
    if cof is None:
        return None
    order = np.argsort(cof)
    return Spread(cof[order], shares[order] / shares.sum())
