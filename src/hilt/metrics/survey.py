"""A long run in little memory: every k-th row, and for every number the minimum and maximum of each stretch.

k doubles whenever there are too many rows. No peak is lost between two rows, since the stretches contain it.
"""

import numpy as np

from hilt.core.meter import BLOCK, Feed
from hilt.core.signals import leaves

KEPT_BYTES = 256 << 20  # of rows in a result: 80 s of the largest ones at 1 kHz; a longer run is surveyed
ROWS_BYTES = 24 << 20  # of the rows that are kept
STRETCHES = 2048  # at most
_FINEST = 32  # rows of a stretch at first; divides BLOCK


class Survey:
    """Fed like a meter: rows in order, in chunks of any size."""

    def __init__(self, dtype: np.dtype) -> None:
        self._dtype = dtype
        self._most = max(2 * BLOCK, ROWS_BYTES // dtype.itemsize)
        self.every, self._seen = 1, 0
        self._rows: list[np.ndarray] = []
        self._last: np.ndarray = np.zeros(0, dtype)
        self._kept = 0
        self._size = _FINEST
        self._low: list[np.ndarray] = []
        self._high: list[np.ndarray] = []
        self._feed = Feed(self)

    def feed(self, rows: np.ndarray) -> None:
        self._feed.feed(rows)

    def take(self, rows: np.ndarray) -> None:
        part = rows[-self._seen % self.every :: self.every].copy()
        self._rows.append(part)
        self._last = rows[-1:].copy()
        self._kept += len(part)
        self._seen += len(rows)
        while self._kept > self._most:
            self._rows = [np.concatenate(self._rows)[::2].copy()]
            self._kept, self.every = len(self._rows[0]), 2 * self.every
        self._note(_numbers(rows))

    def _note(self, table: np.ndarray) -> None:
        """Update minimum and maximum of each stretch; stretches are merged in pairs when there are too many."""
        starts = np.arange(0, len(table), min(self._size, BLOCK))
        low, high = np.fmin.reduceat(table, starts), np.fmax.reduceat(table, starts)
        if self._size > BLOCK and (self._seen - len(table)) % self._size:  # continues the stretch of the block before
            self._low[-1], self._high[-1] = np.fmin(self._low[-1], low[0]), np.fmax(self._high[-1], high[0])
        else:
            self._low += list(low)
            self._high += list(high)
        if len(self._low) >= STRETCHES:
            pairs = range(0, len(self._low), 2)
            self._low = [np.fmin.reduce(self._low[i : i + 2]) for i in pairs]
            self._high = [np.fmax.reduce(self._high[i : i + 2]) for i in pairs]
            self._size *= 2

    def rows(self) -> np.ndarray:
        """Every k-th row, and the last one. Call it after the last chunk."""
        self._feed.end()
        kept = np.concatenate(self._rows)
        return kept if kept["tick"][-1] == self._last["tick"][0] else np.concatenate([kept, self._last])

    def extremes(self, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Times in the middle of the stretches, and minimum and maximum of a signal in each (one column per component)."""
        self._feed.end()
        low, high = np.array(self._low), np.array(self._high)
        flat = leaves(self._dtype)
        offset, _, shape = flat[name]
        place, time = slice(offset // 8, offset // 8 + int(np.prod(shape))), flat["t"][0] // 8
        return 0.5 * (low[:, time] + high[:, time]), low[:, place], high[:, place]


def _numbers(rows: np.ndarray) -> np.ndarray:
    """Rows as a table: all numbers are eight bytes wide."""
    plain = np.ascontiguousarray(rows).view(np.uint8).reshape(len(rows), -1)
    table = plain.view(np.float64).copy()
    for offset, number, shape in leaves(rows.dtype).values():
        if number.kind in "iu":
            places = slice(offset // 8, offset // 8 + int(np.prod(shape)))
            table[:, places] = plain.view(np.int64)[:, places]
    return table
