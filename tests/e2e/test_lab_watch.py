"""A live robot is watched, on real drivers: pushed aside, turned, held or moved too fast, it is stopped within a few cycles.

The emulated robot's encoders show the push; its set-points do not. The robot also checks what it is sent meanwhile.
"""

import math

import numpy as np
import pytest

from hilt.core.faults import InputError
from hilt.device import watch
from hilt.device.course import BLEND
from tests.e2e.lab import ROBOTS, ROUNDED

pytestmark = pytest.mark.virtual

POSES = ROBOTS[:3]  # one rig of each driver
WIDE = {"tracking_tolerance": 0.5, "tracking_angle": 1.0}
NARROW = ("limits.workspace_min=[-0.2, -0.002, -0.05]", "limits.workspace_max=[0.2, 0.002, 0.05]")


def push(x=0.0, y=0.0, z=0.0, rx=0.0, ry=0.0, rz=0.0, seconds=1.0):
    return lambda run: run.control.set("robot.push", (x, y, z, rx, ry, rz, seconds))


PUSHED = {
    "85 mm sideways, out of the workspace": (push(y=0.085), (), {}, "robot-off-track"),
    "15 mm slowly": (push(z=-0.015, seconds=2.0), (), {}, "robot-off-track"),
    # Before the frame is reached: the push does not affect the contact, only the encoders.
    "held back while its set-point goes on": (push(x=-0.012, seconds=0.12), (), {}, "robot-off-track"),
    "just out of a narrow workspace": (push(y=0.004, seconds=0.5), NARROW, {}, "robot-outside"),
    "faster than it may": (push(y=0.04, seconds=0.2), (), WIDE, "robot-fast"),
    "turned": (push(rz=0.05), (), {}, "robot-turned-off"),
    "turned faster than it may": (push(rx=0.3, seconds=0.5), (), WIDE, "robot-spins"),
}


def beyond(run):
    """The first row in which what the fault is about is beyond its bound, computed from the recorded rows alone."""
    rows, name, limits, lab = run.result.rows, run.result.fault.name, run.result.scenario.limits, run.file.lab
    p, commanded = rows["X_WB_meas"]["p"], np.vstack([rows["X_WB_cmd"]["p"][:1], rows["X_WB_cmd"]["p"][:-1]])
    if name == "robot-off-track":
        window = int(np.ceil(2.0 * run.rig.file.tracking_delay / run.cycle)) + 1
        moved = [
            np.linalg.norm(commanded[max(k - window, 0) : k + 1] - commanded[k], axis=1).max() for k in range(len(commanded))
        ]
        apart, bound = np.linalg.norm(p - commanded, axis=1), lab.tracking_tolerance + np.array(moved) - ROUNDED
    elif name == "robot-outside":
        apart, bound = p[:, 1], limits.workspace_max[1] + lab.start_tolerance
    elif name == "robot-turned-off":
        apart, bound = 2.0 * np.arcsin(np.linalg.norm(rows["X_WB_meas"]["q"][:, 1:], axis=1)), lab.tracking_angle
    elif name == "robot-fast":
        apart, bound = np.linalg.norm(rows["V_WB_meas"]["v"], axis=1), 1.25 * limits.speed + 2e-5 / run.cycle
    else:
        apart, bound = np.linalg.norm(rows["V_WB_meas"]["w"], axis=1), 1.25 * limits.angular_speed + 1e-4 / run.cycle
    return int(np.argmax(apart > bound))


@pytest.mark.parametrize("rig", POSES)
@pytest.mark.parametrize("name", PUSHED)
def test_a_robot_that_goes_astray_is_stopped(lab, rig, name):
    do, settings, wide, fault = PUSHED[name]
    run = lab(rig, *settings, lab=wide)
    result = run.go(do)
    assert result.fault.name == fault, result.fault.sentence
    assert result.fault.value > result.fault.limit > 0.0
    cycles = watch.IN_A_ROW + (watch.MEAN if fault in ("robot-fast", "robot-spins") else 0)
    first = beyond(run)
    assert 0 < first <= result.fault.tick <= first + cycles


@pytest.mark.parametrize("rig", POSES)
def test_a_robot_that_yields_a_little_is_not_stopped(lab, rig):
    """3 mm aside is within the tolerance of 5 mm, and so is its normal lag."""
    run = lab(rig, "collisions=1", "compensate.method=twin")
    result = run.go(push(y=0.003, rx=0.01, seconds=0.2), after=0.1)
    assert result.fault is None
    assert np.abs(result.rows["X_WB_meas"]["p"][:, 1]).max() == pytest.approx(0.003, abs=ROUNDED)


@pytest.mark.parametrize("at_rest", ["true", "false"])
def test_a_scenario_that_begins_too_fast_is_not_armed(lab, tmp_path, at_rest):
    """95 mm/s within the first cycle of 4 ms are 23.8 m/s², and the rig allows 10 m/s²."""
    run = lab("dry-lab", f"robot.start_at_rest={at_rest}", "approach.speed=95 mm/s")
    run.open()
    with pytest.raises(InputError, match=r"first set-point .* acceleration 23\.75 m/s² is beyond its limit of 10 m/s²"):
        run.session.go()
    assert (run.judged()["set_points"], run.judged()["violations"]) == (0, [])
    assert not (tmp_path / "runs").exists()


def test_a_robot_off_its_start_is_brought_there_within_the_limits(lab):
    """0.9 mm and 0.9 mrad away: what is sent stays within all limits, and ends where the loop's set-points are."""
    run = lab("dry-lab", "collisions=1", "compensate.method=twin")
    run.open()
    robot = run.rig._robot
    robot._X_WR["p"][1] += 0.0009  # to hilt it is displaced
    turn = 0.00045
    robot._X_TB["q"][...] = (math.cos(turn), 0.0, 0.0, math.sin(turn))
    robot._here["p"][1] += 0.0009
    sent, send = [], robot.send
    robot.send = lambda pose: (sent.append(pose.copy()), send(pose))[1]
    result = run.go()
    assert result.fault is None
    p = np.array([pose["p"] for pose in sent])
    assert abs(p[0, 1]) > 0.0008
    assert abs(p[-1, 1]) == pytest.approx(abs(p[0, 1]) * math.exp(-len(p) * run.cycle / BLEND), rel=0.3)
    rows = result.rows
    assert np.abs(rows["X_WB_sent"]["p"] - p[: len(rows)]).max() < 1e-6, "what was sent is recorded, rounded as in its packet"
    assert abs(rows["X_WB_sent"]["p"][0, 1] - rows["X_WB_cmd"]["p"][0, 1]) > 0.0008
    limits = run.file.limits
    for n, limit in ((1, limits.speed), (2, limits.acceleration), (3, limits.jerk)):
        assert np.linalg.norm(np.diff(p, n, axis=0), axis=1).max() / run.cycle**n <= limit
