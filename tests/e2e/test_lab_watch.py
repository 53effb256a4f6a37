"""A live robot is watched, on real drivers: pushed aside, turned, held or moved too fast, it is stopped within a few cycles.

The emulated robot's encoders show the push; its set-points do not. The robot also checks what it is sent meanwhile.
"""

import math
import threading

import numpy as np
import pytest

from hilt import job
from hilt.core.faults import InputError
from hilt.device import watch
from hilt.device.course import BLEND
from hilt.record import recording
from tests.e2e.walls import PERIOD, Run

pytestmark = pytest.mark.lab

WIDE = {"tracking_tolerance": 0.5, "tracking_angle": 1.0}
NARROW = ("limits.workspace_min=[-0.2, -0.002, -0.05]", "limits.workspace_max=[0.2, 0.002, 0.05]")


def push(x=0.0, y=0.0, z=0.0, rx=0.0, ry=0.0, rz=0.0, seconds=1.0):
    return lambda run: run.control.set("robot.push", (x, y, z, rx, ry, rz, seconds))


PUSHED = {
    "85 mm sideways, out of the workspace": (push(y=0.085), (), None, "robot-off-track"),
    "15 mm slowly": (push(z=-0.015, seconds=2.0), (), None, "robot-off-track"),
    # Before the frame is reached: the push does not affect the contact, only the encoders.
    "held back while its set-point goes on": (push(x=-0.012, seconds=0.12), (), None, "robot-off-track"),
    "just out of a narrow workspace": (push(y=0.004, seconds=0.5), NARROW, None, "robot-outside"),
    "faster than it may": (push(y=0.04, seconds=0.2), (), WIDE, "robot-fast"),
    "turned": (push(rz=0.05), (), None, "robot-turned-off"),
    "turned faster than it may": (push(rx=0.3, seconds=0.5), (), WIDE, "robot-spins"),
}


def beyond(result, rig, limits):
    """The first row in which what the fault is about is beyond its bound, computed from the recorded rows alone."""
    rows, name = result.rows, result.fault.name
    p, commanded = rows["X_WB_meas"]["p"], np.vstack([rows["X_WB_cmd"]["p"][:1], rows["X_WB_cmd"]["p"][:-1]])
    if name == "robot-off-track":
        window = int(np.ceil(2.0 * rig.tracking_delay / PERIOD)) + 1
        moved = [
            np.linalg.norm(commanded[max(k - window, 0) : k + 1] - commanded[k], axis=1).max() for k in range(len(commanded))
        ]
        # 10 µm: corrections are rounded in every packet.
        return int(np.argmax(np.linalg.norm(p - commanded, axis=1) > rig.lab.tracking_tolerance + np.array(moved) - 1e-5))
    if name == "robot-outside":
        return int(np.argmax(p[:, 1] > limits.workspace_max[1] + rig.lab.start_tolerance))
    if name == "robot-turned-off":
        return int(np.argmax(2.0 * np.arcsin(np.linalg.norm(rows["X_WB_meas"]["q"][:, 1:], axis=1)) > rig.lab.tracking_angle))
    if name == "robot-fast":
        return int(np.argmax(np.linalg.norm(rows["V_WB_meas"]["v"], axis=1) > 1.25 * limits.speed + 0.005))
    return int(np.argmax(np.linalg.norm(rows["V_WB_meas"]["w"], axis=1) > 1.25 * limits.angular_speed + 0.025))


@pytest.mark.parametrize("name", PUSHED)
def test_a_robot_that_goes_astray_is_stopped(run, facility, name):
    do, settings, lab, fault = PUSHED[name]
    result = run(do, settings=settings, lab=lab)
    reached = np.ptp(result.rows["X_WB_meas"]["p"], axis=0)
    assert result.fault is not None, f"it was {reached} m aside"
    assert result.fault.name == fault, result.fault.sentence
    assert result.fault.value > result.fault.limit > 0.0
    first = beyond(
        result, facility.rig.model_copy(update={"lab": facility.rig.lab.model_copy(update=lab or {})}), result.scenario.limits
    )
    cycles = watch.IN_A_ROW + (watch.MEAN if fault in ("robot-fast", "robot-spins") else 0)
    lost = result.timing["missed"] + result.timing["devices"]["robot"]["delay"]  # cycles that the host itself has lost
    assert 0 < first <= result.fault.tick <= first + cycles + lost + 1


def test_a_robot_that_yields_a_little_is_not_stopped(run):
    """3 mm aside is within the tolerance of 5 mm, and so is its normal lag."""
    result = run(push(y=0.003, rx=0.01, seconds=0.2), settings=["collisions=1"], after=0.1)
    assert result.fault is None
    assert np.abs(result.rows["X_WB_meas"]["p"][:, 1]).max() == pytest.approx(0.003, abs=1e-5)


def test_it_is_also_watched_on_the_return_home(facility, tmp_path):
    each = Run(facility, tmp_path)
    far = each.session.system.set_up(each.session.values)
    far.row[0]["X_WB_cmd"]["p"][0] = -0.06
    try:
        before = each.open()
        helper = threading.Thread(target=each.disturb, args=(push(y=0.02, seconds=0.5), 0.2))
        helper.start()
        with pytest.raises(InputError, match=r"stopped softly while it returned: distance of the robot from its set-point"):
            each.session.rig.home(far, 0.03)
        helper.join()
        after = each.control.status()["robot"]
        assert (after["violation_count"], after["hard_stops"]) == (before["violation_count"], before["hard_stops"])
    finally:
        each.session.close()
        each.control.clear()


@pytest.mark.parametrize("at_rest", ["true", "false"])
def test_a_scenario_that_begins_too_fast_is_not_armed(facility, tmp_path, at_rest):
    """95 mm/s within the first cycle of 4 ms are 23.8 m/s², and the rig allows 10 m/s²."""
    each = Run(facility, tmp_path, settings=[f"robot.start_at_rest={at_rest}", "approach.speed=95 mm/s"])
    try:
        before = each.open()
        with pytest.raises(InputError, match=r"first set-point .* acceleration 23\.75 m/s² is beyond its limit of 10 m/s²"):
            each.session.go()
        after = each.control.status()["robot"]
        assert (after["set_points"], after["violation_count"]) == (before["set_points"], before["violation_count"])
        assert not list(tmp_path.iterdir())
    finally:
        each.session.close()


def test_a_robot_off_its_start_is_brought_there_within_the_limits(facility, tmp_path):
    """0.9 mm and 0.9 mrad away: what is sent stays within all limits, and ends where the loop's set-points are."""
    each = Run(facility, tmp_path, settings=["collisions=1"])
    try:
        each.open()
        robot = each.session.rig._robot
        robot._X_WR["p"][1] += 0.0009  # to hilt it is displaced
        turn = 0.00045
        robot._X_TB["q"][...] = (math.cos(turn), 0.0, 0.0, math.sin(turn))
        robot._here["p"][1] += 0.0009
        sent = []
        send = each.session.rig._robot.send
        each.session.rig._robot.send = lambda pose: (sent.append(pose.copy()), send(pose))[1]
        result = each.session.go()
    finally:
        each.session.close()
    assert result.fault is None
    p = np.array([pose["p"] for pose in sent])
    assert abs(p[0, 1]) > 0.0008
    assert abs(p[-1, 1]) == pytest.approx(abs(p[0, 1]) * math.exp(-len(p) * PERIOD / BLEND), rel=0.3)
    rows = result.rows
    assert np.abs(rows["X_WB_sent"]["p"] - p[: len(rows)]).max() < 1e-6, "what was sent is recorded, rounded as in its packet"
    assert abs(rows["X_WB_sent"]["p"][0, 1] - rows["X_WB_cmd"]["p"][0, 1]) > 0.0008
    assert job.replay(recording.load(result.recording)) is None
    limits = result.scenario.limits
    late = result.timing["missed"] + result.timing["devices"]["robot"]["delay"]
    for n, limit in ((1, limits.speed), (2, limits.acceleration), (3, limits.jerk)):
        sizes = np.linalg.norm(np.diff(p, n, axis=0), axis=1) / PERIOD**n
        assert np.sort(sizes)[::-1][min(2 * n * late, len(sizes) - 1)] <= limit  # a lost cycle is two odd differences an order
