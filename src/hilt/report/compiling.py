"""What the terminal shows while functions are compiled: one line, rewritten in place.

Where nobody can see it being rewritten, it is a plain line every few seconds. Nothing is said of what is found in the cache.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.status import Status

from hilt.compiled import progress
from hilt.compiled.progress import Step
from hilt.core import clock

EVERY = 5.0  # s between two lines where they cannot be rewritten
_bars: list[Callable[[Step | None], None]] = []  # a bar that is shown already has the line


def words(step: Step) -> str:
    """That it happens once is what one wants to know while waiting."""
    return f"compiling {step.what}, once: {step.done} of {step.total} functions ({step.function})"


class _Line:
    def __init__(self, console: Console) -> None:
        self._console, self._said = console, clock.now()
        self._status: Status | None = None

    def tell(self, step: Step | None) -> None:
        if _bars:
            _bars[-1](step)
        elif not self._console.is_terminal:
            if step is not None and clock.now() - self._said > EVERY:
                self._said = clock.now()
                self._console.print(words(step), highlight=False, soft_wrap=True)
        elif step is None:
            self.end()
        elif self._status is None:
            self._status = self._console.status(words(step))
            self._status.start()
        else:
            self._status.update(words(step))

    def end(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None


@contextmanager
def shown(console: Console) -> Iterator[None]:
    """Say on this console what is compiled meanwhile."""
    line = _Line(console)
    try:
        with progress.watched(line.tell):
            yield
    finally:
        line.end()


@contextmanager
def in_bar(tell: Callable[[Step | None], None]) -> Iterator[None]:
    """Have a bar that is on the screen say it."""
    _bars.append(tell)
    try:
        yield
    finally:
        _bars.remove(tell)
