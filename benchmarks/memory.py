"""Memory of long runs: the peak over runs of growing length, its slope in bytes per row, and an estimate for ten hours.

    python benchmarks/memory.py freefloat 600 1200 2400        seconds of simulated time at 1 kHz

Each run is simulated and recorded, its metrics are computed, and its report is written. Each length has its own process, since
a process need not return freed memory.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SYSTEMS = ("freefloat", "docking", "payload", "aerial")
# Runs that do not end early, by a contact or at the edge of the workspace.
ENDLESS = {
    "freefloat": ("tumble",),
    "docking": ("table1", "collisions=10000"),
    "payload": (None,),
    "aerial": ("push",),
}
TEN_HOURS = 36_000_000  # rows at 1 kHz


def highest() -> int:
    """Return the peak memory of this process in bytes. getrusage would include that of its parent."""
    return 1024 * int(re.findall(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[0])


def peak(system: str, seconds: float, kept_bytes: int | None = None) -> tuple[int, int]:
    """Return the peak memory of a run in this process in bytes, and its rows."""
    from hilt import job
    from hilt.metrics import survey
    from hilt.report import page

    if kept_bytes is not None:  # reach the limit of a long run's kept rows sooner
        job.KEPT_BYTES, survey.ROWS_BYTES, survey.STRETCHES = kept_bytes, kept_bytes, 64
    scenario, *changes = ENDLESS[system]
    changes += [f"loop.duration={seconds} s", "loop.period=1 ms"]
    with tempfile.TemporaryDirectory() as folder:
        result = job.run(*job.find(system, scenario, changes), Path(folder))
        page.write(result)
        rows = round(float(result.rows["tick"][-1])) + 1
        if rows < seconds / 1e-3:
            raise SystemExit(f"hilt bench: {system} ended after {rows} rows, so its memory says nothing about longer runs")
    return highest(), rows


def measure(system: str, lengths: list[float], kept_bytes: int | None = None) -> dict:
    """Return the peaks, each in its own process, and the slope from the shortest to the longest run."""
    found = []
    for seconds in lengths:
        command = [sys.executable, __file__, "--one", system, str(seconds), str(kept_bytes or "")]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found.append(json.loads(done.stdout))
    (first, few), (last, many) = found[0], found[-1]
    slope = (last - first) / max(many - few, 1)
    return {
        "system": system,
        "seconds": lengths,
        "rows": [rows for _, rows in found],
        "peak_MB": [round(peak / 1e6, 1) for peak, _ in found],
        "bytes_a_row": round(slope, 2),
        "ten_hours_MB": round((last + slope * (TEN_HOURS - many)) / 1e6, 1),
    }


if __name__ == "__main__":
    if sys.argv[1] == "--one":
        print(json.dumps(peak(sys.argv[2], float(sys.argv[3]), int(sys.argv[4]) if sys.argv[4] else None)))
    else:
        print(json.dumps(measure(sys.argv[1], [float(each) for each in sys.argv[2:]]), indent=1))
