"""Critical values: for each key the nearest value at which a scenario crosses its limits, with everything else unchanged.

A scan outwards from the scenario's value finds the first change, a search in sections narrows it down; the points of all keys
are run in one batch. A crossing that returns between two points of the scan is missed.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hilt.sweeps.batch import Batch
from hilt.sweeps.beyond import Limit
from hilt.sweeps.edges import Vital
from hilt.sweeps.maps import number_of, shown_unit

SCAN = 16  # points on each side of the value
SMALL = 1e-3  # share of the range at which a scan from 0 begins
SECTIONS = 8  # inner points of a bracket in a round
ROUNDS = 4  # of 1/9 each: 1.5e-4 of a bracket


@dataclass(frozen=True)
class Critical:
    """One key. `value` is None where no crossing was found between the two ends of `searched`."""

    key: str
    unit: str
    now: float
    value: float | None
    searched: tuple[float, float]

    @property
    def margin(self) -> float | None:
        """(critical - now)/now: negative if the limit is below the value; None if the value is 0."""
        return None if self.value is None or self.now == 0.0 else (self.value - self.now) / self.now

    def as_json(self) -> dict[str, Any]:
        return {
            "value": self.value,
            "unit": self.unit,
            "margin": self.margin,
            "now": self.now,
            "searched": list(self.searched),
        }


@dataclass(frozen=True)
class Found:
    """The result for one set of limits: whether the scenario itself is beyond it, and the critical value of each key."""

    limits: tuple[Limit, ...]
    beyond: bool
    keys: tuple[Critical, ...]


def find(batch: Batch, vital: Sequence[Vital], *sets: tuple[Limit, ...]) -> list[Found]:
    """Find the critical values for each set of limits; all sets share one scan."""
    keys = tuple(each.key for each in vital)
    here = [number_of(batch.base, key) for key in keys]
    scans = [scan for n, each in enumerate(vital) for scan in _scans(batch, keys, here, n, each)]
    columns = batch.columns(keys, _points(here, scans))
    found = []
    for limits in sets:
        now, flags = _split(batch.any_seed(limits, columns), scans)
        search = _Search(batch, keys, here, limits, now)
        brackets = [search.bracket(here[n], values, each) for (n, values), each in zip(scans, flags, strict=True)]
        brackets = search.narrowed([n for n, _ in scans], brackets)
        criticals = (_critical(batch, n, here[n], each, scans, brackets) for n, each in enumerate(vital))
        found.append(Found(limits, now, tuple(criticals)))
    return found


Scan = tuple[int, np.ndarray]  # the number of a key, and its values starting next to the scenario's
Bracket = tuple[float, float] | None


def _scans(batch: Batch, keys: tuple[str, ...], here: list[float], n: int, vital: Vital) -> list[Scan]:
    """Return the scans of a key upwards and downwards, as far as scenarios are valid."""
    value = here[n]
    up = np.geomspace(max(value, SMALL * vital.high), vital.high, SCAN + (value > 0.0))[int(value > 0.0) :]
    scans = [up] if vital.high > value else []
    if value > vital.low:
        low = vital.low if vital.low > 0.0 else SMALL * value
        scans.append(np.geomspace(value, low, SCAN + 1)[1:])
    return [(n, _valid(batch, keys, here, n, values)) for values in scans]


def _valid(batch: Batch, keys: tuple[str, ...], here: list[float], n: int, values: np.ndarray) -> np.ndarray:
    count = 0
    while count < len(values) and batch.valid(keys, _point(here, n, values[count])):
        count += 1
    return values[:count]


def _point(here: list[float], n: int, value: float) -> list[float]:
    return [*here[:n], float(value), *here[n + 1 :]]


def _points(here: list[float], scans: list[Scan]) -> list[list[float]]:
    """Return the scenario itself, then the points of each scan."""
    return [here, *(_point(here, n, value) for n, values in scans for value in values)]


def _split(flags: np.ndarray, scans: list[Scan]) -> tuple[bool, list[np.ndarray]]:
    """Split the flags of `_points` into that of the scenario and those of each scan."""
    cuts = np.cumsum([1, *(len(values) for _, values in scans)])
    return bool(flags[0]), [flags[a:b] for a, b in itertools.pairwise(cuts)]


@dataclass(frozen=True)
class _Search:
    """The search for one set of limits; `now`: whether the scenario itself is beyond it."""

    batch: Batch
    keys: tuple[str, ...]
    here: list[float]
    limits: tuple[Limit, ...]
    now: bool

    def bracket(self, start: float, values: np.ndarray, flags: np.ndarray) -> Bracket:
        """Return the last value on the scenario's side of the limits, and the first on the other side."""
        changed = np.flatnonzero(flags != self.now)
        if not len(changed):
            return None
        k = int(changed[0])
        return (start if k == 0 else float(values[k - 1])), float(values[k])

    def narrowed(self, numbers: list[int], brackets: list[Bracket]) -> list[Bracket]:
        for _ in range(ROUNDS):
            scans = [(n, _between(bracket)) for n, bracket in zip(numbers, brackets, strict=True)]
            if not any(len(values) for _, values in scans):
                break
            flags = self.batch.beyond(self.keys, _points(self.here, scans), self.limits)
            parts = zip(brackets, scans, _split(flags, scans)[1], strict=True)
            brackets = [bracket and self._inner(bracket, values, each) for bracket, (_, values), each in parts]
        return brackets

    def _inner(self, bracket: tuple[float, float], values: np.ndarray, flags: np.ndarray) -> Bracket:
        found = self.bracket(bracket[0], values, flags)
        return (float(values[-1]), bracket[1]) if found is None else found


def _between(bracket: Bracket) -> np.ndarray:
    return np.zeros(0) if bracket is None else np.linspace(*bracket, SECTIONS + 2)[1:-1]


def _critical(batch: Batch, n: int, here: float, vital: Vital, scans: list[Scan], brackets: list[Bracket]) -> Critical:
    """Return the nearest crossing, by ratio, and the range that was searched."""
    mine = [(values, bracket) for (m, values), bracket in zip(scans, brackets, strict=True) if m == n]
    tried = [here, *(float(value) for values, _ in mine for value in values)]
    found = [0.5 * (bracket[0] + bracket[1]) for _, bracket in mine if bracket is not None]
    far = (lambda value: abs(math.log(value / here))) if here > 0.0 else abs
    nearest = min(found, key=far, default=None)
    return Critical(vital.key, shown_unit(batch.system, vital.key), here, nearest, (min(tried), max(tried)))
