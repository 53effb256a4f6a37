"""Bounds in wall time: a test that would hang for ever fails instead."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from hilt.core import clock

HUNG = 120.0  # [s] after which something will never happen, on any machine

T = TypeVar("T")


def becomes(condition: Callable[[], T], patience: float = HUNG, every: float = 0.002) -> T:
    """Wait until something is true, where nothing says so; return it."""
    end = clock.now() + patience
    while not (found := condition()):
        assert clock.now() < end, "it never happened"
        clock.pause(every)
    return found


@contextmanager
def within(seconds: float = HUNG) -> Iterator[None]:
    """In the main thread, where Python handles signals: also interrupts waits in the kernel."""

    def late(*_: object) -> None:
        raise AssertionError(f"it still waits after {seconds:g} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
