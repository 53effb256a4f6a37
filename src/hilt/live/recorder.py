"""The recorder as a separate process: it reads the ring and writes the recording.

The loop's process starts it and then only reads its status, a few numbers in shared memory: a slow or full disk or a killed
recorder costs the loop nothing. It shares no interpreter lock, no terminal and no core with the loop.

    loop ── ring ──► recorder ──► .mcap          rows read = rows written + rows given up
      ▲                  │                        rows of the run = rows read + rows lost in the ring
      └──── status ──────┘

It ends when the ring has ended and everything is written, or when the ring's writer is dead: either way the file is complete.
"""

import json
import math
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from hilt.core import clock
from hilt.host import machine
from hilt.host.shared import Segment, forget
from hilt.live.ring import SUFFIX as RING
from hilt.live.ring import RingReader
from hilt.record.recording import SECONDS_A_CHUNK, Chunks, disk_trouble, keep_readable

SUFFIX = ".recorder"
STARTING, RECORDING, WRITTEN, DONE, FAILED = range(5)
STATES = ("starting", "recording", "written", "done", "failed")
ROWS_A_READ = 512
IDLE = 0.005  # [s] between two checks of an empty ring
RESULT_WAIT = 30.0  # [s] for the result of a run whose rows are written
NICENESS = 10
_ERROR_BYTES = 240
_STATUS = np.dtype(
    [(name, "i8") for name in ("state", "pid", "read", "written", "lost", "beat", "restored")] + [("error", f"S{_ERROR_BYTES}")]
)


class RecorderStatus:
    """Status of the recorder; reading it costs the loop less than a microsecond and never waits."""

    def __init__(self, segment: Segment) -> None:
        self._segment = segment
        record = np.frombuffer(segment.memory, _STATUS, 1)
        self._state, self._beat, self._error = record["state"], record["beat"], record["error"]
        self._read, self._written, self._lost = record["read"], record["written"], record["lost"]
        self._pid, self._restored = record["pid"], record["restored"]

    @property
    def state(self) -> int:
        return int(self._state[0])

    @property
    def rows_written(self) -> int:
        return int(self._written[0])

    @property
    def rows_lost(self) -> int:
        """Rows that will not be in the recording: overtaken in the ring, or given up after an error."""
        return int(self._lost[0])

    @property
    def error(self) -> str:
        return bytes(self._error[0]).decode(errors="replace")

    @property
    def restored(self) -> bool:
        """Whether the file was deleted while being written, and has been restored."""
        return bool(self._restored[0])

    @property
    def pid(self) -> int:
        return int(self._pid[0])

    @property
    def beat_age(self) -> float:
        """Time since its last sign of life [s]."""
        return (clock.nanoseconds() - int(self._beat[0])) * 1e-9

    def behind(self, count: int) -> int:
        """Return how many rows of the run it has not read yet."""
        return count - int(self._read[0])

    def trouble(self, silence: float = 2.0) -> str:
        """Return what is wrong with it, in words; empty while it is alive and keeps up."""
        if self._state[0] == FAILED:
            return self.error
        if self._lost[0]:
            return f"the recorder fell behind: {self.rows_lost} rows are lost"
        if self._state[0] < WRITTEN and self.beat_age > silence:
            return f"the recorder has shown no sign of life for {self.beat_age:.1f} s"
        return ""

    # For the recorder itself.

    def beat(self, state: int, read: int, written: int, lost: int) -> None:
        self._state[0], self._read[0], self._written[0], self._lost[0] = state, read, written, lost
        self._beat[0] = clock.nanoseconds()

    def fail(self, error: str) -> None:
        self._error[0] = error.encode()[:_ERROR_BYTES]
        self._state[0] = FAILED

    def note_restored(self) -> None:
        self._restored[0] = 1

    def sign_on(self) -> None:
        self._pid[0] = machine.pid()


class RecorderProcess:
    """The loop's handle of its recorder. Nothing here raises because of the recorder, and `status` never waits."""

    def __init__(self, ring: str, path: Path, origin: dict[str, str], away_from: int | None = None) -> None:
        """Record the ring into a file; `origin` is `recording.origin_of(...)`, `away_from` the loop's core."""
        self.path = path
        self._segment = Segment.create(ring + SUFFIX, _STATUS.itemsize)
        self.status = RecorderStatus(self._segment)
        self.status.beat(STARTING, 0, 0, 0)
        self._segment.publish()
        core = "" if away_from is None else str(away_from)
        self._child = machine.start("hilt.live.recorder", ring, str(path), core, heard=False, errors=False)
        self._tell({"origin": origin})

    def _tell(self, message: dict[str, Any]) -> None:
        with suppress(OSError, ValueError):  # it may be dead: the status says so
            self._child.tell(json.dumps(message).encode() + b"\n")

    def trouble(self) -> str:
        """Return what is wrong with it, in words, or that it is dead. Never waits."""
        if self._child.poll() is not None and self.status.state < WRITTEN:
            return f"the recorder's process has ended (exit code {self._child.poll()})"
        return self.status.trouble()

    @property
    def alive(self) -> bool:
        """Whether its process has not ended. Never waits."""
        return self._child.poll() is None

    def wait_for(self, state: int, seconds: float) -> bool:
        """Wait until the recorder reaches a state: RECORDING before the run, WRITTEN after it; returns whether it did."""
        until = clock.now() + seconds
        while self.status.state < state:
            if self._child.poll() is not None or clock.now() > until:
                break
            clock.pause(0.002)
        return state <= self.status.state < FAILED

    def finish(self, result: dict[str, Any] | None = None, seconds: float = 10.0) -> str:
        """Pass it the result of the run, after the ring's end, and wait for it to end; returns what went wrong, or nothing."""
        if result is not None:
            self._tell({"result": result})
        self._child.end_input()
        if not self._child.wait(seconds):
            self._kill()
        if self.status.state < DONE:
            self.status.fail(f"the recorder ended too early (exit code {self._child.poll()}); the file ends there")
        return self.status.trouble()

    def close(self) -> None:
        """End the process and release the status. Safe to call twice."""
        if self._child.poll() is None:
            self._kill()
        self._child.end_input()
        self._segment.close()

    def _kill(self) -> None:
        self._child.send_signal(signal.SIGKILL)
        self._child.wait(math.inf)


def _step_aside(loop_core: int | None) -> None:
    """Leave the loop's core and real-time priority: the loop may already have been real-time when it started us."""
    system = machine.scheduling()
    with suppress(OSError):
        system.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    with suppress(OSError):
        system.nice(NICENESS)
    cores = set(range(system.cpu_count() or 1)) - {loop_core}
    with suppress(OSError, ValueError):
        if cores:
            system.sched_setaffinity(0, cores)


def _restore_name(chunks: Chunks, status: RecorderStatus) -> None:
    """Restore the name of a file that was deleted while being written."""
    with suppress(OSError):
        if chunks.restore():
            status.note_restored()


def record(ring: RingReader, path: Path, origin: dict[str, str], status: RecorderStatus) -> Chunks | None:
    """Write everything from the ring, until its end. Returns the file, still open, or None if it could not be written.

    After an error the ring is still read and the rows are counted as lost, so that the count is exact.
    """
    chunks: Chunks | None = None
    whole, read, written, given_up = 0, 0, 0, 0
    waiting: list[np.ndarray] = []
    flushed = clock.now()
    try:
        chunks = Chunks(path, origin)
        whole = chunks.size
        status.beat(RECORDING, 0, 0, 0)
    except OSError as error:
        status.fail(disk_trouble(path, error))
    while True:
        over = ring.ended or not ring.writer_alive  # checked before reading: rows from before the end are still read
        rows, _ = ring.read(ROWS_A_READ)
        read = ring.next
        if len(rows):
            waiting.append(rows)
        last = over and not len(rows) and read == ring.count
        if waiting and (last or sum(map(len, waiting)) >= ROWS_A_READ or clock.now() - flushed > SECONDS_A_CHUNK / 2):
            count = sum(map(len, waiting))
            if chunks is not None:
                try:
                    chunks.began = ring.began or chunks.began
                    chunks.write(np.concatenate(waiting))
                    whole = chunks.size
                    written += count
                except OSError as error:
                    status.fail(disk_trouble(path, error))
                    chunks.abandon()
                    keep_readable(path, whole)
                    chunks = None
            if chunks is None:
                given_up += count
            waiting, flushed = [], clock.now()
        if last and chunks is not None:
            _restore_name(chunks, status)
        state = status.state if chunks is None else WRITTEN if last else RECORDING
        status.beat(state, read, written, ring.lost + given_up)
        if last:
            return chunks
        if not len(rows):
            clock.pause(IDLE)


def _listen(seconds: float) -> dict[str, Any]:
    """Return the next line from the loop's process; nothing if it has ended."""
    with suppress(ValueError):
        message: dict[str, Any] = json.loads(machine.input_line(seconds) or "{}")
        return message
    return {}


def main(ring_name: str, where: str, core: str = "") -> None:
    _step_aside(int(core) if core else None)
    path = Path(where)
    status = RecorderStatus(Segment.open(ring_name + SUFFIX, _STATUS.itemsize, writable=True))
    status.sign_on()
    ring = RingReader(ring_name)
    origin = _listen(RESULT_WAIT).get("origin")
    if origin is None:
        return
    chunks = record(ring, path, origin, status)
    if chunks is not None:
        whole = chunks.size
        try:
            result = _listen(RESULT_WAIT).get("result")
            _restore_name(chunks, status)
            chunks.finish(result)
            status.beat(DONE, ring.next, status.rows_written, status.rows_lost)
        except OSError as error:  # the rows are there, the end of the file is not
            status.fail(disk_trouble(path, error))
            chunks.abandon()
            keep_readable(path, whole)
    for suffix in (RING, SUFFIX):  # left by a loop that was killed
        forget(ring_name + suffix)


if __name__ == "__main__":
    main(*sys.argv[1:])
