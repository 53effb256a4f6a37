"""Time and memory of a sweep against its size: time must grow linearly, memory not at all.

    python benchmarks/sweep_growth.py [SIZES …]        scenarios; 100 1000 10000 100000 if not given

Each size runs in its own process: `hilt sweep freefloat`, a grid of stiffnesses and distances of the walls, written as Parquet.
The slope is that of log time over log scenarios, minus the time of a sweep of one scenario (start, compiled code, report).
"""

import json
import math
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SIZES = (100, 1000, 10_000, 100_000)
HILT = Path(sys.executable).with_name("hilt")


def sweep(scenarios: int) -> float:
    """Return the seconds of the whole command."""
    side = math.isqrt(scenarios)
    over = [f"wall.stiffness=5..50 kN/m:{scenarios // side} log", f"body.mass=20..200 kg:{side}"]
    with tempfile.TemporaryDirectory() as folder:
        command = [HILT, "sweep", "freefloat", "--scenario", "wall", "--json", "--out", f"{folder}/table"]
        start = time.perf_counter()
        process = subprocess.Popen([*command, *(word for each in over for word in ("--over", each))], stdout=subprocess.PIPE)
        output, _ = process.communicate()
        seconds = time.perf_counter() - start
    if process.returncode != 0 or json.loads(output)["scenarios"] != scenarios // side * side:
        raise SystemExit(f"hilt bench: a sweep of {scenarios} scenarios failed")
    return seconds


def main() -> None:
    sizes = [int(each) for each in sys.argv[1:]] or SIZES
    sweep(1)  # compiles
    start = min(sweep(1) for _ in range(3))
    found = []
    for size in sizes:
        seconds = sweep(size)
        # Children end one after the other, the largest last, so the maximum so far is that of this one.
        memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        found.append({"scenarios": size, "seconds": round(seconds, 2), "memory_MB": round(memory)})
        print(json.dumps(found[-1]), flush=True)
    last, before = found[-1], found[-2]
    ratio = (float(last["seconds"]) - start) / (float(before["seconds"]) - start)
    slope = math.log(ratio) / math.log(last["scenarios"] / before["scenarios"])
    print(json.dumps({"benchmark": "sweep_growth", "start_s": round(start, 2), "slope": round(slope, 3), "sizes": found}))


if __name__ == "__main__":
    main()
