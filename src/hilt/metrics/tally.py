"""The results of a run, computed from its rows chunk by chunk: metrics, ledger, fault, timing, and rows to draw.

The same tally is fed the rows of a sweep in memory and the chunks of a ten-hour recording; of the latter it keeps every k-th
row and, for every signal, minimum and maximum of each of some thousand stretches.
"""

import math
from typing import Any

import numpy as np

from hilt.core import ledger
from hilt.core.faults import Fault, read_fault
from hilt.core.meter import Feed
from hilt.core.missing import Missing
from hilt.core.scenario import Scenario
from hilt.core.system import System

NOT_FINITE = "the rows contain non-finite numbers"
TICK_US = 0.1  # resolution of lateness and duration, as reported
FINE_US = 10_000.0  # up to here; above it, relative steps of a thousandth
_STEP = 1e-3


class Tally:
    """Feed it the rows of a run in order, in chunks of any size; then read the results, once."""

    def __init__(self, system: System, values: Scenario) -> None:
        self._system = system
        self._meter = system.metrics(values)
        self._feed = Feed(self._meter)
        self._first = self._last = np.zeros(0, system.row)

    @property
    def count(self) -> int:
        return self._feed.count

    @property
    def last(self) -> np.ndarray:
        """The last row, an array of one."""
        return self._last

    def feed(self, rows: np.ndarray) -> None:
        if not len(rows):
            return
        if not self.count:
            self._first = rows[:1].copy()
        self._last = rows[-1:].copy()
        self._feed.feed(rows)

    @property
    def ends(self) -> np.ndarray:
        """The first row and the last."""
        return np.concatenate([self._first, self._last])

    def metrics(self) -> dict[str, Any]:
        self._feed.end()
        with np.errstate(all="ignore"):
            return explained(self._meter.result())

    def ledger(self) -> dict[str, Any]:
        return ledger_of(self._system, self.ends)

    def fault(self) -> Fault | None:
        return read_fault(self._last[0])


def explained(metrics: dict[str, Any]) -> dict[str, Any]:
    return {name: _explained(value) for name, value in metrics.items()}


def ledger_of(system: System, ends: np.ndarray) -> dict[str, Any]:
    """The energy ledger of a run, from its first and its last row."""
    with np.errstate(all="ignore"):
        return ledger.table(ends, system.ledger_ports, system.stored_energy, system.watched_ports)


def _explained(value: Any) -> Any:
    """Give a non-finite value a reason if its meter gave none."""
    if isinstance(value, list):
        return [_explained(each) for each in value]
    broken = isinstance(value, float) and not math.isfinite(value) and not isinstance(value, Missing)
    return Missing(NOT_FINITE, value) if broken else value


class Percentiles:
    """p50, p99, p999 and max [µs] of any number of durations [s].

    Durations are rounded to 0.1 µs, as reported, and counted: exact up to 10 ms, to a thousandth above it; the largest is
    always exact. A percentile is always a measured value, never one between two.
    """

    def __init__(self) -> None:
        self._fine = round(FINE_US / TICK_US)
        self._counts = np.zeros(self._fine + 1 + math.ceil(math.log(1e9) / math.log1p(_STEP)), np.int64)
        self._most, self._total = 0.0, 0

    def feed(self, seconds: np.ndarray) -> None:
        us = np.nan_to_num(seconds * 1e6, nan=0.0, posinf=1e12, neginf=0.0).clip(0.0, 1e12)
        fine = np.rint(us / TICK_US)
        coarse = self._fine + 1 + np.log(np.maximum(us, FINE_US) / FINE_US) / math.log1p(_STEP)
        places = np.where(fine <= self._fine, fine, coarse).astype(np.int64).clip(0, len(self._counts) - 1)
        self._counts += np.bincount(places, minlength=len(self._counts))
        self._most = max(self._most, float(us.max(initial=0.0)))
        self._total += len(us)

    def _value(self, place: int) -> float:
        return place * TICK_US if place <= self._fine else FINE_US * (1.0 + _STEP) ** (place - self._fine - 0.5)

    def result(self) -> dict[str, float]:
        ranks = {"p50": 0.5, "p99": 0.99, "p999": 0.999}
        reached = np.cumsum(self._counts)
        found = {
            name: min(self._value(int(np.searchsorted(reached, max(1, math.ceil(share * self._total))))), self._most)
            for name, share in ranks.items()
        }
        return {name: round(value, 1) for name, value in {**found, "max": self._most}.items()}


class Timing:
    """Timing of the ticks of a run."""

    def __init__(self) -> None:
        self._late, self._long = Percentiles(), Percentiles()
        self.count = 0

    def feed(self, rows: np.ndarray) -> None:
        self._late.feed(rows["lateness"])
        self._long.feed(rows["tick_time"])
        self.count += len(rows)

    def as_json(self) -> dict[str, dict[str, float]]:
        return {"lateness_us": self._late.result(), "tick_us": self._long.result()}
