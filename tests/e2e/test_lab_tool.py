"""A tool on the sensor of the emulated facility: identified, written into the rig file, and compensated in a run."""

import json
import math
import signal
import subprocess
import sys

import numpy as np
import pytest

from hilt.core.faults import InputError
from hilt.device import rigfile
from hilt.lab import calibrate
from hilt.record import recording
from hilt.sense.tool_load import ToolLoad
from tests.e2e.command import hilt
from tests.e2e.test_lab_cli import RIG, rig_file

pytestmark = pytest.mark.lab

# A body that begins to tilt: in 2.4 s gravity turns by 0.14 rad in the sensor's axes, which is 2.7 N of a tool of 2 kg.
SCENE = """
[scenario.freefloat]
"push" = []
"body.velocity" = ["0 m/s", "0 m/s", "0 m/s"]
"body.angular_velocity" = ["0.05 rad/s", "0.03 rad/s", "0 rad/s"]
"sensor.load.mass" = "2 kg"
"sensor.load.centre_of_mass" = ["10 mm", "-20 mm", "120 mm"]
"sensor.bias" = ["3 N", "-1 N", "8 N"]
"""


def test_a_calibrated_tool_is_compensated(tmp_path):
    """Less than 0.5 N is left of 20 N and 9 N of bias, sample by sample at 0.05 N rms, once the robot is moving."""
    rig = rig_file(
        tmp_path,
        ('arm = "run"', 'arm = "run"\nready = "0.2 s"\nrealtime = false'),  # other tests may have the core
        ('system = "docking"', 'system = "freefloat"'),
        ('scenario = "table1"', 'scenario = "capture"'),
        ('angular_speed = "0.2 rad/s"', 'angular_speed = "1 rad/s"'),
        ('["-200 mm", "-50 mm", "-50 mm"]', '["-0.5 m", "-0.5 m", "-0.5 m"]'),
        ('["200 mm", "50 mm", "50 mm"]', '["0.5 m", "0.5 m", "0.5 m"]'),
    )
    rig.write_text(rig.read_text() + SCENE)
    emulate = subprocess.Popen([sys.executable, "-m", "hilt.cli.main", "emulate", str(rig)], stdout=subprocess.PIPE, text=True)
    try:
        assert "the robot sends to port" in emulate.stdout.readline()
        found = calibrate.run(rigfile.load(rig), 4, tilt=math.radians(12), samples=60, settle=0.3)
        assert found.mass == pytest.approx(2.0, rel=0.01)
        calibrate.write(found, rig, tmp_path / "tool.toml")
        where = ("--scenario", "capture", "--rig", "tool.toml")
        done = hilt(tmp_path, "run", "freefloat", *where, "--set", "loop.duration=2.4 s", "--json")
        assert done.returncode == 0, done.stderr
    finally:
        emulate.send_signal(signal.SIGTERM)
        emulate.communicate(timeout=30)
    result = json.loads(done.stdout)
    rows = recording.load(tmp_path / result["recording"]).rows
    # A cycle missed by this host stops the robot for that time: 0.058 rad/s in 4 ms at 0.12 m is 3.5 N of the tool.
    jerked = np.convolve(rows["lateness"] > 0.5 * 0.004, np.ones(40), "full")[: len(rows)] > 0
    moved = rows[(rows["t"] > 0.3) & ~jerked]
    assert np.linalg.norm(moved["F_So_S"]["f"][-1] - moved["F_So_S"]["f"][0]) > 1.5  # gravity has turned
    assert np.linalg.norm(moved["F_So_net_S"]["f"], axis=1).max() < 0.5
    assert np.abs(moved["V_WBcm"]["v"]).max() < 1e-3  # nothing moves the body away
    # In the lab's ledger, too, the world has only the residual: the weight would have done work of 20 N · 35 mm.
    assert abs(result["ledger"]["exchanged_J"]) < 0.05
    expected = found.mass / 250.0 * (0.02 - result["delays"]["sensor"])
    assert result["delays"]["tool"] == pytest.approx(expected, rel=1e-5)  # the rig file has six digits


def test_which_systems_get_the_tool_of_a_rig(tmp_path):
    """Systems whose sensor moves with the mock-up; docking's does not move, and aerial's tool is a different one."""
    path = tmp_path / "rig.toml"
    path.write_text(RIG)
    tool = ToolLoad(mass=2.0, centre_of_mass=(0.0, 0.0, 0.1), force_bias=(1.0, 2.0, 3.0))
    rig = rigfile.load(path).model_copy(update={"tool": tool})
    given = {name: [key for key, _ in rig.settings(name) if key.startswith("tool.")] for name in ("docking", "aerial")}
    assert given == {"docking": [], "aerial": []}
    for name in ("freefloat", "payload"):
        assert {key for key, _ in rig.settings(name)} >= {f"tool.{key}" for key in ToolLoad.model_fields}
    both = rig.model_copy(update={"lab": rig.lab.model_copy(update={"bias": True})})
    with pytest.raises(InputError, match=r"lab\.bias"):
        both.settings("freefloat")
    assert both.settings("docking") == rig.settings("docking")
