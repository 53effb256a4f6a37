"""Meters: metrics of a run from its rows, chunk by chunk, in memory that does not grow with the run.

A meter is fed rows in chunks of any size and gives its result at the end. It sees them in blocks of one size, so the result
is bit-identical however the rows were split: a sweep, a run and a recording share one definition.
"""

import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

BLOCK = 1024  # rows
STEPS = 1 << 16  # of a staircase
NO_ROWS: np.ndarray = np.zeros(0)


class Part(Protocol):
    """Something that is fed rows: `take` gets blocks in order, all of BLOCK rows except the last."""

    def take(self, rows: np.ndarray) -> None: ...


class Meter(Part, Protocol):
    """The meter of a system: `result` is called once, after the last block."""

    def result(self) -> dict[str, Any]: ...


def joined(parts: list[np.ndarray]) -> np.ndarray:
    """Concatenate parts into one copy, as bytes: NumPy would copy rows field by field, which takes longer than a tick."""
    return np.concatenate([np.ascontiguousarray(part).view(np.uint8) for part in parts]).view(parts[0].dtype)


class Feed:
    """Splits rows into blocks and feeds them to some meters."""

    def __init__(self, *meters: Part) -> None:
        self._meters = meters
        self._rest: list[np.ndarray] = []
        self._waiting = 0
        self.count = 0

    def feed(self, rows: np.ndarray) -> None:
        """Feed any number of rows, in order."""
        self.count += len(rows)
        if self._waiting + len(rows) < BLOCK:
            self._rest.append(joined([rows]))  # the caller may reuse its memory
            self._waiting += len(rows)
            return
        begin = 0
        if self._waiting:
            begin = BLOCK - self._waiting
            self._take(joined([*self._rest, rows[:begin]]))
        end = begin + (len(rows) - begin) // BLOCK * BLOCK
        for first in range(begin, end, BLOCK):
            self._take(rows[first : first + BLOCK])
        self._rest, self._waiting = [joined([rows[end:]])], len(rows) - end

    def _take(self, block: np.ndarray) -> None:
        with np.errstate(all="ignore"):  # rows before a fault may hold any value; metrics are then missing, with a reason
            for meter in self._meters:
                meter.take(block)

    def end(self) -> None:
        """Feed the last block, which may be short."""
        if self._waiting:
            self._take(self._rest[0] if len(self._rest) == 1 else joined(self._rest))
        self._rest, self._waiting = [], 0


class _Whole:
    """A meter that keeps all rows."""

    def __init__(self, metrics: Callable[[np.ndarray, Any], dict[str, Any]], scenario: Any) -> None:
        self._metrics, self._scenario, self._parts = metrics, scenario, list[np.ndarray]()

    def take(self, rows: np.ndarray) -> None:
        self._parts.append(rows.copy())

    def result(self) -> dict[str, Any]:
        return self._metrics(np.concatenate(self._parts), self._scenario) if self._parts else {}


def of_rows(metrics: Callable[[np.ndarray, Any], dict[str, Any]]) -> Callable[[Any], Meter]:
    """A meter from one function of all rows and the scenario: the simple way, for runs whose rows fit in memory."""
    return lambda scenario: _Whole(metrics, scenario)


NO_METRICS = of_rows(lambda rows, scenario: {})


def measure(meter: Meter, rows: np.ndarray) -> dict[str, Any]:
    """The metrics of rows that are in memory."""
    feed = Feed(meter)
    feed.feed(rows)
    feed.end()
    with np.errstate(all="ignore"):
        return meter.result()


def highest(before: float, values: np.ndarray) -> float:
    """The maximum of the highest value so far and the new values; NaN if any of them is NaN."""
    return float(np.max(values, initial=before))


def lengths(vectors: np.ndarray) -> np.ndarray:
    """Lengths of vectors in rows: bit-identical to np.linalg.norm, which takes three times as long over an axis of three."""
    x, y, z = vectors.T
    found: np.ndarray = np.sqrt(x * x + y * y + z * z)
    return found


def lowest(before: float, values: np.ndarray) -> float:
    return float(np.min(values, initial=before))


class Tail:
    """The last seconds of some columns: `take` them block by block; `last` returns the rows that a test on time selects."""

    def __init__(self, seconds: float) -> None:
        self._seconds = 1.5 * seconds  # more than needed: the caller decides where exactly to cut
        self._parts: list[tuple[np.ndarray, ...]] = []

    def take(self, t: np.ndarray, *columns: np.ndarray) -> None:
        self._parts.append((t.copy(), *(column.copy() for column in columns)))
        while self._parts[0][0][-1] < t[-1] - self._seconds:
            self._parts.pop(0)

    def last(self, wanted: Callable[[np.ndarray], np.ndarray]) -> list[np.ndarray]:
        t, *columns = (np.concatenate(part) for part in zip(*self._parts, strict=True))
        return [column[wanted(t)] for column in columns]


class Lag:
    """A column delayed by a number of rows, paired with the current rows."""

    def __init__(self, rows: int) -> None:
        self._late, self._seen = rows, 0
        self._kept: np.ndarray | None = None

    def take(self, column: np.ndarray) -> tuple[int, np.ndarray]:
        """The first row of this block that has a delayed partner, and the partners."""
        first = max(0, self._late - self._seen)
        joined = column if self._kept is None else np.concatenate([self._kept, column])
        self._seen += len(column)
        self._kept = joined[len(joined) - min(self._late, len(joined)) :].copy()
        return min(first, len(column)), joined[: max(0, len(column) - first)]


class Staircase:
    """When a signal was last above a level, for any level chosen afterwards: keeps the values that no later one reaches.

    If there are more than STEPS steps, only every second one is kept: the time is then known to 1/30000 of the run.
    """

    def __init__(self, sign: float) -> None:
        self._sign = sign  # -1: below
        self._t, self._v = np.zeros(0), np.zeros(0)

    def take(self, t: np.ndarray, values: np.ndarray) -> None:
        v = self._sign * values
        after = np.fmax.accumulate(np.append(v, -math.inf)[::-1])[::-1]
        steps = v > after[1:]
        stays = int(np.searchsorted(-self._v, -after[0])) if after[0] > -math.inf else len(self._v)
        self._t = np.concatenate([self._t[:stays], t[steps]])
        self._v = np.concatenate([self._v[:stays], v[steps]])
        if len(self._v) > STEPS:
            self._t, self._v = self._t[::-2][::-1], self._v[::-2][::-1]  # the last one stays

    def last(self, outside: Callable[[np.ndarray], np.ndarray]) -> float:
        """The last time at which a value was outside; minus infinity if there was none."""
        found = np.flatnonzero(outside(self._sign * self._v))
        return float(self._t[found[-1]]) if len(found) else -math.inf
