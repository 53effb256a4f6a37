"""Lateness of a loop on the dry lab with a Foxglove viewer: none, one that reads, one that is stopped by SIGSTOP.

The three cases alternate, so that a busy host disturbs all alike; the lateness of a case is over all its rounds. The
aim: p99 with the stopped viewer at most 1.2 times that without one. The emulated robot and sensor have the priority of
hardware, and the loop its rights, as far as the host permits.

    .venv/bin/python benchmarks/streams.py [SECONDS_PER_ROUND] [ROUNDS]
"""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from hilt import job
from hilt.device import rigfile
from hilt.device.rigfile import RigFile
from hilt.host import realtime
from hilt.lab.dry.facility import running_facility
from hilt.live.session import Session
from hilt.stream.places import LOOPBACK, Place
from hilt.stream.streams import Wanted, streaming

SECONDS, ROUNDS = 6.0, 3  # the contact comes after 6.25 s, so this measures the loop and not the controller
WARM_UP = 50  # rows
AIM = 1.2
CASES = ("none", "reading", "stopped")
VIEWER = "--viewer"


def view(address: str) -> None:
    """Subscribe to everything and read it."""
    from websockets.sync.client import connect

    with connect(address, subprotocols=["foxglove.sdk.v1"], max_size=None, compression=None) as client:
        client.recv()
        channels = json.loads(client.recv())["channels"]
        wanted = [{"id": each["id"], "channelId": each["id"]} for each in channels]
        client.send(json.dumps({"op": "subscribe", "subscriptions": wanted}))
        print("subscribed", flush=True)
        for _ in client:
            pass


def _place() -> Place:
    with socket.socket() as found:
        found.bind((LOOPBACK, 0))
        return Place("foxglove", LOOPBACK, found.getsockname()[1])


def _viewer(place: Place, case: str) -> subprocess.Popen[str]:
    command = [sys.executable, __file__, VIEWER, f"ws://{place.address}"]
    found = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert found.stdout is not None
    found.stdout.readline()
    if case == "stopped":
        os.kill(found.pid, signal.SIGSTOP)
    return found


def once(facility: Any, case: str, seconds: float, folder: Path) -> tuple[np.ndarray, dict[str, Any], list[str]]:
    """Return the lateness of each row [µs], the run's timing, and the messages of its stream."""
    rig, messages = facility.rig, list[str]()
    settings = ["collisions=10000", f"loop.duration='{seconds} s'"]
    facility.control.restart()
    place, viewer = _place(), None
    session = Session(*job.find("docking", "table1", [*rig.settings("docking"), *settings]), folder, rig)
    try:
        with streaming(session.box.name, Wanted(() if case == "none" else (place,)), messages.append):
            if case != "none":
                viewer = _viewer(place, case)
            session.open()
            facility.control.live(True)
            result = session.go()
            facility.control.live(False)
            session.close()
    finally:
        session.close()
        if viewer is not None:
            viewer.kill()
            viewer.communicate()
    assert result.timing is not None
    return 1e6 * result.rows["lateness"][WARM_UP:], {**result.timing, "fault": result.fault and result.fault.sentence}, messages


def _patient(rig: RigFile) -> RigFile:
    """Return a rig whose runs do not end because of lateness, even on a busy host."""
    assert rig.facility is not None
    return rig.model_copy(
        update={
            "lab": rig.lab.model_copy(update={"lateness": 2.0, "missed": 100_000}),
            "robot": {**rig.robot, "patience": 500},
            "sensor": {**rig.sensor, "stale": "2 s"},
            "facility": rig.facility.model_copy(update={"late_limit": 500}),
        }
    )


def main(seconds: float, rounds: int) -> int:
    rig = _patient(rigfile.load(rigfile.find("dry-lab")))
    late: dict[str, list[np.ndarray]] = {case: [] for case in CASES}
    lost, faults, accounts, rights = dict.fromkeys(CASES, 0), list[str](), list[str](), None
    with tempfile.TemporaryDirectory() as folder, running_facility(rig, []) as facility:
        for pid in facility.pids.values():
            for thread in Path(f"/proc/{pid}/task").iterdir():
                with suppress(OSError):
                    os.sched_setscheduler(int(thread.name), os.SCHED_FIFO, os.sched_param(60))
        for _ in range(rounds):
            for case in CASES:
                rows, timing, messages = once(facility, case, seconds, Path(folder))
                late[case].append(rows)
                lost[case] += timing["rows_lost"]
                rights = timing["rights"]
                faults += [f"{case}: {timing['fault']}"] if timing["fault"] else []
                accounts += messages[-1:]
    cases = {
        case: {
            **realtime.percentiles(np.concatenate(found)),
            "p99_of_rounds": [round(float(np.percentile(each, 99)), 1) for each in found],
            "rows_lost": lost[case],
        }
        for case, found in late.items()
    }
    ratio = cases["stopped"]["p99"] / cases["none"]["p99"]
    totals = {
        "p99_stopped_to_none": round(ratio, 3),
        "aim": AIM,
        "within_aim": ratio <= AIM,
        "faults": faults,
        "accounts": accounts,
    }
    print(
        json.dumps(
            {"benchmark": "streams", "seconds": seconds, "rounds": rounds, "lateness_us": cases, **totals, "rights": rights}
        )
    )
    return int(bool(faults) or any(lost.values()))


if __name__ == "__main__":
    if sys.argv[1:2] == [VIEWER]:
        view(sys.argv[2])
    else:
        given = sys.argv[1:]
        sys.exit(main(float(given[0]) if given else SECONDS, int(given[1]) if len(given) > 1 else ROUNDS))
