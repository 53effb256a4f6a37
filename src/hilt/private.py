"""Folders that belong to one user alone.

What hilt keeps between runs (compiled code, which is unpickled) and between processes (shared memory) lies in folders that
nobody else can write to. On a machine with other users a predictable name in a world-writable place is an invitation: whoever
makes it first decides what is in it.
"""

import os
import stat
from pathlib import Path

MODE = 0o700


def objection(folder: Path) -> str:
    """Why a folder must not be trusted; empty if only we (and root) can change what is in it."""
    path = Path(os.path.realpath(folder))
    try:
        own = os.stat(path)
    except OSError as error:
        return f"{folder}: {error.strerror}"
    if not stat.S_ISDIR(own.st_mode):
        return f"{folder} is not a folder"
    if own.st_uid != os.geteuid():
        return f"{folder} belongs to another user"
    if own.st_mode & 0o022:
        return f"{folder} can be written to by others"
    for parent in path.parents:  # whoever can rename a parent can put another folder in its place
        info = os.stat(parent)
        if info.st_uid not in (0, os.geteuid()):
            return f"{parent} belongs to another user"
        others = info.st_mode & (stat.S_IWOTH if info.st_gid == os.getegid() else 0o022)
        if others and not info.st_mode & stat.S_ISVTX:
            return f"{parent} can be written to by others"
    return ""


def make(folder: Path) -> str:
    """Make a folder that only we can enter, if it is not there; the objection to it, or nothing."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        os.mkdir(folder, MODE)
    except FileExistsError:
        pass
    except OSError as error:
        return f"{folder}: {error.strerror}"
    if not os.access(folder, os.W_OK | os.X_OK):
        return f"{folder} cannot be written to"
    return objection(folder)
