"""External inputs of a run, for its replay: changes of live values, and the fault of a device, a person or a signal.

The tick cannot compute an external fault, so it is fed in again where it occurred: before the last tick (a device that was
read, a request, a signal, the recorder) or after it (a device that refused the command). Which of the two is not recorded;
the last tick, computed on a copy, shows it.
"""

from typing import Any

import numpy as np

from hilt.core import faults
from hilt.core.rig import ReplayRig
from hilt.core.system import Bench, System
from hilt.core.tuning import RepeatedChanges

_FAULT = ("fault", "fault_axis", "fault_value", "fault_limit")


class Repeated:
    """An overseer for replays."""

    def __init__(self, system: System, bench: Bench, rig: ReplayRig, changes: RepeatedChanges, last: Any) -> None:
        self._tick, self._x, self._p = bench.code.tick, bench.x, bench.p
        self._rig, self._changes, self._last = rig, changes, last

    def look(self, row: np.ndarray) -> int:
        self._changes.look(row)
        if row["tick"][0] == self._last["tick"] and self._last["fault"]:
            self._feed(row)
        return faults.NONE

    def _feed(self, row: np.ndarray) -> None:
        fault = tuple(self._last[name].item() for name in _FAULT)
        trial = row.copy()
        self._tick(trial, self._x.copy(), self._p)
        own = trial["fault"][0]
        if own == fault[0]:
            return  # the tick computes this fault itself
        for name in {*_FAULT, "tick_time", "X_WB_sent"} & set(trial.dtype.names or ()):
            trial[name] = self._last[name]
        # A tick with its own fault sends nothing that could be refused: the external fault came before it.
        if own == faults.NONE and trial.tobytes() == self._last.tobytes():
            self._rig.refusal = fault
        else:
            faults.trip(row[0], *fault)
