"""The loop: the only place where this order exists, for simulation, emulated devices, robot and replay.

Runs differ only in the rig and the clock. A sweep calls the same compiled tick from the system's `batch`.
"""

from collections.abc import Callable
from typing import Protocol

import numpy as np

from hilt.core import faults
from hilt.core.clock import Clock
from hilt.core.faults import Fault
from hilt.core.rig import Rig
from hilt.core.system import Bench

WATCH_EVERY = 64


class Sink(Protocol):
    def append(self, row: np.ndarray) -> None: ...


class Overseer(Protocol):
    def look(self, row: np.ndarray) -> int:
        """Called once before each tick; returns 0, or the fault code that must end the run."""


def run(
    bench: Bench,
    rig: Rig,
    clock: Clock,
    sink: Sink,
    watch: Callable[[int], None] | None = None,
    overseer: Overseer | None = None,
) -> Fault | None:
    """Run the ticks of a bench; return the fault that ended them, or None.

    On a fault no set-point is sent: the robot is stopped first, the row is kept, and the caller explains the fault.
    `watch(k)` is called occasionally, for a progress bar.
    """
    row, x, p, tick = bench.row, bench.x, bench.p, bench.code.tick
    number, t, lateness, tick_time, fault, done = (
        row[name] for name in ("tick", "t", "lateness", "tick_time", "fault", "done")
    )
    period = float(p["dt"][0])
    try:
        clock.start()
        for k in range(bench.ticks):
            number[0] = k
            t[0] = k * period
            lateness[0] = clock.wait_until(k * period)
            if code := rig.read(row):
                faults.trip(row[0], code, -1, 0.0, 0.0)
            if overseer is not None and (code := overseer.look(row)):
                faults.trip(row[0], code, -1, 0.0, 0.0)
            tick(row, x, p)
            tick_time[0] = clock.busy()
            if fault[0]:
                rig.stop()
            elif code := rig.write(row):
                faults.trip(row[0], code, -1, 0.0, 0.0)
                rig.stop()
            sink.append(row)
            if fault[0] or done[0]:
                break
            if watch is not None and k % WATCH_EVERY == 0:
                watch(k)
    finally:
        rig.stop()
    if watch is not None:
        watch(int(number[0]))
    return faults.read_fault(row[0])
