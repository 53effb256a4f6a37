"""Time from the start of the process to the first tick of `hilt run freefloat --scenario paper`.

Cold: the compiler's cache is empty. Warm: the slower one of the second and the third start with the same cache.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CHILD = "first-tick"


def print_first_tick(folder: Path) -> None:
    """In a process of its own: what the command does, and when its first tick was over."""
    from hilt import job

    moments: list[float] = []
    system, scenario, name = job.find("freefloat", "paper", [])
    job.run(system, scenario, name, folder, watch=lambda k: moments.append(time.monotonic()))
    print(moments[0])


def seconds_to_first_tick(cache: Path, runs: Path) -> float:
    environment = {key: value for key, value in os.environ.items() if key != "NUMBA_CACHE_DIR"}
    environment["XDG_CACHE_HOME"] = str(cache)
    # The monotonic clock of both processes is that of the machine.
    start = time.monotonic()
    answer = subprocess.run(
        [sys.executable, __file__, CHILD, runs], env=environment, check=True, stdout=subprocess.PIPE, text=True
    )
    return float(answer.stdout) - start


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        cache, runs = Path(folder, "cache"), Path(folder, "runs")
        cold, *warm = (seconds_to_first_tick(cache, runs) for _ in range(3))
        modules = [path.name.rpartition("-")[0] for path in cache.glob("hilt/numba-*/*")]  # each named after its sources
        if len(modules) > len(set(modules)):
            raise SystemExit("hilt bench: the sources changed between two starts, so none was warm; run it again")
    print(json.dumps({"benchmark": "start_time", "cold_s": round(cold, 2), "warm_s": round(max(warm), 2)}))


if __name__ == "__main__":
    if sys.argv[1:2] == [CHILD]:
        print_first_tick(Path(sys.argv[2]))
    else:
        main()
