"""Memory of long runs: the peak over runs of growing length, its slope in bytes a row, and what ten hours would take.

    python benchmarks/memory.py freefloat 600 1200 2400        seconds of simulated time at 1 kHz

Each run is simulated in the loop and recorded, its figures are computed, and its report is written; a run of its own for each
length, since a process gives memory back as it likes.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SYSTEMS = ("freefloat", "docking", "payload", "aerial")
# Runs that do not end by themselves, by a contact or at a wall of the workspace.
ENDLESS = {
    "freefloat": ("tumble",),
    "docking": ("table1", "collisions=10000"),
    "payload": (None,),
    "aerial": ("push",),
}
TEN_HOURS = 36_000_000  # rows at 1 kHz


def highest() -> int:
    """Most bytes that this process has had in memory. getrusage would count those of the process that started it, too."""
    return 1024 * int(re.findall(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[0])


def peak(system: str, seconds: float, kept_bytes: int | None = None) -> tuple[int, int]:
    """Bytes at the peak of a run in this process, and its rows."""
    from hilt import job
    from hilt.metrics import survey
    from hilt.report import page

    if kept_bytes is not None:  # what a long run keeps is full sooner
        job.KEPT_BYTES, survey.ROWS_BYTES, survey.STRETCHES = kept_bytes, kept_bytes, 64
    scenario, *changes = ENDLESS[system]
    changes += [f"loop.duration={seconds} s", "loop.period=1 ms"]
    with tempfile.TemporaryDirectory() as folder:
        result = job.run(*job.find(system, scenario, changes), Path(folder))
        page.write(result)
        rows = round(float(result.rows["tick"][-1])) + 1
        if rows < seconds / 1e-3:
            raise SystemExit(f"hilt bench: {system} ended after {rows} rows, so its memory says nothing of longer runs")
    return highest(), rows


def measure(system: str, lengths: list[float], kept_bytes: int | None = None) -> dict:
    """Peaks of processes of their own, and the slope from the shortest to the longest."""
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
