"""Record types: states, parameters and rows are NumPy records, in compiled code and without the compiler."""

from typing import Any

import numpy as np

Fields = list[tuple[Any, ...]]


class Record(np.record):  # type: ignore[misc]
    """A NumPy record with attributes, which compiled code has anyway: np.record itself looks each name up several times, in
    Python, also for `record["name"]`. The drivers and the emulators of a lab took a third longer for it."""

    __getitem__ = np.void.__getitem__  # type: ignore[assignment]
    __getattribute__ = np.void.__getattribute__
    __setattr__ = np.void.__setitem__

    def __getattr__(self, name: str) -> Any:
        if name in (self.dtype.names or ()):
            return self[name]
        raise AttributeError(f"this record has no field {name!r}; it has {', '.join(self.dtype.names or ())}")


def dtype_of(columns: Fields) -> np.dtype:
    """Return the type of a record with these columns, aligned as in C."""
    return np.dtype((Record, np.dtype(columns, align=True)))


def record(**fields: Any) -> np.dtype:
    """A record type: `record(p=3, q=4, energy="f8", port=PORT)`; an integer n means n floats."""
    columns: Fields = [("_", "i8")] if not fields else []
    for name, kind in fields.items():
        columns.append(
            (name, "f8", (kind,)) if isinstance(kind, int) else (name, *kind) if isinstance(kind, tuple) else (name, kind)
        )
    return dtype_of(columns)


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
    return dtype_of(list(columns.items()))


def raw(array: np.ndarray) -> np.ndarray:
    """The same memory as plain bytes: NumPy copies records field by field, which takes ten times longer."""
    return array.view(f"V{array.dtype.itemsize}")
