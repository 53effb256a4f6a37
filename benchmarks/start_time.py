"""Time from the start of the process to the first tick of `hilt run`, for each system, or for the named ones.

Cold: the compiler's cache is empty. Warm: the slower of the second and third start with the same cache.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CHILD = "first-tick"
SHORT = ["loop.duration=50 ms"]  # only the first tick matters
CASES = {
    "freefloat": ("freefloat", "paper"),
    "docking-pida": ("docking", "table1", "compensate.method=pida"),
    "docking-twin": ("docking", "twin"),
    "payload": ("payload", "hils-2"),
    "aerial": ("aerial", "handover"),
}
AIMS = {"freefloat": 8.0, "docking-pida": 12.0, "docking-twin": 20.0, "payload": 25.0, "aerial": 25.0, "warm": 1.5}  # s


def print_first_tick(folder: Path, system: str, scenario: str, *settings: str) -> None:
    """Run the command and print when its first tick was over; called in a separate process."""
    from hilt import job

    moments: list[float] = []
    found = job.find(system, scenario, [*settings, *SHORT])
    job.run(*found, folder, watch=lambda k: moments.append(time.monotonic()))
    print(moments[0])


def seconds_to_first_tick(cache: Path, runs: Path, case: tuple[str, ...]) -> float:
    environment = {key: value for key, value in os.environ.items() if key != "NUMBA_CACHE_DIR"}
    environment["XDG_CACHE_HOME"] = str(cache)
    # Both processes share the machine's monotonic clock.
    start = time.monotonic()
    command = [sys.executable, __file__, CHILD, str(runs), *case]
    answer = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return float(answer.stdout.splitlines()[-1]) - start


def measure(case: tuple[str, ...]) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        cache, runs = Path(folder, "cache"), Path(folder, "runs")
        cold, *warm = (seconds_to_first_tick(cache, runs, case) for _ in range(3))
        modules = [path.name.rpartition("-")[0] for path in cache.glob("hilt/numba-*/*")]  # each named after its sources
        if len(modules) > len(set(modules)):
            raise SystemExit("hilt bench: the sources changed between two starts, so none was warm; run this again")
    return {"cold_s": round(cold, 2), "warm_s": round(max(warm), 2)}


def main(names: list[str]) -> None:
    for name in names or CASES:
        load = os.getloadavg()[0]
        print(
            json.dumps({"benchmark": "start_time", "case": name, **measure(CASES[name]), "aims": AIMS, "load": load}),
            flush=True,
        )


if __name__ == "__main__":
    if sys.argv[1:2] == [CHILD]:
        print_first_tick(Path(sys.argv[2]), *sys.argv[3:])
    else:
        main(sys.argv[1:])
