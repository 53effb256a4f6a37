"""The feed of one session: reads its ring and keeps what pages want to see.

It looks many times a second, copies what is new and never makes the loop wait: the loop does not even know it exists. A
station starts a new ring with each run; the feed follows it, and survives a station that dies.
"""

from typing import Any

import numpy as np

from hilt.cockpit import columns, presets, stage_view, status
from hilt.cockpit.history import History
from hilt.cockpit.wire import without_paths
from hilt.core import clock, registry, scenario
from hilt.core.faults import InputError
from hilt.core.scenario import Scenario
from hilt.live.mailbox import STATES, Front, Watcher
from hilt.live.ring import RingReader

ROWS_A_READ = 1024
READS_A_LOOK = 8  # how much is caught up at once after a pause; the rest follows with the next looks
RATE_WINDOW = 1.0  # [s] over which ticks are counted


class Feed:
    """The current state of a session. Made in its own thread; then for the server's loop only."""

    def __init__(self, name: str) -> None:
        self._watcher = Watcher(name)
        self.name, self.info = name, self._watcher.info
        self.system = registry.system(self.info["system"])
        self.values: Scenario = scenario.build(self.system.scenario, self.info["values"])
        self.period = float(self.values.loop.period)
        self.view = stage_view.StageView(self.system, self.values)
        self.row: np.ndarray = self.system.set_up(self.values).row  # before the first run: the initial state
        self._pose: np.ndarray | None = self.view.pose(self.row[0])  # now, since the first one may have to be compiled
        self.history = History(self.system.row, self.period, float(self.values.loop.duration))
        self.timing = status.Timing(self.period)
        self.bucket = max(1, round(1.0 / (60.0 * self.period)))
        self.front: Front = self._watcher.front
        self.alive, self.run = True, self.front.runs
        self._ring: RingReader | None = None
        self._ring_name = ""
        self._before_us = 0
        self._stored_at_start: float | None = None
        self._counted, self._counted_at, self._rate = 0, clock.now(), 0.0

    def look(self) -> None:
        """Read everything that is new."""
        self.front = self._watcher.front
        if self.alive and not self._watcher.alive:
            self.alive = False
        if self.front.ring != self._ring_name:
            self._read()  # the last rows of the previous run
            self._follow(self.front.ring)
        self._read()

    def _follow(self, ring: str) -> None:
        """Follow the ring of a new run and start its history from scratch."""
        try:
            reader = RingReader(ring) if ring else None
        except InputError:  # it has ended already, or does not exist yet
            return
        if self._ring is not None:
            self._ring.close()
        self._ring, self._ring_name, self.run = reader, ring, self.front.runs
        self._before_us = 0
        self.view.begin()
        self.history.clear()
        self.timing.clear()
        self._stored_at_start = None
        self._counted, self._counted_at, self._rate = 0, clock.now(), 0.0

    def _read(self) -> None:
        if self._ring is None or self._ring.dtype != self.system.row:
            return
        for _ in range(READS_A_LOOK):
            first = self._ring.next == 0
            rows, missed = self._ring.read(ROWS_A_READ)
            self._before_us += missed if first else 0
            if not len(rows):
                return
            if int(rows["tick"][0]) == 0:
                self._stored_at_start = status.stored(self.system, rows[:1])
            self.history.append(rows)
            self.timing.note(rows)
            self.row = rows[-1:].copy()
            self._pose = None
            if len(rows) < ROWS_A_READ:
                break

    @property
    def pose(self) -> np.ndarray:
        """Scene numbers of the last row: computed once for all watching pages, and only if there are any."""
        if self._pose is None:
            self._pose = self.view.pose(self.row[0])
        return self._pose

    @property
    def state(self) -> str:
        return STATES[self.front.state] if self.alive else STATES[0]

    @property
    def lost(self) -> int:
        """Rows that were overwritten before they were read, not counting those from before the feed opened the ring."""
        return self._ring.lost - self._before_us if self._ring is not None else 0

    def header(self) -> dict[str, Any]:
        return {
            "type": "frame",
            "t": float(self.row["t"][0]),
            "tick": int(self.row["tick"][0]),
            "state": self.state,
            "run": self.run,
            "nodes": self.view.nodes,
            "arrows": self.view.arrows,
        }

    def ledger(self) -> dict[str, Any]:
        return status.ledger(self.system, self.row, self._stored_at_start)

    def timing_message(self) -> dict[str, Any]:
        now, rows = clock.now(), self.timing.rows
        if now - self._counted_at >= RATE_WINDOW:
            self._rate = (rows - self._counted) / (now - self._counted_at)
            self._counted, self._counted_at = rows, now
        return self.timing.as_json(self._rate, self.lost)

    def describe(self) -> dict[str, Any]:
        """Return what a page has to know before the first frame."""
        span = self.history.span
        return {
            "info": without_paths(self.info),
            "scene": self.view.scene,
            "signals": columns.describe(self.system.row),
            "presets": presets.of([self.system], [""], [self.name]),
            "span": span and list(span),
            "result": None,
        }

    def close(self) -> None:
        if self._ring is not None:
            self._ring.close()
        self._watcher.close()
