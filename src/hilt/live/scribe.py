"""Recording of a live run: its ring and its recorder, from before the robot is armed until the result is in the file.

The robot is not armed before the recorder records. A run that was not armed leaves no file. One that was armed always does: if
the recorder has written nothing, the rows that are still in the ring are written.
"""

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from hilt.core.faults import InputError
from hilt.core.scenario import Scenario
from hilt.core.system import System
from hilt.live.recorder import RECORDING, WRITTEN, RecorderProcess, RunRecorder
from hilt.live.ring import RingWriter
from hilt.record import recording
from hilt.record.recording import Chunks, Recording

START = 20.0  # s until the recorder records
END = 30.0  # s until it has written everything
HUNG = 5.0  # s, if it is known to be in trouble


def make_folder(folder: Path) -> list[Path]:
    """Create a folder; returns the parts that did not exist before, innermost first."""
    fresh = [each for each in (folder, *folder.parents) if not each.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write to {folder}: {error.strerror}; choose another with --out") from None
    return fresh


class Scribe:
    """Ring and recorder of one run; `close` releases both."""

    def __init__(
        self, name: str, path: Path, system: System, values: Scenario, seconds: float, process: RecorderProcess, rig: str
    ) -> None:
        self.path: Path | None = path
        self._origin = recording.origin_of(system, values, rig)
        self._fresh = make_folder(path.parent)
        self._chunks: Chunks | None = None
        self.ring = RingWriter(name, system.row, round(seconds / values.loop.period))
        try:
            self.recorder = RunRecorder(name, path, self._origin, process)
        except BaseException:
            self.ring.close()
            raise

    @property
    def starting(self) -> bool:
        return self.recorder.alive and self.recorder.status.state < RECORDING

    def check(self) -> None:
        """Check that a robot may be armed: everything from now on is recorded."""
        if self.recorder.alive and self.recorder.status.state == RECORDING:
            return
        late = f"the recorder did not start within {START:g} s; check the machine's load"
        raise InputError(f"the robot was not armed: {self.recorder.trouble() or late}")

    def withdraw(self) -> None:
        """Remove file and folders: the robot was not armed."""
        self.close()
        with suppress(OSError):
            if self.path is not None:
                self.path.unlink(missing_ok=True)
            for each in self._fresh:
                each.rmdir()

    def recorded(self, notes: list[str]) -> Recording:
        """Return the finished run from its recording; its rows stay on disk."""
        self.recorder.wait_for(WRITTEN, self._patience)
        if self.recorder.status.restored:
            notes.append(f"{self.path} was deleted during the run; it was restored and is complete")
        with suppress(InputError):
            assert self.path is not None
            found = recording.stored(self.path)
            if any(len(rows) for rows in found.chunks()):
                return found
        path = self.path or Path()
        return Recording(path, self._origin, self._from_ring(notes), None)

    def _from_ring(self, notes: list[str]) -> np.ndarray:
        """Write the rows that the ring still holds: the recorder has written nothing readable, and the robot is at rest."""
        rows, path = self.ring.rows(), self.path
        self.recorder.close()
        assert path is not None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._chunks = Chunks(path, self._origin)
            self._chunks.began = self.ring.began or self._chunks.began
            self._chunks.write(rows)
            notes.append(
                f"the recorder wrote no rows; the last {len(rows)} were still in shared memory and are in the recording"
            )
        except OSError as error:
            self.path = None
            notes.append(f"{path} cannot be written: {error.strerror}; the run has no recording")
        return rows

    @property
    def _patience(self) -> float:
        return HUNG if self.recorder.trouble() else END

    def finish(self, result: dict[str, Any]) -> None:
        """Write the result into the file."""
        if self._chunks is None:
            self.recorder.finish(result, self._patience)
            return
        try:
            self._chunks.finish(result)
        except OSError:
            self._chunks.abandon()

    def close(self) -> None:
        self.recorder.close()
        self.ring.close()
