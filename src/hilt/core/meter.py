"""Meters: metrics of a run from its rows, chunk by chunk, in memory that does not grow with the run.

A meter is fed rows in chunks of any size and asked for its result at the end. It sees them in blocks of one size, so the
result is bit-identical however the rows were cut: a sweep, a run and a recording share one definition.
"""

import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

BLOCK = 1024  # rows
KEPT = 1 << 18  # values kept of a stretch that is needed later; of a longer one every second, fourth, ... is kept
STEPS = 1 << 16  # of a staircase
NO_ROWS: np.ndarray = np.zeros(0)


class Part(Protocol):
    """Something that is fed: `take` gets blocks in order, all of BLOCK rows but the last."""

    def take(self, rows: np.ndarray) -> None: ...


class Meter(Part, Protocol):
    """What a system provides: `result` is called once, after the last block."""

    def result(self) -> dict[str, Any]: ...


class Feed:
    """Cuts what it is fed into blocks for some meters."""

    def __init__(self, *meters: Part) -> None:
        self._meters = meters
        self._rest: list[np.ndarray] = []
        self._waiting = 0
        self.count = 0

    def feed(self, rows: np.ndarray) -> None:
        """Rows in order, as many as there are."""
        self.count += len(rows)
        if self._waiting + len(rows) < BLOCK:
            self._rest.append(rows.copy())  # the caller may reuse its memory
            self._waiting += len(rows)
            return
        begin = 0
        if self._waiting:
            begin = BLOCK - self._waiting
            self._take(np.concatenate([*self._rest, rows[:begin]]))
        end = begin + (len(rows) - begin) // BLOCK * BLOCK
        for first in range(begin, end, BLOCK):
            self._take(rows[first : first + BLOCK])
        self._rest, self._waiting = [rows[end:].copy()], len(rows) - end

    def _take(self, block: np.ndarray) -> None:
        with np.errstate(all="ignore"):  # rows before a fault may hold anything; such a value is then missing, with a reason
            for meter in self._meters:
                meter.take(block)

    def end(self) -> None:
        """The last block, which may be a short one."""
        if self._waiting:
            self._take(np.concatenate(self._rest))
        self._rest, self._waiting = [], 0


class _Whole:
    """A meter that keeps all rows."""

    def __init__(self, figures: Callable[[np.ndarray, Any], dict[str, Any]], scenario: Any) -> None:
        self._figures, self._scenario, self._parts = figures, scenario, list[np.ndarray]()

    def take(self, rows: np.ndarray) -> None:
        self._parts.append(rows.copy())

    def result(self) -> dict[str, Any]:
        return self._figures(np.concatenate(self._parts), self._scenario) if self._parts else {}


def of_rows(figures: Callable[[np.ndarray, Any], dict[str, Any]]) -> Callable[[Any], Meter]:
    """Metrics as one function of all rows and the scenario: the simple way, for runs whose rows fit in memory."""
    return lambda scenario: _Whole(figures, scenario)


NO_FIGURES = of_rows(lambda rows, scenario: {})


def measure(meter: Meter, rows: np.ndarray) -> dict[str, Any]:
    """The metrics of rows that are in memory."""
    feed = Feed(meter)
    feed.feed(rows)
    feed.end()
    with np.errstate(all="ignore"):
        return meter.result()


def highest(before: float, values: np.ndarray) -> float:
    """The larger of the maximum so far and the new values; NaN if any of them is NaN."""
    return float(np.max(values, initial=before))


def lowest(before: float, values: np.ndarray) -> float:
    return float(np.min(values, initial=before))


class Tail:
    """The last seconds of some columns: `take` them block by block; `last` gives the rows that a test on time selects."""

    def __init__(self, seconds: float) -> None:
        self._seconds = 1.5 * seconds  # the caller decides about the border
        self._parts: list[tuple[np.ndarray, ...]] = []

    def take(self, t: np.ndarray, *columns: np.ndarray) -> None:
        self._parts.append((t.copy(), *(column.copy() for column in columns)))
        while self._parts[0][0][-1] < t[-1] - self._seconds:
            self._parts.pop(0)

    def last(self, wanted: Callable[[np.ndarray], np.ndarray]) -> list[np.ndarray]:
        t, *columns = (np.concatenate(part) for part in zip(*self._parts, strict=True))
        return [column[wanted(t)] for column in columns]


class Lag:
    """A column delayed by a number of rows, beside the current rows."""

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


class Stretch:
    """Values of a stretch of rows of unknown length; of a very long one every second, fourth, ... is kept."""

    def __init__(self) -> None:
        self._parts: list[np.ndarray] = []
        self._kept, self._step, self.count = 0, 1, 0

    def append(self, values: np.ndarray) -> None:
        part = values[-self.count % self._step :: self._step].copy()
        self._parts.append(part)
        self._kept += len(part)
        self.count += len(values)
        while self._kept > KEPT:
            self._parts = [np.concatenate(self._parts)[::2]]
            self._kept, self._step = len(self._parts[0]), 2 * self._step

    def at(self, index: int) -> float:
        """The value at a row, or at the nearest row that was kept."""
        return float(np.concatenate(self._parts)[min(round(index / self._step), self._kept - 1)])


class Staircase:
    """When a signal was last above a level, for any level chosen afterwards: keeps the values that no later one reaches.

    Beyond STEPS steps only every second one is kept: the time is then known to 1/30000 of the run.
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


class Correlation:
    """How many rows one signal lags another: sum of products for every shift of up to BLOCK rows."""

    def __init__(self) -> None:
        self._sums = np.zeros(2 * BLOCK + 1)
        self._before, self._now = np.zeros(BLOCK), np.zeros(BLOCK)
        self._late = np.zeros(BLOCK)
        self.seen = [False, False]

    def take(self, late: np.ndarray, early: np.ndarray) -> None:
        self.seen = [self.seen[0] or bool(late.any()), self.seen[1] or bool(early.any())]
        late, early = (np.pad(each, (0, BLOCK - len(each))) for each in (late, early))
        self._add(early)
        self._before, self._now, self._late = self._now, early, late

    def _add(self, after: np.ndarray) -> None:
        if self._late.any():
            around = np.concatenate([self._before, self._now, after])
            spectrum = np.fft.rfft(self._late, 4 * BLOCK) * np.conj(np.fft.rfft(around, 4 * BLOCK))
            self._sums += np.roll(np.fft.irfft(spectrum), 2 * BLOCK)[: 2 * BLOCK + 1]

    def shift(self) -> float:
        """The shift with the largest sum, to a fraction of a row."""
        self._add(np.zeros(BLOCK))
        best = int(np.argmax(self._sums))
        if not 0 < best < 2 * BLOCK:
            return float(best - BLOCK)
        left, middle, right = (float(self._sums[best + i]) for i in (-1, 0, 1))
        bend = left - 2 * middle + right
        return best - BLOCK + (0.5 * (left - right) / bend if bend else 0.0)
