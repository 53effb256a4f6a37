"""Faults in the lab, on all real drivers against emulated facilities: each ends as docs/safety.md states, judged by the robot.

The emulated robot logs every set-point: none may come while it is not armed, and none may need more acceleration than
specified. `Run.go` checks this after every case. Faults of processes and of the disk: test_lab_processes.py.
"""

import signal

import numpy as np
import pytest

from hilt.core import clock
from hilt.core.faults import InputError
from hilt.device.live_rig import READY
from hilt.host import machine
from hilt.live.overseer import Overseer
from hilt.record import recording
from tests.e2e.lab import ROBOTS, ROUNDED, Run, until

pytestmark = [pytest.mark.virtual, pytest.mark.long]

POSES = ROBOTS[:3]  # one rig of each driver
SAMPLE = 1e-3  # s between two records of the sensor


def switch(key, value=True):
    return lambda run: run.control.set(key, value)


def following(fault, count):
    return lambda run: run.control.next(fault, count)


ROBOT = {
    "the robot's cable is out": (switch("robot.disconnect"), "robot-silent"),
    "all of its packets are lost": (switch("robot.drop", 1.0), "robot-silent"),
    "all of them are cut short": (switch("robot.truncate", 1.0), "robot-silent"),
    "none is the next": (switch("robot.reorder", 1.0), "robot-silent"),
    "its time stamps do not fit": (switch("robot.wrong_ipoc"), "robot-silent"),  # RSI alone has them
}
SENSOR = {
    "the force jumps": (switch("sensor.jump", (4000, 0, 0, 0, 0, 0)), "sensor-jump"),
    "the torque jumps": (switch("sensor.jump", (0, 0, 0, 0, 400, 0)), "sensor-jump"),
    "the sensor is silent": (switch("sensor.silence"), "sensor-stale"),
    "all of its records are lost": (switch("sensor.drop", 1.0), "sensor-stale"),
    "all of its records are cut short": (switch("sensor.truncate", 1.0), "sensor-stale"),
    "too many in a row are lost": (following("sensor.drop", 60), "sensor-gap"),
    "it repeats itself": (switch("sensor.freeze"), "sensor-frozen"),
    "it is saturated": (switch("sensor.saturate"), "sensor-saturated"),
    "it reports an error": (switch("sensor.status", 0x80000000), "sensor-status"),
}
FROZEN = 0.4  # s


def within(run, fault):
    """The longest that it takes to detect a fault [s], as docs/safety.md says, with a sample of the sensor."""
    robot, sensor = run.file.robot_section, run.file.sensor_section
    own = {"sensor-stale": sensor.stale, "sensor-gap": 60 * SAMPLE, "sensor-frozen": FROZEN}
    return robot.patience * run.cycle if fault == "robot-silent" else own.get(fault, 0.0) + run.cycle + SAMPLE


@pytest.mark.parametrize(
    ("name", "rig"),
    [(name, rig) for name in ROBOT for rig in ROBOTS if "stamps" not in name or rig == "dry-lab"]
    + [(name, rig) for name in SENSOR for rig in (POSES if "jumps" in name or "silent" in name else ROBOTS[:1])],
)
def test_a_fault_of_a_device_stops_the_robot(lab, rig, name):
    """It is found in time, and the set-point moves on by v²/2a at most; not at all after a silence of the robot."""
    do, fault = (ROBOT | SENSOR)[name]
    run = lab(rig, sensor={"frozen": f"{FROZEN} s"})
    result = run.go(do)
    assert result.fault.name == fault
    assert run.stopped[0] - run.when <= within(run, fault)
    assert len(result.rows) == result.fault.tick + 1 == result.timing["rows"], "complete up to the stop"
    assert recording.load(result.recording).result["fault"]["name"] == fault
    assert run.speed == pytest.approx(0.02, rel=0.01)
    if fault == "robot-silent":
        assert run.way == 0.0
    else:
        assert 0.5 * run.speed**2 / 2.0 < run.way <= run.speed**2 / (2.0 * run.file.lab.deceleration) + ROUNDED


@pytest.mark.parametrize("rig", POSES)
def test_bits_that_flip_in_every_packet(lab, rig):
    """A flipped digit may still give a possible pose (the network's checksum protects from that); most packets are refused, and
    that many missed cycles end the run."""
    result = lab(rig).go(switch("robot.corrupt", 1.0))
    assert result.timing["devices"]["robot"]["rejected"] > 0
    assert result.fault is not None


def check_contact(result):
    """The body bounces back as in space."""
    rows, touched = result.rows, np.flatnonzero(result.rows["contact"])
    x = rows["X_WB_cmd"]["p"][:, 0]
    assert (x[touched[0]] - x[touched[0] - 5]) * (x[-1] - x[touched[-1]]) < 0.0, "it leaves the frame that it touched"
    assert result.metrics["cov"][0] == pytest.approx(1.0, abs=0.05)


GOES_ON = {
    "three packets of the robot are lost": following("robot.drop", 3),
    "some come twice": switch("robot.duplicate", 0.2),
    "some come in another order": switch("robot.reorder", 0.05),
    "one is corrupt": following("robot.corrupt", 1),
    "one is cut short": following("robot.truncate", 1),
    "three packets of the robot are held up": following("robot.delay", 3),
    "twenty records of the sensor are lost": following("sensor.drop", 20),
    "some records come twice": switch("sensor.duplicate", 0.3),
    "some records come in another order": switch("sensor.reorder", 0.3),
    "some records of the sensor are held up": switch("sensor.delay", 0.3),
    "one record is cut short": following("sensor.truncate", 1),
}
TWIN = ("collisions=1", "compensate.method=twin")


@pytest.mark.parametrize(
    ("name", "rig"),
    [
        (name, rig)
        for name in GOES_ON
        for rig in (ROBOTS[:1] if "record" in name else POSES)  # the sensor is the same everywhere
        if (name, rig) != ("one is cut short", "dry-lab-ur")  # it is a stream
    ],
)
def test_a_small_disturbance_is_counted_and_survived(lab, rig, name):
    run = lab(rig, *TWIN)
    result = run.go(GOES_ON[name], after=0.1)
    assert result.fault is None
    check_contact(result)
    done = run.control.status()["robot" if "sensor" not in name and "record" not in name else "sensor"]["faults"]
    assert sum(done.values()) > 0


@pytest.mark.parametrize("rig", ["dry-lab", "dry-lab-franka"])
def test_what_was_not_answered_is_counted_with_the_longest_row_of_it(lab, rig):
    run = lab(rig, *TWIN)
    run.open()
    run.control.next("robot.drop", 4)
    clock.pause(0.1)
    run.control.next("robot.drop", 1)
    clock.pause(0.1)
    result = run.go(following("robot.drop", 3), after=0.1)
    found = result.timing["devices"]["answers"]
    assert (found["held_unanswered"], found["held_in_a_row"]) == (5, 4)
    before_it_moves = 0 if rig == "dry-lab" else 2  # states of a Franka until its motion has begun
    assert (found["live_unanswered"], found["live_in_a_row"]) == (3 + before_it_moves, 3)
    assert found["held_packets"] == pytest.approx(0.4 / run.cycle, rel=0.3), "from connecting to arming"
    assert found["live_packets"] == pytest.approx(len(result.rows), abs=40), "and those of the soft stop"


UNBLAMED = {"jump_force": 0, "jump_torque": 0}  # otherwise it is the sensor's fault
LIMITS = {
    "speed": (POSES, ["compensate.method=none"], None),
    "energy": (ROBOTS[:1], ["compensate.method=none", "limits.energy=0.1 J"], None),
    "workspace": (POSES, ["limits.workspace_max=[0.005, 0.05, 0.05]"], None),
    "force": (POSES, [], switch("sensor.jump", (4000, 0, 0, 0, 0, 0))),
    "torque": (ROBOTS[:1], [], switch("sensor.jump", (0, 0, 0, 0, 400, 0))),
    # The start needs 5 m/s² and 1250 m/s³ in a cycle of 4 ms; forces that bodies of 279 kg follow need more.
    "acceleration": (ROBOTS[:1], ["limits.acceleration=6"], switch("sensor.jump", (2900, 0, 0, 0, 0, 0))),
    "jerk": (ROBOTS[:1], ["limits.jerk=1400"], switch("sensor.jump", (2000, 0, 0, 0, 0, 0))),
}


@pytest.mark.parametrize(("name", "rig"), [(name, rig) for name, (rigs, _, _) in LIMITS.items() for rig in rigs])
def test_the_guard_stops_what_the_loop_does(lab, rig, name):
    _, settings, do = LIMITS[name]
    run = lab(rig, *settings, sensor=UNBLAMED)
    result = run.go(*[do] if do else [])
    assert result.fault.name == name
    assert abs(result.rows["X_WB_cmd"]["p"][:-1, 0]).max() < 0.05, "before the limit of the workspace"
    assert run.way <= run.speed**2 / (2.0 * run.file.lab.deceleration) + ROUNDED


def interrupt(number):
    return lambda run: machine.kill(machine.pid(), number)


def ask(run):
    with run.sender() as sender:
        assert sender.wait(sender.arm(), 2.0).accepted is False, "a live loop accepts nothing but stop"
        assert sender.wait(sender.stop(), 2.0).accepted


REQUESTS = {
    "Ctrl-C": (interrupt(signal.SIGINT), "interrupted by SIGINT"),
    "the terminal is closed": (interrupt(signal.SIGHUP), "interrupted by SIGHUP"),
    "kill": (interrupt(signal.SIGTERM), "interrupted by SIGTERM"),
    "a request": (ask, "a stop was requested"),
}


@pytest.mark.parametrize(
    ("name", "rig"), [*((name, "dry-lab") for name in REQUESTS), *(("a request", rig) for rig in POSES[1:])]
)
def test_a_stop_that_is_requested_is_soft(lab, rig, name):
    do, words = REQUESTS[name]
    run = lab(rig)
    result = run.go(do)
    assert result.fault.name == "requested"
    assert words in str(result.notes)
    assert run.stopped[0] - run.when <= 2 * run.cycle + SAMPLE  # with the answer of a request that is refused before
    assert 0.0 < run.way <= run.speed**2 / (2.0 * run.file.lab.deceleration) + ROUNDED


@pytest.mark.parametrize("rig", POSES)
def test_a_robot_that_comes_back_from_a_silence_does_not_move_again(lab, rig):
    """Its set-point stayed meanwhile: the soft stop begins at rest, so the robot gets no more set-points that move."""
    moved = []

    def away_for_a_while(run):
        run.control.set("robot.disconnect", True)
        clock.pause(2.0 * run.cycle)  # what was sent before is followed in the next cycle
        moved.append(run.judged()["set_points"])
        clock.pause(1.3 * run.file.robot_section.patience * run.cycle)
        run.control.set("robot.disconnect", False)

    run = lab(rig)
    assert run.go(away_for_a_while).fault.name == "robot-silent"
    assert run.speed > 0.01, "it was moving before"
    assert run.judged()["answers"] > 0
    assert run.judged()["set_points"] == moved[0]


def test_others_see_where_the_robot_is_while_it_is_live(lab):
    seen = []
    run = lab("dry-lab", "collisions=1")
    measured = run.go(lambda each: seen.append(each.rig.place.copy())).rows["X_WB_meas"]["p"]
    assert (measured == seen[0]["p"]).all(axis=1).any()
    assert not (measured[0] == seen[0]["p"]).all()


ON_THE_WAY = {
    "the force jumps": (switch("sensor.jump", (4000, 0, 0, 0, 0, 0)), "jumped more between two records"),
    "the sensor is saturated": (switch("sensor.saturate"), "saturated"),
    "the robot's cable is out": (switch("robot.disconnect"), "no packet"),
    "somebody says stop": (Run.say_stop, "a stop was requested"),
    "the robot is pushed aside": (switch("robot.push", (0, 0.02, 0, 0, 0, 0, 0.7)), "distance of the robot from its set-point"),
}


@pytest.mark.parametrize(
    ("name", "rig"),
    [(name, rig) for name in ON_THE_WAY for rig in (ROBOTS[:1] if "sensor" in name or "force" in name else ROBOTS)],
)
def test_a_fault_on_the_way_home_is_a_soft_stop(lab, rig, name):
    """At 0.1 m/s a robot that is simply held has to stop with 25 m/s², which it counts as a hard stop."""
    do, words = ON_THE_WAY[name]
    run = lab(rig, emulated=["frames.gap='100 mm'"])  # nothing is touched
    far = run.session.system.set_up(run.session.values)
    far.row[0]["X_WB_cmd"]["p"][0] = -0.06  # a second of motion, away from the target
    run.open()
    with pytest.raises(InputError, match=words):
        run.meanwhile(do, 0.5, lambda: run.rig.home(far, 0.1, Overseer(run.session.lab, run.session.box)))
    assert run.rig.state == READY
    assert -0.059 < run.rig.place["p"][0] < -0.02, "it was moving home"
    robot = run.judged()
    assert (robot["violations"], robot["hard_stops"]) == ([], 0)


@pytest.mark.parametrize("rig", POSES)
def test_a_robot_that_was_moved_by_hand_is_not_armed(lab, rig):
    """By hand, with its program running: its set-point is not where it is, and corrections count from the set-point."""
    run = lab(rig)
    run.open()
    run.rig._robot._sent["p"][0] += 0.003  # to hilt it looks the same
    for command in (run.session.go, run.session.home):
        with pytest.raises(InputError, match=r"is 3 mm and .* from its set-point; allowed are 1 mm"):
            command()
        assert run.rig.state == READY
    assert run.judged()["set_points"] == 0


def test_a_program_started_again_under_a_session_is_armed_from_where_the_robot_stands(lab):
    """After a stop in motion the operator moves the robot back and starts its program; hilt stays connected."""
    run = lab("dry-lab", *TWIN)
    assert run.go(switch("sensor.jump", (4000, 0, 0, 0, 0, 0))).fault.name == "sensor-jump"
    assert run.rig.place["p"][0] > 0.003, "it was in motion"
    run.control.clear()
    run.control.restart()
    until(lambda: run.rig.counters()["robot"]["restarts"] == 1)
    until(lambda: run.rig.trouble == 0)
    assert abs(run.rig.place["p"][0]) < 1e-4
    run.control.live(True)
    second = run.go()
    assert second.fault is None
    check_contact(second)
    sent, place = second.rows["X_WB_cmd"]["p"][:, 0], second.rows["X_WB_meas"]["p"][:, 0]
    assert np.abs(sent[:-6] - place[6:]).max() < 1e-3, "the robot is where hilt reports it"


@pytest.mark.parametrize("rig", ROBOTS)
def test_armed_again_after_a_fault_without_connecting_again(lab, rig):
    """Fault, soft stop, the robot is moved back, and the same session continues."""
    run = lab(rig, *TWIN)
    assert run.go(switch("sensor.jump", (4000, 0, 0, 0, 0, 0))).fault.name == "sensor-jump"
    run.control.clear()
    until(lambda: abs(run.rig._wrench["f"][0]) < 100.0)  # the jump back would also stop a moving robot
    run.control.live(True)
    with pytest.raises(InputError, match="drive it there"):
        run.session.go()
    run.session.home()
    second = run.go()
    assert second.fault is None
    check_contact(second)
