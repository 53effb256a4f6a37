"""Claims and cores: one owner at a time, freed however it ends, and a run without devices stays off the cores of live loops."""

import os

import pytest
from typer.testing import CliRunner

from hilt import job
from hilt.cli.main import app
from hilt.core.faults import InputError
from hilt.device import rigfile
from hilt.host import claims, shared
from hilt.host.claims import Claims
from hilt.lab import doctor
from hilt.live import cores
from hilt.live.session import Session

pytestmark = pytest.mark.virtual
RIG = rigfile.load(rigfile.find("dry-lab"))
DOCKING = job.find("docking", "table1", RIG.settings("docking"))


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
    assert shared.left("*") == []


def test_cores_are_given_once_and_one_is_left():
    """Four cores: the first, which has most interrupts, is left for everything else."""
    mine = [Claims() for _ in range(3)]
    assert cores.usable() == [3, 2, 1]
    assert [cores.take(each) for each in mine] == [3, 2, 1]
    assert (cores.others(), cores.free()) == ({0}, {0})
    with pytest.raises(InputError, match=r"no core is free .*core 1: another hilt command"):
        cores.take(Claims())
    mine[0].close()
    assert cores.take(mine[0]) == 3, "free again, it is the best one again"


def test_beside_a_live_session_nobody_else_goes_live_or_measures(tmp_path):
    """The second session has neither robot nor sensor: it is refused before it contacts anybody."""
    mine = Claims()
    for core in cores.usable():
        assert mine.take(f"core {core}")
    with pytest.raises(InputError, match="no core is free for another loop on devices"):
        Session(*DOCKING, tmp_path / "runs", RIG)
    assert not (tmp_path / "runs").exists()
    with pytest.raises(InputError, match="another hilt command is live on core 1, and measuring would disturb it"):
        doctor.check(1000.0, 1.0)
    session = Session(*job.find("freefloat", None, []), tmp_path / "runs")
    session.close()  # without devices it needs no core


def test_a_session_says_which_core_is_its_own(tmp_path):
    session = Session(*DOCKING, tmp_path, RIG)
    with pytest.raises(InputError, match=rf"session {session.box.name} is live on core 3"):
        cores.check_nobody_live()
    session.close()
    cores.check_nobody_live()


def test_a_run_in_wall_time_without_devices_is_off_the_core_that_live_loops_take(tmp_path, machine):
    words = ["run", "freefloat", "--clock", "periodic", "--set", "loop.duration=0.1 s", "--out", str(tmp_path)]
    child = machine.begin("run", lambda: CliRunner().invoke(app, words, catch_exceptions=False))
    assert child.wait(10.0)
    assert (child.process.affinity, child.process.policy[0]) == ({0, 1, 2}, os.SCHED_OTHER)
    assert list(tmp_path.glob("*.mcap"))


def test_a_simulation_takes_no_privileges(tmp_path, machine):
    """No priority, no locked memory, no core; and it is off the core that live loops take, until it ends."""
    session = Session(*job.find("freefloat", None, ["loop.duration=0.1 s"]), tmp_path / "runs")
    session.open()
    assert (machine.process.affinity, machine.process.policy[0]) == ({0, 1, 2}, os.SCHED_OTHER)
    assert claims.taken([f"core {core}" for core in range(4)]) == []
    result = session.go()
    assert "not requested" in result.timing["rights"]["refused"]["all"]
    session.close()
    assert machine.process.affinity == {0, 1, 2, 3}
    assert "lock memory" not in {call for _, call, _ in machine.slow_calls}
