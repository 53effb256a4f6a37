"""Two force sensors read together, behind the interface of one."""

from typing import Any

import numpy as np

from hilt.core import faults
from hilt.core.signals import WRENCH
from hilt.device.protocol import SensorDriver


class TwoSensors:
    """A sensor driver for a rig that reads one sensor; `second` is the other one's newest wrench."""

    def __init__(self, first: SensorDriver, other: SensorDriver) -> None:
        self._first, self._other = first, other
        self.second = np.zeros(1, WRENCH)[0]

    def read(self, wrench: Any) -> int:
        code, another = self._first.read(wrench), self._other.read(self.second)
        return code or another or faults.NONE

    def bias(self) -> None:
        self._first.bias()
        self._other.bias()

    def stop(self) -> None:
        self._first.stop()
        self._other.stop()

    @property
    def samples(self) -> int:
        """Samples of the sensor that has sent fewer."""
        return min(getattr(each, "samples", 0) for each in (self._first, self._other))

    @property
    def age(self) -> float:
        """Age of the first sensor's newest wrench [s]."""
        return float(getattr(self._first, "age", np.nan))

    def notes(self) -> list[str]:
        return [note for each in (self._first, self._other) for note in getattr(each, "notes", list)()]

    def counters(self) -> dict[str, int]:
        return self._first.counters()

    def other_counters(self) -> dict[str, int]:
        return self._other.counters()
