"""The bound of a first touch by where in a tick the surface is met, and with noise as a distribution.

A surface is met `phase` ticks before the next sample, 0 < phase ≤ 1. Its force exceeds the threshold at the first sample that
is at least w = F_th/(k v T) ticks after the touch, so a touch is felt between w and w + 1 ticks after it, w + ½ in the mean.
With noise σ a sample at the force F exceeds the threshold with the chance Φ((F - F_th)/σ), each sample anew.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from hilt.systems.docking.analysis.bound import Touch, least_peak

PHASES = 40
GRID = 9  # times at which the bound itself is computed; in between it is smooth
SURE = 1e-9  # chance that a touch is felt later than all that is counted
MOST_TICKS = 2000


@dataclass(frozen=True)
class Spread:
    """CoF_min of a first touch with its chances, in ascending order."""

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
    """(time from the touch to the first sample above the threshold, its chance)"""
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
    """CoF_min of touches that are felt so long after the touch; None where full braking is not known to be optimal."""
    grid = np.linspace(felt.min(), felt.max() + 1e-9, GRID)
    peaks = [least_peak(replace(touch, sensor=touch.sensor + float(time) - touch.felt)) for time in grid]
    if any(peak is None for peak in peaks):
        return None
    found: np.ndarray = np.maximum(1.0, np.interp(felt, grid, np.array(peaks, float)) / touch.ideal)
    return found


def spread_of(touch: Touch, phase: float | None = None) -> Spread | None:
    """Over all phases, each as likely as any other, or of one."""
    phases = [(i + 0.5) / PHASES for i in range(PHASES)] if phase is None else [phase]
    times, shares = np.array([pair for each in phases for pair in chances(touch, each)]).T
    cof = least_cofs(touch, times)
    if cof is None:
        return None
    order = np.argsort(cof)
    return Spread(cof[order], shares[order] / shares.sum())
