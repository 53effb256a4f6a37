"""A session in wall time, simulated: how a run ends."""

import pytest

from hilt import job
from hilt.live.session import Session
from hilt.record import reading

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
