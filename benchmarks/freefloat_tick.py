"""Cost of one tick of freefloat: compiled by hilt, in C++ and in plain NumPy, side by side in one run.

All three start from the same numbers, read the same wrenches and must end in the same state, or the run fails.
"""

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from beside_cpp import Cpp, Numbers, difference, numbers_of_bench
from freefloat_numpy import FreeFloat

from hilt import job
from hilt.compiled import jit
from hilt.core.diagram import Code
from hilt.core.system import Bench, System

CASES = {"dof_1": ("paper", "passive"), "dof_6": ("capture", "momentum")}
TICKS = 2000  # per cycle; each starts afresh, so that a long measurement stays inside the limits of the guard
CYCLES = 500
REPEATS = 9  # hilt and C++ alternate; the fastest counts, since other work on the machine can only add time
CPP_TOLERANCE, NUMPY_TOLERANCE = 1e-12, 1e-10
RATIO_TO_CPP_AIM, NUMPY_RATIO_AIM = 1.5, 100.0


def cycles_of_ticks(code: Code) -> Any:
    """Return a function that runs many ticks of a diagram in one compiled call."""
    tick = code.tick

    @jit
    def run(row, x, p, first_row, first_x, wrenches, cycles):
        for _ in range(cycles):
            row[0] = first_row[0]
            x[0] = first_x[0]
            sig = row[0]
            for k in range(len(wrenches)):
                sig.X_WB_meas = sig.X_WB_cmd  # a robot that is where it should be
                sig.F_So_S = wrenches[k]
                tick(row, x, p)

    return run


def make_wrenches(system: System) -> np.ndarray:
    """Return smooth pushes with noise, small enough for every scenario's limits."""
    t = np.linspace(0.0, 1.0, TICKS, endpoint=False)
    noise = np.random.default_rng(1)
    wrenches = np.zeros(TICKS, system.row["F_So_S"])
    for axis in range(3):
        wrenches["f"][:, axis] = 5.0 * np.cos(2 * np.pi * (axis + 2) * t) + 0.2 * noise.standard_normal(TICKS)
        wrenches["tau"][:, axis] = 20.0 * np.cos(2 * np.pi * (axis + 2) * t) + 0.1 * noise.standard_normal(TICKS)
    return wrenches


class Hilt:
    def __init__(self, bench: Bench, wrenches: np.ndarray) -> None:
        self._first, self._wrenches, self._benches = bench, wrenches, [bench]
        self._run = cycles_of_ticks(bench.code)
        self.ns(1)  # compiles

    def ns(self, cycles: int) -> float:
        # At a new memory address each time, like each C++ process: the address alone can cost some per cent.
        first = self._first
        row, x, p = (part.copy() for part in (first.row, first.x, first.p))
        self._benches.append(Bench(row, x, first.w, p, TICKS, first.code))
        start = time.perf_counter_ns()
        self._run(row, x, p, first.row, first.x, self._wrenches, cycles)
        return (time.perf_counter_ns() - start) / (cycles * TICKS)

    @property
    def last(self) -> Numbers:
        return numbers_of_bench(self._benches[-1])


class PlainNumpy:
    def __init__(self, first: Numbers, wrenches: np.ndarray) -> None:
        self._first, self._wrenches = first, wrenches

    def ns(self, cycles: int) -> float:
        f, tau = self._wrenches["f"], self._wrenches["tau"]
        start = time.perf_counter_ns()
        for _ in range(cycles):
            self._body = body = FreeFloat(self._first)
            for k in range(TICKS):
                body.tick(body.des_q, f[k], tau[k])
        return (time.perf_counter_ns() - start) / (cycles * TICKS)

    @property
    def last(self) -> Numbers:
        return self._body.numbers()


def measure(scenario_name: str, kind: str) -> dict[str, Any]:
    system, scenario, _ = job.find("freefloat", scenario_name, [f"integrator.kind={kind}"])
    bench, wrenches = system.set_up(scenario), make_wrenches(system)
    first = numbers_of_bench(bench)
    given = {**first, "wrenches": wrenches.view(float)}
    with tempfile.TemporaryDirectory() as folder:
        hilt, cpp, plain = Hilt(bench, wrenches), Cpp("freefloat_tick.cpp", Path(folder), given), PlainNumpy(first, wrenches)
        times = [(hilt.ns(CYCLES), cpp.ns(CYCLES)) for _ in range(REPEATS)]
    hilt_ns, cpp_ns = (min(column) for column in zip(*times, strict=True))
    numpy_ns = min(plain.ns(1) for _ in range(3))
    last = hilt.last
    cpp_away, numpy_away, fault = difference(last, cpp.last), difference(last, plain.last), int(last["row.fault"][0])
    return {
        "scenario": scenario_name,
        "integrator": kind,
        "hilt_ns_per_tick": round(hilt_ns, 1),
        "cpp_ns_per_tick": round(cpp_ns, 1),
        "numpy_ns_per_tick": round(numpy_ns),
        "ratio_to_cpp": round(hilt_ns / cpp_ns, 2),
        "numpy_ratio": round(numpy_ns / hilt_ns),
        "cpp_relative_difference": cpp_away,
        "numpy_relative_difference": numpy_away,
        "fault_code": fault,
        "agrees": cpp_away <= CPP_TOLERANCE and numpy_away <= NUMPY_TOLERANCE and not fault,
    }


def wall_step_ns() -> float:
    """Return the time of the whole step, plant and tick, with its row of the log: the compiled loop of a sweep."""
    system, scenario, _ = job.find("freefloat", "wall", [])
    times = []
    for _ in range(1 + REPEATS):
        bench = system.set_up(scenario)
        log = np.ones(bench.ticks, np.dtype((np.void, system.row.itemsize))).view(system.row)  # touched: no page faults
        start = time.perf_counter_ns()
        count = bench.code.batch(bench.row, bench.x, bench.w, bench.p, log)
        times.append((time.perf_counter_ns() - start) / count)
    return min(times[1:])  # the first one compiles


def main() -> int:
    cases = {name: measure(*case) for name, case in CASES.items()}
    agrees = all(case["agrees"] for case in cases.values())
    report = {
        "benchmark": "freefloat_tick",
        "agrees": agrees,
        **cases,
        "ratio_to_cpp_aim": RATIO_TO_CPP_AIM,
        "numpy_ratio_aim": NUMPY_RATIO_AIM,
        "hilt_wall_step_ns": round(wall_step_ns(), 1),
    }
    print(json.dumps(report))
    return 0 if agrees else 1


if __name__ == "__main__":
    sys.exit(main())
