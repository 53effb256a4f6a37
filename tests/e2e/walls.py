"""The emulated facility of the lab's tests, and runs on it that are disturbed while live.

`Run` has the loop in the test's own process, `Loop` in another one, which can be killed and stopped.
"""

import csv
import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from hilt import job
from hilt.core.signals import POSE
from hilt.device import rigfile
from hilt.device.live_rig import LIVE, READY
from hilt.host.shared import Segment
from hilt.live.recorder import SUFFIX as RECORDER
from hilt.live.recorder import RecorderStatus
from hilt.live.ring import RingReader, rings
from hilt.live.session import Session
from hilt.record import recording

RIG = Path(__file__).parents[2] / "rigs" / "dry-lab.toml"
PERIOD = 0.004
LONG = 60.0  # [s] before a test gives up waiting
SHORT = ("frames.gap='15 mm'", "loop.duration='8 s'")


def patient_rig(path=RIG, **lab):
    """Timeouts for a busy machine without privileges: what is tested is how a run ends, not the speed of the host."""
    file = rigfile.load(path)
    patience = {"ready": 0.2, "lateness": 2.0, "realtime": False, "missed": 100}
    return file.model_copy(
        update={
            "lab": file.lab.model_copy(update={**patience, **lab}),
            "robot": {**file.robot, "patience": 125},
            "sensor": {**file.sensor, "frozen": "400 ms", "stale": "500 ms"},
            "facility": file.facility.model_copy(update={"late_limit": 250}),
        }
    )


def live_run(facility, found, folder, forget=False):
    """One run on a facility, from open to close. `forget`: the robots' counts are those of the run, not of compiling."""
    session = Session(*found, folder, facility.rig)
    try:
        session.open()
        if forget:
            facility.control.forget()
        facility.control.live(True)
        result = session.go()
        facility.control.live(False)
    finally:
        session.close()
    return result


def as_in_space(result, period=PERIOD, first=1):
    """Check speed and force of every contact from `first` on, up to one near which the loop itself was late: a cycle missed
    there looks like a loss. False if none could be checked."""
    rows, metrics = result.rows, result.metrics
    for n, (cov, cof) in enumerate(zip(metrics["cov"], metrics["cof"], strict=True), 1):
        there = np.flatnonzero((rows["collision"] == n) & (rows["contact"] != 0))
        near = rows[max(there[0] - round(0.5 / period), 0) : there[-1]]  # earlier effects have decayed
        if near["lateness"].max() > 0.5 * period:
            return n > first
        if n >= first and (abs(cov - 1.0) > 0.03 or abs(cof - 1.0) > 0.08):
            return False
    return True


def kill_while_live(facility, found, victim, folder, moving=lambda rig: True, after=0.0):
    """One run in which a device is killed some time after it moves; the result, and the time of the kill."""
    session = Session(*found, folder, facility.rig)
    killed = []

    def after_a_while():
        until(lambda: session.rig.state == LIVE and moving(session.rig))
        time.sleep(after)
        killed.append(time.monotonic())
        os.kill(facility.pids[victim], signal.SIGKILL)

    try:
        session.open()
        facility.control.forget()
        facility.control.live(True)
        helper = threading.Thread(target=after_a_while, daemon=True)
        helper.start()
        result = session.go()
        helper.join()
    finally:
        session.close()
    return result, killed[0]


def straight(rows, cycle, robots, drift):
    """The phase of the second robot's clock stays within 0.1 ms of a straight line with this slope.

    A host that takes time from the emulated clocks bends the line itself: then the test is skipped.
    """
    sure = rows["t"] > 2.0  # the clocks follow the earliest packets of the last half second
    t, phase = rows["t"][sure], np.unwrap(rows["clock_phase"], period=cycle)[sure]
    slope, first = np.polyfit(t, phase, 1)
    apart = np.abs(phase - first - slope * t).max()
    print(f"drift {1e6 * slope:+.1f} ppm, phase within {1e3 * apart:.3f} ms over {t[-1]:.0f} s")
    lost = sum(robot["clock_lost"] for robot in robots.values())
    if lost > 5e-5 and apart >= 1e-4:
        pytest.skip(f"this host was too busy: it took {1e3 * lost:.2f} ms from the clocks of the emulated robots")
    assert apart < 1e-4
    assert slope == pytest.approx(drift, abs=5e-6)


class Run:
    """One armed run, disturbed from another thread a while after it went live."""

    def __init__(self, facility, tmp_path, settings=(), lab=None, sensor=None):
        self.facility, self.control = facility, facility.control
        rig = facility.rig if lab is None else facility.rig.model_copy(update={"lab": facility.rig.lab.model_copy(update=lab)})
        rig = rig.model_copy(update={"sensor": {**rig.sensor, **(sensor or {})}})
        found = job.find("docking", "table1", [*rig.settings("docking"), *SHORT, *settings])
        self.session = Session(*found, tmp_path, rig)

    def open(self):
        """Connected and READY, and nothing has moved; returns the robot's counts."""
        self.control.clear()
        self.control.live(False)
        self.control.restart()
        before = self.control.status()["robot"]
        self.session.open()
        assert self.session.rig.state == READY
        seen = self.control.status()["robot"]
        assert seen["violation_count"] == before["violation_count"], "a set-point before arming would be one"
        self.control.live(True)
        return seen

    def go(self, do=None, after=0.3):
        before = self.open()
        helper = threading.Thread(target=self.disturb, args=(do, after))
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
        assert job.replay(recording.load(result.recording)) is None, "however it ended"
        if result.fault is not None and result.timing["rows_lost"] == 0:
            self.check_way(result, after_run["late"] - before["late"])
        return result

    def check_way(self, result, late):
        """The set-point goes on for v²/2a at most, as specified, from the last one that was sent; not at all if it was at rest.

        Steps that came too late may still have to be made up for; before a silence that is the last one at most, on a host
        that has not stalled.
        """
        sent, end = result.rows["X_WB_cmd"]["p"][:-1], np.zeros(1, POSE)[0]
        speed = np.linalg.norm(sent[-1] - sent[-2]) / PERIOD
        self.session.rig._robot.sent(end)
        self.way = np.linalg.norm(end["p"] - sent[-1])
        behind = late * speed * PERIOD
        # 10 µm: rounded in every packet.
        assert self.way <= speed**2 / (2.0 * self.facility.rig.lab.deceleration) + behind + 1e-5
        if result.fault.name == "robot-silent":
            late = result.rows["lateness"][:-1]
            stalled = np.ceil(late[late > 0.5 * PERIOD] / PERIOD).sum()  # steps that the host itself has lost before
            assert self.way < (1 + stalled) * speed * PERIOD + 1e-5

    def disturb(self, do, after):
        if do is None:
            return
        while self.session.rig.state != LIVE:
            time.sleep(0.005)
        time.sleep(after)
        self.when = time.monotonic()
        do(self)


def hurry(facility):
    """Give robot and sensor the priority that hardware has, where the host permits it, so that they do not stall the loop."""
    for pid in facility.pids.values():
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                os.sched_setscheduler(int(thread.name), os.SCHED_FIFO, os.sched_param(60))


def until(condition):
    end = time.monotonic() + LONG
    while not (found := condition()):
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.005)
    return found


def stop(pid):
    """Stop a process and wait until it has stopped; the signal takes a moment."""
    os.kill(pid, signal.SIGSTOP)
    until(lambda: Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T")


LOOP = """
import json, sys
from pathlib import Path
from hilt import job
from hilt.core import scenario
from hilt.device.rigfile import RigFile
from hilt.live.session import Session

rig = scenario.build(RigFile, json.loads(sys.stdin.readline()))
for line in sys.stdin:
    asked = json.loads(line)
    file = rig.model_copy(update={"lab": rig.lab.model_copy(update=asked["lab"])})
    found = job.find("docking", "table1", [*file.settings("docking"), *asked["settings"]])
    session = Session(*found, Path(asked["folder"]), file)
    try:
        session.open()
        print(json.dumps(session.go().as_json()), flush=True)
    finally:
        session.close()
"""


class Loop:
    """The loop's process: `begin` a run, look at it while it is live, take its `result`.

    Every row is read from the ring here, so that nothing depends on the recorder.
    """

    def __init__(self, facility, before=None):
        self.control = facility.control
        self.process = subprocess.Popen(
            [sys.executable, "-c", LOOP], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, preexec_fn=before
        )
        self.tell(facility.rig.model_dump(mode="json"))

    def tell(self, message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def begin(self, folder, settings, ticks=100, **lab):
        """Live for `ticks` ticks; the ring's name is kept in `run`."""
        self.control.clear()
        self.control.restart()
        self.control.live(True)
        self.violations = self.status()["violation_count"]
        self.tell({"folder": str(folder), "settings": [SHORT[0], *settings], "lab": lab})
        self.run = until(self._live)
        self.ring = RingReader(self.run)
        self.rows = []
        until(lambda: self.count >= ticks)
        self.at = self.count
        self.late = self.status()["late"]

    def _live(self):
        assert self.process.poll() is None, "the loop's process has exited"
        return next((name for name in rings() if name.startswith(f"{self.process.pid}-")), "")

    @property
    def count(self):
        rows, lost = self.ring.read(4096)
        assert lost == 0
        self.rows.append(rows)
        return self.ring.next

    def status(self):
        return self.control.status()["robot"]

    @property
    def recorder(self):
        return RecorderStatus(Segment.open(self.run + RECORDER)).pid

    def until_over(self):
        """Wait for the last row; return how many answers the robot has missed since `begin` returned."""
        until(lambda: self.count == self.ring.count and self.ring.ended)
        self.late = self.status()["late"] - self.late

    def result(self):
        line = self.process.stdout.readline()
        assert line, "the loop's process has exited"
        self.control.live(False)
        status = self.status()
        assert status["violation_count"] == self.violations, status["violations"]
        found = json.loads(line)
        assert job.replay(recording.load(Path(found["recording"]))) is None, "however it ended"
        rows = np.concatenate(self.rows)
        assert rows["tick"].tolist() == list(range(found["timing"]["rows"]))
        return found, rows

    def end(self):
        with suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGCONT)
        try:
            self.process.communicate(timeout=LONG)  # it ends with its lines
        finally:
            self.process.kill()


def payload_rig(drift=0.0):
    """With the long timeouts of the other tests' rigs; how long a robot may be silent is as in the rig file."""
    file = rigfile.load(rigfile.find("dry-lab-payload"))
    emulated = {name: each.model_copy(update={"late_limit": 1000}) for name, each in file.facility.robots.items()}
    emulated["arm"] = emulated["arm"].model_copy(update={"clock_drift": drift})
    sensors = {name: {**table, "stale": "500 ms"} for name, table in file.sensors.items()}
    return file.model_copy(
        update={
            "lab": file.lab.model_copy(update={"ready": 0.2, "lateness": 2.0, "missed": 100}),
            "sensors": sensors,
            "sensor": sensors["table"],
            "facility": file.facility.model_copy(update={"robots": emulated}),
        }
    )


def judged(facility):
    """What the robots themselves report about their set-points; one whose process was killed reports nothing."""
    status = facility.control.status()
    return {name: status[name] for name in ("robot", "arm") if "violation_count" in status[name]}


def log_of(facility, name):
    """Times [s] and positions [m] of the set-points that an emulated robot was sent, from its own log."""
    with facility.diary.with_name(f"log-{name}.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return np.array([float(row["t"]) for row in rows]), np.array([[float(row[a]) for a in "xyz"] for row in rows])


def assert_kept(facility, *names):
    """By each robot's log: speed and acceleration within the rig's limits, with 1 % for the rounding of the packets' numbers.

    A cycle without an answer moves nothing and is not in the log; what follows it is not a step of one cycle.
    """
    limits = facility.rig.limits
    for name in names:
        t, p = log_of(facility, name)
        whole = np.abs(np.diff(t) - PERIOD) < 0.5 * PERIOD
        v = np.diff(p, axis=0) / PERIOD
        a = np.linalg.norm(np.diff(v, axis=0), axis=1)[whole[1:] & whole[:-1]] / PERIOD
        assert np.linalg.norm(v, axis=1)[whole].max() <= limits.speed, name
        assert a.max() <= 1.01 * limits.acceleration, name
