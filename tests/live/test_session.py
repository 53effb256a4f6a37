"""How the runs of a session end."""

from contextlib import closing

import pytest

from hilt import job
from hilt.device import rigfile
from hilt.lab.dry.facility import running_facility
from hilt.live.session import Session
from hilt.record import reading
from hilt.record.letters import OFF, READY

pytestmark = pytest.mark.virtual


def test_the_end_of_a_run_takes_its_rows_by_chunks(tmp_path, monkeypatch):
    """Ten hours of rows fit into no memory. A request for all of them at once would be refused here."""
    session = Session(*job.find("freefloat", "paper", ["loop.period=1 ms", "loop.duration=1 s"]), tmp_path)
    monkeypatch.setattr(job, "KEPT_BYTES", 1000)
    monkeypatch.setattr(reading, "LOADED_BYTES", 1000)
    try:
        session.open()
        result = session.go()
    finally:
        session.close()
    assert result.notes == []
    assert result.survey is not None
    assert result.timing["rows"] == 1001
    assert result.timing["rows_lost"] == 0


def test_of_a_single_run_the_devices_are_gone_before_its_result_is_computed(tmp_path, monkeypatch):
    """Nothing would answer them meanwhile; a session that may be armed again keeps them."""
    states, finish = [], job.finish_recorded

    def computed(*given):
        states.append(session.rig.state)
        return finish(*given)

    monkeypatch.setattr(job, "finish_recorded", computed)
    with running_facility(rigfile.load(rigfile.find("dry-lab"))) as facility:
        facility.control.live(True)
        settings = [*facility.rig.settings("docking"), "loop.duration=0.1 s"]
        session = Session(*job.find("docking", "table1", settings), tmp_path, facility.rig)
        with closing(session):
            session.open()
            results = [session.go()]
            session.home()
            results.append(session.go(once=True))
    assert states == [READY, OFF]
    assert [result.timing["devices"]["robot"]["packets"] > 0 for result in results] == [True, True]
