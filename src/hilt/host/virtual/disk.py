"""The disk of a virtual machine: real files, which may fill up or be slow when the machine says so."""

import errno
import os
from pathlib import Path
from typing import IO, Any

from greenlet import GreenletExit


class Disk:
    """Faults of the disk, for files that are written during a run."""

    def __init__(self, machine: Any) -> None:
        self.machine = machine
        self.full = False
        self.slow = 0  # [ns] for each write

    def open(self, path: Path, mode: str) -> "VirtualFile":
        self.machine.take("open a file")
        made = VirtualFile(self, path.open(mode))
        self.machine.process.files.append(made)
        return made


class VirtualFile:
    """A real file; what a dead process would have written is not written."""

    def __init__(self, disk: Disk, stream: IO[Any]) -> None:
        self._disk, self._stream, self._process = disk, stream, disk.machine.process

    def _check(self) -> None:
        if self._process.ended or self._disk.machine.scheduler.closing:
            raise GreenletExit
        if self._disk.slow:
            self._disk.machine.scheduler.sleep(self._disk.slow)
        if self._disk.full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def write(self, data: Any) -> int:
        self._check()
        return int(self._stream.write(data))

    def flush(self) -> None:
        self._check()
        self._stream.flush()

    def abandon(self) -> None:
        """Lose what is still in the buffer, as when a process is killed."""
        if not self._stream.closed:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)
            self._stream.close()

    def close(self) -> None:
        if self._process.ended:
            raise GreenletExit
        if self._disk.full and not self._stream.closed:
            self._stream.close()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._stream.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
