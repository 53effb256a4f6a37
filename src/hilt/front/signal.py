"""A signal of a run as an array with its unit and times."""

import difflib
from typing import Any

import numpy as np

from hilt.core.faults import InputError, shortened
from hilt.core.signals import TABLE, UNITS_OF_PARTS, leaves, unit_of, whole

_NO_TIMES: np.ndarray = np.zeros(0)


class Signal(np.ndarray):
    """The values of one signal, one row per tick, with `.name`, `.unit`, `.meaning` and `.t`.

    Slices of it, and results computed from it, are plain arrays: the square of a force is not in newtons.
    """

    name: str
    unit: str
    meaning: str
    t: np.ndarray  # s

    def __array_finalize__(self, origin: Any) -> None:
        self.name = self.unit = self.meaning = ""
        self.t = _NO_TIMES

    def __array_ufunc__(self, ufunc: Any, method: Any, *inputs: Any, **options: Any) -> Any:
        if "out" in options:
            options["out"] = tuple(_plain(each) for each in options["out"])
        return getattr(ufunc, method)(*map(_plain, inputs), **options)

    def __getitem__(self, key: Any) -> Any:
        return self.view(np.ndarray)[key]


def _plain(value: Any) -> Any:
    return value.view(np.ndarray) if isinstance(value, Signal) else value


def signal(name: str, values: np.ndarray, t: np.ndarray) -> Signal:
    """Attach unit, meaning and times from the signal table to the values."""
    made = values.view(Signal)
    leaf = _leaf_of(name)
    made.name, made.unit, made.meaning, made.t = name, unit_of(leaf), TABLE[whole(name)].meaning, t
    return made


def _leaf_of(name: str) -> str:
    """Return `F_So_S.f` for `F_So_S.f.x`; the signal itself if it has no parts."""
    head, _, rest = name.partition(".")
    part = rest.partition(".")[0]
    return f"{head}.{part}" if TABLE[head].kind.names else head


def axes_of(name: str, size: int) -> tuple[str, ...]:
    """Return the names of a vector's entries."""
    if name.endswith(".q") and size == 4:
        return tuple("wxyz")
    return tuple("xyz") if size == 3 else tuple(map(str, range(size)))


def column(row: np.dtype, name: str) -> tuple[str, int | None]:
    """Return the leaf of a row that a name means, and the entry, if it names one; an InputError for an unknown name."""
    known = leaves(row)
    leaf, _, last = name.rpartition(".")
    if name in known:
        return name, None
    if leaf in known and len(known[leaf][2]) == 1:
        letters = axes_of(leaf, known[leaf][2][0])
        if last in letters:
            return leaf, letters.index(last)
        if UNITS_OF_PARTS.get(last) == unit_of(leaf):  # a force without a torque may also be named with .f
            return leaf, None
    if parts := [each for each in known if each.startswith(f"{name}.")]:
        raise InputError(f"{name} is a record; name one of its parts: {', '.join(parts)}", key=name)
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5) or list(known)[:3]
    raise InputError(f"{shortened(name)!r} is not a signal of this run; did you mean {', '.join(near)}? run.signals has all")


def values_of(rows: np.ndarray, leaf: str, entry: int | None) -> np.ndarray:
    """Return a column of rows as a copy, which does not keep the other columns in memory."""
    found: np.ndarray = rows
    for part in leaf.split("."):
        found = found[part]
    return np.ascontiguousarray(found if entry is None else found[:, entry])
