"""Counters: metrics counted tick by tick in compiled code, in a record of fixed size, so that no rows have to be kept.

A run feeds its rows, a sweep feeds each tick as it is computed; both call the same `step`. One call of `result` turns the
counts of any number of runs into metrics: one definition for one run and for a million.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hilt.core.missing import Missing


@dataclass(frozen=True)
class Column:
    """One metric of many runs; if the metric is a list, every run may have its own number of entries."""

    values: np.ndarray  # (runs,) or (runs, entries)
    why: tuple[tuple[Any, str | np.ndarray], ...] = ()  # where a value is missing, and the reason: one, or one per run
    entries: np.ndarray | None = None  # number of entries of each run, for a list
    present: np.ndarray | None = None  # runs that have this metric; all if not given

    def of(self, run: int) -> Any:
        """The plain value of one run; None if it does not have this metric."""
        if self.present is not None and not self.present[run]:
            return None
        if self.entries is None:
            return self._value((run,))
        return [self._value((run, n)) for n in range(int(self.entries[run]))]

    def _value(self, at: tuple[int, ...]) -> Any:
        value = self.values[at].item()
        for where, reason in self.why:
            if where[at]:
                return Missing(reason if isinstance(reason, str) else reason[at[0]], value)
        return value


@dataclass(frozen=True)
class References:
    """Reference values that runs are compared with: the distinct ones, and which of them belongs to each run."""

    distinct: Sequence[Any]
    which: np.ndarray

    def column(self, of: Callable[[Any], Any], dtype: Any = np.float64) -> np.ndarray:
        """One value per run, taken from its reference."""
        return np.array([of(each) for each in self.distinct], dtype)[self.which]


@dataclass(frozen=True)
class Counter:
    """How a system counts its metrics.

    `pack(q, scenario)` fills the constants that `step(sig, m, each, q)` needs; `each` holds a record for every event, such as a
    collision. `feed(rows, m, each, q)` is the same step over rows in memory. `references` are functions of a scenario that
    return what its runs are compared with; each is computed once for all scenarios that agree in the values it reads.
    """

    state: np.dtype
    event: np.dtype
    params: np.dtype
    events: Callable[[Any], int]
    pack: Callable[[Any, Any], None]
    step: Callable[..., None]
    feed: Callable[..., None]
    references: tuple[Callable[[Any], Any], ...]
    result: Callable[..., dict[str, Column]]  # (m, each, q, *references)

    def __call__(self, scenario: Any) -> "Counted":
        return Counted(self, scenario)


class Counted:
    """A meter (meter.py) of one run."""

    def __init__(self, counter: Counter, scenario: Any) -> None:
        self._counter, self._scenario = counter, scenario
        self._m, self._q = np.zeros(1, counter.state), np.zeros(1, counter.params)
        self._each = np.zeros((1, counter.events(scenario)), counter.event)
        counter.pack(self._q[0], scenario)

    def take(self, rows: np.ndarray) -> None:
        self._counter.feed(rows, self._m, self._each[0], self._q)

    def result(self) -> dict[str, Any]:
        references = [References([of(self._scenario)], np.zeros(1, np.int64)) for of in self._counter.references]
        found = {name: column.of(0) for name, column in self.columns(*references).items()}
        return {name: value for name, value in found.items() if value is not None}

    def counted(self) -> tuple[np.ndarray, np.ndarray]:
        """The raw counts, for callers that know their meaning."""
        return self._m, self._each

    def columns(self, *references: References) -> dict[str, Column]:
        return self._counter.result(self._m, self._each, self._q, *references)
