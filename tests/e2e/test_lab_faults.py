"""Faults in the lab, on real drivers against an emulated facility: each ends as stated, as checked by the robot itself.

The emulated robot logs every set-point: none may come while it is not armed, and none may need more acceleration than
specified. This is checked after every case.

49 faults are injected: here 14 of devices that end the run, 11 that it survives, 6 that the guard finds, 4 of the recorder, the
operator and a robot that comes back, 4 on the way home, 2 of a robot that was moved; 8 of processes, disk and host in
test_lab_processes.py.
"""

import os
import signal
import threading
import time

import numpy as np
import pytest

from hilt.core.faults import InputError
from hilt.device.live_rig import READY
from hilt.host import shared
from hilt.live import mailbox
from hilt.live.overseer import Overseer
from hilt.record import recording
from tests.e2e.lab import PERIOD, Run, until

pytestmark = pytest.mark.lab

WITHIN = 250  # ticks: a second, after which every fault must have ended the run; the slowest is found after half of that


def switch(key, value=True):
    return lambda run: run.control.set(key, value)


def following(fault, count):
    return lambda run: run.control.next(fault, count)


ENDS = {
    "the robot's cable is out": (switch("robot.disconnect"), "robot-silent"),
    "all of its packets are lost": (switch("robot.drop", 1.0), "robot-silent"),
    "all of them are cut short": (switch("robot.truncate", 1.0), "robot-silent"),
    "its time stamps do not fit": (switch("robot.wrong_ipoc"), "robot-silent"),
    "the sensor is silent": (switch("sensor.silence"), "sensor-stale"),
    "all of its records are lost": (switch("sensor.drop", 1.0), "sensor-stale"),
    "all of its records are cut short": (switch("sensor.truncate", 1.0), "sensor-stale"),
    "too many in a row are lost": (following("sensor.drop", 80), "sensor-gap"),
    "it repeats itself": (switch("sensor.freeze"), "sensor-frozen"),
    "it is saturated": (switch("sensor.saturate"), "sensor-saturated"),
    "it reports an error": (switch("sensor.status", 0x80000000), "sensor-status"),
    "the force jumps": (switch("sensor.jump", (4000, 0, 0, 0, 0, 0)), "sensor-jump"),
    "the torque jumps": (switch("sensor.jump", (0, 0, 0, 0, 400, 0)), "sensor-jump"),
}


@pytest.mark.parametrize("name", ENDS)
def test_a_fault_of_a_device_stops_the_robot(run, name):
    do, fault = ENDS[name]
    result = run(do)
    assert result.fault is not None
    assert result.fault.name == fault
    assert result.fault.tick <= 0.3 / 0.004 + WITHIN
    assert len(result.rows) == result.fault.tick + 1 == result.timing["rows"], "complete up to the stop"
    assert result.timing["rows_lost"] == 0
    assert recording.load(result.recording).result["fault"]["name"] == fault


def test_bits_that_flip_in_every_packet(run):
    """A flipped digit may still give a possible pose (the network's checksum protects from that); most packets are refused, and
    that many missed cycles end the run."""
    result = run(switch("robot.corrupt", 1.0))
    assert result.timing["devices"]["robot"]["rejected"] > 0
    assert result.fault is not None
    assert len(result.rows) == result.timing["rows"]


def check_contact(result, missed=0):
    """The body bounces back on any host, and correctly unless this one stalled for longer than the fault explains."""
    rows, touched = result.rows, np.flatnonzero(result.rows["contact"])
    x = rows["X_WB_cmd"]["p"][:, 0]
    first, last = touched[0], touched[-1]
    assert (x[first] - x[first - 5]) * (x[-1] - x[last]) < 0.0, "it leaves the frame that it touched"
    if result.timing["missed"] <= missed and rows["lateness"][touched].max() < PERIOD:
        assert result.metrics["cov"][0] == pytest.approx(1.0, abs=0.05)


GOES_ON = {
    "three packets of the robot are lost": following("robot.drop", 3),
    "some come twice": switch("robot.duplicate", 0.2),
    "some come in another order": switch("robot.reorder", 0.1),
    "one is corrupt": following("robot.corrupt", 1),
    "one is cut short": following("robot.truncate", 1),
    "twenty records of the sensor are lost": following("sensor.drop", 20),
    "some records come twice": switch("sensor.duplicate", 0.3),
    "some records come in another order": switch("sensor.reorder", 0.3),
    "three packets of the robot are held up": following("robot.delay", 3),
    "some records of the sensor are held up": switch("sensor.delay", 0.3),
    "one record is cut short": following("sensor.truncate", 1),
}


@pytest.mark.parametrize("name", GOES_ON)
def test_a_small_disturbance_is_counted_and_survived(run, name):
    result = run(GOES_ON[name], settings=["collisions=1"], after=0.1)
    assert result.fault is None
    check_contact(result, missed=5)


LIMITS = {
    "speed": (["compensate.method=none"], None),
    "energy": (["compensate.method=none", "limits.energy=0.1 J"], None),
    "workspace": (["limits.workspace_max=[0.005, 0.05, 0.05]"], None),
    "force": (["limits.force=50 N"], None),
    # The start needs 5 m/s² and 1250 m/s³; forces that bodies of 279 kg follow need more.
    "acceleration": (["limits.acceleration=6"], switch("sensor.jump", (2900, 0, 0, 0, 0, 0))),
    "jerk": (["limits.jerk=1400"], switch("sensor.jump", (2000, 0, 0, 0, 0, 0))),
}


@pytest.mark.parametrize("name", LIMITS)
def test_the_guard_stops_what_the_loop_does(run, name):
    settings, do = LIMITS[name]
    result = run(do, settings=settings, sensor={"jump_force": 0, "jump_torque": 0})  # otherwise the sensor is blamed
    assert result.fault.name == name
    reached = abs(result.rows["X_WB_cmd"]["p"][:-1, 0]).max()
    assert reached < 0.05, "before the limit of the workspace"


def kill_recorder(run):
    (ring,) = shared.left(f"{os.getpid()}-*.recorder*")
    from hilt.live.recorder import RecorderStatus

    os.kill(RecorderStatus(shared.Segment.open(ring.name)).pid, signal.SIGKILL)


def test_a_killed_recorder_stops_the_run_softly(run):
    result = run(kill_recorder)
    assert result.fault.name == "recorder"
    assert result.notes
    assert len(recording.load(result.recording).rows) > 20, "what was written is readable"


def test_an_interrupt_is_a_soft_stop(run):
    result = run(lambda each: os.kill(os.getpid(), signal.SIGINT))
    assert result.fault.name == "requested"
    assert result.timing["rows_lost"] == 0


def test_a_stop_is_requested(run):
    def ask(each):
        (box,) = shared.left(f"{os.getpid()}-*.mail")
        sender = mailbox.Sender(box.name.removesuffix(".mail"))
        assert sender.wait(sender.arm(), 2.0).accepted is False, "a live loop accepts nothing but stop"
        assert sender.wait(sender.stop(), 2.0).accepted
        sender.close()

    result = run(ask)
    assert result.fault.name == "requested"
    assert result.notes


def test_a_robot_that_comes_back_from_a_silence_does_not_move_again(run, facility):
    """Its set-point stayed meanwhile: the soft stop begins at rest, so the robot gets no more set-points that move."""
    moved = []

    def away_for_a_while(each):
        each.control.set("robot.disconnect", True)
        moved.append(each.control.status()["robot"]["set_points"])
        time.sleep(0.65)  # silent after 125 cycles; the soft stop waits for it just as long
        each.control.set("robot.disconnect", False)

    result = run(away_for_a_while)
    assert result.fault.name == "robot-silent"
    speed = np.diff(result.rows["X_WB_cmd"]["p"][:-1, 0])[-1] / 0.004
    assert abs(speed) > 0.01, "it was moving before"
    status = facility.control.status()["robot"]
    assert status["answers"] > 0
    assert status["set_points"] == moved[0]


def test_others_see_where_the_robot_is_while_it_is_live(run):
    seen = []
    result = run(lambda each: seen.append(each.session.rig.place.copy()), settings=["collisions=1"])
    assert (result.rows["X_WB_meas"]["p"] == seen[0]["p"]).all(axis=1).any()
    assert not (result.rows["X_WB_meas"]["p"][0] == seen[0]["p"]).all()


def say_stop(run):
    sender = mailbox.Sender(run.session.box.name)
    assert sender.wait(sender.stop(), 2.0).accepted
    sender.close()


ON_THE_WAY = {
    "the force jumps": (switch("sensor.jump", (4000, 0, 0, 0, 0, 0)), "jumped more between two records"),
    "the sensor is saturated": (switch("sensor.saturate"), "saturated"),
    "the robot's cable is out": (switch("robot.disconnect"), "no packet"),
    "somebody says stop": (say_stop, "a stop was requested"),
}


@pytest.mark.parametrize("name", ON_THE_WAY)
def test_a_fault_on_the_way_home_is_a_soft_stop(facility, tmp_path, name):
    """At 0.1 m/s a robot that is simply held has to stop with 25 m/s², which it counts as a hard stop."""
    do, words = ON_THE_WAY[name]
    each = Run(facility, tmp_path)
    far = each.session.system.set_up(each.session.values)
    far.row[0]["X_WB_cmd"]["p"][0] = -0.06  # a second of motion, away from the target

    def in_motion(run):
        until(lambda: run.session.rig.place["p"][0] < -0.02)
        do(run)

    try:
        before = each.open()
        helper = threading.Thread(target=each.disturb, args=(in_motion, 0.0))
        helper.start()
        with pytest.raises(InputError, match=words):
            each.session.rig.home(far, 0.1, Overseer(each.session.lab, each.session.box))
        helper.join()
        assert each.session.rig.state == READY
        assert -0.059 < each.session.rig.place["p"][0] < -0.02, "it was moving home"
        after = each.control.status()["robot"]
        assert (after["violation_count"], after["hard_stops"]) == (before["violation_count"], before["hard_stops"])
    finally:
        each.session.close()
        each.control.clear()


def test_a_robot_that_was_moved_by_hand_is_not_armed(facility, tmp_path):
    """By hand, with its program running: its set-point is not where it is, and corrections count from the set-point."""
    each = Run(facility, tmp_path)
    try:
        each.open()
        rig = each.session.rig
        rig._robot._sent["p"][0] += 0.003  # to hilt it looks the same
        before = each.control.status()["robot"]["set_points"]
        for command in (each.session.go, each.session.home):
            with pytest.raises(InputError, match=r"is 3 mm and .* from its set-point; allowed are 1 mm"):
                command()
            assert rig.state == READY
        assert each.control.status()["robot"]["set_points"] == before
    finally:
        each.session.close()


def test_a_program_started_again_under_a_session_is_armed_from_where_the_robot_stands(facility, tmp_path):
    """After a stop in motion the operator moves the robot back and starts its program; hilt stays connected."""
    each = Run(facility, tmp_path, settings=["collisions=1"])
    try:
        first = each.go(switch("sensor.jump", (4000, 0, 0, 0, 0, 0)))
        assert first.fault.name == "sensor-jump"
        assert each.session.rig.place["p"][0] > 0.003, "it was in motion"
        each.control.clear()
        each.control.restart()
        until(lambda: each.session.rig.counters()["robot"]["restarts"] == 1)
        until(lambda: each.session.rig.trouble == 0)
        assert abs(each.session.rig.place["p"][0]) < 1e-4
        each.control.live(True)
        second = each.session.go()
        assert second.fault is None
        check_contact(second)
        sent, place = second.rows["X_WB_cmd"]["p"][:, 0], second.rows["X_WB_meas"]["p"][:, 0]
        late = second.timing["missed"] + 5
        assert np.abs(sent[:-6] - place[6:]).max() < 0.001 + late * 0.1 * PERIOD, "the robot is where hilt reports it"
    finally:
        each.session.close()


def test_armed_again_after_a_fault_without_connecting_again(facility, tmp_path):
    """Fault, soft stop, the robot is moved back, and the same session continues."""
    each = Run(facility, tmp_path, settings=["collisions=1"])
    try:
        first = each.go(switch("sensor.jump", (4000, 0, 0, 0, 0, 0)))
        assert first.fault.name == "sensor-jump"
        each.control.clear()
        until(lambda: abs(each.session.rig._wrench["f"][0]) < 100.0)  # the jump back would also stop a moving robot
        each.control.live(True)
        with pytest.raises(InputError, match="drive it there"):
            each.session.go()
        each.session.home()
        second = each.session.go()
        assert each.control.status()["robot"]["violation_count"] == 0
        assert second.fault is None
        check_contact(second)
    finally:
        each.session.close()
