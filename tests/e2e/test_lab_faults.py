"""Faults in the lab, on real drivers against an emulated facility: each ends as stated, and the robot itself is the judge.

The emulated robot logs every set-point: none may come while nobody has armed, and no two may ask for more acceleration than was
promised. That is checked after every case, whatever it was about.
"""

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from hilt import job, mailbox
from hilt.device import rigfile
from hilt.device.facility import running_facility
from hilt.device.lab import LIVE, READY
from hilt.faults import InputError
from hilt.record import recording
from hilt.ring import RingReader
from hilt.session import Session

RIG = Path(__file__).parents[2] / "rigs" / "dry-lab.toml"
SHORT = ("frames.gap='15 mm'", "loop.duration='8 s'")
WITHIN = 250  # ticks: a second, after which every fault must have ended the run; the slowest is found after half of that


@pytest.fixture(scope="module")
def facility():
    file = rigfile.load(RIG)
    # Patient enough for a busy machine without any rights: what is tested is how a run ends, not how fast this host is.
    quick = file.model_copy(
        update={
            "lab": file.lab.model_copy(update={"ready": 0.2, "lateness": 2.0, "realtime": False, "missed": 100}),
            "robot": {**file.robot, "patience": 125},
            "sensor": {**file.sensor, "frozen": "400 ms", "stale": "500 ms"},
            "facility": file.facility.model_copy(update={"late_limit": 250}),
        }
    )
    with running_facility(quick, list(SHORT)) as found:
        yield found


class Run:
    """One armed run, with something done to it from another thread a while after it went live."""

    def __init__(self, facility, tmp_path, settings=(), lab=None):
        self.facility, self.control = facility, facility.control
        rig = facility.rig if lab is None else facility.rig.model_copy(update={"lab": facility.rig.lab.model_copy(update=lab)})
        found = job.find("docking", "table1", [*rig.settings("docking"), *SHORT, *settings])
        self.session = Session(*found, tmp_path, rig)

    def go(self, do=None, after=0.3):
        self.control.clear()
        self.control.live(False)
        self.control.restart()
        before = self.control.status()["robot"]
        self.session.open()
        assert self.session.rig.state == READY
        seen = self.control.status()["robot"]
        assert seen["violation_count"] == before["violation_count"], "a set-point before it was armed would be one"
        self.control.live(True)
        helper = threading.Thread(target=self._disturb, args=(do, after))
        helper.start()
        try:
            result = self.session.go()
        finally:
            helper.join()
        self.control.live(False)
        assert self.session.rig.state == READY, "it can be armed again without restarting anything"
        time.sleep(0.2)
        after_run = self.control.status()["robot"]
        assert after_run["violation_count"] == before["violation_count"], after_run["violations"]
        return result

    def _disturb(self, do, after):
        if do is None:
            return
        while self.session.rig.state != LIVE:
            time.sleep(0.005)
        time.sleep(after)
        self.when = time.monotonic()
        do(self)


@pytest.fixture
def run(facility, tmp_path):
    made = []

    def start(do=None, settings=(), lab=None, after=0.3):
        made.append(Run(facility, tmp_path, settings, lab))
        return made[-1].go(do, after)

    yield start
    for each in made:
        each.session.close()
    facility.control.clear()


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
    "it repeats itself": (switch("sensor.freeze"), "sensor-frozen"),
    "it is saturated": (switch("sensor.saturate"), "sensor-saturated"),
    "it reports an error": (switch("sensor.status", 0x80000000), "sensor-status"),
    "the force jumps": (switch("sensor.jump", (4000, 0, 0, 0, 0, 0)), "force"),
    "the torque jumps": (switch("sensor.jump", (0, 0, 0, 0, 400, 0)), "torque"),
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
    """A flipped digit may still be a pose that can be (the network's checksum protects from that); most packets are refused,
    and that many missed cycles end the run."""
    result = run(switch("robot.corrupt", 1.0))
    assert result.timing["devices"]["robot"]["rejected"] > 0
    assert result.fault is not None
    assert len(result.rows) == result.timing["rows"]


GOES_ON = {
    "three packets of the robot are lost": following("robot.drop", 3),
    "some come twice": switch("robot.duplicate", 0.2),
    "some come in another order": switch("robot.reorder", 0.1),
    "one is corrupt": following("robot.corrupt", 1),
    "one is cut short": following("robot.truncate", 1),
    "twenty records of the sensor are lost": following("sensor.drop", 20),
    "some records come twice": switch("sensor.duplicate", 0.3),
    "some records come in another order": switch("sensor.reorder", 0.3),
    "one record is cut short": following("sensor.truncate", 1),
}


@pytest.mark.parametrize("name", GOES_ON)
def test_a_small_disturbance_is_counted_and_survived(run, name):
    result = run(GOES_ON[name], settings=["collisions=1"], after=0.1)
    assert result.fault is None
    assert result.metrics["cov"][0] == pytest.approx(1.0, abs=0.05)


LIMITS = {
    "speed": ["compensate.method=none"],
    "energy": ["compensate.method=none", "limits.energy=0.1 J"],
    "workspace": ["limits.workspace_max=[0.005, 0.05, 0.05]"],
    "force": ["limits.force=50 N"],
    "acceleration": ["limits.acceleration=0.1"],
}


@pytest.mark.parametrize("name", LIMITS)
def test_the_guard_stops_what_the_loop_does(run, name):
    result = run(settings=LIMITS[name])
    assert result.fault.name == name
    reached = abs(result.rows["X_WB_des"]["p"][:-1, 0]).max()
    assert reached < 0.05, "before the workspace ends"


def kill_recorder(run):
    (ring,) = Path("/dev/shm").glob(f"hilt-{os.getpid()}-*.recorder*")
    from hilt.record.process import RecorderStatus
    from hilt.shared import Segment

    name = ring.name.removeprefix("hilt-")
    os.kill(RecorderStatus(Segment.open(name)).pid, signal.SIGKILL)


def test_a_killed_recorder_stops_the_run_softly(run):
    result = run(kill_recorder)
    assert result.fault.name == "recorder"
    assert result.notes
    assert len(recording.load(result.recording).rows) > 20, "what was written can be read"


def test_a_killed_recorder_may_also_be_counted(run):
    result = run(kill_recorder, settings=["collisions=1"], lab={"recorder": "count"})
    assert result.fault is None
    assert result.notes
    assert result.timing["rows_lost"] > 0


def test_a_reader_that_hangs_disturbs_nobody(run, facility):
    held = []

    def hang(each):
        (name,) = [path.name for path in Path("/dev/shm").glob(f"hilt-{os.getpid()}-*.ring")]
        held.append(RingReader(name.removeprefix("hilt-").removesuffix(".ring")))  # reads nothing, ever

    result = run(hang, settings=["collisions=1"])
    assert result.fault is None
    assert result.timing["rows_lost"] == 0
    assert held
    held[0].close()


def test_an_interrupt_is_a_soft_stop(run):
    result = run(lambda each: os.kill(os.getpid(), signal.SIGINT))
    assert result.fault.name == "requested"
    assert result.timing["rows_lost"] == 0


def test_somebody_asks_to_stop(run):
    def ask(each):
        (box,) = Path("/dev/shm").glob(f"hilt-{os.getpid()}-*.mail")
        sender = mailbox.Sender(box.name.removeprefix("hilt-").removesuffix(".mail"))
        assert sender.wait(sender.arm(), 2.0).accepted is False, "a live loop takes nothing but stop"
        assert sender.wait(sender.stop(), 2.0).accepted
        sender.close()

    result = run(ask)
    assert result.fault.name == "requested"
    assert result.notes


def test_armed_again_after_a_fault_without_connecting_again(facility, tmp_path):
    """Fault, soft stop, the robot is driven back, and the same session goes on."""
    each = Run(facility, tmp_path, settings=["collisions=1"])
    try:
        first = each.go(switch("sensor.jump", (4000, 0, 0, 0, 0, 0)))
        assert first.fault.name == "force"
        each.control.clear()
        each.control.live(True)
        with pytest.raises(InputError, match="drive it there"):
            each.session.go()
        each.session.home()
        second = each.session.go()
        assert each.control.status()["robot"]["violation_count"] == 0
        assert second.fault is None
        assert second.metrics["cov"][0] == pytest.approx(1.0, abs=0.05)
    finally:
        each.session.close()
