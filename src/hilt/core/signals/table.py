"""The signal table: every wire of every block diagram, with its unit, frame and meaning.

One record holds all signals of a tick. It is the wires, the log row and the shared-memory layout at once, so all numbers
are eight bytes wide and nothing is padded: the bytes of a row are also the bytes of its ROS 2 message (record/recording.py).
`docs/signals.md` is generated from this table. Signals shared by several systems are in common.py, the rest in their own files.

Names: `X_WB` pose of B in W, `V_WB` its twist, `F_So_S` wrench at So expressed in S. Quaternions are w, x, y, z.
Row k holds what is true at t = kT, and the set-point that the tick sends for t + T.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hilt.compiled.records import dtype_of, record

FLOAT = np.dtype("f8")
INTEGER = np.dtype("i8")
POSE = record(p=3, q=4)
TWIST = record(v=3, w=3)
WRENCH = record(f=3, tau=3)
PORT = record(into="f8", out="f8")

UNITS_OF_PARTS = {"p": "m", "q": "1", "v": "m/s", "w": "rad/s", "f": "N", "tau": "N·m", "into": "J", "out": "J"}


@dataclass(frozen=True)
class Signal:
    """One wire: `unit` is empty for records, whose parts have the units of UNITS_OF_PARTS."""

    name: str
    kind: np.dtype
    size: int
    unit: str
    frame: str
    meaning: str

    def column(self) -> tuple[Any, ...]:
        return (self.name, self.kind, (self.size,)) if self.size > 1 else (self.name, self.kind)


TABLE: dict[str, Signal] = {}


def declare(name: str, kind: np.dtype, meaning: str, *, size: int = 1, unit: str = "", frame: str = "") -> None:
    """Add a signal to the table; another package may add its own."""
    same = [other for other in TABLE if other.lower() == name.lower()]  # recordings have lower-case columns
    if same:
        raise ValueError(f"signal {same[0]} is declared already: {TABLE[same[0]].meaning}; choose another name than {name}")
    TABLE[name] = Signal(name, kind, size, unit, frame, meaning)


def whole(name: str) -> str:
    """The signal behind a name that a stage declares: a stage may write only one part of it, such as `X_WBcm.q`."""
    return name.partition(".")[0]


FAULT = ("fault", "fault_axis", "fault_value", "fault_limit")
LOOP = ("tick", "t", "lateness", "tick_time", "done", *FAULT)


def row_type(names: Iterable[str]) -> np.dtype:
    """The record of a system: the loop's signals and those named, in the order of the table."""
    wanted = set(LOOP) | {whole(name) for name in names}
    unknown = wanted - set(TABLE)
    if unknown:
        raise ValueError(f"no such signals in the table: {', '.join(sorted(unknown))}")
    return dtype_of([s.column() for s in TABLE.values() if s.name in wanted])


def leaves(dtype: np.dtype, prefix: str = "") -> dict[str, tuple[int, np.dtype, tuple[int, ...]]]:
    """Flat view of a record: dotted name -> (byte offset, number type, shape)."""
    flat: dict[str, tuple[int, np.dtype, tuple[int, ...]]] = {}
    for name in dtype.names or ():
        kind, offset = dtype.fields[name][:2]  # type: ignore[index]
        base, shape = kind.subdtype or (kind, ())
        if base.names:
            for inner, (inner_offset, number, inner_shape) in leaves(base).items():
                flat[f"{prefix}{name}.{inner}"] = (offset + inner_offset, number, shape + inner_shape)
        else:
            flat[prefix + name] = (offset, base, shape)
    return flat


def unit_of(dotted: str) -> str:
    """Unit of a flat name such as `X_WB.p` or `H`."""
    name, _, part = dotted.partition(".")
    return UNITS_OF_PARTS[part] if part else TABLE[name].unit
