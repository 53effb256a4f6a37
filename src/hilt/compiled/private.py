"""Folders that belong to one user alone.

What hilt keeps between runs (compiled code, which is unpickled) and between processes (shared memory) is in folders that
nobody else can write to. On a machine with other users a predictable name in a world-writable place is a risk: the user who
creates it first controls its content.
"""

import functools
import grp
import os
import pwd
import stat
from pathlib import Path

MODE = 0o700


@functools.cache
def _alone_in(group: int) -> bool:
    """Whether a group is the user's own, with the same name and no other members, as many systems create for every user."""
    try:
        entry, us = grp.getgrgid(group), pwd.getpwuid(os.geteuid())
    except KeyError:
        return False
    return entry.gr_name == us.pw_name and us.pw_gid == group and set(entry.gr_mem) <= {us.pw_name}


def _others_write(info: os.stat_result) -> bool:
    if info.st_mode & stat.S_IWOTH:
        return True
    return bool(info.st_mode & stat.S_IWGRP) and not _alone_in(info.st_gid)


def objection(place: Path, *, file: bool = False, roots: bool = False) -> str:
    """Why a folder (or a file) must not be trusted; empty if only we (and root) can change it.

    `roots`: it may also belong to root, like files that an administrator has installed.
    """
    path = Path(os.path.realpath(place))
    owners = (os.geteuid(), 0) if roots else (os.geteuid(),)
    try:
        own = os.stat(path)
        if not (stat.S_ISREG if file else stat.S_ISDIR)(own.st_mode):
            return f"{place} is not a {'file' if file else 'folder'}"
        if own.st_uid not in owners:
            return f"{place} belongs to another user"
        if _others_write(own) if roots else own.st_mode & 0o022:
            return f"{place} can be written to by others"
        for parent in path.parents:  # a user who can rename a parent can replace the folder
            info = os.stat(parent)
            if info.st_uid not in (0, os.geteuid()):
                return f"{parent} belongs to another user"
            if _others_write(info) and not info.st_mode & stat.S_ISVTX:
                return f"{parent} can be written to by others"
    except OSError as error:
        return f"{place}: {error.strerror}"
    return ""


def make(folder: Path) -> str:
    """Create a folder that only we can enter, if it does not exist; return the objection to it, or an empty text."""
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
