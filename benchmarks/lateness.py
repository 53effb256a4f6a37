"""Lateness of the loop in real time at three rates: docking's compiled tick, with the recorder and a busy reader.

Each rate runs in a clean process on one core, with the rights that the host permits. For comparison, on the same core and with
the same reader: cyclictest if installed, and an empty loop of hilt's clock. The aim: p99 within twice that of cyclictest plus
30 µs. A shared or virtual machine adds its own stalls to all three; maxima mean little there.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hilt import job, loop
from hilt.core.clock import PeriodicClock
from hilt.core.rig import SimulatedRig
from hilt.host import realtime
from hilt.lab import doctor
from hilt.live import cores
from hilt.live.recorder import RECORDING, WRITTEN, RecorderProcess, RunRecorder
from hilt.live.ring import RingWriter
from hilt.record import recording

RATES = (250, 1000, 4000)  # [Hz]
SECONDS = 10.0
RING_SECONDS = 4
AIM = {"p99_us": "2 × cyclictest + 30"}
CHILD, READER = "--child", "--reader"


def read_for_ever(ring_name: str) -> None:
    """Read all the time."""
    from hilt.live.ring import RingReader

    ring = RingReader(ring_name)
    print("ready", flush=True)
    while True:
        ring.read(256)


def run(rate: float, seconds: float, folder: Path) -> dict[str, Any]:
    """Measure one rate, in this process."""
    settings = [f"loop.period={1 / rate:.9g} s", f"loop.duration={seconds} s", "collisions=1000"]
    system, scenario, _ = job.find("docking", "table1", settings)
    bench = system.set_up(scenario)
    for warm in (bench.code.plant, bench.w), (bench.code.tick, bench.x):
        warm[0](bench.row.copy(), warm[1].copy(), bench.p)
    core = next(iter(cores.usable()), None)
    name = f"lateness-{rate:g}"
    ring = RingWriter(name, system.row, round(RING_SECONDS * rate))
    process = RecorderProcess(away_from=core)
    recorder = RunRecorder(name, folder / f"{name}.mcap", recording.origin_of(system, scenario), process)
    recorder.wait_for(RECORDING, 60.0)
    reader = subprocess.Popen([sys.executable, __file__, READER, name], stdout=subprocess.PIPE, text=True)
    assert reader.stdout is not None
    reader.stdout.readline()
    clock, rights = PeriodicClock(), realtime.take_rights(core)
    try:
        fault = loop.run(bench, SimulatedRig(system, bench), clock, ring)
        rights.release()
        ring.end()
        recorder.wait_for(WRITTEN, 60.0)
        trouble = recorder.finish()
        bare = doctor.measure_apart(rate, seconds, core)
        beside = doctor.cyclictest(rate, seconds, core)
    finally:
        reader.kill()
        reader.communicate()
        recorder.close()
        process.close()
        ring.close()
    rows = recording.load(recorder.path).rows
    found = {
        "lateness_us": realtime.percentiles(rows["lateness"][doctor.WARM_UP :] * 1e6),
        "bare_us": bare["lateness_us"],
        "cyclictest_us": beside and beside["lateness_us"],
        "ticks": ring.count,
        "overruns": clock.overruns,
        "oversleeps": clock.oversleeps,
        "missed": clock.missed,
        "rows_lost": recorder.status.rows_lost,
        "recorder": trouble or "kept up",
        "fault": fault and fault.sentence,
        "rights": rights.as_json(),
    }
    if beside:
        found["within_aim"] = found["lateness_us"]["p99"] <= 2.0 * beside["lateness_us"]["p99"] + 30.0
    return found


def main(seconds: float) -> int:
    rates = {}
    with tempfile.TemporaryDirectory() as folder:
        for rate in RATES:
            command = [sys.executable, __file__, CHILD, str(rate), str(seconds), folder]
            rates[f"hz_{rate}"] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    print(json.dumps({"benchmark": "lateness", "seconds": seconds, **rates, "aims": AIM}))
    return int(any(case["fault"] or case["rows_lost"] for case in rates.values()))


if __name__ == "__main__":
    if sys.argv[1:2] == [CHILD]:
        print(json.dumps(run(float(sys.argv[2]), float(sys.argv[3]), Path(sys.argv[4]))))
    elif sys.argv[1:2] == [READER]:
        read_for_ever(sys.argv[2])
    else:
        sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS))
