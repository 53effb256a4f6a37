"""The recorder as a separate process: it reads the ring and writes the recording, of one run after another.

The loop's process starts it before it connects any device, and then only reads its status, a few numbers in shared memory: a
slow or full disk or a killed recorder costs the loop nothing. It shares no interpreter lock, no terminal and no core with the
loop.

    loop ── ring ──► recorder ──► .mcap          rows read = rows written + rows given up
      ▲                  │                        rows of the run = rows read + rows lost in the ring
      └──── status ──────┘

A recording ends when the ring has ended and everything is written, or when the ring's writer is dead: either way the file is
complete. The process ends with its parent.
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
from hilt.core.faults import InputError
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
LOOK = 0.002  # [s] between two checks of its status
END = 5.0  # [s] until its process has ended
RESULT_WAIT = 30.0  # [s] for the result of a run whose rows are written
NICENESS = 10
_ERROR_BYTES = 240
_NUMBERS = ("state", "pid", "read", "written", "lost", "beat", "restored", "over")
_STATUS = np.dtype([(name, "i8") for name in _NUMBERS] + [("error", f"S{_ERROR_BYTES}")])


class RecorderStatus:
    """Status of the recorder; reading it costs the loop less than a microsecond and never waits."""

    def __init__(self, segment: Segment) -> None:
        self._segment = segment
        record = np.frombuffer(segment.memory, _STATUS, 1)
        self._state, self._beat, self._error = record["state"], record["beat"], record["error"]
        self._read, self._written, self._lost = record["read"], record["written"], record["lost"]
        self._pid, self._restored, self._over = record["pid"], record["restored"], record["over"]

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
    def over(self) -> bool:
        """Whether it has done with the run: everything is read, and written as far as it could be."""
        return bool(self._over[0])

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

    def end(self) -> None:
        self._over[0] = 1

    def sign_on(self) -> None:
        self._pid[0] = machine.pid()


class RecorderProcess:
    """The process; it records one run after another."""

    def __init__(self, away_from: int | None = None) -> None:
        """`away_from` is the loop's core."""
        self._child = machine.start(
            "hilt.live.recorder", "" if away_from is None else str(away_from), heard=False, errors=False
        )

    def tell(self, message: dict[str, Any]) -> None:
        with suppress(OSError, ValueError):  # it may be dead: the status says so
            self._child.tell(json.dumps(message).encode() + b"\n")

    @property
    def exit_code(self) -> int | None:
        """None while it runs. Never waits."""
        return self._child.poll()

    def kill(self) -> None:
        if self._child.poll() is None:
            self._child.send_signal(signal.SIGKILL)
            self._child.wait(math.inf)

    def close(self) -> None:
        """End it: when it has written what it has, or at once if it hangs. Safe to call twice."""
        self._child.end_input()
        if not self._child.wait(END):
            self.kill()


class RunRecorder:
    """The loop's handle of the recording of one run. Nothing here raises because of the recorder, and `status` never waits."""

    def __init__(self, ring: str, path: Path, origin: dict[str, str], process: RecorderProcess | None = None) -> None:
        """Record the ring into a file; `origin` is `recording.origin_of(...)`. Without a process it has one of its own."""
        self.path = path
        self._process, self._own = process or RecorderProcess(), process is None
        self._segment = Segment.create(ring + SUFFIX, _STATUS.itemsize)
        self.status = RecorderStatus(self._segment)
        self.status.beat(STARTING, 0, 0, 0)
        self._segment.publish()
        self._process.tell({"ring": ring, "path": str(path), "origin": origin})

    def trouble(self) -> str:
        """Return what is wrong with it, in words, or that it is dead. Never waits."""
        if self._process.exit_code is not None and self.status.state < WRITTEN:
            return f"the recorder's process has ended (exit code {self._process.exit_code})"
        return self.status.trouble()

    @property
    def alive(self) -> bool:
        """Whether its process has not ended. Never waits."""
        return self._process.exit_code is None

    def wait_for(self, state: int, seconds: float) -> bool:
        """Wait until it reaches a state: RECORDING before the run, WRITTEN and DONE after it; returns whether it did."""
        until = clock.now() + seconds
        while self.status.state < state:
            if not self.alive or clock.now() > until:
                break
            clock.pause(LOOK)
        return state <= self.status.state < FAILED

    def finish(self, result: dict[str, Any] | None = None, seconds: float = 10.0) -> str:
        """Pass it the result of the run, after the ring's end, and wait until it is in the file; returns what went wrong, or
        nothing."""
        self._process.tell({"result": result})
        until = clock.now() + seconds
        while self.alive and not self.status.over and clock.now() < until:
            clock.pause(LOOK)
        if not self.status.over:
            self._process.kill()
            code = self._process.exit_code
            self.status.fail(f"the recorder ended too early (exit code {code}); the file ends there")
        return self.status.trouble()

    def close(self) -> None:
        """Forget the run, and end a process of its own. Safe to call twice."""
        if not self.status.over:  # it would go on waiting for rows or for a result
            self._process.kill()
        if self._own:
            self._process.close()
        self._segment.close()


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


def _listen(wanted: str, seconds: float | None = None) -> dict[str, Any]:
    """Return the next line from the loop's process that has this key; nothing if it has ended, or if none came in time."""
    while line := machine.input_line(seconds):
        with suppress(ValueError):
            message: dict[str, Any] = json.loads(line)
            if wanted in message:
                return message
    return {}


def _record_run(ring_name: str, path: Path, origin: dict[str, str]) -> None:
    """Record one run, from its ring to its result."""
    memory = Segment.open(ring_name + SUFFIX, _STATUS.itemsize, writable=True)
    status = RecorderStatus(memory)
    status.sign_on()
    ring = RingReader(ring_name)
    chunks = record(ring, path, origin, status)
    if chunks is not None:
        whole = chunks.size
        try:
            result = _listen("result", RESULT_WAIT).get("result")
            _restore_name(chunks, status)
            chunks.finish(result)
            status.beat(DONE, ring.next, status.rows_written, status.rows_lost)
        except OSError as error:  # the rows are there, the end of the file is not
            status.fail(disk_trouble(path, error))
            chunks.abandon()
            keep_readable(path, whole)
    ring.close()
    status.end()
    memory.close()
    for suffix in (RING, SUFFIX):  # left by a loop that was killed
        forget(ring_name + suffix)


def main(core: str = "") -> None:
    _step_aside(int(core) if core else None)
    while order := _listen("ring"):
        with suppress(InputError):  # the loop has ended before its run began
            _record_run(order["ring"], Path(order["path"]), order["origin"])


if __name__ == "__main__":
    main(*sys.argv[1:])
