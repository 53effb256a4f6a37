"""What two processes need compiled at once, one of them compiles; the others wait and take it from the cache.

A station, a sweep's workers and a run beside them all start with the same functions, which take seconds each.
"""

import contextlib
import fcntl
import os
import threading
from collections.abc import Callable
from typing import Any

_PAUSE, _PATIENCE = 0.05, 120.0  # s; a compiling process that was stopped is not waited for any longer
_NEVER = threading.Event()  # waited for, it is a sleep


class Turns:
    """Turns at compiling a function, held from the moment that the cache does not have it until it is saved."""

    def __init__(self) -> None:
        self._held: list[int] = []

    def wait(self, path: str) -> bool:
        """Take the turn; returns whether somebody else had it, who may have saved what we need."""
        try:
            lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError:  # a folder that is gone or full: everybody compiles for himself
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
    """A dispatcher's `compile`, after which the turn is given back whatever happened."""

    def compile_in_turn(signature: Any) -> Any:
        try:
            return compile(signature)
        finally:
            turns.give_back()

    return compile_in_turn
