"""Our folder in memory: shared by the processes of one user, private to that user.

Shared memory has to be on a tmpfs, and a session must be found by its name alone. In a world-writable place any user can create
a name first, so the folder is looked up, and its owner and mode are checked each time:

    1. XDG_RUNTIME_DIR/hilt, or /run/user/UID/hilt for a process without that variable (cron, sudo), if it is ours and in memory
    2. /dev/shm/hilt-UID; if another user has taken that name, /dev/shm/hilt-UID-RANDOM, which is then found by its owner

Readers look in both. A writer takes the first that has room.
"""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from hilt.compiled import private

SHARED = Path("/dev/shm")
NAME = "hilt"
_last: list[Path] = []  # where the folder in SHARED was last found, so that a crowded directory is read once


def _closed(folder: Path) -> bool:
    """Whether a folder is ours, only we can enter it, and nobody can replace it."""
    try:
        own = os.lstat(folder)
    except OSError:
        return False
    mine = stat.S_ISDIR(own.st_mode) and own.st_uid == os.geteuid() and not own.st_mode & 0o077
    return mine and not private.objection(folder)


def _in_memory(folder: Path) -> bool:
    """Whether a folder is on a tmpfs."""
    try:
        device = os.stat(folder).st_dev
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    number = f"{os.major(device)}:{os.minor(device)}"
    return any(mount.split()[2] == number and mount.partition(" - ")[2].startswith("tmpfs ") for mount in mounts)


def _session_folders() -> list[Path]:
    """Return the folders of the login session that are ours and in memory."""
    places = [Path(place) for place in (os.environ.get("XDG_RUNTIME_DIR", ""), f"/run/user/{os.geteuid()}")]
    return [each for each in dict.fromkeys(places) if each.is_absolute() and _closed(each) and _in_memory(each)]


def _may_be_ours(entry: os.DirEntry[str], beginning: str) -> bool:
    """Check a name quickly: another user may have created a hundred thousand like it."""
    if not entry.name.startswith(beginning) or not entry.is_dir(follow_symlinks=False):
        return False
    try:
        return entry.stat(follow_symlinks=False).st_uid == os.geteuid()
    except OSError:  # gone in the meantime
        return False


def _in_shared() -> Path | None:
    """Return our folder in SHARED, if there is one; `_make_in_shared` creates one only then, so there is never a second."""
    plain = SHARED / f"{NAME}-{os.geteuid()}"
    for known in (plain, *_last):
        if _closed(known):
            return known
    found: list[str] = []
    with suppress(OSError), os.scandir(SHARED) as entries:
        found = sorted(entry.path for entry in entries if _may_be_ours(entry, f"{plain.name}-"))
    _last[:] = [each for each in map(Path, found) if _closed(each)][:1]
    return _last[0] if _last else None


def folders() -> list[Path]:
    """Return the existing folders; none is created."""
    shared = _in_shared()
    found = [each / NAME for each in _session_folders() if _closed(each / NAME)]
    return [*found, shared] if shared else found


def usable() -> Iterator[Path]:
    """Yield folders to write to, created if necessary."""
    for session in _session_folders()[:1]:
        if not private.make(session / NAME) and _closed(session / NAME):
            yield session / NAME
    shared = _in_shared() or _make_in_shared()
    if shared is not None:
        yield shared


def _make_in_shared() -> Path | None:
    plain = f"{NAME}-{os.geteuid()}"
    for name in (plain, f"{plain}-{secrets.token_hex(8)}"):
        with suppress(OSError):
            os.mkdir(SHARED / name, private.MODE)
            if _closed(SHARED / name):
                _last[:] = [SHARED / name]
                return SHARED / name
    return None
