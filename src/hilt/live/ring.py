"""The ring: every row of a run, in shared memory, for any reader.

One process writes, any number read, and none waits. The writer copies a row into the next place and then increments the
count, which is all that readers need:

    row i is in place i mod capacity and is complete while   count - capacity < i < count

since place `count` may be incomplete. A reader copies first and reads the count again afterwards: rows that the writer has
lapped in the meantime are discarded and counted as lost. A reader that is stopped or killed has no effect.

The order of the two stores is kept by x86-64; on a processor that reorders stores a barrier would be needed between them.
"""

import json

import numpy as np

from hilt.core import clock
from hilt.core.faults import InputError
from hilt.host import machine
from hilt.host.shared import PAGE, Segment, running
from hilt.record.layout import describe, type_from

MAGIC = 0x68696C7472696E67  # "hiltring"
VERSION = 2
SUFFIX = ".ring"
_HEAD = np.dtype(
    [
        (name, "i8")
        for name in ("magic", "version", "row_size", "capacity", "count", "pid", "beat", "ended", "start", "text", "began")
    ]
)


def rings() -> list[str]:
    """Return the runs whose rows can be read now."""
    return [name.removesuffix(SUFFIX) for name in running(SUFFIX)]


class RingWriter:
    """The only writer, a sink of the loop. `append` copies a row and returns; it neither waits nor allocates."""

    def __init__(self, name: str, dtype: np.dtype, capacity: int) -> None:
        if capacity < 2:
            raise InputError(f"the ring of {name} has room for {capacity} rows; it needs at least 2; use some seconds of rows")
        text = json.dumps(describe(dtype)).encode()
        start = -(-(_HEAD.itemsize + len(text)) // PAGE) * PAGE
        self._segment = Segment.create(name + SUFFIX, start + capacity * dtype.itemsize)
        memory = self._segment.memory
        head = np.frombuffer(memory, _HEAD, 1)
        head[0] = (MAGIC, VERSION, dtype.itemsize, capacity, 0, machine.pid(), clock.nanoseconds(), 0, start, len(text), 0)
        memory[_HEAD.itemsize : _HEAD.itemsize + len(text)] = text
        self._count, self._beat, self._ended, self._began = head["count"], head["beat"], head["ended"], head["began"]
        self._places = np.frombuffer(memory, np.uint8, capacity * dtype.itemsize, start).reshape(capacity, dtype.itemsize)
        self._capacity = capacity
        self._row = np.zeros(1, dtype)
        self._bytes = self._row.view(np.uint8)
        self.name, self.count = name, 0
        self._segment.publish()

    def begin(self) -> None:
        """Note the start of the run: the wall time of its first row, for recorder and streams alike."""
        self._began[0] = clock.wall_nanoseconds()

    @property
    def began(self) -> int:
        """Wall time of the run's start [ns]; 0 before it."""
        return int(self._began[0])

    def append(self, row: np.ndarray) -> None:
        if row is not self._row:  # the loop always passes the same row: its view is created once
            self._row, self._bytes = row, row.view(np.uint8)
        count = self.count
        self._places[count % self._capacity] = self._bytes
        self.count = count + 1
        self._count[0] = count + 1
        self._beat[0] = clock.nanoseconds()

    def rows(self) -> np.ndarray:
        """Return copies of the rows that it still holds, for use after the run."""
        held = np.arange(max(self.count - self._capacity, 0), self.count) % self._capacity
        return self._places[held].reshape(-1).view(self._row.dtype)

    def beat(self) -> None:
        """Signal that the writer is alive, without a row."""
        self._beat[0] = clock.nanoseconds()

    def end(self) -> None:
        """Mark the end: no more rows will come."""
        self._ended[0] = 1

    def close(self) -> None:
        """End, and remove the name; open readers may read to the end. Safe to call twice."""
        self.end()
        self._segment.close()


class RingReader:
    """A reader: `read` returns copies of the rows that were written since the last call."""

    def __init__(self, name: str) -> None:
        self._segment = Segment.open(name + SUFFIX, _HEAD.itemsize)
        try:
            self._map(self._segment)
        except (ValueError, TypeError, InputError):
            self._segment.close()
            raise InputError(f"{self._segment.path} is not a ring of version {VERSION}; use the hilt that writes it") from None
        self.name = name
        self.next = 0  # number of the next row to read
        self.lost = 0  # rows overwritten before they were read, in total

    def _map(self, segment: Segment) -> None:
        """Read the head, and check it against the size of this memory."""
        memory = segment.memory
        head = np.frombuffer(memory, _HEAD, 1)
        magic, version, row_size, capacity, start, text = (
            int(head[field][0]) for field in ("magic", "version", "row_size", "capacity", "start", "text")
        )
        if (magic, version) != (MAGIC, VERSION) or min(row_size, capacity, start, text) <= 0:
            raise InputError("not the head of a ring")
        self.dtype = type_from(json.loads(memory[_HEAD.itemsize : _HEAD.itemsize + text]))
        if self.dtype.itemsize != row_size:
            raise InputError("rows of another size")
        self.capacity, self.pid = capacity, int(head["pid"][0])
        self._count, self._beat, self._ended, self._began = head["count"], head["beat"], head["ended"], head["began"]
        self._places = np.frombuffer(memory, np.uint8, capacity * row_size, start).reshape(capacity, row_size)

    @property
    def count(self) -> int:
        """Rows written so far."""
        return int(self._count[0])

    @property
    def began(self) -> int:
        """Wall time of the run's start [ns]; 0 before it."""
        return int(self._began[0])

    @property
    def ended(self) -> bool:
        """Whether the writer has said that no more rows will come."""
        return bool(self._ended[0])

    @property
    def writer_alive(self) -> bool:
        """Whether the writer's process exists; if it hangs, its beat becomes old."""
        return self._segment.owner_alive

    @property
    def beat_age(self) -> float:
        """Time since the writer's last sign of life [s]."""
        return (clock.nanoseconds() - int(self._beat[0])) * 1e-9

    def read(self, most: int) -> tuple[np.ndarray, int]:
        """Return copies of at most `most` new rows, oldest first, and how many before them were lost."""
        before = self.next
        first = max(before, self.count - self.capacity + 1)
        last = min(first + most, self.count)
        copies = self._places[np.arange(first, last) % self.capacity]  # indexing by an array copies
        whole = min(max(first, self.count - self.capacity + 1), last)  # the writer has moved on in the meantime
        self.next = last
        lost = whole - before
        self.lost += lost
        return copies[whole - first :].reshape(-1).view(self.dtype), lost

    def skip(self) -> None:
        """Skip to the newest row, as a display does; skipped rows do not count as lost."""
        self.next = self.count

    def close(self) -> None:
        self._segment.close()
