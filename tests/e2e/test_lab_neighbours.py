"""Programs started beside a live loop: a simulation, a second run, a measurement. They do not disturb the loop."""

import os
import signal
import subprocess
import sys

import pytest

from hilt.core.faults import InputError
from hilt.host.claims import Claims
from hilt.lab.dry.facility import running_facility
from hilt.live import cores, mailbox, station
from hilt.live.mailbox import LIVE, Sender
from tests.e2e.walls import LONG, PERIOD, RIG, SHORT, hurry, patient_rig, until

# As in test_lab_processes: more than a busy host takes from a loop with priority, far less than a neighbour on its core takes.
MARGIN = 5 * PERIOD
LATE = 5
RUNS = ("collisions=1000", "loop.duration='300 s'")  # ended by a request
CALM = ("collisions=1000", "loop.duration='2 s'")

pytestmark = [pytest.mark.alone, pytest.mark.skipif(sys.platform != "linux", reason="cores and locks as Linux has them")]


@pytest.fixture(scope="module")
def facility():
    with running_facility(patient_rig(realtime=True, ring=120.0), list(SHORT)) as found:
        hurry(found)
        yield found


def rig_text(robot, sensor):
    return RIG.read_text().replace("59152", str(robot)).replace("49152", str(sensor))


def beside(folder, *words):
    """A command started beside the live loop."""
    return subprocess.Popen(
        [sys.executable, "-m", "hilt.cli.main", *words],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_live_loop_has_its_own_core(loop, facility, tmp_path):
    """A simulated station, two more runs and the doctor beside it: it is no later than alone, and they print their sentence."""
    loop.begin(tmp_path / "calm", CALM)
    loop.until_over()
    calm, rows = loop.result()
    assert calm["fault"] is None
    worst, late = rows["lateness"][1:].max(), loop.late
    (tmp_path / "same.toml").write_text(rig_text(facility.rig.robot["port"], facility.rig.sensor["port"]))
    (tmp_path / "other.toml").write_text(rig_text(1, 2))  # there is no operator: it must not get as far as asking

    loop.begin(tmp_path / "live", RUNS)
    ours = Sender(next(name for name in mailbox.sessions() if name.startswith(f"{loop.process.pid}-")))
    paced = beside(tmp_path, "run", "docking", "--clock", "periodic", "--set", "loop.duration=300 s")
    refused = {
        "no core is free": beside(tmp_path, "run", "docking", "--rig", "same.toml"),
        f"core {cores.usable()[0]}: session {ours.name}": beside(tmp_path, "run", "docking", "--rig", "other.toml"),
        "measuring would disturb it": beside(tmp_path, "doctor", "--seconds", "1"),
    }
    said = {}
    try:
        name = station.launch({"system": "docking", "settings": list(RUNS), "out": str(tmp_path / "simulated"), "go": True})
        simulated = Sender(name)
        until(lambda: loop.count and simulated.front.state == LIVE)
        assert os.sched_getscheduler(simulated.pid) & ~os.SCHED_RESET_ON_FORK not in (os.SCHED_FIFO, os.SCHED_RR)
        until(lambda: loop.count and all(each.poll() is not None for each in refused.values()))
        assert not loop.ring.ended, (loop.result()[0]["fault"], "all of it happened beside the live loop")
        assert ours.wait(ours.stop(), LONG).accepted
        loop.until_over()
        assert simulated.front.state == LIVE
        simulated.wait(simulated.stop(), LONG)
        until(lambda: simulated.front.state != LIVE)
        simulated.quit()
    finally:
        paced.kill()
        paced.communicate()
        for words, each in refused.items():
            each.kill()
            said[words] = each.communicate()[1]
    found, rows = loop.result()
    assert found["fault"]["name"] == "requested"
    assert found["timing"]["rows_lost"] == 0
    assert rows["lateness"][loop.at :].max() <= worst + MARGIN
    assert loop.late <= late + LATE
    for words, each in refused.items():
        assert each.returncode == 2, said[words]
        assert words in said[words] or ("core" in words and len(cores.usable()) > 1)  # it may have had another one
        assert said[words].count("\n") == 1


@pytest.mark.root
def test_a_strangers_real_time_process_keeps_its_core():
    stranger = subprocess.Popen(["/bin/sleep", "600"], user=12345, group=12345, cwd="/")
    try:
        core = cores.usable()[0]
        assert core not in cores.live()
        os.sched_setaffinity(stranger.pid, {core})
        assert core not in cores.live(), "without a priority it takes nothing from a loop"
        os.sched_setscheduler(stranger.pid, os.SCHED_FIFO, os.sched_param(10))
        assert cores.live()[core] == f"process {stranger.pid}"
        assert core not in cores.others()
        ours = Claims()
        try:
            assert cores.take(ours) != core
        except InputError as refused:
            assert f"no core is free for another loop on devices (core {core}: process {stranger.pid}" in str(refused)
        finally:
            ours.close()
    finally:
        stranger.send_signal(signal.SIGKILL)
        stranger.communicate()
    assert core not in cores.live()
