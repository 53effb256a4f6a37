"""Steps per second of many independent benches of docking: the limit of a sweep. Nothing is logged."""

import time
from typing import Any

import numba
import numpy as np

from hilt import job
from hilt.core.diagram import Code

THREADS = 2
BENCHES = 64  # many per thread, so that none waits long for the other at the end
STEPS = 20_000
REPEATS = 9  # the fastest counts: other work on one core halves the rate


def all_benches(code: Code) -> Any:
    """Run the steps of many benches on all threads."""
    plant, tick = code.plant, code.tick

    @numba.njit(error_model="numpy", parallel=True)  # as hilt.compiled.jit, but with threads
    def run(row, x, w, p, steps):
        for i in numba.prange(len(row)):
            # One bench after the other: its states stay in the cache of one core.
            one_row, one_x, one_w, one_p = row[i : i + 1], x[i : i + 1], w[i : i + 1], p[i : i + 1]
            for k in range(steps):
                one_row[0].tick = k
                one_row[0].t = k * one_p[0].dt
                plant(one_row, one_w, one_p)
                tick(one_row, one_x, one_p)

    return run


def steps_per_second(scenario_name: str, settings: list[str]) -> dict[str, Any]:
    """Return the same scenario at different speeds, so that no two benches do the same."""
    benches = []
    for n in range(BENCHES):
        system, scenario, _ = job.find("docking", scenario_name, [*settings, f"seed={n}", f"approach.speed={10 + n / 4} mm/s"])
        benches.append(system.set_up(scenario))
    first = [np.concatenate([getattr(bench, key) for bench in benches]) for key in ("row", "x", "w", "p")]
    run = all_benches(benches[0].code)
    threads = min(THREADS, numba.config.NUMBA_NUM_THREADS)
    numba.set_num_threads(threads)
    seconds = []
    for steps in (1, *[STEPS] * REPEATS):  # the first one compiles
        records = [part.copy() for part in first]
        start = time.perf_counter()
        run(*records, steps)
        seconds.append(time.perf_counter() - start)
        if records[0]["fault"].any():
            raise SystemExit("hilt bench: a bench of the batch ended with a fault, so its steps do not count")
    return {"batch_steps_per_s": round(BENCHES * STEPS / min(seconds[1:])), "batch_benches": BENCHES, "threads": threads}
