"""Contacts in the lab as in space, over real protocols: drivers and loop are real, robot and sensor emulated.

The emulated robot checks every set-point, and stops by a reflex at any command beyond its limits.
"""

import csv
import json
import tomllib

import numpy as np
import pytest

from hilt import job
from hilt.core import clock
from hilt.core.faults import InputError
from hilt.device import frames, rigfile
from hilt.device.placed import pose_of
from hilt.lab import compliance, identify
from hilt.lab.compliance import Tapping
from tests.e2e.lab import GAP, ROBOTS, ROUNDED, Run

pytestmark = pytest.mark.virtual

TWIN = "compensate.method=twin"
STOP = 50  # set-points; a stop from 20 mm/s at 1 m/s² takes 20 ms


def as_in_space(result, first=1):
    """Speed and force of every contact from `first` on."""
    metrics = result.metrics
    assert result.fault is None
    assert len(metrics["cov"]) > first
    assert metrics["cov"][first - 1 :] == pytest.approx(np.ones(len(metrics["cov"]) - first + 1), abs=0.03)
    assert metrics["cof"][first - 1 :] == pytest.approx(np.ones(len(metrics["cof"]) - first + 1), abs=0.08)
    assert metrics["max_speed_ratio"] <= 1.0 + 1e-9


@pytest.mark.parametrize("rig", ROBOTS)
def test_docking_as_in_space_and_the_robot_receives_what_was_commanded(lab, tmp_path, rig):
    """By the robot's own log: from joint angles, the tool's position by its own forward kinematics."""
    run = lab(rig, TWIN, "collisions=2")
    result = run.go()
    as_in_space(result)
    robot = run.judged()
    assert robot["late"] == 0
    assert robot["last_reason"] == "", "no reflex"
    section, X_RT, places = run.file.robot_section, frames.identity(), []
    for X_WB in result.rows["X_WB_sent"]:
        frames.to_robot(pose_of(section.X_WR), X_WB, pose_of(section.X_TB), X_RT)
        places.append(X_RT["p"].copy())
    with (tmp_path / "log.csv").open(encoding="utf-8") as lines:
        received = np.array([[float(line[axis]) for axis in "xyz"] for line in csv.DictReader(lines)])
    # The log begins and ends at rest, and has the soft stop, whose steps are not rows of the run.
    steps = np.flatnonzero(np.abs(np.diff(received, axis=0)).max(axis=1))
    moving = received[steps[:-STOP] + 1]
    apart = [np.abs(np.array(places) - place).max(axis=1).min() for place in moving[:: len(moving) // 200]]
    assert max(apart) <= (ROUNDED if section.driver == "rsi" else 1e-6)
    assert np.ptp(moving[:, 0]) > 0.01, "and it has moved"


def test_a_path_through_a_singular_posture_ends_in_one_sentence(lab):
    """The base is so far away that the arm is nearly stretched, and docking would stretch it. That close to the singularity
    20 mm/s is fast for its elbow: its acceleration is not tested here."""
    table = rigfile.load(rigfile.find("dry-lab-ur-joints")).robot
    base = {**table["X_WR"], "p": ["-885 mm", "-130 mm", "-100 mm"]}
    arm = {**table["joints"], "posture": [3.13, -0.3, 0.6, 2.8, -1.56, -3.14], "acceleration": 1000.0}
    fault = lab("dry-lab-ur-joints", TWIN, robot={"X_WR": base, "joints": arm}).go().fault
    assert fault.name == "singularity"
    assert 0.045 < fault.value < fault.limit == pytest.approx(0.05), "detected in the first cycle beyond the limit"
    assert "smallest singular value of the robot's Jacobian" in fault.sentence


# What `hilt identify robot` writes for the robot of dry-lab, here a few per cent wrong.
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


def test_twin_with_wrong_beliefs_keeps_the_limits_of_the_robot(lab):
    """Commands change their speed by at most 5·v0·ω = 2.51 m/s²: the robot itself checks each of them."""
    limit = 5 * 0.02 * np.sqrt(176275.0 / (300 * 4000 / 4300))
    result = lab("dry-lab", *IDENTIFIED, TWIN, facility={"acceleration_limit": limit}).go()
    as_in_space(result)
    assert result.metrics["command_speed_ratio"] <= 1.5 * (1 + 1e-9)
    assert max(result.metrics["cov"]) <= 1 + 1e-9, "no energy is added"


def test_the_hidden_delay_of_servoj_is_found_and_contact_is_as_in_space(lab, dry):
    """A Universal Robots robot whose `servoj` hides 34 ms; a set-point is read in the cycle after it was sent."""
    facility = dry("dry-lab-ur")
    facility.control.live(True)
    found = identify.run(facility.rig, chirp=4.0)
    assert found.delay == pytest.approx(0.002 + 0.034, abs=0.5e-3)
    assert (found.lost, found.unheard) == (0, 0)
    result = lab("dry-lab-ur", *(f"{key}={value}" for key, value in found.settings().items()), TWIN).go()
    as_in_space(result)
    assert max(result.metrics["cov"]) <= 1 + 1e-9, "no energy is added"


# A robot that bends: found by `hilt identify robot` and by tapping a frame; its rig file does not mention it.
BENDS = (GAP, "robot.stiffness=0.5 N/um", "robot.mode_frequency=12 Hz", "robot.mode_damping_ratio=0.05")
WRONG = ("prior.stiffness_error=0.3", "prior.surface_error=0.5 mm")  # beliefs about the frames


def test_a_frame_that_is_not_there_is_a_sentence_and_the_robot_goes_back(dry):
    facility = dry("dry-lab", BENDS)
    facility.control.live(True)
    with pytest.raises(InputError, match="5 mm along -y and felt less than 2 N: it did not meet the frame"):
        compliance.run(facility.rig, Tapping(axis="-y", reach=0.005))
    status = facility.control.status()
    assert np.abs(status["sensor"]["p_WB"]).max() < 1e-4
    assert status["robot"]["violations"] == []


def test_contact_as_in_space_on_a_robot_that_bends_as_it_was_identified(dry, tmp_path):
    facility = dry("dry-lab", BENDS)
    text = rigfile.find("dry-lab").read_text()
    for device, table in (("robot", facility.rig.robot), ("sensor", facility.rig.sensor)):
        text = compliance.set_table(text, device, {key: table[key] for key in ("port", "address")})
    path, robot, bending = (tmp_path / f"{name}.toml" for name in ("rig", "robot", "bending"))
    path.write_text(text)
    assert "stiffness" not in json.dumps(tomllib.loads(text)), "the rig file does not say that its robot bends"
    facility.control.live(True)
    identify.write(identify.run(facility.rig, chirp=3.0), path, robot)
    found = compliance.run(facility.rig, Tapping())
    compliance.write(found, robot, bending)
    assert found.refusal == ""
    assert found.stiffness == pytest.approx(0.5e6, rel=0.1)
    assert found.mode_frequency == pytest.approx(12.0, rel=0.03)
    assert found.mode_damping_ratio == pytest.approx(0.05, rel=0.5)
    clock.pause(0.01)  # its last set-point has arrived
    facility.control.live(False)
    facility.rig = rigfile.load(bending)
    run = Run(facility, tmp_path, settings=(GAP, *WRONG, TWIN))
    assert run.found[1].robot.stiffness == 0.0
    as_in_space(run.go(), first=3)
    run.close()


QUICK = ("hand.start=4 s", "hand.handover=7 s", "hand.release=9 s", "loop.duration=13 s")  # the bias is taken before 2 s


def test_a_tool_is_mounted_on_the_flying_arm(lab):
    """Robot, sensor and human are emulated."""
    run = lab("dry-lab-aerial", system="aerial", scenario="handover", emulated=QUICK)
    result = run.go()
    assert result.fault is None
    simulated = job.simulate(*run.found)
    weight = simulated.scenario.hand.tool_mass * 9.81
    # The tool hangs still at the end: the sensor shows its weight, to the sensor's noise after the force filter.
    assert result.metrics["tool_force_final_N"] == pytest.approx(weight, abs=0.02)
    assert result.metrics["sag_m"] == pytest.approx(simulated.metrics["sag_m"], abs=1e-3)
    assert result.metrics["human_port_energy_min_J"] >= -1e-9
    assert abs(result.ledger["residual_J"]) < 1e-9 * result.ledger["exchanged_J"]
