"""The tick of the second robot: the loop's set-points, read in the robot's own cycles.

Each cycle it takes the pose for the end of its cycle, `later` ago, from a smooth curve through the loop's set-points. Times are
those of steady clocks (core/clock.py), so the steps are even where the packets are not; and since the curve is a function
of time, no cycle can be counted twice or left out, however the two clocks drift.

If the loop's next set-point is not there yet, the robot goes on to where the curve ends and waits, within its limits, and
catches up within them. If none comes for longer than the loop may be late, that is a fault: a loop that has died, or whose own
robot is silent, leaves this one at rest. Set-points that arrive, but late, are not a fault: after a robot has stalled for some
cycles they are late until its steady clock has caught up.
"""

import math
from typing import Any

import numpy as np

from hilt.compiled import jit
from hilt.core import clock, faults
from hilt.core.clock import SteadyClock
from hilt.core.diagram import Code
from hilt.core.guard import GUARD
from hilt.core.signals import POSE, record
from hilt.core.system import Bench
from hilt.device.course import Course
from hilt.device.partner.memory import KNOTS, SEEN, Memory
from hilt.device.path import ROW
from hilt.maths import pair, spatial, vec

WHOLE, GAP, DRY = 0, 1, 2  # how a set-point was found
_LOOKS_BACK = KNOTS - 8  # knots: older ones may be overwritten meanwhile
_PARAMS = record(dt="f8", guard=GUARD.params)
FOREVER = 1 << 40  # ticks: it ends with a stop or a fault


@jit
def _at(memory, k):
    at = k % KNOTS
    p, q = memory.knot_p[at], memory.knot_q[at]
    return vec.load(p), (q[0], q[1], q[2], q[3])


@jit
def _middle(memory, k):
    """Return the time half-way between knot k and the one before [s]."""
    return 0.5 * (memory.knot_t[(k - 1) % KNOTS] + memory.knot_t[k % KNOTS])


@jit
def read_curve(memory, t, step, out):
    """Write the pose at t on the curve through the knots, and return how it was found; `step` is the time between two knots."""
    newest = memory.knots - 1
    if newest < 0:
        return WHOLE  # before the first: stay
    oldest = max(0, newest - _LOOKS_BACK)
    if newest == oldest or t <= _middle(memory, oldest + 1):
        spatial.store(out, _at(memory, oldest))
        return WHOLE if newest > oldest or t <= memory.knot_t[newest % KNOTS] + 0.5 * step else DRY
    end = _middle(memory, newest)
    if t >= end:
        spatial.store(out, pair.between(_at(memory, newest - 1), _at(memory, newest), 0.5))
        return DRY if t > end else WHOLE
    k = newest - 1
    while k > oldest + 1 and t < _middle(memory, k):
        k -= 1
    begin, end = _middle(memory, k), _middle(memory, k + 1)
    before = _at(memory, k - 1) if k > oldest else _at(memory, k)
    spatial.store(out, pair.smooth(before, _at(memory, k), _at(memory, k + 1), (t - begin) / (end - begin)))
    return GAP if end - begin > 1.2 * step else WHOLE


class Following:
    """The bench that the second robot's loop runs."""

    def __init__(self, memory: Memory, course: Course, cycle: float) -> None:
        self._memory, self._course, self._cycle = memory, course, cycle
        self._shown, self._row = np.zeros(1, SEEN), np.zeros(1, ROW)
        self._seen = self._shown[0]
        self._pose = np.zeros(1, POSE)[0]
        self._pose["q"][0] = 1.0
        self._later = self._step = self._patience = 0.0
        self._dry = self._known = 0  # cycles without a new set-point of the loop, and set-points so far
        self._uneven = self._gently = False
        self.clock = SteadyClock(cycle)
        read_curve(memory.row, 0.0, 1.0, self._pose)

    def bench(self, start: Any, limits: Any, later: float, step: float, patience: float, *, gently: bool = False) -> Bench:
        """Return a bench that starts at rest at `start` and follows a loop of this step, `later` behind it [s]; it stops after
        `patience` without set-points [s]. `gently`: the set-points may be uneven and are followed within the limits, since a
        robot on its way home waits where it missed an answer."""
        row, p = self._row, np.zeros(1, _PARAMS)
        row[...] = np.zeros(1, ROW)
        row["X_WB_cmd"][0], row["fault_axis"] = start, -1
        self._pose["p"], self._pose["q"] = start["p"], start["q"]
        p["dt"], p[0]["guard"] = self._cycle, limits
        self._later, self._step, self._patience = later, step, patience
        self._dry, self._known, self._uneven, self._gently = 0, 0, False, gently
        self.clock.start()
        self._shown[:] = np.zeros(1, SEEN)
        nothing = np.zeros(1)
        return Bench(row, nothing, nothing, p, FOREVER, Code(self._tick, self._nothing, self._nothing, self._none))

    def show(self, row: np.ndarray) -> None:
        """Show the loop what was measured; called with every packet, also on the way home."""
        seen = self._seen
        seen["t"], seen["at"] = self.clock.began, clock.now()
        seen["X"], seen["V"], seen["sent"] = row["X_WB_meas"][0], row["V_WB_meas"][0], self._course.last
        seen["cycles"] += 1
        self._memory.show(seen)

    def _tick(self, row: np.ndarray, *_: Any) -> None:
        found = read_curve(self._memory.row, self.clock.began + self._cycle - self._later, self._step, self._pose)
        if found != WHOLE or self._uneven or self._gently:
            self._course.resume()
        self._uneven = found != WHOLE
        knots = int(self._memory.row["knots"])
        self._dry, self._known = self._dry + 1 if found == DRY and knots == self._known else 0, knots
        self._seen["waited"] += found == DRY
        if self._dry * self._cycle > self._patience:
            faults.trip(row[0], faults.LATENESS, -1, self._dry * self._cycle, self._patience)
        row["X_WB_cmd"][0] = self._pose

    def _nothing(self, *_: Any) -> None:
        """It has no simulated world."""

    def _none(self, *_: Any) -> int:
        return 0


def scaled(limits: Any, cycle: float, step: float) -> Any:
    """Return the loop's limits for a robot with another cycle: a change of acceleration falls into one of its cycles."""
    found = limits.copy()
    found["jerk"] *= max(1.0, math.ceil(step / cycle))
    return found
