"""Critical values: for each key the nearest value at which a scenario crosses its limits, with everything else as it is.

A scan outwards from the scenario's value finds the first change, a search in sections narrows it down; the points of all keys
are run in one batch. A crossing and its return between two points of the scan are not seen.
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
SMALL = 1e-3  # of the range: where a scan from 0 begins
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
        """(critical - now)/now: negative if the limit lies below the value; none of 0."""
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
    """Of one set of limits: whether the scenario itself is beyond it, and the critical value of each key."""

    limits: tuple[Limit, ...]
    beyond: bool
    keys: tuple[Critical, ...]


def find(batch: Batch, vital: Sequence[Vital], *sets: tuple[Limit, ...]) -> list[Found]:
    """For each set of limits; all of them share one scan."""
    keys = tuple(each.key for each in vital)
    here = [number_of(batch.base, key) for key in keys]
    ways = [way for n, each in enumerate(vital) for way in _ways(batch, keys, here, n, each)]
    columns = batch.columns(keys, _points(here, ways))
    found = []
    for limits in sets:
        now, flags = _split(batch.any_seed(limits, columns), ways)
        search = _Search(batch, keys, here, limits, now)
        brackets = [search.bracket(here[n], values, each) for (n, values), each in zip(ways, flags, strict=True)]
        brackets = search.narrowed([n for n, _ in ways], brackets)
        criticals = (_critical(batch, n, here[n], each, ways, brackets) for n, each in enumerate(vital))
        found.append(Found(limits, now, tuple(criticals)))
    return found


Way = tuple[int, np.ndarray]  # which key, and values from the scenario's on, without it
Bracket = tuple[float, float] | None


def _ways(batch: Batch, keys: tuple[str, ...], here: list[float], n: int, vital: Vital) -> list[Way]:
    """Up and down, as far as scenarios are valid."""
    value = here[n]
    up = np.geomspace(max(value, SMALL * vital.high), vital.high, SCAN + (value > 0.0))[int(value > 0.0) :]
    ways = [up] if vital.high > value else []
    if value > vital.low:
        low = vital.low if vital.low > 0.0 else SMALL * value
        ways.append(np.geomspace(value, low, SCAN + 1)[1:])
    return [(n, _valid(batch, keys, here, n, values)) for values in ways]


def _valid(batch: Batch, keys: tuple[str, ...], here: list[float], n: int, values: np.ndarray) -> np.ndarray:
    count = 0
    while count < len(values) and batch.valid(keys, _point(here, n, values[count])):
        count += 1
    return values[:count]


def _point(here: list[float], n: int, value: float) -> list[float]:
    return [*here[:n], float(value), *here[n + 1 :]]


def _points(here: list[float], ways: list[Way]) -> list[list[float]]:
    """The scenario itself, then each way."""
    return [here, *(_point(here, n, value) for n, values in ways for value in values)]


def _split(flags: np.ndarray, ways: list[Way]) -> tuple[bool, list[np.ndarray]]:
    """The same of what came of them."""
    cuts = np.cumsum([1, *(len(values) for _, values in ways)])
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
        """The last value that is as the scenario is, and the first that is not."""
        changed = np.flatnonzero(flags != self.now)
        if not len(changed):
            return None
        k = int(changed[0])
        return (start if k == 0 else float(values[k - 1])), float(values[k])

    def narrowed(self, numbers: list[int], brackets: list[Bracket]) -> list[Bracket]:
        for _ in range(ROUNDS):
            ways = [(n, _between(bracket)) for n, bracket in zip(numbers, brackets, strict=True)]
            if not any(len(values) for _, values in ways):
                break
            flags = self.batch.beyond(self.keys, _points(self.here, ways), self.limits)
            parts = zip(brackets, ways, _split(flags, ways)[1], strict=True)
            brackets = [bracket and self._inner(bracket, values, each) for bracket, (_, values), each in parts]
        return brackets

    def _inner(self, bracket: tuple[float, float], values: np.ndarray, flags: np.ndarray) -> Bracket:
        found = self.bracket(bracket[0], values, flags)
        return (float(values[-1]), bracket[1]) if found is None else found


def _between(bracket: Bracket) -> np.ndarray:
    return np.zeros(0) if bracket is None else np.linspace(*bracket, SECTIONS + 2)[1:-1]


def _critical(batch: Batch, n: int, here: float, vital: Vital, ways: list[Way], brackets: list[Bracket]) -> Critical:
    """The nearest crossing, by ratio; the range is what was searched."""
    mine = [(values, bracket) for (m, values), bracket in zip(ways, brackets, strict=True) if m == n]
    tried = [here, *(float(value) for values, _ in mine for value in values)]
    found = [0.5 * (bracket[0] + bracket[1]) for _, bracket in mine if bracket is not None]
    far = (lambda value: abs(math.log(value / here))) if here > 0.0 else abs
    nearest = min(found, key=far, default=None)
    return Critical(vital.key, shown_unit(batch.system, vital.key), here, nearest, (min(tried), max(tried)))
