"""A tool on the sensor of the emulated facility: identified, written into the rig file, and compensated in a run."""

import math

import numpy as np
import pytest

from hilt.core import clock
from hilt.core.faults import InputError
from hilt.device import rigfile
from hilt.lab import calibrate
from hilt.sense.tool_load import ToolLoad
from tests.e2e.lab import Run

# A body that begins to tilt: in 2.4 s gravity turns by 0.14 rad in the sensor's axes, which is 2.7 N of a tool of 2 kg.
SCENE = {
    "push": [],
    "body.velocity": ["0 m/s", "0 m/s", "0 m/s"],
    "body.angular_velocity": ["0.05 rad/s", "0.03 rad/s", "0 rad/s"],
    "sensor.load.mass": "2 kg",
    "sensor.load.centre_of_mass": ["10 mm", "-20 mm", "120 mm"],
    "sensor.bias": ["3 N", "-1 N", "8 N"],
}
WIDE = {"angular_speed": 1.0, "workspace_min": (-0.5, -0.5, -0.5), "workspace_max": (0.5, 0.5, 0.5)}


@pytest.mark.virtual
def test_a_calibrated_tool_is_compensated(dry, tmp_path):
    """Less than 0.5 N is left of 20 N and 9 N of bias, sample by sample at 0.05 N rms, once the robot is moving."""
    facility = dry(
        "dry-lab",
        (),
        limits=WIDE,
        facility={"system": "freefloat", "scenario": "capture"},
        scenario={"freefloat": SCENE},
    )
    facility.control.live(True)
    found = calibrate.run(facility.rig, 4, tilt=math.radians(12), samples=60, settle=0.3)
    clock.pause(0.01)  # its last set-point has arrived
    facility.control.live(False)
    assert found.mass == pytest.approx(2.0, rel=0.01)
    calibrate.write(found, rigfile.find("dry-lab"), tmp_path / "tool.toml")
    facility.rig = facility.rig.model_copy(update={"tool": rigfile.load(tmp_path / "tool.toml").tool})
    run = Run(facility, tmp_path / "runs", "freefloat", "capture", ["loop.duration=2.4 s"])
    result = run.go()
    assert result.fault is None
    moved = result.rows[result.rows["t"] > 0.3]
    assert np.linalg.norm(moved["F_So_S"]["f"][-1] - moved["F_So_S"]["f"][0]) > 1.5  # gravity has turned
    assert np.linalg.norm(moved["F_So_net_S"]["f"], axis=1).max() < 0.5
    assert np.abs(moved["V_WBcm"]["v"]).max() < 1e-3  # nothing moves the body away
    # In the lab's ledger, too, the world has only the residual: the weight would have done work of 20 N · 35 mm.
    assert abs(result.ledger["exchanged_J"]) < 0.05
    delays = result.as_json()["delays"]
    expected = found.mass / 250.0 * (0.02 - delays["sensor"])
    assert delays["tool"] == pytest.approx(expected, rel=1e-5)  # the rig file has six digits
    run.close()


def test_which_systems_get_the_tool_of_a_rig():
    """Systems whose sensor moves with the mock-up; docking's does not move, and aerial's tool is a different one."""
    tool = ToolLoad(mass=2.0, centre_of_mass=(0.0, 0.0, 0.1), force_bias=(1.0, 2.0, 3.0))
    rig = rigfile.load(rigfile.find("dry-lab")).model_copy(update={"tool": tool})
    given = {name: [key for key, _ in rig.settings(name) if key.startswith("tool.")] for name in ("docking", "aerial")}
    assert given == {"docking": [], "aerial": []}
    for name in ("freefloat", "payload"):
        assert {key for key, _ in rig.settings(name)} >= {f"tool.{key}" for key in ToolLoad.model_fields}
    both = rig.model_copy(update={"lab": rig.lab.model_copy(update={"bias": True})})
    with pytest.raises(InputError, match=r"lab\.bias"):
        both.settings("freefloat")
    assert both.settings("docking") == rig.settings("docking")
