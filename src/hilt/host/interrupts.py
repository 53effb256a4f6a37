"""The signals that end a command: SIGINT, SIGTERM and SIGHUP.

Outside a run they raise an exception, so that everything open is closed on the way out (`raising`), except in the few places
that create something which has to be closed afterwards (`held`). While a robot moves they are a request that the next tick
sees (`as_request`): a soft stop.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from hilt.host import machine

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
CODE = 130  # exit code of a command that was interrupted before or after a run; an interrupted run has a fault
Ask = Callable[[int, FrameType | None], None]


class Interrupted(SystemExit):
    """A signal has ended the command; `sentence` is the message for the user."""

    def __init__(self, number: int) -> None:
        super().__init__(CODE)
        self.sentence = f"interrupted by {signal.Signals(number).name}; nothing was run"


def _holds() -> list[None]:
    """One for each active `held`."""
    return machine.own("holds", list[None])


def _came() -> list[int]:
    """Signals received by this process."""
    return machine.own("signals", list[int])


def _raise(number: int, _: FrameType | None) -> None:
    """Raise Interrupted, but only once: a command that is already ending is not interrupted again."""
    _came().append(number)
    if not _holds() and len(_came()) == 1:
        raise Interrupted(number)


def came() -> bool:
    """Whether a signal has come. Python drops an exception raised in a destructor, so long waits must check this."""
    return bool(_came())


def check() -> None:
    """Raise for a signal whose exception was dropped."""
    if _came() and not _holds():
        raise Interrupted(_came()[0])


@contextmanager
def held() -> Iterator[None]:
    """Delay a signal that arrives inside; it is raised at the end."""
    before = len(_came())
    _holds().append(None)
    try:
        yield
    finally:
        _holds().pop()
    if not _holds() and not before and _came():
        raise Interrupted(_came()[0])


@contextmanager
def _handled(handler: Ask) -> Iterator[None]:
    """Install a handler, if in the main thread, where Python handles signals. A SIGHUP that is already ignored (nohup) stays
    ignored."""
    if not machine.takes_signals():
        yield
        return
    ignored = machine.handler(signal.SIGHUP) is signal.SIG_IGN
    before = {each: machine.handle(each, handler) for each in SIGNALS if each != signal.SIGHUP or not ignored}
    try:
        yield
    finally:
        for number, handler_before in before.items():
            machine.handle(number, handler_before)


@contextmanager
def raising() -> Iterator[None]:
    """Raise Interrupted on a signal; used around a whole command."""
    _came().clear()
    with _handled(_raise):
        yield


@contextmanager
def as_request(ask: Callable[[int], None]) -> Iterator[None]:
    """Call `ask` with the signal's number, while something moves; it must only record it."""
    with _handled(lambda number, _: ask(number)):
        yield
