"""The rows of a session, run after run, and the topics made from them."""

from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from hilt.core.faults import InputError
from hilt.live.mailbox import OFF, Watcher
from hilt.live.ring import RingReader
from hilt.record import cdr, standard
from hilt.record.cdr import Topic
from hilt.record.layout import type_from

ROWS_A_READ = 512
LATE = 1.0  # s: a stream that joins a run later than this begins with its newest row


@dataclass(frozen=True)
class Batch:
    """Some rows, and their wall times [ns]."""

    rows: np.ndarray
    stamps: np.ndarray


class Source:
    """The rows of a session: `read` returns those since the last call. It never waits."""

    def __init__(self, session: str) -> None:
        self._watcher = Watcher(session)
        info = self._watcher.info
        self.system = str(info["system"])
        self._row, self._period = type_from(info["row"]), float(info["period"])
        self._standard = standard.from_json(info["standard"])
        self.rows_topic = cdr.row_topic(self.system, self._row)
        self.standard_topics = cdr.standard_topics(self.system, self._standard.frames)
        self._ring: RingReader | None = None
        self._name, self._was_open, self._lost = "", False, 0

    @property
    def topics(self) -> list[Topic]:
        return [self.rows_topic, *self.standard_topics]

    @property
    def lost(self) -> int:
        """Rows that were overwritten before this process had read them."""
        return self._lost + (self._ring.lost if self._ring is not None else 0)

    @property
    def over(self) -> bool:
        """Whether the session has ended; the rows it wrote can still be read."""
        state = self._watcher.front.state
        self._was_open |= state != OFF
        return not self._watcher.alive or (self._was_open and state == OFF)

    def read(self) -> Batch:
        self._follow()
        if self._ring is None:
            return Batch(np.zeros(0, self._row), np.zeros(0, np.int64))
        rows, _ = self._ring.read(ROWS_A_READ)
        return Batch(rows, cdr.stamps_of(rows, self._ring.began))

    def _follow(self) -> None:
        """Switch to the ring of the session's newest run."""
        name = self._watcher.front.ring
        if name == self._name or (self._ring is not None and self._ring.next < self._ring.count):
            return
        self._name = name
        self._leave()
        with suppress(InputError):  # it has ended already
            self._ring = RingReader(name)
            if self._ring.count * self._period > LATE:
                self._ring.skip()

    def _leave(self) -> None:
        if self._ring is not None:
            self._lost += self._ring.lost
            self._ring.close()
            self._ring = None

    def thinned(self, batch: Batch) -> Batch:
        """Return every n-th tick of a batch, for the standard messages."""
        some = batch.rows["tick"] % self._standard.every == 0
        return Batch(batch.rows[some], batch.stamps[some])

    def close(self) -> None:
        self._leave()
        self._watcher.close()
