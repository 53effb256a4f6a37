"""If several processes need the same function compiled, one compiles it; the others wait and read it from the cache.

A station, a sweep's workers and a run beside them all start with the same functions, which take seconds each.
"""

import contextlib
import fcntl
import os
import threading
from collections.abc import Callable
from typing import Any

_PAUSE, _PATIENCE = 0.05, 120.0  # s; give up waiting after this, since the compiling process may have been stopped
_NEVER = threading.Event()  # never set: waiting for it is a sleep


class Turns:
    """Turns at compiling a function: held from the moment it is missing in the cache until it has been saved."""

    def __init__(self) -> None:
        self._held: list[int] = []

    def wait(self, path: str) -> bool:
        """Take the turn; return whether another process had it, which may have saved what we need."""
        try:
            lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError:  # the folder is gone or full: every process compiles for itself
            return False
        self._held.append(lock)
        for waited in range(int(_PATIENCE / _PAUSE)):
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return waited > 0
            _NEVER.wait(_PAUSE)
        return False

    def give_back(self) -> None:
        while self._held:
            os.close(self._held.pop())


def taken(compile: Callable[[Any], Any], turns: Turns) -> Callable[[Any], Any]:
    """A dispatcher's `compile` that always gives the turn back afterwards."""

    def compile_in_turn(signature: Any) -> Any:
        try:
            return compile(signature)
        finally:
            turns.give_back()

    return compile_in_turn
