"""The signals that end a command: an interrupt at the terminal, a polite end, a terminal that has gone.

Outside of a run they are an exception that closes on its way out whatever is open (`raising`), but not in the few places where
something is made that has to be closed afterwards (`held`). While a robot moves they are a request, which the next tick sees
(`as_request`): a soft stop.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
CODE = 130  # of a command that was ended before or after a run; a run that is ended has a fault
Ask = Callable[[int, FrameType | None], None]


class Interrupted(SystemExit):
    """A signal has ended the command; `sentence` says what became of it."""

    def __init__(self, number: int) -> None:
        super().__init__(CODE)
        self.sentence = f"interrupted by {signal.Signals(number).name}; nothing was run"


_holds: list[None] = []  # as many as there are `held` around us
_came: list[int] = []  # signals meanwhile


def _raise(number: int, _: FrameType | None) -> None:
    """Once: who is on the way out is not interrupted in it."""
    _came.append(number)
    if not _holds and len(_came) == 1:
        raise Interrupted(number)


@contextmanager
def held() -> Iterator[None]:
    """A signal that comes meanwhile is raised at the end."""
    before = len(_came)
    _holds.append(None)
    try:
        yield
    finally:
        _holds.pop()
    if not _holds and not before and _came:
        raise Interrupted(_came[0])


@contextmanager
def _handled(handler: Ask) -> Iterator[None]:
    """In the main thread, which is where Python handles signals. A hang-up that is ignored already (nohup) stays so."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    before = {each: signal.signal(each, handler) for each in SIGNALS if each != signal.SIGHUP or not ignored}
    try:
        yield
    finally:
        for number, handler_before in before.items():
            signal.signal(number, handler_before)


@contextmanager
def raising() -> Iterator[None]:
    """For a whole command."""
    _came.clear()
    with _handled(_raise):
        yield


@contextmanager
def as_request(ask: Callable[[int], None]) -> Iterator[None]:
    """While something moves: `ask` is called with the signal's number, and must only take a note of it."""
    with _handled(lambda number, _: ask(number)):
        yield
