"""Recordings: MCAP files that open in common viewers, and that survive a killed run.

A row's bytes are the bytes of its ROS 2 message (CDR, little-endian), since all its numbers are eight bytes wide; the message's
definition is generated from the signal table. The file also has /tf and standard messages (standard.py), at a lower rate, so
that viewers show a moving scene without knowing hilt. The scenario and the versions are at the start of the file, the result
is at its end, so that a cut file still says what it is.
"""

import json
import os
import platform
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any

import numpy as np
from mcap.writer import Writer

import hilt
from hilt.core import clock, faults
from hilt.core.faults import Fault
from hilt.core.scenario import Scenario
from hilt.core.system import System
from hilt.host import machine
from hilt.record import cdr, standard
from hilt.record.cdr import Topic
from hilt.record.layout import describe, type_from
from hilt.record.reading import Recording as Recording
from hilt.record.reading import load as load
from hilt.record.reading import stored as stored
from hilt.record.standard import Frames, Standard

ROWS_A_CHUNK = 256
SECONDS_A_CHUNK = 0.5
SIMULATED = "simulation, no devices"


class Chunks:
    """An MCAP file that grows by chunks of rows; each chunk is completely on the disk when `write` returns."""

    def __init__(self, path: Path, origin: dict[str, str]) -> None:
        self.path = path
        self.began = clock.wall_nanoseconds()  # start of the run: times in the file count from here
        self._stream: IO[bytes] = machine.open_file(path, "wb")
        self._writer = Writer(self._stream, chunk_size=1 << 30)
        self._writer.start(profile="ros2", library=f"hilt {hilt.__version__}")
        self._writer.add_metadata("hilt", origin)
        system, row = origin["system"], type_from(json.loads(origin["row"]))
        self._standard = standard.from_json(json.loads(origin["standard"])) if "standard" in origin else Standard(1, Frames())
        self._schemas: dict[str, int] = {}
        self._rows = self._channel(cdr.row_topic(system, row))
        beside = replace(self._standard.frames, twists=())  # no viewer draws twists, and the rows have them
        self._beside = [self._channel(topic) for topic in cdr.standard_topics(system, beside)]
        self._stream.flush()

    def _channel(self, topic: Topic) -> tuple[int, Topic]:
        if topic.type not in self._schemas:
            self._schemas[topic.type] = self._writer.register_schema(topic.type, "ros2msg", topic.definition.encode())
        return self._writer.register_channel(topic.name, "cdr", self._schemas[topic.type]), topic

    def write(self, rows: np.ndarray) -> None:
        """Write a chunk. Its rows come first, one after the other, so that they can be read as one table."""
        self._write(*self._rows, rows)
        some = cdr.thinned(rows, self._standard)
        for channel, topic in self._beside:
            self._write(channel, topic, some)
        self._writer.flush()

    def _write(self, channel: int, topic: Topic, rows: np.ndarray) -> None:
        stamps = cdr.stamps_of(rows, self.began)
        times, ticks = stamps.tolist(), rows["tick"].tolist()
        for message in topic.encode(rows, stamps):
            at = times[message.row]
            self._writer.add_message(channel, at, message.data, at, ticks[message.row])

    @property
    def closed(self) -> bool:
        return self._stream.closed

    @property
    def size(self) -> int:
        """Bytes on the disk, even if the file's name is gone."""
        return os.fstat(self._stream.fileno()).st_size

    def restore(self) -> bool:
        """Restore the file with everything written so far if its name, or its folder, was deleted; return whether it was."""
        with suppress(OSError):
            if os.path.samestat(os.stat(self.path), os.fstat(self._stream.fileno())):
                return False
        self._stream.flush()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with Path(f"/proc/self/fd/{self._stream.fileno()}").open("rb") as kept, self.path.open("xb") as again:
            shutil.copyfileobj(kept, again)
            again.flush()
            os.dup2(again.fileno(), self._stream.fileno(), inheritable=False)  # the writer continues at the end of the new file
        return True

    def finish(self, result: dict[str, Any] | None = None) -> None:
        """Write the result of the run, if there is one, and the end of the file."""
        if result is not None:
            self._writer.add_metadata("result", {"json": json.dumps(result)})
        self._writer.finish()
        self._stream.close()

    def abandon(self) -> None:
        """Close the file without writing its end, because the disk is full."""
        with suppress(OSError):
            self._stream.close()


class Recorder:
    """Writes the rows of a run to an MCAP file during the run; it buffers one chunk.

    A full disk ends the run gently: what was written before stays readable, and `trouble` says what happened.
    """

    def __init__(self, path: Path, system: System, scenario: Scenario) -> None:
        self.path, self.trouble = path, ""
        self._rows = np.zeros(ROWS_A_CHUNK, system.row)
        self._bytes = self._rows.view(np.uint8).reshape(ROWS_A_CHUNK, -1)  # a row is copied as one, not signal by signal
        self._count = self._written = 0
        self._flushed = clock.now()
        self._chunks = Chunks(path, origin_of(system, scenario))
        self._whole = path.stat().st_size

    def look(self, row: np.ndarray) -> int:
        """As an overseer of the loop: 0, or the fault code that must end the run."""
        return faults.RECORDER if self.trouble else faults.NONE

    def _finish(self, result: dict[str, Any] | None) -> None:
        try:
            self._chunks.finish(result)
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        self.trouble = disk_trouble(self.path, error)
        self._chunks.abandon()
        keep_readable(self.path, self._whole)

    def fault(self, last: Any) -> Fault:
        """The fault that ended the run, at the last row that could be written."""
        return Fault(faults.RECORDER, "recorder", int(last["tick"]), float(last["t"]), "", 0.0, 0.0, self.trouble)

    def append(self, row: np.ndarray) -> None:
        self._bytes[self._count] = row.view(np.uint8)
        self._count += 1
        if self._count == ROWS_A_CHUNK or clock.now() - self._flushed > SECONDS_A_CHUNK:
            self.flush()

    def flush(self) -> None:
        """Write all rows so far to the disk, if it has room."""
        rows, self._count, self._flushed = self._rows[: self._count], 0, clock.now()
        if not self.trouble and len(rows):
            self._try(lambda: self._chunks.write(rows))

    def end(self) -> None:
        """Call after the last row: makes all rows readable. A file that was deleted meanwhile gets its name back."""
        self.flush()
        if not self._chunks.closed:  # closed early if the disk is full
            with suppress(OSError):
                self._chunks.restore()

    def _try(self, write: Callable[[], None]) -> None:
        try:
            write()
            self._whole = self._chunks.size
        except OSError as error:
            self._give_up(error)

    def close(self, result: dict[str, Any] | None = None) -> None:
        """Write what is left, and the result of the run if there is one. Safe to call twice."""
        if self._chunks.closed:
            return
        self.flush()
        if not self.trouble:
            self._finish(result)


def keep_readable(path: Path, size: int) -> None:
    """Truncate a file to the end of its last complete chunk: a partial one is useless."""
    with suppress(OSError):
        os.truncate(path, size)


def disk_trouble(path: Path, error: OSError) -> str:
    return f"recording {path} cannot continue: {error.strerror}; what was written before is kept; free disk space and run again"


def origin_of(system: System, scenario: Scenario, rig: str = SIMULATED) -> dict[str, str]:
    """The header of a recording: what is needed to run it again, when it was made and on what."""
    return {
        "system": system.name,
        "made": clock.date(),
        "rig": rig,
        "scenario": scenario.model_dump_json(),
        "hash": scenario.hash(),
        "hilt": hilt.__version__,
        "numba": version("numba"),
        "numpy": version("numpy"),
        "python": platform.python_version(),
        "machine": platform.machine(),
        "row": json.dumps(describe(system.row)),
        "standard": json.dumps(standard.of(system, scenario).as_json()),
    }
