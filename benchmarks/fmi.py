"""Cost of a step of an imported body, compared with hilt's own integrator: the blocks of a tick in a compiled loop.

The body of examples/own_body in C (FMI 2.0 and 3.0) and, where PythonFMU is installed (tools/peers.sh), in Python.
"""

import json
import runpy
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from hilt import job
from hilt.compiled import jit
from hilt.core.system import System

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "own_body"
PEERS = ROOT / ".venv-peers" / "bin" / "python"
STEPS, PYTHON_STEPS = 1_000, 20  # short: other work on the machine can only add time, and the fastest repeat counts
REPEATS = 300


def models(folder: Path) -> dict[str, Path | None]:
    make = runpy.run_path(str(EXAMPLE / "make_fmu.py"))["make"]
    found: dict[str, Path | None] = {"own": None, "c_fmi2": make(2, folder / "2.fmu"), "c_fmi3": make(3, folder / "3.fmu")}
    build = [str(PEERS), "-P", "-m", "pythonfmu", "build", "-f", str(EXAMPLE / "python_body.py"), "-d", str(folder)]
    if PEERS.exists() and subprocess.run(build, capture_output=True, cwd=folder).returncode == 0:
        found["python_fmi2"] = folder / "PythonBody.fmu"
    return found


def in_a_loop(kinds: list[Any]) -> Any:
    """Return a compiled loop over the steps of one or two blocks."""
    first, last = kinds[0].step, kinds[-1].step
    two = len(kinds) == 2

    @jit
    def run(sig, x, y, p, q, dt, steps):
        for _ in range(steps):
            first(sig, x, p, dt)
            if two:
                last(sig, y, q, dt)

    return run


def ns_of_a_step(system: System, values: Any, steps: int) -> float:
    names = ["body_fmu"] if values.body_fmu else ["translation", "rotation"]
    kinds = system.kinds(values)
    run = in_a_loop([kinds[name] for name in names])
    bench = system.set_up(values)
    records = [bench.row[0], *(memory[0][name] for memory in (bench.x, bench.p) for name in (names[0], names[-1]))]
    run(*records, values.loop.period, 1)
    times = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        run(*records, values.loop.period, steps)
        times.append(time.perf_counter() - begin)
    if bench.row[0]["fault"]:
        sys.exit("the body stopped with a fault")
    return 1e9 * min(times) / steps


def main() -> None:
    system, own, _ = job.find("freefloat", "capture", [])
    vectors = {
        "inertia": np.ravel(own.body.inertia),
        "velocity": own.body.velocity,
        "angular_velocity": own.body.angular_velocity,
    }
    start = {"mass": own.body.mass, **{name: list(map(float, each)) for name, each in vectors.items()}}
    found: dict[str, Any] = {"benchmark": "fmi"}
    with tempfile.TemporaryDirectory() as folder:
        for name, fmu in models(Path(folder)).items():
            settings: list[Any] = [] if fmu is None else [("body_fmu", {"path": str(fmu), "parameters": start})]
            values = job.find("freefloat", "capture", settings)[1]
            found[f"{name}_ns"] = round(ns_of_a_step(system, values, PYTHON_STEPS if "python" in name else STEPS), 1)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
