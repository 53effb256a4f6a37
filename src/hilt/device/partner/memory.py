"""Memory shared by the loop and the second robot's process: set-points and a stop one way, the measured motion back.

Each side writes only its own part and never waits for the other. Set-points are knots in a ring: the loop writes a knot, then
counts it. The motion is read whole or not at all (host/seqlock.py).
"""

from typing import Any

import numpy as np

from hilt.core.signals import POSE, TWIST, record
from hilt.host.seqlock import SeqLock
from hilt.host.shared import Segment

KNOTS = 128  # of the loop's set-points; the second robot is half a second behind at most
# t: when its cycle began; at: when it was written [s, monotonic]; waited: cycles without a set-point of the loop
SEEN = record(t="f8", at="f8", X=POSE, V=TWIST, sent=POSE, cycles="i8", waited="i8")
_MEMORY = record(
    knots="i8",
    knot_t=("f8", (KNOTS,)),  # when each set-point applies [s, monotonic]
    knot_p=("f8", (KNOTS, 3)),
    knot_q=("f8", (KNOTS, 4)),
    **dict.fromkeys(("stop", "count", "state", "trouble", "fault"), "i8"),
    seen=SEEN,
)
SUFFIX = ".partner"


class Memory:
    """One side of the memory; the loop's side creates and removes it."""

    def __init__(self, name: str, *, make: bool) -> None:
        size = _MEMORY.itemsize
        self._segment = Segment.create(name + SUFFIX, size) if make else Segment.open(name + SUFFIX, size, writable=True)
        self.all: Any = np.frombuffer(self._segment.memory, _MEMORY, 1)
        self.row: Any = self.all[0]
        self._lock = SeqLock(self.all["count"])
        if make:
            self._segment.publish()

    def begin(self) -> None:
        """Clear set-points, stop and fault before a run."""
        row = self.row
        row["knots"] = row["stop"] = row["fault"] = 0
        self.show(np.zeros(1, SEEN)[0])

    def push(self, t: float, pose: Any) -> None:
        """Add a set-point of the loop that applies at t [s, monotonic]."""
        row, count = self.row, int(self.row["knots"])
        at = count % KNOTS
        row["knot_t"][at], row["knot_p"][at], row["knot_q"][at] = t, pose["p"], pose["q"]
        row["knots"] = count + 1

    def show(self, seen: Any) -> None:
        with self._lock.writing():
            self.row["seen"] = seen

    def look(self, seen: np.ndarray) -> None:
        """Copy the newest motion, unless its writer was stopped half-way: then the previous one stays."""
        if (found := self._lock.read(lambda: self.all["seen"].copy())) is not None:
            seen[:] = found[1]

    def close(self) -> None:
        self._segment.close()
