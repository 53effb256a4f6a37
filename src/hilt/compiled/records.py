"""Record types: states, parameters and rows are NumPy records, in compiled code and without the compiler."""

from functools import cache
from typing import Any

import numpy as np

Fields = list[tuple[Any, ...]]


def record(**fields: Any) -> np.dtype:
    """A record type: `record(p=3, q=4, energy="f8", port=PORT)`; an integer n means n floats."""
    columns: Fields = [("_", "i8")] if not fields else []
    for name, kind in fields.items():
        columns.append(
            (name, "f8", (kind,)) if isinstance(kind, int) else (name, *kind) if isinstance(kind, tuple) else (name, kind)
        )
    # np.record, not np.void: attribute access also without the compiler (NUMBA_DISABLE_JIT=1).
    return np.dtype((np.record, np.dtype(columns, align=True)))


def shortened(kind: np.dtype, length: int, longest: int) -> np.dtype:
    """The same record with shorter delay lines: fields called `buffer` of `longest` samples are cut to `length`."""
    if kind.subdtype is not None:
        inner, shape = kind.subdtype
        return np.dtype((shortened(inner, length, longest), shape))
    if kind.names is None:
        return kind
    columns = {}
    for name in kind.names:
        field = kind[name]
        if name == "buffer" and field.subdtype is not None and field.shape[0] == longest:
            field = np.dtype((field.base, (length, *field.shape[1:])))
        columns[name] = shortened(field, length, longest)
    return np.dtype((np.record, np.dtype(list(columns.items()), align=True)))


def raw(array: np.ndarray) -> np.ndarray:
    """The same memory as plain bytes: NumPy copies records field by field, which takes ten times longer."""
    return array.view(f"V{array.dtype.itemsize}")


class Filling(np.record):  # type: ignore[misc]
    """A record whose fields are being set: a plain np.record looks everything up several times for each of them."""

    __getitem__ = np.void.__getitem__  # type: ignore[assignment]
    __getattribute__ = np.void.__getattribute__
    __setattr__ = np.void.__setitem__

    def __getattr__(self, name: str) -> Any:
        if name in (self.dtype.names or ()):
            return self[name]
        raise AttributeError(f"this record has no field {name!r}; it has {', '.join(self.dtype.names or ())}")


@cache
def _filling(kind: np.dtype) -> np.dtype:
    if kind.subdtype is not None:
        inner, shape = kind.subdtype
        return np.dtype((_filling(inner), shape))
    if kind.names is None:
        return kind
    columns: Fields = [(name, _filling(kind[name])) for name in kind.names]
    return np.dtype((Filling, np.dtype(columns, align=True)))


def filling(array: np.ndarray) -> np.ndarray:
    """The same records, to set their fields one by one."""
    return array.view(_filling(array.dtype))
