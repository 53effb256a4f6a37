"""Code that gets past the virtual machine: a user's driver with sockets, threads, sleeps or clocks of its own is told so.

Python reports sockets and processes to audit hooks, wherever they are opened; newer versions also threads and sleeps. What no
version reports, such as reading the time, is looked for in the source of a driver when it is loaded: it would read the time of
the world, which does not pass here. The sentence names the line to change and what to write.
"""

import ast
import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

from hilt.core.faults import InputError

SLEEPS = "sleeps; on a virtual machine write clock.pause(...) of hilt.core"
STARTS = "starts a thread; on a virtual machine write machine.thread(...) of hilt.host"
READS = "reads the time of the world; on a virtual machine write clock.{}() of hilt.core"
INSTEAD = {  # by audit event
    "socket.__new__": "opens a socket; on a virtual machine write machine.socket(...) of hilt.host",
    "time.sleep": SLEEPS,
    "_thread.start_new_thread": STARTS,
    "_thread.start_joinable_thread": STARTS,
    "subprocess.Popen": "starts a process, which a virtual machine does not have; test this part on a real one",
}
WRITTEN = {  # by name in the source
    "time.sleep": SLEEPS,
    **dict.fromkeys(("threading.Thread", "threading.Timer", "_thread.start_new_thread"), STARTS),
    **dict.fromkeys(("time.monotonic", "time.perf_counter"), READS.format("now")),
    **dict.fromkeys(("time.monotonic_ns", "time.perf_counter_ns"), READS.format("nanoseconds")),
    "time.time": READS.format("wall"),
    "time.time_ns": READS.format("wall_nanoseconds"),
}
_watched: list[Callable[[], bool]] = []  # whether a task of a virtual machine runs
_hooked: list[bool] = []


def _place(frame: FrameType | None) -> str:
    """Return the innermost line outside Python's own modules."""
    while frame is not None:
        name = frame.f_code.co_filename
        if name != __file__ and not name.startswith("<") and "/lib/python" not in name:
            return f"{name}:{frame.f_lineno}"
        frame = frame.f_back
    return "a module"


def _hook(event: str, _: tuple[Any, ...]) -> None:
    if _watched and event in INSTEAD and _watched[-1]():  # also called when Python ends and has cleared these names
        place = _place(sys._getframe(1))
        raise InputError(f"{place} {INSTEAD[event]}")


@contextmanager
def watching(runs: Callable[[], bool]) -> Iterator[None]:
    """Refuse such calls while a task runs."""
    if not _hooked:
        _hooked.append(True)
        sys.addaudithook(_hook)
    _watched.append(runs)
    try:
        yield
    finally:
        _watched.pop()


def look_at(module: ModuleType) -> None:
    """Refuse a module that calls what no audit hook hears of, and those that it has loaded from its own folder."""
    if (file := getattr(module, "__file__", None)) is None:
        return
    folder = Path(file).parent
    neighbours = [getattr(each, "__file__", None) or "" for each in list(sys.modules.values())]
    for path in dict.fromkeys([file, *sorted(each for each in neighbours if Path(each).parent == folder)]):
        if found := _first_call(path):
            raise InputError(found)


@functools.cache
def _first_call(path: str) -> str:
    """Return a sentence about the first such call in a source file; empty if there is none."""
    try:
        tree = ast.parse(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError):  # compiled, or gone: it has been loaded all the same
        return ""
    names = dict(_imported(tree))
    used = []
    for node in ast.walk(tree):
        parts = [node.func] if isinstance(node, ast.Call) else node.bases if isinstance(node, ast.ClassDef) else []
        used += [(part.lineno, name) for part in parts if (name := _full(part, names)) in WRITTEN]
    return f"{path}:{min(used)[0]} {WRITTEN[min(used)[1]]}" if used else ""


def _imported(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Names that a source file gives to modules and to parts of them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((each.asname or each.name, each.name) for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((each.asname or each.name, f"{node.module}.{each.name}") for each in node.names)


def _full(node: ast.expr, names: dict[str, str]) -> str:
    """Return `module.name` of an expression like `name` or `module.name`; empty for any other."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{names.get(node.value.id, '')}.{node.attr}"
    return names.get(node.id, "") if isinstance(node, ast.Name) else ""
