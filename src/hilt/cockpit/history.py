"""The history of a run: every row of the last minutes, and before that the smallest and the largest of each bucket.

    level 0   rows, as many as 5 minutes or ROWS_BYTES hold
    level 1   buckets of 16 rows, then 64, 256, ...: 4096 of each

A bucket's smallest and largest number are exactly those of its rows; a bucket exists once its last row does. All memory is
allocated and touched when a run begins, and a run of the same length reuses it: the server's memory stays constant.
"""

import bisect
import math
from typing import NamedTuple

import numpy as np

from hilt.cockpit.columns import columns_of, lowest_highest, numbers

FULL_SECONDS = 300.0
ROWS_BYTES = 192 << 20
FIRST_BUCKET, FACTOR = 16, 4
BUCKETS = 4096  # of a level: as many as a picture is wide
MOST_LEVELS = 8


class Range(NamedTuple):
    """Times, and for each name the smallest and the largest at each; `full` if each is one row."""

    times: np.ndarray
    low: np.ndarray
    high: np.ndarray
    full: bool


class _Level:
    """A ring of buckets for every column; level 0 has one array, since a row is its own smallest and largest."""

    def __init__(self, columns: int, room: int, size: int) -> None:
        self.room, self.size = room, size
        self.times = np.zeros(room)
        self.low = np.full((columns, room), np.nan, np.float32)
        self.high = self.low if size == 1 else np.full((columns, room), np.nan, np.float32)
        self.count = 0

    @property
    def first(self) -> int:
        """The oldest entry that still exists."""
        return max(0, self.count - self.room)

    @property
    def nbytes(self) -> int:
        return self.times.nbytes + self.low.nbytes * (1 if self.high is self.low else 2)

    def put(self, times: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
        """Append; if there is not enough room, only the last ones."""
        count = len(times)
        begin = max(0, count - self.room)
        places = np.arange(self.count + begin, self.count + count) % self.room
        self.times[places] = times[begin:]
        self.low[:, places] = low[:, begin:]
        if self.high is not self.low:
            self.high[:, places] = high[:, begin:]
        self.count += count

    def take(self, array: np.ndarray, begin: int, end: int) -> np.ndarray:
        """Return the entries begin <= i < end along the last axis, in order."""
        a, b = begin % self.room, end % self.room
        if begin >= end:
            return array[..., :0]
        return array[..., a:b] if a < b else np.concatenate((array[..., a:], array[..., :b]), axis=-1)

    def find(self, t: float, beyond: bool = False) -> int:
        """Return the first entry that is not before t, or the first after it."""
        search = bisect.bisect_right if beyond else bisect.bisect_left
        return search(range(self.count), t, lo=self.first, key=lambda i: self.times[i % self.room])


class History:
    """The rows of one run, as plots need them. Not for several threads at once."""

    def __init__(self, dtype: np.dtype, period: float, duration: float) -> None:
        self.columns = columns_of(dtype)
        width = len(self.columns)
        ticks = math.ceil(duration / period) + 1
        room = max(FIRST_BUCKET * FACTOR, min(ROWS_BYTES // (4 * width), math.ceil(FULL_SECONDS / period), ticks))
        self.period = period
        self.levels = [_Level(width, room, 1)]
        while len(self.levels) <= MOST_LEVELS and self.levels[-1].room * self.levels[-1].size < ticks:
            size = FIRST_BUCKET if len(self.levels) == 1 else self.levels[-1].size * FACTOR
            self.levels.append(_Level(width, BUCKETS, size))

    @property
    def count(self) -> int:
        """Number of rows appended."""
        return self.levels[0].count

    @property
    def nbytes(self) -> int:
        return sum(level.nbytes for level in self.levels)

    @property
    def span(self) -> tuple[float, float] | None:
        """From the earliest time of any level to the last row."""
        if not self.count:
            return None
        oldest = min(float(level.times[level.first % level.room]) for level in self.levels if level.count)
        return oldest, float(self.levels[0].times[(self.count - 1) % self.levels[0].room])

    def clear(self) -> None:
        """Clear for a new run; the memory stays allocated."""
        for level in self.levels:
            level.count = 0

    def append(self, rows: np.ndarray) -> None:
        """Append rows in order, in chunks of any size."""
        step = max(FIRST_BUCKET, self.levels[0].room // 2)  # no row is dropped before it is in its bucket
        for begin in range(0, len(rows), step):
            chunk = rows[begin : begin + step]
            table = numbers(chunk).T
            self.levels[0].put(chunk["t"], table, table)
            for finer, coarser in zip(self.levels, self.levels[1:], strict=False):
                self._raise(finer, coarser)

    @staticmethod
    def _raise(finer: _Level, coarser: _Level) -> None:
        """Add the buckets that have become complete."""
        group = coarser.size // finer.size
        begin, end = coarser.count * group, finer.count // group * group
        if begin >= end:
            return
        low, _ = lowest_highest(finer.take(finer.low, begin, end), group)
        _, high = lowest_highest(finer.take(finer.high, begin, end), group)
        times = finer.take(finer.times, begin, end).reshape(-1, group)
        coarser.put(0.5 * (times[:, 0] + times[:, -1]), low, high)

    def range(self, names: list[str], begin: float, end: float, points: int) -> Range:
        """Return at most `points` points from begin to end: rows if they are few enough, else buckets of a suitable level."""
        level = self._level_for(begin, end, points)
        a, b = level.find(begin), level.find(end, beyond=True)
        group = max(1, math.ceil((b - a) / points))
        if group > 1:  # borders that stay where they are when the plot scrolls
            a = max(level.first, a // group * group)
            if (b - a) / group > points:
                group = math.ceil((b - a) / points)
        return self._pick(level, names, a, b, group)

    def _level_for(self, begin: float, end: float, points: int) -> _Level:
        """Return the finest level that reaches back far enough, or a coarser one if it has enough points."""
        chosen = None
        for level in self.levels:
            if not level.count:
                break
            reaches = level.first == 0 or level.times[level.first % level.room] <= begin
            if not reaches and level is not self.levels[-1]:
                continue
            if chosen is None or level.find(end, beyond=True) - level.find(begin) >= points:
                chosen = level
        return chosen or self.levels[0]

    def buckets(self, names: list[str], begin: int, group: int, most: int) -> tuple[Range, int]:
        """Return complete buckets of `group` rows from row `begin`, the last `most` of them, and the next row."""
        rows = self.levels[0]
        end = begin + max(0, rows.count - begin) // group * group
        begin = max(begin, end - most * group)
        if begin < rows.first:
            begin += -(-(rows.first - begin) // group) * group
        return self._pick(rows, names, begin, end, group), end

    def _pick(self, level: _Level, names: list[str], begin: int, end: int, group: int) -> Range:
        places = [self.columns[name] for name in names]
        times = level.take(level.times, begin, end)
        low = [level.take(level.low[place], begin, end) for place in places]
        high = low if level.high is level.low else [level.take(level.high[place], begin, end) for place in places]
        if group > 1 and len(times):
            starts = np.arange(0, len(times), group)
            last = np.minimum(starts + group, len(times)) - 1
            times = 0.5 * (times[starts] + times[last])
            low, high = [lowest_highest(each, group)[0] for each in low], [lowest_highest(each, group)[1] for each in high]
        shape = (len(names), len(times))
        full = level.size == 1 and group == 1
        return Range(times, np.reshape(low, shape), np.reshape(high, shape), full)
