"""A human works with the flying arm over real protocols: robot, sensor and human are emulated, drivers and loop are real."""

from pathlib import Path

import pytest

from hilt import job
from hilt.lab.dry.facility import running_facility
from tests.e2e.walls import live_run, patient_rig

pytestmark = pytest.mark.alone

RIG = Path(__file__).parents[2] / "rigs" / "dry-lab-aerial.toml"
QUICK = ("hand.start=4 s", "hand.handover=7 s", "hand.release=9 s", "loop.duration=13 s")  # the bias is taken before 2 s


def test_a_tool_is_mounted_over_real_protocols(tmp_path):
    with running_facility(patient_rig(RIG, missed=200), list(QUICK)) as facility:
        found = job.find("aerial", "handover", [*facility.rig.settings("aerial"), *QUICK])
        result = live_run(facility, found, tmp_path)
        assert facility.control.status()["robot"]["violation_count"] == 0
    assert result.fault is None
    simulated = job.simulate(*found)
    weight = simulated.scenario.hand.tool_mass * 9.81
    # The tool hangs still at the end: the sensor shows its weight, to the sensor's noise after the force filter.
    assert result.metrics["tool_force_final_N"] == pytest.approx(weight, abs=0.02)
    assert result.metrics["sag_m"] == pytest.approx(simulated.metrics["sag_m"], abs=1e-3)
    assert result.metrics["human_port_energy_min_J"] >= -1e-9
    assert abs(result.ledger["residual_J"]) < 1e-9 * result.ledger["exchanged_J"]
