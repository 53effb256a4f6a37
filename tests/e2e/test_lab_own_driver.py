"""The example of a user's own driver goes live like any rig, here in virtual time."""

from pathlib import Path

import pytest

import hilt
from hilt import job
from hilt.device import rigfile

FOLDER = Path(__file__).parents[2] / "examples" / "own_driver"


@pytest.mark.virtual
def test_a_users_own_driver_beside_its_rig_file_has_the_effect_of_its_delay(tmp_path, monkeypatch):
    """It is found from any folder. Uncompensated, its cycle of delay gives the rebound that the simulation of such a robot
    gives."""
    monkeypatch.chdir(tmp_path)
    run = hilt.run("docking", None, {"compensate.method": "none", "collisions": 1}, rig=str(FOLDER / "rig.toml"))
    assert run.recording.parent.name == "runs"
    assert len(run["F_mea_W"]) > 100
    same = [*rigfile.load(FOLDER / "rig.toml", drivers=False).settings("docking"), "compensate.method=none", "collisions=1"]
    (simulated,) = job.simulate(*job.find("docking", None, same)).metrics["cov"]
    assert simulated == pytest.approx(1.172, abs=0.001)
    assert run.metrics["cov"][0] == pytest.approx(simulated, rel=1e-3)
    assert len((FOLDER / "my_robot.py").read_text().splitlines()) <= 60
