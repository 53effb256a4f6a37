"""Scenarios per second of a docking sweep on all cores, with all metrics, compared with hand-written versions of the job.

hilt     the engine `threads`: packing, runs, metrics; everything but compiling. `setup_us` is for packing one scenario.
cpp      the whole step in C++ (docking.hpp), one process per core, each run as long as the mean scenario; no metrics
numpy    the untreated contact only, all scenarios at once: two bodies, a late robot, two frames; no metrics
mujoco   the same in MuJoCo: its rollout makes one step of all scenarios at a time; delay line and spring are added around it

numpy and mujoco must find the rebound of the late contact, 2.1018 (compared.py), or the run fails.
"""

import json
import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from beside_cpp import Cpp, numbers_of_bench
from compared import DELAY, DURATION, GAP, MUJOCO, PERIOD, RADIUS, REDUCED, SERVICER, SPEED, STIFFNESS, TARGET

from hilt import job
from hilt.core import scenario
from hilt.sweeps.engines.threads import Threads
from hilt.sweeps.packing import Packing
from hilt.sweeps.space import Axis, Space

CORES = len(os.sched_getaffinity(0))
GRID = {"robot.delay": (0.018, 0.022, 20), "contact.stiffness": (160e3, 190e3, 20)}  # around the facility of the README
SEEDS = 20
CHUNK = 1000
REPEATS = 3  # the fastest counts: other work on the machine can only add time
TOGETHER = 500  # scenarios in NumPy and in MuJoCo
REBOUND, WITHIN = 2.1018, 5e-4
AIMS = {"none": 6000, "pida": 3000, "twin": 1000, "setup_us": 50.0}


def space(method: str) -> Space:
    settings = [f"compensate.method={method}"]
    system, values, name = job.find("docking", "table1", settings)
    tree = scenario.read_toml(system.scenario_files["table1"])
    scenario.apply_settings(tree, settings)
    axes = [Axis((key,), tuple((value,) for value in np.linspace(*spec).tolist())) for key, spec in GRID.items()]
    return Space(system, name, tree, values, (*axes, Axis(("seed",), tuple((n,) for n in range(1, SEEDS + 1)))))


def in_hilt(method: str) -> dict[str, Any]:
    tried = space(method)
    chunks = np.array_split(np.arange(tried.count), tried.count // CHUNK)
    next(iter(Threads().run(tried, [chunks[0][:4]])))  # compiles
    seconds, ticks = [], 0
    for _ in range(REPEATS):
        start = time.perf_counter()
        ticks = sum(int(columns["ticks"].sum()) for _, columns in Threads().run(tried, chunks))
        seconds.append(time.perf_counter() - start)
    start, packing = time.process_time(), Packing(tried, tried.system.metrics)  # type: ignore[arg-type]
    for chunk in chunks:
        packing.pack(chunk)
    packed = time.process_time() - start
    return {
        "scenarios": tried.count,
        "scenarios_per_s": round(tried.count / min(seconds)),
        "ticks_of_a_scenario": round(ticks / tried.count),
        "setup_us": round(1e6 * packed / tried.count, 1),
    }


def in_cpp(ticks: int) -> int:
    """Count the steps of pida: C++ runs all blocks in every step."""
    system, values, _ = job.find("docking", "table1", ["compensate.method=pida", "identify.kind=absolute"])
    bench = system.set_up(values)
    given = {**numbers_of_bench(bench), "steps": np.array([ticks]), "rebounds": np.zeros(64)}
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(CORES) as pool:
        programs = Cpp("docking_step.cpp", Path(folder), given)
        ns = [max(pool.map(programs.ns, [500] * CORES)) for _ in range(REPEATS)]
    return round(CORES * 1e9 / (min(ns) * ticks))


def _late(step: Any, delays: np.ndarray, ticks: int) -> np.ndarray:
    """Run the untreated loop of many scenarios, where contact is felt as late as the robot; return speeds after over before."""
    late = np.rint(delays / PERIOD).astype(int)
    line = np.full((late.max() + 1, len(delays)), -GAP)
    rows, closing = np.arange(len(delays)), np.full(len(delays), SPEED)
    for k in range(ticks):
        force = STIFFNESS * np.maximum(0.0, line[(k - late - 1) % len(line), rows])
        inside, closing = step(force)
        line[k % len(line)] = inside
    return -closing / SPEED


def in_numpy(ticks: int) -> tuple[int, float]:
    inside, closing = np.full(TOGETHER, -GAP), np.full(TOGETHER, SPEED)

    def step(force: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        nonlocal inside, closing
        closing = closing - PERIOD * force / REDUCED
        inside = inside + PERIOD * closing
        return inside, closing

    start = time.perf_counter()
    rebound = _late(step, np.full(TOGETHER, DELAY), round(DURATION / PERIOD))
    taken = (time.perf_counter() - start) * ticks / round(DURATION / PERIOD)
    return round(CORES * TOGETHER / taken), float(rebound[0])  # one process per core


def in_mujoco(ticks: int) -> tuple[int, float]:
    import mujoco
    from mujoco import rollout

    free = 'contype="0" conaffinity="0"'
    xml = MUJOCO.format(period=PERIOD, radius=RADIUS, contact=free, start=-RADIUS - GAP, servicer=SERVICER, target=TARGET)
    model = mujoco.MjModel.from_xml_string(xml)
    data = [mujoco.MjData(model) for _ in range(CORES)]
    whole, pushed = mujoco.mjtState.mjSTATE_FULLPHYSICS, mujoco.mjtState.mjSTATE_QFRC_APPLIED
    data[0].qvel[0] = SPEED
    first = np.zeros(mujoco.mj_stateSize(model, whole))
    mujoco.mj_getState(model, data[0], first, whole)
    state = np.tile(first, (TOGETHER, 1))

    with rollout.Rollout(nthread=CORES) as pool:

        def step(force: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            nonlocal state
            control = np.stack([-force, force], axis=1)[:, None, :]
            found, _ = pool.rollout([model] * TOGETHER, data, state, control, control_spec=int(pushed), nstep=1)
            state = found[:, 0, :]
            return state[:, 1] - state[:, 2] - GAP, state[:, 3] - state[:, 4]  # time, places, speeds

        start = time.perf_counter()
        rebound = _late(step, np.full(TOGETHER, DELAY), round(DURATION / PERIOD))
        taken = (time.perf_counter() - start) * ticks / round(DURATION / PERIOD)
    return round(TOGETHER / taken), float(rebound[0])


def main() -> int:
    found = {method: in_hilt(method) for method in ("none", "pida", "twin")}
    ticks = found["none"]["ticks_of_a_scenario"]
    numpy_rate, by_numpy = in_numpy(ticks)
    mujoco_rate, by_mujoco = in_mujoco(ticks)
    agrees = all(abs(rebound - REBOUND) < WITHIN for rebound in (by_numpy, by_mujoco))
    beside = {
        "cpp_per_s": {"none": in_cpp(ticks), "pida": in_cpp(found["pida"]["ticks_of_a_scenario"])},
        "numpy_per_s": numpy_rate,
        "mujoco_per_s": mujoco_rate,
        "rebounds": [round(by_numpy, 4), round(by_mujoco, 4)],
    }
    print(json.dumps({"benchmark": "sweeps", "agrees": agrees, "cores": CORES, **found, **beside, "aims": AIMS}))
    return 0 if agrees else 1


if __name__ == "__main__":
    sys.exit(main())
