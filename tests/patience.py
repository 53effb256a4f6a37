"""A bound for what must never wait: a test that would hang for ever fails instead."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

PATIENCE = 30.0  # [s], on a busy machine


@contextmanager
def within(seconds: float = PATIENCE) -> Iterator[None]:
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
