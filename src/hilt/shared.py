"""Memory that processes share: a mapped file in /dev/shm with one owner.

The owner holds a lock on it that the kernel lets go when the owner ends, however it ends: so the others can tell a dead owner
from a slow one, and a name left behind by a killed run is free again. A segment gets its name only when it is filled in:
nobody sees half of one.
"""

import fcntl
import mmap
import os
import re
import struct
import sys
from contextlib import suppress
from pathlib import Path

from hilt.faults import InputError

FOLDER = Path("/dev/shm")
PAGE = 4096
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")


def path_of(name: str) -> Path:
    if not _NAME.fullmatch(name):
        raise InputError(f"{name!r} cannot name a run: letters, digits, '.', '_' and '-' can, at most 200; choose another name")
    return FOLDER / f"hilt-{name}"


def _free(descriptor: int) -> bool:
    """Whether the owner of a segment has ended."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    return True


def _byte_lock(kind: int, first: int, count: int) -> bytes:
    return struct.pack("hhqqi", kind, os.SEEK_SET, first, count, 0)


class Segment:
    """Shared memory: `create` for its owner, `open` for everybody else."""

    def __init__(self, path: Path, descriptor: int, memory: mmap.mmap, owner: bool) -> None:
        self.path, self.memory, self.descriptor, self._owner = path, memory, descriptor, owner

    @classmethod
    def create(cls, name: str, size: int) -> "Segment":
        """New memory, all zero, without a name yet: fill it in, then `publish`."""
        path = path_of(name)
        if sys.platform != "linux":
            raise InputError(f"run {name} needs shared memory as Linux has it, and this is {sys.platform}; use Linux")
        descriptor = os.open(FOLDER, os.O_TMPFILE | os.O_RDWR, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.posix_fallocate(descriptor, 0, size)  # now, and not a bus error later
            # Populated: a page costs thirty times more at its first touch, and the loop must not pay that.
            memory = mmap.mmap(descriptor, size, flags=mmap.MAP_SHARED | mmap.MAP_POPULATE)
        except OSError as error:
            os.close(descriptor)
            raise InputError(
                f"run {name} needs {size / 1e6:.1f} MB in {FOLDER}: {error.strerror}; free some or record less"
            ) from None
        return cls(path, descriptor, memory, owner=True)

    def publish(self) -> None:
        """Give it its name, unless a living process has a segment of that name."""
        folder = os.open(FOLDER, os.O_RDONLY)
        try:
            for _ in range(2):
                with suppress(FileExistsError):
                    # With a folder's descriptor Python follows the link to the file that has no name yet.
                    os.link(f"/proc/self/fd/{self.descriptor}", self.path.name, dst_dir_fd=folder)
                    return
                if not forget_if_free(self.path):
                    break
        finally:
            os.close(folder)
        name = self.path.name.removeprefix("hilt-")
        raise InputError(f"{name} is running already in another process; wait for its end or choose another name")

    @classmethod
    def open(cls, name: str, *, writable: bool = False) -> "Segment":
        path = path_of(name)
        try:
            descriptor = os.open(path, os.O_RDWR if writable else os.O_RDONLY)
        except OSError as error:
            raise InputError(f"{name} is not running here: {path}: {error.strerror}; start it first") from None
        access = mmap.ACCESS_WRITE if writable else mmap.ACCESS_READ
        return cls(path, descriptor, mmap.mmap(descriptor, 0, access=access), owner=False)

    @property
    def owner_alive(self) -> bool:
        return self._owner or not _free(self.descriptor)

    def claim(self, place: int) -> bool:
        """Take one of numbered places for this opening of the segment, unless it is taken; a dead process has none."""
        try:
            fcntl.fcntl(self.descriptor, fcntl.F_OFD_SETLK, _byte_lock(fcntl.F_WRLCK, place, 1))
        except OSError:
            return False
        return True

    def close(self) -> None:
        """Let go; the owner also takes the name away. Who has the memory open may go on reading it. Safe to call twice."""
        if self.descriptor < 0:
            return
        if self._owner and self._is_at(self.path):
            self.path.unlink()
        # By hand, since the mapped memory keeps the file open.
        fcntl.flock(self.descriptor, fcntl.LOCK_UN)
        fcntl.fcntl(self.descriptor, fcntl.F_OFD_SETLK, _byte_lock(fcntl.F_UNLCK, 0, 0))
        with suppress(BufferError):  # arrays still look at it: the memory goes with the last of them
            self.memory.close()
        os.close(self.descriptor)
        self.descriptor = -1

    def _is_at(self, path: Path) -> bool:
        try:
            return os.path.samestat(os.stat(path), os.fstat(self.descriptor))
        except OSError:
            return False


def forget_if_free(path: Path) -> bool:
    """Take a name away whose owner has ended; whether it is free now."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    try:
        free = _free(descriptor)
        if free:
            path.unlink(missing_ok=True)
        return free
    finally:
        os.close(descriptor)


def running(suffix: str) -> list[str]:
    """Names of segments with a living owner; what killed runs have left behind is taken away."""
    found = sorted(FOLDER.glob(f"hilt-*{suffix}"))
    return [path.name.removeprefix("hilt-") for path in found if not forget_if_free(path)]
