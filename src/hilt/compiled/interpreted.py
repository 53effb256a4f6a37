"""Run compiled functions without the compiler, for what happens only once, such as setting start values.

Compiling a function for a single call takes longer than ten thousand calls of it in plain Python. The results must be the same,
so it is the same code: a function's callees are replaced by their Python functions, down to the last one.
"""

import functools
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType, SimpleNamespace
from typing import Any

from numba.core.dispatcher import Dispatcher
from numba.core.extending import _Intrinsic
from numba.core.types import ExternalFunction

OFTEN = 20  # calls of some milliseconds, against seconds of compiling


class _Foreign(Exception):
    """Raised at a C function, which only compiled code can call."""


def _names(code: CodeType) -> Iterator[str]:
    """Every name that a function and its inner functions look up."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _replaced(value: Any, names: set[str]) -> Any:
    """The replacement of a value in a function that uses these names; of a module only the members with these names."""
    if isinstance(value, Dispatcher):
        return _rebuilt(value.py_func)
    if isinstance(value, ExternalFunction | _Intrinsic):
        raise _Foreign
    if isinstance(value, ModuleType) and value.__name__.startswith("hilt."):
        return SimpleNamespace(**{name: _replaced(getattr(value, name), names) for name in names if hasattr(value, name)})
    return value


@functools.cache
def _rebuilt(function: FunctionType) -> FunctionType:
    known: dict[str, Any] = {"__builtins__": function.__globals__["__builtins__"]}
    made = FunctionType(function.__code__, known, function.__name__, function.__defaults__, function.__closure__)
    names = set(_names(function.__code__))
    for name in names & function.__globals__.keys():
        value = function.__globals__[name]
        known[name] = made if getattr(value, "py_func", None) is function else _replaced(value, names)
    return made


def interpreted(function: Any) -> Any:
    """The function without the compiler; unchanged if it calls C or is not compiled anyway."""
    if not isinstance(function, Dispatcher):
        return function
    try:
        return _rebuilt(function.py_func)
    except _Foreign:
        return function


def reaches_c(function: Any) -> bool:
    """Whether a compiled function calls a C function, itself or through others."""
    return isinstance(function, Dispatcher) and interpreted(function) is function


class _Sparing:
    """Runs the first calls without the compiler, and compiles the function if it is called often, as by a sweep."""

    def __init__(self, function: Any) -> None:
        self._plain, self._compiled, self._calls = interpreted(function), function, 0

    def __call__(self, *arguments: Any) -> Any:
        self._calls += 1
        return (self._plain if self._calls <= OFTEN else self._compiled)(*arguments)


@functools.cache
def sparing(function: Any) -> Any:
    """The function, compiled as soon as that pays off."""
    return _Sparing(function) if isinstance(function, Dispatcher) else function


def interpreted_module(module: ModuleType) -> Any:
    """A module of compiled functions, run without the compiler."""
    found = {name: value for name, value in vars(module).items() if isinstance(value, Dispatcher)}
    return SimpleNamespace(**{**vars(module), **{name: interpreted(value) for name, value in found.items()}})
