"""The lab from the command line, in virtual time: an emulated facility, runs on it, and what is refused before arming.

In wall time: test_lab_wall.py.
"""

import json
import signal
import socket

import numpy as np
import pytest

import hilt
from hilt import job
from hilt.core import clock
from hilt.core.faults import InputError
from hilt.device import rigfile
from hilt.host import machine as host
from tests.e2e.command import here
from tests.e2e.lab import until

pytestmark = pytest.mark.virtual

RIG = rigfile.find("dry-lab").read_text()
OWN = rigfile.SHIPPED.parents[3] / "examples" / "own_driver"


def rig_file(folder, *changes):
    """The dry lab's rig file, changed; its ports are free on the virtual machine."""
    text = RIG
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = folder / "rig.toml"
    path.write_text(text)
    return path


def agrees(seen, predicted):
    """Whether the lab did what was predicted; the peak is predicted as a mean over the phase of the touch in the tick."""
    speeds = all(each["cov"] == pytest.approx(seen["cov"], abs=0.03) for each in predicted)
    return speeds and np.mean([each["mean_cof"] for each in predicted]) == pytest.approx(seen["mean_cof"], abs=0.03)


def test_run_show_replay_and_identify(own_ports, tmp_path):
    """pida keeps the speed, the guard stops no run; with the identified robot, the simulation predicts what the lab does."""
    path = rig_file(tmp_path, ('"125 mm"', '"15 mm"'))
    control = own_ports(path).control
    rig = ("--rig", str(path), "--json", "--set")
    done = here(tmp_path, "run", "docking", *rig, "collisions=3")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["metrics"]["cov"] == pytest.approx([1.0] * 3, abs=0.05)
    timing = found["timing"]
    assert (timing["rows_lost"], timing["rate_hz"], found["faults"]) == (0, 250, [])
    assert set(timing) >= {"lateness_us", "tick_us", "overruns", "rights"}
    again = json.loads(here(tmp_path, "show", found["recording"], "--json").stdout)
    assert (again["timing"], again["faults"], again["who"]) == (found["timing"], found["faults"], found["who"])
    assert here(tmp_path, "replay", found["recording"]).returncode == 0

    until(lambda: control.status()["robot"]["state"] == "waiting")
    none = here(tmp_path, "run", "docking", *rig, "compensate.method=none")
    assert none.returncode == 3
    assert json.loads(none.stdout)["fault"]["name"] in ("speed", "energy")

    until(lambda: control.status()["robot"]["state"] == "waiting")
    fit = here(tmp_path, "identify", "robot", str(path), "--out", "identified.toml", "--json")
    assert fit.returncode == 0, fit.stderr
    robot = json.loads(fit.stdout)
    assert robot["pure_delay"] == pytest.approx(0.012, abs=1e-3), "a cycle and the dead time"
    assert robot["natural_frequency"] == pytest.approx(150, rel=0.05)
    # A peak depends on where in the tick of 4 ms (80 µm) the touch falls: the prediction is the mean over that.
    same = rigfile.load(tmp_path / "identified.toml").settings("docking")
    touches = [f"frames.gap={0.015 + share * 80e-6}" for share in np.linspace(0, 1, 16, endpoint=False)]
    predicted = [job.simulate(*job.find("docking", "table1", [*same, "collisions=3", each])).metrics for each in touches]
    assert agrees(found["metrics"], predicted)

    status = here(tmp_path, "emulate", str(path), "--fault", "status")
    assert json.loads(status.stdout)["robot"]["violations"] == []


REFUSED = {
    "no sensor answers": ([], "cannot be reached"),
    "two devices on one port": ([("port = 49152", "port = 59152")], "two devices need two ports"),
    "unknown driver": ([('driver = "rsi"', 'driver = "ros"')], "known are fci, rsi, rtde"),
    "mismatched cycle": ([('cycle = "4 ms"', 'cycle = "12 ms"')], "set loop.period = '12 ms'"),
    "a cycle that RSI has not": ([('cycle = "4 ms"', 'cycle = "5 ms"')], "every 4 ms or 12 ms"),
    "a driver's key is missing": ([("counts_per_force = 10000\n", "")], "sensor.counts_per_force is missing"),
}
ASK = ('arm = "run"', 'arm = "ask"')
COMMANDS = {
    "nobody to ask": (("run", "docking", "--rig"), [ASK], "there is no terminal to ask at"),
    "nobody to ask before identifying": (("identify", "robot"), [ASK], "there is no terminal to ask at"),
    "nobody to ask before calibrating": (("calibrate", "tool"), [ASK], "there is no terminal to ask at"),
    "one robot for a payload": (("run", "payload", "--rig"), [], "rigs/dry-lab-payload.toml"),
    "a wider limit": (
        ("run", "docking", "--set", "limits.speed=200 mm/s", "--rig"),
        [],
        "limits.speed is 0.2 m/s but the rig allows 0.1 m/s",
    ),
}


@pytest.mark.parametrize("name", [*REFUSED, *COMMANDS])
def test_what_is_refused_before_arming(tmp_path, name):
    command, changes, words = COMMANDS[name] if name in COMMANDS else (("run", "docking", "--rig"), *REFUSED[name])
    rig = rig_file(tmp_path, *changes)
    done = here(tmp_path, *command, str(rig))
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == [rig], "nothing was written"


def test_a_port_that_is_taken(own_ports, tmp_path):
    rig = rig_file(tmp_path)
    own_ports(rig)
    with host.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.1", 59152))
        done = here(tmp_path, "run", "docking", "--rig", str(rig))
    assert done.returncode == 2
    assert "end the other program" in done.stderr


def never_starts(machine):
    (recorder,) = until(lambda: machine.named("recorder"))
    machine.kill(recorder.pid, signal.SIGKILL)


def fills(machine):
    until(lambda: machine.named("recorder"))
    machine.disk.full = True


UNRECORDED = {
    "its recorder dies before it has started": (never_starts, r"not armed: the recorder's process has ended (exit code -9)"),
    "the disk is full from the first byte on": (fills, "cannot continue: No space left"),
}


@pytest.mark.parametrize("name", UNRECORDED)
def test_what_cannot_be_recorded_is_not_armed(lab, machine, tmp_path, name):
    do, words = UNRECORDED[name]
    run = lab("dry-lab")
    run.open()
    run.control.live(False)
    host.thread(lambda: do(machine), "strikes")
    with pytest.raises(InputError) as error:
        run.session.go()
    assert words in str(error.value)
    clock.pause(0.1)
    assert (run.judged()["set_points"], run.judged()["violations"]) == (0, [])
    assert not (tmp_path / "runs").exists(), "no file and no folder"
    run.close()
    assert [each for each in machine.segments.left() if each.startswith(f"{host.pid()}-")] == []


def test_a_users_own_driver_beside_its_rig_file_has_the_effect_of_its_delay(tmp_path, monkeypatch):
    """It is found from any folder. Uncompensated, its cycle of delay gives the rebound that the simulation of such a robot
    gives."""
    monkeypatch.chdir(tmp_path)
    run = hilt.run("docking", None, {"compensate.method": "none", "collisions": 1}, rig=str(OWN / "rig.toml"))
    assert run.recording.parent.name == "runs"
    assert len(run["F_mea_W"]) > 100
    same = [*rigfile.load(OWN / "rig.toml", drivers=False).settings("docking"), "compensate.method=none", "collisions=1"]
    (simulated,) = job.simulate(*job.find("docking", None, same)).metrics["cov"]
    assert simulated == pytest.approx(1.172, abs=0.001)
    assert run.metrics["cov"][0] == pytest.approx(simulated, rel=0.002)
    assert len((OWN / "my_robot.py").read_text().splitlines()) <= 60
