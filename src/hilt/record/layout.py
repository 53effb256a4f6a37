"""The type of a row as plain lists, so that rows can be read by a later hilt with another signal table."""

import math
import re
from typing import Any

import numpy as np

from hilt.compiled.records import dtype_of
from hilt.core.faults import InputError

_NUMBERS = ("<f8", "<i8", "<u8")  # all of them eight bytes wide
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_MOST_FIELDS, _DEEPEST, _MOST_BYTES = 4096, 3, 1 << 20  # of a row: the largest of ours has 4 kB


def describe(dtype: np.dtype) -> list[Any]:
    """A record type as plain lists, so that rows can be read when the signal table has changed."""
    fields: list[Any] = []
    for name in dtype.names or ():
        base, shape = dtype[name].subdtype or (dtype[name], ())
        fields.append([name, describe(base) if base.names else base.str, list(shape)])
    return fields


def type_from(fields: Any, depth: int = 0) -> np.dtype:
    """The record type that `describe` described; the description is untrusted, so everything in it is bounded."""
    if not isinstance(fields, list) or not 0 < len(fields) <= _MOST_FIELDS or depth > _DEEPEST:
        raise InputError(f"a description of rows is a list of 1 to {_MOST_FIELDS} fields, at most {_DEEPEST} deep; this is not")
    columns = [_column(field, depth) for field in fields]
    names = [name for name, _, _ in columns]
    size = sum(kind.itemsize * math.prod(shape) for _, kind, shape in columns)
    if len(set(names)) < len(names) or size > _MOST_BYTES:
        raise InputError(f"rows have fields with different names and at most {_MOST_BYTES} bytes; these have {size} bytes")
    return dtype_of(columns)


def _column(field: Any, depth: int) -> tuple[str, np.dtype, tuple[int, ...]]:
    """A field of a row: its name, a kind of number or a record, and a shape."""
    if not isinstance(field, list) or len(field) != 3:
        raise InputError("a field of a row is a name, a kind and a shape; this is not")
    name, kind, shape = field
    fits = isinstance(shape, list) and len(shape) <= 2 and all(type(n) is int and 0 < n <= _MOST_BYTES // 8 for n in shape)
    if not isinstance(name, str) or not _NAME.fullmatch(name) or not fits:
        raise InputError(f"{str(name)[:40]!r} with the shape {str(shape)[:40]} is not a field of a row")
    if isinstance(kind, list):
        return name, type_from(kind, depth + 1), tuple(shape)
    if kind not in _NUMBERS:
        raise InputError(f"field {name} of a row is {str(kind)[:40]!r}; numbers are {', '.join(_NUMBERS)}")
    return name, np.dtype(kind), tuple(shape)
