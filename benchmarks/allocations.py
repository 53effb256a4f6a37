"""Allocations of one tick: none in the compiled loop, and none that stay or grow in the Python loop.

A count over few ticks is subtracted from a count over many, so one-time allocations do not matter.
"""

import os

os.environ["NUMBA_NRT_STATS"] = "1"  # read when Numba is imported

import dataclasses
import gc
import json
import sys
import tracemalloc
from collections.abc import Callable
from functools import partial

import numpy as np
from numba.core.runtime import rtsys

from hilt import job, loop
from hilt.compiled import jit
from hilt.core.clock import FreeClock
from hilt.core.rig import SimulatedRig
from hilt.core.scenario import Scenario
from hilt.core.system import System

# Six degrees of freedom, a filtered noisy sensor and a second-order robot; a period that makes the run long enough.
SYSTEM, SCENARIO, _ = job.find("freefloat", "capture", ["loop.period=2 ms"])
# The twin with one and with six degrees of freedom, on stiff robots and on a flexible one, with noise and several contacts.
TWIN = ["compensate.method=twin", "sensor.noise=0.5 N", "collisions=1000"]
BENDING = ["robot.stiffness=0.5 N/um", "robot.mode_frequency=12 Hz"]
TWINS = {name: job.find("docking", name, TWIN)[:2] for name in ("twin", "oblique", "bending")}
TWINS["bending, oblique"] = job.find("docking", "oblique", [*TWIN, *BENDING])[:2]
MANY = 10_000


class Counter:
    """A sink that only counts."""

    def __init__(self) -> None:
        self.rows = 0

    def append(self, row: np.ndarray) -> None:
        self.rows += 1


def per_tick(count: Callable[[int], int], few: int) -> float:
    count(few)  # compiles
    # Two digits: Python's free lists vary by a few blocks per run. Plus zero: no -0.0.
    return round((count(MANY) - count(few)) / (MANY - few), 2) + 0.0


def allocations_of(system: System, scenario: Scenario, ticks: int) -> int:
    """Return the allocations per tick of plant and tick in the compiled loop."""
    bench, log = system.set_up(scenario), np.zeros(ticks, system.row)
    before = rtsys.get_allocation_stats().alloc
    if bench.code.batch(bench.row, bench.x, bench.w, bench.p, log) != ticks:
        raise SystemExit("hilt bench: the run ended early, so its allocations were not counted")
    return rtsys.get_allocation_stats().alloc - before


@jit
def allocate_each_tick(ticks):
    total = 0.0
    for k in range(ticks):
        total += np.full(k % 7 + 1, 1.0).sum()
    return total


def known_allocations(ticks: int) -> int:
    """Allocate one array per tick, to show that the counter works."""
    before = rtsys.get_allocation_stats().alloc
    allocate_each_tick(ticks)
    return rtsys.get_allocation_stats().alloc - before


def run_loop(ticks: int, measure: Callable[[], int]) -> int:
    """Return how much `measure` grows over a run of hilt's loop."""
    bench, sink = dataclasses.replace(SYSTEM.set_up(SCENARIO), ticks=ticks), Counter()
    rig, clock = SimulatedRig(SYSTEM, bench), FreeClock()
    gc.collect()
    before = measure()
    loop.run(bench, rig, clock, sink)
    after = measure()
    if sink.rows != ticks:
        raise SystemExit("hilt bench: the run ended early, so its allocations were not counted")
    return after - before


def blocks_kept(ticks: int) -> int:
    return run_loop(ticks, sys.getallocatedblocks)


def boundary_allocations(ticks: int) -> int:
    """Return the handles that Numba makes and frees for the arrays of each call from Python."""
    return run_loop(ticks, lambda: rtsys.get_allocation_stats().alloc)


def traced_peak() -> int:
    if not tracemalloc.is_tracing():
        tracemalloc.start()
    return tracemalloc.get_traced_memory()[1]


def peak_bytes(ticks: int) -> int:
    try:
        return run_loop(ticks, traced_peak)
    finally:
        tracemalloc.stop()


def main() -> None:
    allocate_each_tick(1)  # Numba counts from its first compiled call on
    report = {
        "benchmark": "allocations",
        "compiled_allocations_per_tick": per_tick(partial(allocations_of, SYSTEM, SCENARIO), 10),
        "compiled_twin_dof_1_allocations_per_tick": per_tick(partial(allocations_of, *TWINS["twin"]), 10),
        "compiled_twin_dof_6_allocations_per_tick": per_tick(partial(allocations_of, *TWINS["oblique"]), 10),
        "compiled_twin_bending_allocations_per_tick": per_tick(partial(allocations_of, *TWINS["bending"]), 10),
        "compiled_twin_bending_dof_6_allocations_per_tick": per_tick(partial(allocations_of, *TWINS["bending, oblique"]), 10),
        "check_with_one_array_allocations_per_tick": per_tick(known_allocations, 10),
        "loop_blocks_kept_per_tick": per_tick(blocks_kept, 100),
        "loop_peak_growth_bytes_per_tick": per_tick(peak_bytes, 100),
        "loop_boundary_allocations_per_tick": per_tick(boundary_allocations, 100),
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
