"""Docking on emulated robots that take joint angles, over real protocols; the robot checks its joints against its own URDF."""

import csv

import numpy as np
import pytest

from hilt import job
from hilt.device import frames, rigfile
from hilt.device.placed import pose_of
from hilt.lab.dry.facility import running_facility
from tests.e2e.walls import live_run, patient_rig

pytestmark = pytest.mark.lab

RIG, FRANKA = rigfile.find("dry-lab-ur-joints"), rigfile.find("dry-lab-franka-joints")
STOP = 50  # set-points; a stop from 20 mm/s at 1 m/s² takes 20 ms, ten of them
TRIES = 3  # without commands a robot continues with its last acceleration: after a stall of the host there may be a reflex
SHORT = ("frames.gap='15 mm'", "loop.duration='3 s'", "compensate.method=twin")


def docked(tmp_path, rig=RIG, **robot):
    """A run of docking; its result, the robot's own counts, the set-points that it received, and the rig."""
    file = patient_rig(rig, missed=1000)
    file = file.model_copy(update={"robot": {**file.robot, **({"watchdog": 1000} if rig is RIG else {}), **robot}})
    diary = tmp_path / "diary.csv"
    with running_facility(file, [SHORT[0]], diary=diary) as facility:
        found = job.find("docking", "table1", [*facility.rig.settings("docking"), *SHORT])
        result = live_run(facility, found, tmp_path)
        judged = facility.control.status()["robot"]
    with diary.open(encoding="utf-8") as lines:
        received = [[float(line[axis]) for axis in "xyz"] for line in csv.DictReader(lines)]
    return result, judged, np.array(received), file.robot_section


@pytest.mark.parametrize("rig", [RIG, FRANKA], ids=["ur", "franka"])
def test_docking_on_joint_angles(tmp_path, rig):
    for _ in range(TRIES):
        result, judged, received, robot = docked(tmp_path, rig)
        assert result.fault is None
        assert judged["violation_count"] == 0, judged["violations"]
        if not any(word in judged["last_reason"] for word in ("beyond", "discontinuity", "violation")):
            break
        assert judged["late"] > 0, f"{judged['last_reason']}: a limit of a joint or a reflex, though every command came in time"
    else:
        pytest.skip("this host was too busy: commands came late in every run, and the robot stopped by a reflex")
    # The tool position from the angles, by the robot's own forward kinematics, is the one that the run commanded. The robot's
    # log begins and ends at rest, and has the soft stop, whose steps are not rows of the run.
    X_RT, places = frames.identity(), []
    for X_WB in result.rows["X_WB_sent"]:
        frames.to_robot(pose_of(robot.X_WR), X_WB, pose_of(robot.X_TB), X_RT)
        places.append(X_RT["p"].copy())
    steps = np.flatnonzero(np.abs(np.diff(received, axis=0)).max(axis=1))
    moving = received[steps[:-STOP] + 1]
    apart = [np.abs(np.array(places) - place).max(axis=1).min() for place in moving[:: len(moving) // 200]]
    assert max(apart) <= 1e-6
    assert np.ptp(moving[:, 0]) > 0.01, "and it has moved"


def test_a_path_through_a_singular_posture_ends_in_one_sentence(tmp_path):
    """The base is so far away that the arm is nearly stretched, and docking would stretch it. That close to the singularity
    20 mm/s is fast for its elbow: its acceleration is not tested here."""
    file = rigfile.load(RIG)
    base = {**file.robot["X_WR"], "p": ["-885 mm", "-130 mm", "-100 mm"]}
    arm = {**file.robot["joints"], "posture": [3.13, -0.3, 0.6, 2.8, -1.56, -3.14], "acceleration": 1000.0}
    result, judged, _, _ = docked(tmp_path, X_WR=base, joints=arm)
    assert result.fault.name == "singularity"
    assert result.fault.value < result.fault.limit == pytest.approx(0.05)
    assert result.fault.value > 0.045, "detected in the first cycle beyond the limit"
    assert "smallest singular value of the robot's Jacobian" in result.fault.sentence
    assert judged["violation_count"] == 0, judged["violations"]
    assert judged["hard_stops"] == 0
