"""A recording, opened for viewing: any time is one row, any plot one pass over a column.

Rows stay as they were recorded; a column that is needed is extracted once, together with the smallest and largest of each
64 rows, from which a plot of the whole is made. Opened recordings are kept up to a limit of memory.
"""

import math
import threading
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np

from hilt import job
from hilt.cockpit import unpack
from hilt.cockpit.columns import column, columns_of, lowest_highest
from hilt.cockpit.history import Range
from hilt.core.scenario import Scenario
from hilt.core.system import System
from hilt.record.fitting import fitted
from hilt.record.reading import no_rows

KEPT_BYTES = 2 << 30  # of rows, in all
BUCKET = 64
CONTACTS = ("contact", "in_contact", "collision")  # signals of a contact; the first one that a system has is used


class _Column:
    def __init__(self, values: np.ndarray) -> None:
        self.values = values
        self.low, self.high = lowest_highest(values, BUCKET) if len(values) else (values, values)


class Film:
    """One recording and the system that made it."""

    def __init__(self, path: Path) -> None:
        found = unpack.load(path)
        if not len(found.rows):
            raise no_rows(found)
        self.name = path.stem
        self.result: dict[str, Any] | None = found.result
        self.system: System
        self.values: Scenario
        self.system, self.values = job.scenario_of(found)
        self.rows: np.ndarray = fitted(found, self.system.row).rows
        self.times = np.ascontiguousarray(self.rows["t"])
        self.columns = columns_of(self.rows.dtype)
        self.first_contact = first_contact(self.rows)
        self._taken: dict[str, _Column] = {}

    @property
    def nbytes(self) -> int:
        return self.rows.nbytes

    @property
    def span(self) -> tuple[float, float]:
        return float(self.times[0]), float(self.times[-1])

    @property
    def scenario_name(self) -> str:
        return str((self.result or {}).get("scenario", "cut recording"))

    def at(self, t: float) -> int:
        """Return the number of the last row that is not after t."""
        return max(0, int(np.searchsorted(self.times, t, side="right")) - 1)

    def take(self, names: list[str]) -> None:
        """Extract columns that will be needed."""
        for name in names:
            if name not in self._taken:
                self._taken[name] = _Column(column(self.rows, name))

    def between(self, begin: float, end: float) -> tuple[int, int]:
        """Return the numbers of the first row that is not before `begin` and of the first after `end`."""
        return int(np.searchsorted(self.times, begin, side="left")), int(np.searchsorted(self.times, end, side="right"))

    def range(self, names: list[str], begin: float, end: float, points: int) -> Range:
        """Return at most `points` points from begin to end; the rows themselves if they are few enough."""
        self.take(names)
        a, b = self.between(begin, end)
        group = max(1, math.ceil((b - a) / points))
        if group >= BUCKET:  # then of whole buckets, which may extend a little on both sides
            a, b = a // BUCKET * BUCKET, min(-(-b // BUCKET) * BUCKET, len(self.times))
            group = math.ceil(math.ceil((b - a) / points) / BUCKET) * BUCKET
        starts = np.arange(a, b, group)
        times = 0.5 * (self.times[starts] + self.times[np.minimum(starts + group, b) - 1])
        shape = (len(names), len(starts))
        low, high = np.empty(shape, np.float32), np.empty(shape, np.float32)
        for line, name in enumerate(names):
            low[line], high[line] = self.extremes(name, starts, b)
        return Range(times, low, high, group == 1)

    def extremes(self, name: str, starts: np.ndarray, end: int) -> tuple[np.ndarray, np.ndarray]:
        """Return smallest and largest from each start up to the next one, the last up to `end`; starts are ascending."""
        found, low, high = self._taken[name], self._taken[name].values, self._taken[name].values
        if not len(starts) or len(starts) == end - starts[0]:
            return low[starts], high[starts]
        if not (starts % BUCKET).any() and (end % BUCKET == 0 or end == len(low)):
            low, high, starts, end = found.low, found.high, starts // BUCKET, -(-end // BUCKET)
        first = starts[0]
        return np.fmin.reduceat(low[first:end], starts - first), np.fmax.reduceat(high[first:end], starts - first)


def first_contact(rows: np.ndarray) -> float | None:
    """Return the time [s] at which a run first touched something, by its contact signal; None if it never did."""
    name = next((each for each in CONTACTS if each in (rows.dtype.names or ())), None)
    touched = np.flatnonzero(rows[name]) if name is not None else np.zeros(0)
    return float(rows["t"][touched[0]]) if len(touched) else None


class Films:
    """Opened recordings; the last used ones are kept. For several threads."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, int, int], Film] = OrderedDict()
        self._lock = threading.Lock()

    def open(self, path: Path) -> Film:
        status = path.stat()
        key = (str(path), status.st_mtime_ns, status.st_size)
        with self._lock:  # one at a time: reading a long one takes memory
            if key not in self._kept:
                self._kept[key] = Film(path)
            self._kept.move_to_end(key)
            while len(self._kept) > 1 and sum(film.nbytes for film in self._kept.values()) > KEPT_BYTES:
                self._kept.popitem(last=False)
            return self._kept[key]
