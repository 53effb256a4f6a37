"""The example of a user's own driver goes live on its own core, like any rig."""

import subprocess
import sys
from pathlib import Path

import pytest

from hilt import job
from hilt.device import rigfile

pytestmark = pytest.mark.alone

ROOT = Path(__file__).parents[2]


def test_a_users_own_driver_beside_its_rig_file_has_the_effect_of_its_delay(tmp_path):
    """It is found from any folder. Uncompensated, its cycle of delay gives the rebound that the simulation of such a robot
    gives; a tick that this machine loses is one more cycle, so to 2 %."""
    folder = ROOT / "examples" / "own_driver"
    program = f"""import hilt
run = hilt.run("docking", None, {{"compensate.method": "none", "collisions": 1}}, rig={str(folder / "rig.toml")!r})
print(run.metrics["cov"][0], run.recording.parent, len(run["F_mea_W"]))"""
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    found, recorded, rows = done.stdout.split()
    assert (recorded, int(rows) > 100) == ("runs", True)
    same = [*rigfile.load(folder / "rig.toml", drivers=False).settings("docking"), "compensate.method=none", "collisions=1"]
    (simulated,) = job.simulate(*job.find("docking", None, same)).metrics["cov"]
    assert simulated == pytest.approx(1.172, abs=0.001)
    assert float(found) == pytest.approx(simulated, rel=0.02)
    assert len((folder / "my_robot.py").read_text().splitlines()) <= 60
