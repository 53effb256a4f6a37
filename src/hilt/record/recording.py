"""Recordings: MCAP files that open in the field's viewers, and that survive a killed run.

A row's bytes are the bytes of its ROS 2 message (CDR, little-endian), since all its numbers are eight bytes wide; the message's
definition is generated from the signal table. The scenario and the versions are at the start of the file, the
result is at its end, so that a cut file still says what it is.
"""

import json
import os
import platform
import shutil
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
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
from hilt.record.container import CDR_LITTLE_ENDIAN
from hilt.record.layout import describe, type_from
from hilt.record.reading import Recording as Recording
from hilt.record.reading import load as load
from hilt.record.reading import stored as stored

ROWS_A_CHUNK = 256
SECONDS_A_CHUNK = 0.5
SIMULATED = "simulation, no devices"
_ROS_NUMBERS = {"f8": "float64", "i8": "int64", "u8": "uint64"}


def message_definition(dtype: np.dtype) -> str:
    """The row as a ROS 2 message; names in lower case, as ROS 2 demands."""
    parts: dict[str, np.dtype] = {}
    lines = _fields(dtype, parts)
    for name, kind in parts.items():
        lines += ["=" * 80, f"MSG: {name}", *_fields(kind, {})]
    return "\n".join(lines) + "\n"


def _fields(dtype: np.dtype, parts: dict[str, np.dtype]) -> list[str]:
    lines = []
    for name in dtype.names or ():
        kind = dtype[name]
        base, shape = kind.subdtype or (kind, ())
        if base.names:
            type_name = "hilt_msgs/" + "".join(part.capitalize() for part in base.names)
            parts[type_name] = base
        else:
            type_name = _ROS_NUMBERS[base.str[1:]]
        size = f"[{int(np.prod(shape))}]" if shape else ""
        lines.append(f"{type_name}{size} {name.lower()}")
    return lines


class Chunks:
    """An MCAP file that grows by chunks of rows; each chunk is whole on the disk when `write` returns."""

    def __init__(self, path: Path, origin: dict[str, str]) -> None:
        self.path = path
        self._stream: IO[bytes] = path.open("wb")
        self._writer = Writer(self._stream, chunk_size=1 << 30)
        self._writer.start(profile="ros2", library=f"hilt {hilt.__version__}")
        self._writer.add_metadata("hilt", origin)
        system, row = origin["system"], type_from(json.loads(origin["row"]))
        schema = self._writer.register_schema(
            f"hilt_msgs/msg/{system.capitalize()}", "ros2msg", message_definition(row).encode()
        )
        self._channel = self._writer.register_channel(f"/hilt/{system}", "cdr", schema)
        self._stream.flush()

    def write(self, rows: np.ndarray) -> None:
        for row in rows:
            nanoseconds = round(float(row["t"]) * 1e9)
            self._writer.add_message(
                self._channel, nanoseconds, CDR_LITTLE_ENDIAN + row.tobytes(), nanoseconds, int(row["tick"])
            )
        self._writer.flush()

    @property
    def closed(self) -> bool:
        return self._stream.closed

    @property
    def size(self) -> int:
        """Bytes on the disk, even if the file's name is gone."""
        return os.fstat(self._stream.fileno()).st_size

    def restore(self) -> bool:
        """Whether the file's name was gone, perhaps with its folder: then it is restored with everything written so far."""
        with suppress(OSError):
            if os.path.samestat(os.stat(self.path), os.fstat(self._stream.fileno())):
                return False
        self._stream.flush()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with Path(f"/proc/self/fd/{self._stream.fileno()}").open("rb") as kept, self.path.open("xb") as again:
            shutil.copyfileobj(kept, again)
            again.flush()
            os.dup2(again.fileno(), self._stream.fileno(), inheritable=False)  # who writes goes on at the end of the new one
        return True

    def finish(self, result: dict[str, Any] | None = None) -> None:
        """Write the result of the run, if it has one, and the end of the file."""
        if result is not None:
            self._writer.add_metadata("result", {"json": json.dumps(result)})
        self._writer.finish()
        self._stream.close()

    def abandon(self) -> None:
        """Close the file as it is, without its end: the disk is full."""
        with suppress(OSError):
            self._stream.close()


class Recorder:
    """Writes the rows of a run to an MCAP file during the run; it buffers one chunk.

    A full disk ends the run softly: what was written before stays readable, and `trouble` says what happened.
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
        """As an overseer of the loop: the fault with which the run has to end."""
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
        """What ended the run, beside the last row that could be written."""
        return Fault(faults.RECORDER, "recorder", int(last["tick"]), float(last["t"]), "", 0.0, 0.0, self.trouble)

    def append(self, row: np.ndarray) -> None:
        self._bytes[self._count] = row.view(np.uint8)
        self._count += 1
        if self._count == ROWS_A_CHUNK or clock.now() - self._flushed > SECONDS_A_CHUNK:
            self.flush()

    def flush(self) -> None:
        """Everything that came so far is on the disk, if it takes it."""
        rows, self._count, self._flushed = self._rows[: self._count], 0, clock.now()
        if not self.trouble and len(rows):
            self._try(lambda: self._chunks.write(rows))

    def end(self) -> None:
        """After the last row: all of them can be read. A file that was deleted meanwhile gets its name again."""
        self.flush()
        if not self._chunks.closed:  # by a disk that is full
            with suppress(OSError):
                self._chunks.restore()

    def _try(self, write: Callable[[], None]) -> None:
        try:
            write()
            self._whole = self._chunks.size
        except OSError as error:
            self._give_up(error)

    def close(self, result: dict[str, Any] | None = None) -> None:
        """Write what is left, and the result of the run if it has one. Safe to call twice."""
        if self._chunks.closed:
            return
        self.flush()
        if not self.trouble:
            self._finish(result)


def keep_readable(path: Path, size: int) -> None:
    """A partial chunk is useless: truncate to the end of the last whole one."""
    with suppress(OSError):
        os.truncate(path, size)


def disk_trouble(path: Path, error: OSError) -> str:
    return f"recording {path} cannot go on: {error.strerror}; what was written before is kept; make room and run again"


def origin_of(system: System, scenario: Scenario, rig: str = SIMULATED) -> dict[str, str]:
    """What stands at the start of a recording: enough to run it again, when it was made and on what."""
    return {
        "system": system.name,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "rig": rig,
        "scenario": scenario.model_dump_json(),
        "hash": scenario.hash(),
        "hilt": hilt.__version__,
        "numba": version("numba"),
        "numpy": version("numpy"),
        "python": platform.python_version(),
        "machine": platform.machine(),
        "row": json.dumps(describe(system.row)),
    }
