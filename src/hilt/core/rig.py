"""The interface of a rig (a robot with a sensor), and the two rigs that need no device."""

from collections.abc import Iterable, Iterator
from typing import Protocol

import numpy as np

from hilt.core import faults
from hilt.core.system import Bench, System


class Rig(Protocol):
    def read(self, row: np.ndarray) -> int:
        """Fill in the measured signals; return 0 or a fault code. May block if the device is the clock."""

    def write(self, row: np.ndarray) -> int:
        """Send the command, and write to `X_WB_sent` what was actually sent; return 0 or a fault code."""

    def stop(self) -> None:
        """Stop the robot. Never raises, never waits, safe to call twice."""


class SimulatedRig:
    """The system's simulated plant in place of robot, contact and sensor."""

    def __init__(self, system: System, bench: Bench) -> None:
        self._plant, self._w, self._p = bench.code.plant, bench.w, bench.p

    def read(self, row: np.ndarray) -> int:
        self._plant(row, self._w, self._p)
        return 0

    def write(self, row: np.ndarray) -> int:
        return 0  # the plant reads the command from the same record

    def stop(self) -> None:
        pass


def _bytes_of(row: np.dtype, signals: Iterable[str]) -> np.ndarray:
    """Mask of the bytes of a row that belong to these signals."""
    mask = np.zeros(row.itemsize, bool)
    for name in set(signals) & set(row.names or ()):
        assert row.fields is not None
        kind, offset = row.fields[name][:2]
        mask[offset : offset + kind.itemsize] = True
    return mask


class ReplayRig:
    """Feeds recorded inputs to the tick, which must then compute the same outputs again."""

    def __init__(self, system: System, chunks: Iterator[np.ndarray]) -> None:
        # All signals are copied as bytes in one call: one by one they would take ten times as long as the tick.
        self._inputs = _bytes_of(system.row, system.inputs | {"lateness"})
        self._sent = _bytes_of(system.row, {"X_WB_sent"})  # empty if a system is only simulated and has no guard
        self._chunks = chunks
        self.chunk: np.ndarray = np.zeros(0, system.row)  # contains the current row
        self._recorded = np.zeros((0, system.row.itemsize), np.uint8)  # the same as bytes
        self._next = 0
        self.refusal = (faults.NONE, -1, 0.0, 0.0)  # fault with which the device refused the next command in the recording

    def read(self, row: np.ndarray) -> int:
        while self._next >= len(self.chunk):
            self.chunk, self._next = next(self._chunks), 0
            self._recorded = np.ascontiguousarray(self.chunk).view(np.uint8).reshape(len(self.chunk), -1)
        np.copyto(row.view(np.uint8), self._recorded[self._next], where=self._inputs)
        self._next += 1
        return 0

    def write(self, row: np.ndarray) -> int:
        # What was sent to a device may differ from the command.
        np.copyto(row.view(np.uint8), self._recorded[self._next - 1], where=self._sent)
        if self.refusal[0]:
            faults.trip(row[0], *self.refusal)
        return self.refusal[0]

    def stop(self) -> None:
        pass
