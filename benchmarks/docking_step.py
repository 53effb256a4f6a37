"""Cost of one step of docking, plant and tick: compiled by hilt and in C++, side by side in one run.

The twin on a flexible robot has no counterpart in C++; its cost includes the swinging tip, the plan and the learning.

Both start from the same numbers and must end in the same state after many collisions, or the run fails: the row with bodies,
forces, identified contact and ledger, the states of all stages with delay line and covariances, and the speed after each
collision. Nothing is logged, and nothing may be allocated. Also measured: the steps per second of many benches at once.
"""

import os

os.environ["NUMBA_NRT_STATS"] = "1"  # read when Numba is imported

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from beside_cpp import Cpp, Numbers, difference, numbers_of_bench
from docking_batch import steps_per_second
from numba.core.runtime import rtsys

from hilt import job
from hilt.compiled import jit
from hilt.core.diagram import Code
from hilt.core.system import Bench
from hilt.maths import vec

PIDA = ["compensate.method=pida", "identify.kind=absolute", "robot.delay=20 ms"]
# No noise: C++ has none, and the cost of random numbers is not the twin's. Its priors stay wrong, so it has to learn.
TWIN = ["compensate.method=twin", "sensor.noise=0 N", "encoder.position_noise=0 m", "encoder.velocity_noise=0 m/s"]
CASES = {"dof_1": ("table1", PIDA), "dof_6": ("oblique", PIDA), "twin": ("twin", TWIN)}
BENDING = ("bending", TWIN)
STEPS = 20_000  # per cycle; each starts afresh, so that the bodies of six degrees of freedom do not drift away
CYCLES = 25
REPEATS = 9  # hilt and C++ alternate; the fastest counts, since other work on the machine can only add time
MOST_COLLISIONS, FEWEST_COLLISIONS = 64, 2
TOLERANCE = 1e-9
AIMS = {
    "dof_1_ns_per_step": 100.0,
    "dof_6_ns_per_step": 300.0,
    "twin_ns_per_step": 300.0,
    "bending_ns_per_step": 3000.0,
    "ratio_to_cpp": 1.5,
    "allocations_per_step": 0.0,
    "batch_steps_per_s": 20e6,
}


def cycles_of_steps(code: Code) -> Any:
    """Return a function that runs many steps of a diagram in one compiled call."""
    plant, tick = code.plant, code.tick

    @jit
    def run(row, x, w, p, first_row, first_x, first_w, cycles, steps, rebounds):
        for _ in range(cycles):
            row[0] = first_row[0]
            x[0] = first_x[0]
            w[0] = first_w[0]
            sig = row[0]
            for k in range(steps):
                before = sig.collision
                sig.tick = k
                sig.t = k * p[0].dt
                plant(row, w, p)
                tick(row, x, p)
                if sig.collision != before:  # the flight that ends here began with the previous collision
                    rebounds[before] = vec.dot(vec.load(p[0].contact.n_W), vec.load(sig.v_C_des_W))

    return run


class Hilt:
    def __init__(self, bench: Bench) -> None:
        self._first = (bench.row, bench.x, bench.w)
        self._run, self._code = cycles_of_steps(bench.code), bench.code
        self._p, self._benches, self._rebounds = bench.p, [bench], np.zeros(MOST_COLLISIONS)
        self.ns(1)  # compiles

    def ns(self, cycles: int) -> float:
        # At a new memory address each time, like each C++ process: the address alone can cost some per cent.
        row, x, w, p = (part.copy() for part in (*self._first, self._p))
        self._benches.append(Bench(row, x, w, p, STEPS, self._code))
        start = time.perf_counter_ns()
        self._run(row, x, w, p, *self._first, cycles, STEPS, self._rebounds)
        return (time.perf_counter_ns() - start) / (cycles * STEPS)

    def allocations(self, cycles: int) -> int:
        before = rtsys.get_allocation_stats().alloc
        self.ns(cycles)
        return rtsys.get_allocation_stats().alloc - before

    @property
    def last(self) -> Numbers:
        return {**numbers_of_bench(self._benches[-1]), "rebounds": self._rebounds}


def measure(scenario_name: str, settings: list[str]) -> dict[str, Any]:
    system, scenario, _ = job.find("docking", scenario_name, settings)
    bench = system.set_up(scenario)
    given = {**numbers_of_bench(bench), "steps": np.array([STEPS]), "rebounds": np.zeros(MOST_COLLISIONS)}
    with tempfile.TemporaryDirectory() as folder:
        hilt, cpp = Hilt(bench), Cpp("docking_step.cpp", Path(folder), given)
        times = [(hilt.ns(CYCLES), cpp.ns(CYCLES)) for _ in range(REPEATS)]
    hilt_ns, cpp_ns = (min(column) for column in zip(*times, strict=True))
    # Subtract what one call allocates for its arguments.
    allocations = (hilt.allocations(2) - hilt.allocations(1)) / STEPS
    last = hilt.last
    away, collisions, fault = difference(last, cpp.last), int(last["row.collision"][0]), int(last["row.fault"][0])
    return {
        "scenario": scenario_name,
        "method": scenario.compensate.method,
        "hilt_ns_per_step": round(hilt_ns, 1),
        "cpp_ns_per_step": round(cpp_ns, 1),
        "ratio_to_cpp": round(hilt_ns / cpp_ns, 2),
        "allocations_per_step": allocations,
        "collisions": collisions,
        "relative_difference": away,
        "fault_code": fault,
        "agrees": away <= TOLERANCE and collisions >= FEWEST_COLLISIONS and not fault and not allocations,
    }


def measure_alone(scenario_name: str, settings: list[str]) -> dict[str, Any]:
    """Measure a method without a C++ counterpart: the mean over a run with its contacts."""
    system, scenario, _ = job.find("docking", scenario_name, [*settings, f"collisions={MOST_COLLISIONS}"])
    hilt = Hilt(system.set_up(scenario))
    ns = min(hilt.ns(1) for _ in range(4 * REPEATS))
    allocations = (hilt.allocations(2) - hilt.allocations(1)) / STEPS
    last = hilt.last
    return {
        "scenario": scenario_name,
        "method": scenario.compensate.method,
        "hilt_ns_per_step": round(ns, 1),
        "allocations_per_step": allocations,
        "collisions": int(last["row.collision"][0]),
        "fault_code": int(last["row.fault"][0]),
    }


def main() -> int:
    cases = {name: measure(*case) for name, case in CASES.items()}
    agrees = bool(all(case["agrees"] for case in cases.values()))
    cases["bending"] = measure_alone(*BENDING)
    report = {"benchmark": "docking_step", "agrees": agrees, **cases, **steps_per_second("table1", PIDA), "aims": AIMS}
    print(json.dumps(report))
    return 0 if agrees else 1


if __name__ == "__main__":
    sys.exit(main())
