"""Claims and cores: one owner at a time, freed however it ends, and a run without devices stays off the cores of live loops."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from hilt import job
from hilt.core import clock
from hilt.core.faults import InputError
from hilt.device import rigfile
from hilt.host import claims, runtime
from hilt.host.claims import Claims
from hilt.lab import doctor
from hilt.live import cores
from hilt.live.session import Session

pytestmark = pytest.mark.wall

HOLD = """
import time
from hilt.host import claims
ours = claims.Claims()
print(ours.take("core 7"), flush=True)
time.sleep(600)
"""


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    """So that other sessions are not disturbed; child processes find the folder from their environment."""
    folder = Path(tempfile.mkdtemp(prefix="test-", dir="/dev/shm"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    yield folder / runtime.NAME
    shutil.rmtree(folder)


def test_one_owner_at_a_time_and_asking_claims_nothing():
    one, two = Claims(), Claims()
    assert claims.taken(["core 1"]) == []
    assert one.take("core 1")
    assert claims.taken(["core 0", "core 1"]) == ["core 1"]
    assert not two.take("core 1")
    assert two.take("core 0"), "each name is a separate claim"
    one.close()
    one.close()
    assert claims.taken(["core 1"]) == []
    assert two.take("core 1")
    two.close()


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_the_claims_of_an_ended_process_are_free(own_folder, end):
    child = subprocess.Popen([sys.executable, "-c", HOLD], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline() == "True\n"
        assert claims.taken(["core 7"]) == ["core 7"]
    finally:
        child.send_signal(end)
        child.communicate()
    assert claims.taken(["core 7"]) == []
    assert list(own_folder.iterdir()) == [], "and nothing is left"


def test_cores_are_given_once_and_one_is_left():
    mine, taken = [Claims() for _ in cores.usable()], []
    for each in mine:
        taken.append(cores.take(each))
    assert len(set(taken)) == len(mine)
    allowed = os.sched_getaffinity(0)
    if len(allowed) > 1:
        assert allowed - set(taken), "one is left for everything else"
        with pytest.raises(InputError, match="no core is free"):
            cores.take(Claims())
        with pytest.raises(InputError, match="measuring would disturb it"):
            cores.check_nobody_live()
    mine[0].close()
    assert cores.take(mine[0]) == taken[0], "free again, it is the best one again"
    for each in mine:
        each.close()


def test_a_second_session_on_devices_is_refused_before_it_contacts_anybody(tmp_path):
    """Of the first session only a claim exists here; the second has neither robot nor sensor."""
    mine = Claims()
    for core in cores.usable():
        assert mine.take(f"core {core}")
    rig = rigfile.load(rigfile.find("dry-lab"))
    with pytest.raises(InputError, match="no core is free for another loop on devices"):
        Session(*job.find("docking", "table1", rig.settings("docking")), tmp_path / "runs", rig)
    mine.close()
    assert not (tmp_path / "runs").exists()


def test_the_doctor_does_not_measure_beside_a_live_session():
    mine = Claims()
    assert mine.take(f"core {cores.usable()[0]}")
    with pytest.raises(InputError, match="measuring would disturb it"):
        doctor.check(1000.0, 1.0)
    mine.close()


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is no other core to go to")
def test_a_run_in_wall_time_without_devices_is_off_the_core_that_live_loops_take(tmp_path):
    words = ["run", "freefloat", "--clock", "periodic", "--set", "loop.duration=300 s", "--out", str(tmp_path)]
    child = subprocess.Popen([sys.executable, "-m", "hilt.cli.main", *words], stdout=subprocess.DEVNULL)
    try:
        until = clock.now() + 60.0
        while not list(tmp_path.glob("*.mcap")):  # it runs
            assert clock.now() < until
            assert child.poll() is None
            clock.pause(0.05)
        assert cores.usable()[0] not in os.sched_getaffinity(child.pid)
    finally:
        child.kill()
        child.communicate()


def locked_memory():
    with open("/proc/self/status", encoding="utf-8") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmLck"))


def test_a_simulation_takes_no_privileges(tmp_path):
    """No priority, no locked memory, no core; and it is off the core that live loops take."""
    before, policy, live_core = os.sched_getaffinity(0), os.sched_getscheduler(0), cores.usable()[0]
    session = Session(*job.find("freefloat", None, ["loop.duration=0.1 s"]), tmp_path / "runs")
    try:
        session.open()
        assert os.sched_getscheduler(0) == policy
        assert locked_memory() == 0
        if len(before) > 1:
            assert live_core not in os.sched_getaffinity(0)
        assert claims.taken([f"core {core}" for core in before]) == []
        result = session.go()
        assert "not requested" in result.timing["rights"]["refused"]["all"]
    finally:
        session.close()
    assert os.sched_getaffinity(0) == before
