"""Docking with a Franka robot over its real protocol: robot and sensor are emulated, drivers and loop are real.

The emulated robot stops by a reflex at any command beyond its limits; the scenario begins at 20 mm/s, which in one cycle of
1 ms would be 20 m/s².
"""

from pathlib import Path

import pytest

from hilt import job
from hilt.lab.dry.facility import running_facility
from hilt.record import recording
from tests.e2e.walls import live_run, patient_rig

pytestmark = pytest.mark.alone

RIG = Path(__file__).parents[2] / "rigs" / "dry-lab-franka.toml"
SHORT = ("frames.gap=15 mm", "collisions=2", "compensate.method=twin")
PERIOD = 0.001
TRIES = 3  # a cycle that the host takes from robot or loop in a contact changes its metrics


def test_contact_as_in_space_without_a_reflex_of_the_robot(tmp_path):
    file = patient_rig(RIG, realtime=True, missed=1000)  # checks the metrics of a contact, not how a run ends
    for _ in range(TRIES):
        with running_facility(file, [SHORT[0]]) as facility:
            settings = [*facility.rig.settings("docking"), *SHORT]
            result = live_run(facility, job.find("docking", "table1", settings), tmp_path)
            judged = facility.control.status()["robot"]
        assert result.fault is None
        assert judged["violation_count"] == 0, judged["violations"]
        assert judged["last_reason"] in ("", "its client has disconnected"), "no reflex"
        assert judged["set_points"] > 1000
        assert job.replay(recording.load(result.recording)) is None
        assert result.metrics["max_speed_ratio"] <= 1 + 1e-9
        disturbed = result.rows["lateness"].max() > 0.5 * PERIOD or result.timing["devices"]["robot"]["unheard"] > 0
        as_in_space = max(abs(cov - 1) for cov in result.metrics["cov"]) <= 0.03 and (
            max(abs(cof - 1) for cof in result.metrics["cof"]) <= 0.08
        )
        if as_in_space:
            return
        assert disturbed, f"CoV {result.metrics['cov']}, CoF {result.metrics['cof']}"
    pytest.skip("this host was too busy: cycles were missed in every run, which spoils the metrics of the contacts")
