"""What reading and writing a tick of the dry lab costs in Python, compared with another version of hilt.

python benchmarks/lab_tick.py                        this version
python benchmarks/lab_tick.py --against OTHER/src    and another one, in alternating pairs

The drivers, guard and sockets are the shipped ones. Robot and sensor answer at once and in the same process, so nothing waits:
what is left is the work of `read` and `write`. For each pair both versions run in new processes on the same core, by turns of
some hundred ticks; the difference of a pair is that of their median ticks. A version may cost 1 µs more than another at most.
"""

import argparse
import json
import math
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

PAIRS, TURNS, TICKS = 10, 20, 500
CHILD = "--child"
AIM = {"more_us": 1.0}


class Devices:
    """A robot that is at once where it is sent, and a sensor that feels nothing; both in this process."""

    def __init__(self, robot: tuple[str, int], sensor: int) -> None:
        import numpy as np

        from hilt.device import frames
        from hilt.device.netft import codec as netft
        from hilt.device.rsi import codec as rsi

        self._frames, self._rsi, self._netft = frames, rsi, netft
        self._robot, self._sensor = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
        self._robot.connect(robot)
        self._sensor.bind(("127.0.0.1", sensor))
        for each in (self._robot, self._sensor):
            each.setblocking(False)
        self._rob, self._answer = np.zeros(1, rsi.ROB)[0], np.zeros(1, rsi.SEN)[0]
        self._rob["X_act"]["p"], self._rob["X_act"]["q"], self._rob["ipoc"] = (
            (1.0, 0.0, 1.0),
            (1.0, 0.0, 0.0, 0.0),
            4_123_000_000,
        )
        self._record, self._client = netft.Record(), None

    def send(self) -> None:
        """Send four records of the sensor, and the robot's packet."""
        with suppress(OSError):
            self._client = self._sensor.recvfrom(64)[1]
        for _ in range(4 if self._client else 0):
            self._record.rdt_sequence += 1
            self._record.ft_sequence += 1
            self._sensor.sendto(self._netft.encode(self._record), self._client)
        self._rob["ipoc"] += 4
        with suppress(OSError):  # nobody listens yet
            self._robot.send(self._rsi.encode_rob(self._rob))

    def hear(self) -> None:
        """Take the answer."""
        try:
            data = self._robot.recv(2048)
        except OSError:
            self._rob["delay"] += 1
            return
        assert self._rsi.decode_sen(data, self._answer) == self._rsi.OK
        self._frames.apply(self._rob["X_act"].copy(), self._answer["correction"], self._rob["X_act"])

    def run_until(self, end: threading.Event) -> None:
        while not end.is_set():
            self.send()
            time.sleep(0.004)
            self.hear()


def _free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def child() -> None:
    """Measure a turn for each line of the input: read, write and both [ns], the medians."""
    from hilt import job
    from hilt.device import rigfile
    from hilt.device.live_rig import LabRig

    robot, sensor = _free_port(), _free_port()
    text = (rigfile.SHIPPED / "dry-lab.toml").read_text().replace("59152", str(robot)).replace("49152", str(sensor))
    text = text.replace('stale = "100 ms"', 'stale = "60 s"').replace(
        'lateness = "100 ms"', 'lateness = "60 s"\nmissed = 1000000'
    )  # between turns
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lab.toml"
        path.write_text(text)
        file = rigfile.load(path)
    system, scenario, _ = job.find("docking", "table1", [*file.settings("docking"), "loop.duration=60 s"])
    bench = system.set_up(scenario)
    devices, end = Devices(("127.0.0.1", robot), sensor), threading.Event()
    thread = threading.Thread(target=devices.run_until, args=(end,))
    rig = LabRig(file)
    thread.start()
    rig.open()
    rig.arm(bench)
    end.set()
    thread.join()
    row, begin, number, now = bench.row, bench.row["X_WB_cmd"]["p"][0][0], 0, time.perf_counter_ns
    for line in sys.stdin:
        times = []
        for _ in range(int(line)):
            devices.send()
            number += 1
            before = now()
            code = rig.read(row)
            read = now()
            row["X_WB_cmd"]["p"][0][0] = begin - 0.005 * (1.0 - math.cos(0.004 * number))
            between = now()
            code = code or rig.write(row)
            after = now()
            if code or row["fault"][0]:
                raise SystemExit(f"fault {code or row['fault'][0]} in tick {number}")
            times.append((read - before, after - between, read - before + after - between))
            devices.hear()
        print(json.dumps([statistics.median(column) for column in zip(*times, strict=True)]), flush=True)
    rig.stop()
    rig.close()


def start(sources: Path) -> Any:
    environment = {**os.environ, "PYTHONPATH": str(sources), "PYTHONHASHSEED": "0"}
    return subprocess.Popen(
        [sys.executable, __file__, CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    )


def turn(process: Any, ticks: int) -> list[float]:
    process.stdin.write(f"{ticks}\n")
    process.stdin.flush()
    found: list[float] = json.loads(process.stdout.readline())
    return found


def pair(versions: list[Path], turns: int, ticks: int) -> list[list[float]]:
    """Return the median read, write and tick of each version [µs]."""
    running = [start(each) for each in versions]
    for process in running:
        turn(process, ticks)  # warm
    times = [[turn(process, ticks) for process in running] for _ in range(turns)]
    for process in running:
        process.stdin.close()
        process.wait()
    return [[1e-3 * statistics.median(column) for column in zip(*mine, strict=True)] for mine in zip(*times, strict=True)]


def main() -> None:
    asks = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asks.add_argument("--against", type=Path, help="src of another version")
    asks.add_argument("--pairs", type=int, default=PAIRS)
    given = asks.parse_args()
    versions = [Path(__file__).parents[1] / "src", *([given.against.resolve()] if given.against else [])]
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # inherited: both versions take turns on one core
    # Each pair begins with the other version: the first one must not have the better machine.
    pairs = [pair(versions[:: (-1) ** k], TURNS, TICKS)[:: (-1) ** k] for k in range(given.pairs)]
    names = ("read_us", "write_us", "tick_us")
    found: dict[str, Any] = {"benchmark": "lab_tick", "pairs": given.pairs, "turns": TURNS, "ticks": TICKS}
    found |= {name: round(statistics.median(each[0][k] for each in pairs), 2) for k, name in enumerate(names)}
    if given.against:
        found["against"] = {name: round(statistics.median(each[1][k] for each in pairs), 2) for k, name in enumerate(names)}
        more = [mine[2] - other[2] for mine, other in pairs]
        found["more_us"] = {
            "mean": round(statistics.mean(more), 2),
            "error": round(statistics.stdev(more) / math.sqrt(len(more)), 2) if len(more) > 1 else None,
            "pairs": [round(each, 2) for each in more],
        }
    print(json.dumps({**found, "aims": AIM}))


if __name__ == "__main__":
    if sys.argv[1:] == [CHILD]:
        child()
    else:
        main()
