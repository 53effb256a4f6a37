"""What the terminal shows while functions are compiled: one line, rewritten in place and erased at the end.

Where a line cannot be rewritten (a file, a pipe, a dumb terminal), one message is printed that is still true when the
compiler has finished. Nothing is printed for functions found in the cache.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.status import Status

from hilt.compiled import progress
from hilt.compiled.progress import Step
from hilt.core import clock

PATIENCE = 3.0  # s of compiling before a line that cannot be erased is printed
_bars: list[Callable[[Step | None], None]] = []  # a bar on the screen shows the line instead


def words(step: Step) -> str:
    """Return the line, which also says that this happens only once."""
    return f"compiling {step.what}, once: {step.done} of {step.total} functions ({step.function})"


class _Line:
    def __init__(self, console: Console) -> None:
        self._console = console
        self._rewritable = console.is_terminal and not console.is_dumb_terminal
        self._began: float | None = None
        self._said = False
        self._status: Status | None = None

    def tell(self, step: Step | None) -> None:
        if not self._rewritable:
            self._say(step)
        elif _bars:
            _bars[-1](step)
        elif step is None:
            self.end()
        elif self._status is None:
            self._status = self._console.status(words(step))
            self._status.start()
        else:
            self._status.update(words(step))

    def _say(self, step: Step | None) -> None:
        if self._said or step is None:
            return
        self._began = clock.now() if self._began is None else self._began
        if clock.now() - self._began > PATIENCE:
            self._said = True
            self._console.print(f"compiling {step.what}, once: this takes up to a minute", highlight=False, soft_wrap=True)

    def end(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None


@contextmanager
def shown(console: Console) -> Iterator[None]:
    """Show on this console what is being compiled."""
    line = _Line(console)
    try:
        with progress.watched(line.tell):
            yield
    finally:
        line.end()


@contextmanager
def in_bar(tell: Callable[[Step | None], None]) -> Iterator[None]:
    """Show it in a bar that is already on the screen."""
    _bars.append(tell)
    try:
        yield
    finally:
        _bars.remove(tell)
