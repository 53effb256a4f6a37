"""Progress of the compiler: the current function, and how many of the reachable functions already have code.

Numba reports the start and the end of each function that it compiles, but nothing about those found in the cache. The remaining
ones are counted by following the names that the called function's code looks up.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from numba.core import event
from numba.core.dispatcher import Dispatcher

from hilt.compiled.interpreted import _names

DIAGRAM = "DIAGRAM"  # in the globals of a generated diagram: the name of its system
_ROOTS = ("tick", "plant", "observe")


@dataclass(frozen=True)
class Step:
    """A function is being compiled."""

    what: str
    done: int
    total: int
    function: str


def _values(function: Any) -> Iterator[Any]:
    """What a function may call: its globals, attributes of hilt's own modules, and its closure."""
    looked_up = set(_names(function.__code__))
    for name in looked_up & function.__globals__.keys():
        value = function.__globals__[name]
        if isinstance(value, ModuleType) and value.__name__.partition(".")[0] == "hilt":
            yield from (getattr(value, inner, None) for inner in looked_up)
        yield value
    yield from (cell.cell_contents for cell in function.__closure__ or () if cell.cell_contents is not function)


def reachable(functions: Iterable[Dispatcher]) -> list[Dispatcher]:
    """These compiled functions, and all functions that they can call."""
    found = {id(each): each for each in functions}
    waiting = list(found.values())
    while waiting:
        for value in _values(waiting.pop().py_func):
            if isinstance(value, Dispatcher) and id(value) not in found:
                found[id(value)] = value
                waiting.append(value)
    return list(found.values())


def _kept(function: Dispatcher) -> bool:
    """Whether the cache has its code, so that it will be read instead of compiled."""
    file = getattr(function._cache, "_cache_file", None)  # type: ignore[attr-defined]
    return file is not None and os.path.exists(file._index_path)


class _Listener(event.Listener):
    def __init__(self, tell: Callable[[Step | None], None]) -> None:
        self._tell, self._depth, self._what = tell, 0, ""
        self._reachable: set[Any] = set()  # as plain functions: Numba compiles callees through copies of their dispatchers
        self._done: set[Any] = set()

    def on_start(self, event: Any) -> None:
        dispatcher = event.data["dispatcher"]
        if self._depth == 0:
            self._begin(dispatcher)
        self._depth += 1
        self._tell(Step(self._what, len(self._done), len(self._reachable), dispatcher.py_func.__name__))

    def on_end(self, event: Any) -> None:
        self._depth -= 1
        self._done |= {event.data["dispatcher"].py_func} & self._reachable
        if self._depth == 0:
            self._tell(None)

    def _begin(self, dispatcher: Dispatcher) -> None:
        """Start counting. A diagram is counted as a whole: its functions are called one after the other."""
        around = dispatcher.py_func.__globals__
        self._what = around.get(DIAGRAM, dispatcher.py_func.__name__)
        roots = [around[name] for name in _ROOTS if DIAGRAM in around and isinstance(around.get(name), Dispatcher)]
        found = reachable([dispatcher, *roots])
        self._reachable = {each.py_func for each in found}
        self._done |= {each.py_func for each in found if _kept(each)}
        self._done &= self._reachable


@contextmanager
def watched(tell: Callable[[Step | None], None]) -> Iterator[None]:
    """Report each function that is compiled; None when the compiler has finished its request."""
    with event.install_listener("numba:compile", _Listener(tell)):
        yield
