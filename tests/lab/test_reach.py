"""What `hilt check --rig` says about an arm: a start that it reaches, paths that it can follow, and where it cannot."""

import json

import pytest
from typer.testing import CliRunner

from hilt import job
from hilt.cli.main import app
from hilt.device import rigfile
from hilt.lab import reach

RIG = rigfile.find("dry-lab-ur-joints")


def remarks(rig=RIG, **robot):
    file = rigfile.load(rig)
    file = file.model_copy(update={"robot": {**file.robot, **robot}})
    system, values, _ = job.find("docking", "table1", file.settings("docking"))
    return {remark.about: remark for remark in reach.check(file, system.set_up(values))}


def at(x, z):
    return {"p": [x, -0.13, z], "q": [1, 0, 0, 0]}


@pytest.mark.parametrize(
    ("rig", "joints"),
    [
        ("dry-lab-ur-joints", "179.5, -74.2, 117.9, 136.3, -89.5, -180.0"),
        ("dry-lab-franka-joints", "0.0, -20.0, 0.0, -122.3, 0.0, 102.3, 0.0"),
    ],
)
def test_an_arm_that_can_follow_and_what_it_keeps(rig, joints):
    found = remarks(rigfile.find(rig))
    assert [remark.fine for remark in found.values()] == [True] * 3
    assert found["singular"].found > found["singular"].needed == 0.05
    assert f"with its joints at {joints} degrees" in found["reach"].sentence


def test_an_arm_too_far_away_does_not_reach_the_start():
    (remark,) = remarks(X_WR=at(-1.2, -0.4)).values()
    assert not remark.fine
    assert remark.sentence.startswith("The arm does not reach the start, (0, 0, 0) mm: move it")


def test_an_arm_that_is_stretched_before_the_edge_of_the_workspace():
    """The wrist of the UR5e is 0.0996 m behind the tool: at a base 0.85 m away the arm ends before x = 200 mm."""
    found = remarks(X_WR=at(-0.85, -0.1))
    assert not found["reach"].fine
    assert "does not reach" in found["reach"].sentence
    assert not found["singular"].fine
    assert found["singular"].found < 0.05


def test_a_joint_without_room():
    joints = {**rigfile.load(RIG).robot["joints"], "margin": 3.14159}
    found = remarks(joints={**joints, "posture": [3.13, -1.29, 2.06, 2.38, -1.56, -3.14]})["joints"]
    assert not found.fine
    assert found.sentence.startswith("The joint with the least room, joint ")
    assert "would pass its limit by" in found.sentence


def test_other_rigs_have_no_arm():
    file = rigfile.load(rigfile.find("dry-lab-ur"))
    system, values, _ = job.find("docking", "table1", file.settings("docking"))
    assert reach.check(file, system.set_up(values)) == []


@pytest.mark.parametrize(("rig", "arm"), [("dry-lab-ur-joints", True), ("dry-lab-ur", False)])
def test_the_command(rig, arm):
    found = json.loads(CliRunner().invoke(app, ["check", "docking", "--rig", rig, "--json"]).stdout)
    assert ("singular" in {each["about"] for each in found["checks"]}) == arm
    assert any("36 ms" in each["sentence"] for each in found["checks"]), "the rig's own delay"
