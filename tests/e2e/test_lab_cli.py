"""The lab from the command line: an emulated facility in one process, a run on it in another; and what is refused."""

import json
import signal
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hilt import job
from hilt.device import rigfile
from hilt.device.netft.codec import Calibration
from hilt.device.netft.emulator import NetFTBox
from tests.e2e.command import hilt

pytestmark = pytest.mark.alone

RIG = (Path(__file__).parents[2] / "rigs" / "dry-lab.toml").read_text()


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def rig_file(folder, *changes):
    """The dry lab on free ports, with a short distance to travel."""
    text = RIG
    for old, new in (*changes, ('"125 mm"', '"15 mm"')):
        assert old in text
        text = text.replace(old, new)
    patient = (
        ("patience = 25", "patience = 250"),
        ('stale = "100 ms"', 'stale = "1 s"'),
        ('lateness = "100 ms"', 'lateness = "2 s"\nmissed = 1000'),
    )
    for old, new in patient:  # must also work on a busy machine without privileges
        text = text.replace(old, new)
    text = text.replace("[facility]", "[facility]\nlate_limit = 250")
    text = text.replace("59152", str(free_port())).replace("49152", str(free_port()))
    path = folder / "rig.toml"
    path.write_text(text)
    return path


def agrees(seen, predicted):
    """Whether the lab did what was predicted; the peak is predicted as a mean over the phase of the touch in the tick."""
    speeds = all(each["cov"] == pytest.approx(seen["cov"], abs=0.03) for each in predicted)
    return speeds and np.mean([each["mean_cof"] for each in predicted]) == pytest.approx(seen["mean_cof"], abs=0.03)


def test_emulate_in_one_shell_and_run_in_another(tmp_path):
    """pida keeps the speed, the guard stops no run; with the identified robot, the simulation predicts what the lab does."""
    rig = rig_file(tmp_path)
    emulate = subprocess.Popen([sys.executable, "-m", "hilt.cli.main", "emulate", str(rig)], stdout=subprocess.PIPE, text=True)
    try:
        assert "the robot sends to port" in emulate.stdout.readline()
        done = hilt(tmp_path, "run", "docking", "--rig", str(rig), "--set", "collisions=3", "--json")
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        assert all(abs(cov - 1) <= 0.05 for cov in found["metrics"]["cov"])
        timing = found["timing"]
        assert timing["rows_lost"] == 0
        assert timing["rate_hz"] == 250
        assert set(timing) >= {"lateness_us", "tick_us", "overruns", "rights"}
        assert found["faults"] == []
        again = json.loads(hilt(tmp_path, "show", found["recording"], "--json").stdout)
        assert (again["timing"], again["faults"], again["who"]) == (found["timing"], found["faults"], found["who"])
        shown = hilt(tmp_path, "replay", found["recording"])
        assert shown.returncode == 0, shown.stdout

        none = hilt(tmp_path, "run", "docking", "--rig", str(rig), "--set", "compensate.method=none", "--json")
        assert none.returncode == 3
        assert json.loads(none.stdout)["fault"]["name"] in ("speed", "energy")

        fit = hilt(tmp_path, "identify", "robot", str(rig), "--out", "identified.toml", "--json")
        assert fit.returncode == 0, fit.stderr
        robot = json.loads(fit.stdout)
        assert robot["pure_delay"] == pytest.approx(0.012, abs=1e-3), "a cycle and the dead time"
        assert robot["natural_frequency"] == pytest.approx(150, rel=0.05)
        same = rigfile.load(tmp_path / "identified.toml")
        # A peak depends on where in the tick of 4 ms (80 µm) the touch falls: the prediction is the mean over that.
        touches = [f"frames.gap={0.125 + share * 80e-6}" for share in np.linspace(0, 1, 16, endpoint=False)]
        predicted = [
            job.simulate(*job.find("docking", "table1", [*same.settings("docking"), "collisions=3", touch])).metrics
            for touch in touches
        ]
        # A cycle that the host takes from robot or loop in a contact changes its metrics: one run of three must agree.
        seen = [found["metrics"]]
        while len(seen) < 3 and not agrees(seen[-1], predicted):
            done = hilt(tmp_path, "run", "docking", "--rig", str(rig), "--set", "collisions=3", "--json")
            assert done.returncode == 0, done.stderr
            seen.append(json.loads(done.stdout)["metrics"])
        assert agrees(seen[-1], predicted), seen

        status = hilt(tmp_path, "emulate", str(rig), "--fault", "status")
        assert json.loads(status.stdout)["robot"]["violation_count"] == 0, status.stdout
    finally:
        emulate.send_signal(signal.SIGTERM)
        emulate.communicate(timeout=30)
    assert emulate.returncode == 0


REFUSED = {
    "no sensor answers": ([], "cannot be reached"),
    "two devices on one port": ([("port = 49152", "port = 59152")], "two devices need two ports"),
    "unknown driver": ([('driver = "rsi"', 'driver = "ros"')], "known are fci, rsi, rtde"),
    "mismatched cycle": ([('cycle = "4 ms"', 'cycle = "12 ms"')], "set loop.period = '12 ms'"),
    "a cycle that RSI has not": (
        [('cycle = "4 ms"', 'cycle = "5 ms"')],
        "every 4 ms or 12 ms",
    ),
    "a driver's key is missing": ([("counts_per_force = 10000\n", "")], "sensor.counts_per_force is missing"),
    "nobody to ask": ([('arm = "run"', 'arm = "ask"')], "there is no terminal to ask at"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_before_arming(tmp_path, name):
    changes, words = REFUSED[name]
    rig = rig_file(tmp_path, ("stale =", 'time_limit = "0.5 s"\nstale ='), *changes)
    done = hilt(tmp_path, "run", "docking", "--rig", str(rig))
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == [rig], "nothing was written"


def test_a_port_that_is_taken(tmp_path):
    rig = rig_file(tmp_path)
    file = rigfile.load(rig)
    box = NetFTBox(lambda: ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0)), Calibration(1e4, 1e6), port=file.sensor["port"])
    with box, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.1", file.robot["port"]))
        done = hilt(tmp_path, "run", "docking", "--rig", str(rig))
    assert done.returncode == 2
    assert "end the other program" in done.stderr


def test_a_payload_is_not_moved_by_one_robot(tmp_path):
    """Its table and its arm are two robots: a rig with one is refused, and the sentence names a rig with both."""
    rig = rig_file(tmp_path)
    done = hilt(tmp_path, "run", "payload", "--rig", str(rig))
    assert done.returncode == 2
    assert "rigs/dry-lab-payload.toml" in done.stderr
