"""Code that gets past the virtual machine: a user's driver with sockets, threads or sleeps of its own is told so.

Python reports such calls to audit hooks, wherever they are made. The sentence names the line to change and what to write.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from hilt.core.faults import InputError

INSTEAD = {
    "socket.__new__": "opens a socket; on a virtual machine write machine.socket(...) of hilt.host",
    "time.sleep": "sleeps; on a virtual machine write clock.pause(...) of hilt.core",
    "_thread.start_new_thread": "starts a thread; on a virtual machine write machine.thread(...) of hilt.host",
    "subprocess.Popen": "starts a process, which a virtual machine does not have; test this part on a real one",
}
_watched: list[Callable[[], bool]] = []  # whether a task of a virtual machine runs
_hooked: list[bool] = []


def _place(frame: FrameType | None) -> str:
    """Return the innermost line outside Python's own modules."""
    while frame is not None:
        name = frame.f_code.co_filename
        if name != __file__ and not name.startswith("<") and "/lib/python" not in name:
            return f"{name}:{frame.f_lineno}"
        frame = frame.f_back
    return "a module"


def _hook(event: str, _: tuple[Any, ...]) -> None:
    if event in INSTEAD and _watched and _watched[-1]():
        place = _place(sys._getframe(1))
        raise InputError(f"{place} {INSTEAD[event]}")


@contextmanager
def watching(runs: Callable[[], bool]) -> Iterator[None]:
    """Refuse such calls while a task runs."""
    if not _hooked:
        _hooked.append(True)
        sys.addaudithook(_hook)
    _watched.append(runs)
    try:
        yield
    finally:
        _watched.pop()
