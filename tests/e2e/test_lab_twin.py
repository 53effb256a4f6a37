"""The twin over real protocols: robot and sensor are emulated, drivers and loop are real, the robot checks its set-points."""

import numpy as np
import pytest

from hilt import job
from hilt.lab.dry.facility import running_facility
from tests.e2e.walls import as_in_space, live_run, patient_rig

pytestmark = pytest.mark.alone

GAP = "frames.gap=15 mm"
# What `hilt identify robot` writes for this robot, here a few per cent wrong.
IDENTIFIED = (
    "robot.kind=delay+second-order",
    "robot.delay=24 ms",
    "robot.pure_delay=12 ms",
    "robot.damping_ratio=0.9",
    "prior.delay_error=0.05",
    "prior.frequency_error=-0.05",
    "prior.stiffness_error=0.3",
    "prior.surface_error=0.5 mm",
)


def test_contact_as_in_space_within_the_limits_of_the_robot(tmp_path):
    """Commands change their speed by at most 5·v0·ω = 2.51 m/s²: the robot itself checks each of them."""
    file = patient_rig(realtime=True)  # checks the metrics of a contact, not how a run ends
    limit = 5 * 0.02 * np.sqrt(176275.0 / (300 * 4000 / 4300))
    file = file.model_copy(update={"facility": file.facility.model_copy(update={"acceleration_limit": limit})})
    for _ in range(3):  # a cycle that the host takes from robot or loop in a contact changes its metrics
        with running_facility(file, [GAP]) as facility:
            settings = [*facility.rig.settings("docking"), *IDENTIFIED, GAP, "compensate.method=twin"]
            result = live_run(facility, job.find("docking", "table1", settings), tmp_path)
            judged = facility.control.status()["robot"]
        assert result.fault is None
        assert judged["violation_count"] == 0, judged["violations"]
        assert result.metrics["max_speed_ratio"] <= 1 + 1e-9
        assert result.metrics["command_speed_ratio"] <= 1.5 * (1 + 1e-9)
        assert max(result.metrics["cov"]) <= 1 + 1e-9
        if as_in_space(result):
            return
    raise AssertionError((result.metrics["cov"], result.metrics["cof"]))
