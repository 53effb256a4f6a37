"""The lab's tests run in virtual time, on the emulated facilities of the shipped rig files, with patience as users have it.

`Run` is a session on such a facility, disturbed while live. What other programs take part in runs in wall time: `patient_rig`.
"""

import csv
import os
import signal
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import numpy as np

from hilt import job
from hilt.core import clock
from hilt.core.signals import POSE
from hilt.device import rigfile
from hilt.device.live_rig import LIVE, READY
from hilt.host import machine
from hilt.live.mailbox import Sender
from hilt.live.session import Session
from hilt.record import recording
from tests.patience import becomes as until

ROBOTS = ("dry-lab", "dry-lab-ur", "dry-lab-franka", "dry-lab-ur-joints", "dry-lab-franka-joints")  # every driver and command
RIG = rigfile.find("dry-lab")
GAP = "frames.gap='15 mm'"
SEEN = 0.1  # s before it is armed; by default a second, in which nothing happens but the packets of a robot that stands
PERIOD = 0.004
ROUNDED = 1e-5  # m, in every packet


def changed(file, **tables):
    """A rig file, with keys of its tables changed."""
    update = {}
    for name, keys in tables.items():
        table = getattr(file, name)
        update[name] = {**table, **keys} if isinstance(table, dict) else table.model_copy(update=keys)
    return file.model_copy(update=update)


class Run:
    """A session on a facility that has just started."""

    def __init__(self, facility, folder, system="docking", scenario="table1", settings=(GAP,)):
        self.facility, self.control, self.file = facility, facility.control, facility.rig
        self.found = job.find(system, scenario, [*self.file.settings(system), *settings])
        self.session = Session(*self.found, folder, self.file)
        self.rig, self.cycle = self.session.rig, self.session.rig.cycle
        self.armed, self.stopped = [], []  # when it was armed, and when the loop began to stop

    def open(self):
        """Connected and READY, and nothing has moved."""
        arm, stop = self.rig.arm, self.rig.stop
        self.rig.arm = lambda bench: (self.armed.append(clock.now()), arm(bench))
        self.rig.stop = lambda: (self.stopped.append(clock.now()), stop())
        self.session.open()
        assert self.rig.state == READY
        assert (found := self.judged()["violations"]) == [], found
        self.control.live(True)

    def meanwhile(self, do, after, what):
        """Call `what`, and `do(self)` some time after it went live."""

        def disturb():
            until(lambda: self.rig.state == LIVE)
            clock.pause(after)
            self.when = clock.now()
            do(self)

        task = machine.thread(disturb, "disturbs")
        try:
            return what()
        finally:
            task.join()

    def go(self, do=lambda run: None, after=0.3):
        """One run, from open to READY again. No set-point was a violation, as the robot itself judges; a replay agrees."""
        if self.rig.state != READY:
            self.open()
        self.result = result = self.meanwhile(do, after, self.session.go)
        for name in self.robots():
            self.control.set(f"{name}.live", False)
        assert self.rig.state == READY, "it can be armed again without restarting anything"
        clock.pause(0.2)
        for robot in self.robots().values():
            assert (robot["violations"], robot["hard_stops"]) == ([], 0)
        calls = [
            (who, what) for who, what, when in machine.current().slow_calls if self.armed[-1] < when / 1e9 < self.stopped[-1]
        ]
        assert [who for who, _ in calls if who == "hilt" or who.startswith("robot ")] == [], "nothing slow while it moves"
        rows = result.rows
        assert len(rows) == result.timing["rows"] - result.timing["rows_lost"]
        assert job.replay(recording.load(result.recording)) is None, "however it ended"
        return result

    def judged(self):
        """What the robot itself reports; of two, the clock."""
        return self.control.status()["robot"]

    def robots(self):
        """What all robots that are still there report."""
        return {name: found for name, found in self.control.status().items() if "violation_count" in found}

    def log(self, name):
        """Times [s] and positions [m] of the set-points that one of two robots was sent."""
        self.control.status()  # it writes its log
        return log_of(self.facility, name)

    def say_stop(self):
        with self.sender() as sender:
            assert sender.wait(sender.stop(), 2.0).accepted

    @contextmanager
    def sender(self):
        """Requests to the session, as from another program."""
        with closing(Sender(self.session.box.name)) as sender:
            yield sender

    @property
    def speed(self):
        """Of the last set-points that were sent [m/s]."""
        sent = self.result.rows["X_WB_sent"]["p"][:-1]
        return np.linalg.norm(sent[-1] - sent[-2]) / self.cycle

    @property
    def way(self):
        """Way of the set-point after the last tick [m]."""
        end = np.zeros(1, POSE)[0]
        self.rig._robot.sent(end)
        return np.linalg.norm(end["p"] - self.result.rows["X_WB_sent"]["p"][-2])

    def close(self):
        self.session.close()


# In wall time, for the cockpit and streams


STALLS = {"ready": 0.2, "lateness": 20.0, "missed": 100_000}


def patient_rig():
    """However long a host stalls, it stops no run: what is tested is what arrives and is shown, not the speed of the host."""
    return changed(
        rigfile.load(RIG),
        lab={**STALLS, "realtime": False},
        robot={"patience": 5000},
        sensor={"frozen": "20 s", "stale": "20 s"},
        facility={"late_limit": 5000},
    )


def payload_rig():
    """The same for the emulated table and arm."""
    file = rigfile.load(rigfile.find("dry-lab-payload"))
    robots = {name: each.model_copy(update={"late_limit": 5000}) for name, each in file.facility.robots.items()}
    return changed(file, facility={"robots": robots})


def judged(facility):
    """What the robots themselves report about their set-points; one whose process was killed reports nothing."""
    status = facility.control.status()
    return {name: status[name] for name in ("robot", "arm") if "violation_count" in status[name]}


def log_of(facility, name):
    """Times [s] and positions [m] of the set-points that an emulated robot was sent, from its own log."""
    with facility.diary.with_name(f"log-{name}.csv").open(encoding="utf-8") as file:
        rows = np.array([[float(row[each]) for each in "txyz"] for row in csv.DictReader(file)])
    return rows[:, 0], rows[:, 1:]


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


def hurry(facility):
    """Give robot and sensor the priority that hardware has, where the host permits it, so that they do not stall the loop."""
    for pid in facility.pids.values():
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                os.sched_setscheduler(int(thread.name), os.SCHED_FIFO, os.sched_param(60))


def stop(pid):
    """Stop a process and wait until it has stopped; the signal takes a moment."""
    os.kill(pid, signal.SIGSTOP)
    until(lambda: Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T")
