"""Memory shared by the processes of one user: a mapped file in a private folder (runtime.py), with one owner.

The owner holds a lock on it that the kernel releases when the owner ends, however it ends: others can distinguish a dead owner
from a slow one, and a name left behind by a killed run is free again. A segment gets its name only once it is filled in: no
other process sees a partial one. Every command first removes what dead processes have left in the folder (`sweep`).

Files are opened without following links and without waiting, and owner, kind and size are checked before mapping. A file that
shrinks while mapped would still crash its readers; only their own user can do that.
"""

import errno
import fcntl
import mmap
import os
import re
import socket
import stat
import struct
import sys
import weakref
from collections.abc import Iterator
from contextlib import suppress
from fnmatch import fnmatch
from pathlib import Path

from hilt.core.faults import InputError
from hilt.host import machine, runtime

PAGE = 4096
FOLDER = Path("/virtual")  # of a virtual machine
SOCKET = ".socket"  # suffix of sockets; nothing else is a socket here
MEETING = ".meeting"  # suffix of memory without an owner
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
_CAREFULLY = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_TRIES = 100


def check_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise InputError(f"{name!r} cannot name a run; use at most 200 letters, digits, '.', '_' and '-'")
    return name


def find(name: str) -> Path | None:
    """Return the path of a name, if it exists."""
    check_name(name)
    return next((folder / name for folder in runtime.folders() if os.path.lexists(folder / name)), None)


def _open(path: Path, flags: int) -> int:
    """Open a file of ours; an OSError for everything else. Never waits."""
    descriptor = os.open(path, flags | _CAREFULLY)
    info = os.fstat(descriptor)
    if not stat.S_ISREG(info.st_mode) or info.st_uid != os.geteuid():
        os.close(descriptor)
        raise OSError(errno.EPERM, "not a file of ours")
    return descriptor


def _owned(descriptor: int) -> bool:
    """Whether the owner of a segment is alive."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    return False


def _byte_lock(kind: int, first: int, count: int) -> bytes:
    return struct.pack("hhqqi", kind, os.SEEK_SET, first, count, 0)


def _new(folder: Path, size: int, lock: int) -> int:
    """Create a locked file of zeros without a name. Its space is allocated now, to avoid a bus error later."""
    descriptor = os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, lock | fcntl.LOCK_NB)
        os.posix_fallocate(descriptor, 0, size)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _make(name: str, size: int, lock: int) -> tuple[Path, int]:
    """Create such a file in the first of our folders with enough room; returns its future path and its descriptor."""
    check_name(name)
    if sys.platform != "linux":
        raise InputError(f"run {name} needs Linux shared memory, but this is {sys.platform}; use Linux")
    why = f"no folder can be created in {runtime.SHARED}; set XDG_RUNTIME_DIR to your own folder on a tmpfs, with mode 0700"
    for folder in runtime.usable():
        try:
            return folder / name, _new(folder, size, lock)
        except OSError as error:
            why = f"{folder}: {error.strerror}; free some or record less"
    raise InputError(f"run {name} needs {size / 1e6:.1f} MB of shared memory: {why}")


def _link(descriptor: int, path: Path) -> None:
    """Give a file its name; FileExistsError if it is taken."""
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:  # with a folder's descriptor Python follows the link to the nameless file
        os.link(f"/proc/self/fd/{descriptor}", path.name, dst_dir_fd=folder)
    finally:
        os.close(folder)


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.lstat(path), os.fstat(descriptor))
    except OSError:
        return False


class Segment:
    """Shared memory: `create` for its owner, `open` for all others; `join` for memory without an owner."""

    def __init__(self, path: Path, descriptor: int, memory: mmap.mmap, owner: bool) -> None:
        self.path, self.memory, self.descriptor, self._owner = path, memory, descriptor, owner
        # A polling process drops hundreds of readers, and a process may have only 1024 open files.
        self._shut = weakref.finalize(self, os.close, descriptor)

    @classmethod
    def create(cls, name: str, size: int) -> "Segment":
        """Create memory, all zero, without a name yet: fill it in, then `publish`."""
        if (virtual := machine.segments()) is not None:
            return virtual.create(check_name(name), size)
        path, descriptor = _make(name, size, fcntl.LOCK_EX)
        # Pre-faulted: the first access to a page costs thirty times more, which the loop must not pay.
        memory = mmap.mmap(descriptor, size, flags=mmap.MAP_SHARED | mmap.MAP_POPULATE)
        return cls(path, descriptor, memory, owner=True)

    def publish(self) -> None:
        """Give it its name, unless a living process has a segment of that name."""
        name = self.path.name
        for _ in range(2):
            if any(_clear(folder / name) for folder in runtime.folders()):
                break
            with suppress(FileExistsError):
                return _link(self.descriptor, self.path)
        raise InputError(f"{name} is already running in another process; wait until it ends, or choose another name")

    @classmethod
    def open(cls, name: str, size: int = 1, *, writable: bool = False) -> "Segment":
        """Open memory of at least this many bytes."""
        if (virtual := machine.segments()) is not None:
            return virtual.open(check_name(name), size)
        path = find(name)
        if path is None:
            raise InputError(f"{name} is not running here; start it first")
        try:
            descriptor = _open(path, os.O_RDWR if writable else os.O_RDONLY)
        except OSError as error:
            raise InputError(f"{name} is not running here: {path}: {error.strerror}; start it first") from None
        length = os.fstat(descriptor).st_size
        if length < size:
            os.close(descriptor)
            raise InputError(f"{path} is {length} bytes long, but memory of hilt has {size}; give the name of a run")
        memory = mmap.mmap(descriptor, length, access=mmap.ACCESS_WRITE if writable else mmap.ACCESS_READ)
        return cls(path, descriptor, memory, owner=False)

    @classmethod
    def join(cls, name: str, size: int) -> "Segment":
        """Open memory that the first process creates; it stays while any of them is alive."""
        if (virtual := machine.segments()) is not None:
            return virtual.join(check_name(name), size)
        name += MEETING
        for _ in range(_TRIES):
            path, descriptor = find(name), -1
            try:
                if path is None:
                    path, descriptor = _make(name, size, fcntl.LOCK_SH)
                    _link(descriptor, path)
                else:
                    descriptor = _open(path, os.O_RDWR)
                    fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
                if _is_at(descriptor, path) and os.fstat(descriptor).st_size == size:
                    return cls(path, descriptor, mmap.mmap(descriptor, size), owner=False)
            except OSError:  # created by another process in the meantime, or removed
                pass
            if descriptor >= 0:
                os.close(descriptor)
            if path is not None:
                _clear(path)
        raise InputError(f"shared memory {name} cannot be opened as {size} bytes of ours; choose another name")

    @property
    def owner_alive(self) -> bool:
        return self._owner or _owned(self.descriptor)

    def claim(self, place: int) -> bool:
        """Take a numbered place, unless it is taken; returns whether it is ours now. A process that ends loses its places."""
        try:
            fcntl.fcntl(self.descriptor, fcntl.F_OFD_SETLK, _byte_lock(fcntl.F_WRLCK, place, 1))
        except OSError:
            return False
        return True

    def claimed(self, place: int) -> bool:
        """Whether another process has a place; checking takes nothing."""
        answer = fcntl.fcntl(self.descriptor, fcntl.F_OFD_GETLK, _byte_lock(fcntl.F_WRLCK, place, 1))
        return bool(struct.unpack_from("h", answer)[0] != fcntl.F_UNLCK)

    def close(self) -> None:
        """Release it; the owner also removes the name. Processes that have it open may keep reading. Safe to call twice."""
        if self.descriptor < 0:
            return
        if self._owner and _is_at(self.descriptor, self.path):
            self.path.unlink()
        # Explicitly, since the mapped memory keeps the file open.
        fcntl.flock(self.descriptor, fcntl.LOCK_UN)
        fcntl.fcntl(self.descriptor, fcntl.F_OFD_SETLK, _byte_lock(fcntl.F_UNLCK, 0, 0))
        with suppress(BufferError):  # arrays still use it: the memory is freed with the last of them
            self.memory.close()
        self._shut()
        self.descriptor = -1
        if self.path.name.endswith(MEETING):
            _clear(self.path)  # the last one removes the name


def _answered(path: Path) -> bool:
    """Whether a process has the socket open."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            return False
        except OSError:
            return True
        return True


def _file_in_use(path: Path, clear: bool) -> bool:
    descriptor = _open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_EX if path.name.endswith(MEETING) else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        if clear and _is_at(descriptor, path):  # under the lock: a process that joins at this moment notices and retries
            path.unlink(missing_ok=True)
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)


def _in_use(path: Path, clear: bool = False) -> bool:
    """Whether a running process has a name."""
    try:
        mode = os.lstat(path).st_mode
        if stat.S_ISREG(mode):
            return _file_in_use(path, clear)
        used = stat.S_ISSOCK(mode) and path.name.endswith(SOCKET) and _answered(path)
        if clear and not used and not stat.S_ISDIR(mode):
            path.unlink(missing_ok=True)
        return used
    except FileNotFoundError:
        return False
    except OSError:  # such as too many open files: its state is unknown, so nothing is removed
        return True


def _clear(path: Path) -> bool:
    """Remove a name that is not in use; returns whether it is in use."""
    return _in_use(path, clear=True)


def _paths() -> Iterator[Path]:
    for folder in runtime.folders():
        with suppress(OSError):
            yield from sorted(folder.iterdir())


def running(suffix: str) -> list[str]:
    """Return the names with this suffix and a running owner. Changes nothing."""
    if (virtual := machine.segments()) is not None:
        return virtual.running(suffix)
    wanted = (path for path in _paths() if path.name.endswith(suffix) and _NAME.fullmatch(path.name))
    return sorted(path.name for path in wanted if _in_use(path))


def sweep() -> None:
    """Remove what killed processes have left behind, under any name."""
    if (virtual := machine.segments()) is not None:
        virtual.sweep()
        return
    for path in _paths():
        _clear(path)


def forget(name: str) -> None:
    """Remove a name if its owner has ended."""
    if (virtual := machine.segments()) is not None:
        virtual.forget(name)
        return
    path = find(name)
    if path is not None:
        _clear(path)


def left(pattern: str) -> list[Path]:
    """Return the files of our folders that match a pattern, in use or not."""
    if (virtual := machine.segments()) is not None:
        return [FOLDER / name for name in virtual.left() if fnmatch(name, pattern)]
    return sorted(path for folder in runtime.folders() for path in folder.glob(pattern))
