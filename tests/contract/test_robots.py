"""The fault table of docs/safety.md for every robot's driver: each against its emulated robot, found as a rig file finds them.

Silent, late, lost, duplicated, corrupt, restarted, beyond a limit. A new driver is tested by being registered. Nothing here
depends on the machine being quick: a stalled process makes counts smaller and waits longer, not results wrong.
"""

import os
from contextlib import ExitStack, contextmanager

import numpy as np
import pytest

from hilt.core import clock, faults, registry, scenario
from hilt.core.signals import POSE, TWIST
from hilt.device.joints.space import JointSpace
from hilt.lab.dry.robot import KINDS

pytestmark = pytest.mark.wall

DRIVERS = [name for name in registry.names("robots") if registry.shipped("robots", name)]
PANDA = {"urdf": "panda.urdf", "base": "link0", "tip": "link8", "posture": [0.1, -0.5, 0.2, -2.2, 0.1, 1.8, 0.8]}
CASES = {  # driver, and the keys that it needs or that make it patient
    "rsi": {"driver": "rsi", "cycle": "4 ms", "correction": "relative"},
    "rsi-absolute": {"driver": "rsi", "cycle": "4 ms", "correction": "absolute"},
    "rtde": {"driver": "rtde", "cycle": "8 ms", "watchdog": 10_000},
    "fci": {"driver": "fci"},
    "fci-joints": {"driver": "fci", "command": "joints", "joints": PANDA},
}
STREAMS = {"rtde"}  # over TCP: a broken byte is the end of the connection
STEP, TURN = 1e-3, 2e-3  # limits of a cycle [m], [rad]
START = (0.4, 0.1, 0.5)
PATIENCE = 2.0  # [s]: a stalled machine is not the subject
LONG = 30.0  # [s]


def soon(condition, limit=LONG):
    end = clock.now() + limit
    while not condition():
        assert clock.now() < end, "not true in time"


class Cell:
    """A driver, its robot, and a set-point that is wherever the robot's is."""

    def __init__(self, driver, arm, cycle):
        self.driver, self.arm, self.cycle = driver, arm, cycle
        self.start = arm.settings.start_p
        self.X, self.V = np.zeros(1, POSE)[0], np.zeros(1, TWIST)[0]
        self.goal = self.sent()

    def sent(self):
        pose = np.zeros(1, POSE)[0]
        self.driver.sent(pose)
        return pose

    def wait(self):
        """The robot's next packet. What the robot did not execute is taken back, as a rig does."""
        reply = self.driver.wait(self.X, self.V)
        if reply.code != faults.NONE or not reply.heard:
            self.goal = self.sent()
        return reply

    def tick(self, step=0.0):
        code = self.wait().code
        self.goal["p"][0] += step
        return code, self.driver.send(self.goal)

    def held(self):
        code = self.wait().code
        self.driver.hold()
        return code

    def move(self, step, count):
        for _ in range(count):
            code, answer = self.tick(step)
            assert code == answer == faults.NONE, (faults.explain(code), faults.explain(answer))

    def follow(self):
        """Wait until the robot takes set-points."""
        soon(lambda: self.tick() == (0, 0) and self.arm.state == "running")
        self.move(0.0, 5)

    def agree(self):
        """At rest the robot's own set-point is the one the driver has."""
        soon(lambda: self.tick() == (0, 0) and np.abs(self.arm._set["p"] - self.sent()["p"]).max() < 1e-6)

    @property
    def broken(self):
        """Whether a stream has been given up, after which no fault can be injected."""
        return getattr(getattr(self.driver, "_line", None), "broken", False)

    def count(self, *names):
        found = self.driver.counters()
        return sum(found.get(name, 0) for name in names)


def start_of(rig):
    """Where the robot begins; one that takes angles begins at its posture, with its joints."""
    joints, X = getattr(rig, "joints", None), np.zeros(1, POSE)[0]
    if joints is None:
        return {"start_p": START}
    JointSpace(joints).pose(joints.posture, X)
    return {"start_p": tuple(map(float, X["p"])), "start_q": tuple(map(float, X["q"])), "joints": joints}


@contextmanager
def cell(name, patience=PATIENCE):
    keys = CASES[name]
    kind, section = KINDS[keys["driver"]], registry.load("robots", keys["driver"])
    place = {"p": ["0 m", "0 m", "0 m"], "q": [1, 0, 0, 0]}
    table = {**keys, **kind.loopback(), "X_WR": place, "X_TB": place, "step_limit": STEP, "turn_limit": TURN}
    cycle = scenario.build(section, {**table, "patience": 1}).cycle
    rig = scenario.build(section, {**table, "patience": round(patience / cycle)})
    settings = {"cycle": cycle, "late_limit": 5000, **start_of(rig), "dead_time": 0.0, "natural_frequency": 100.0}
    with ExitStack() as stack:
        arm = kind.make(rig, {**settings, "step_limit": 2 * STEP, "turn_limit": 2 * TURN})
        arm.attend(f"contract-{os.getpid()}-{name}", None)
        arm.automatic = False  # it restarts only on request
        stack.enter_context(arm)
        driver = rig.connect()
        stack.callback(driver.close)
        arm.live = True
        yield Cell(driver, arm, cycle)


every_driver = pytest.mark.parametrize("name", CASES)


def test_every_driver_has_an_emulated_robot():
    assert set(DRIVERS) == set(KINDS) == {keys["driver"] for keys in CASES.values()}


@every_driver
def test_a_robot_goes_where_it_is_sent_and_reports_it(name):
    with cell(name) as it:
        it.follow()
        it.move(1e-5, 100)
        it.agree()
        soon(lambda: it.tick() == (0, 0) and abs(it.X["p"][0] - it.sent()["p"][0]) < 1e-5)
        assert it.X["p"][0] > it.start[0] + 5e-4
        # Joints that continue by themselves while commands are late leave the straight line.
        assert it.X["p"][1:] == pytest.approx(it.start[1:], abs=1e-4 if name == "fci-joints" else 1e-6)
        assert it.arm.violations == []


@every_driver
def test_silent(name):
    """Detected when `patience` is over, and not earlier; then there is no packet to answer, and the set-point stays."""
    patience = 0.3
    with cell(name, patience) as it:
        it.follow()
        it.arm.disconnect = True
        soon(lambda: it.tick()[0] == faults.ROBOT_SILENT)
        before, began = it.sent(), clock.now()
        reply = it.wait()
        assert (reply.code, reply.heard) == (faults.ROBOT_SILENT, False)
        assert clock.now() - began >= 0.9 * patience, "it waits and does not spin"
        assert it.driver.send(it.goal) == it.driver.hold() == faults.ROBOT_LINE
        assert it.sent()["p"].tolist() == before["p"].tolist()
        assert it.arm.violations == []


@every_driver
def test_late(name):
    """An answer after its cycle: the robot's set-point and the driver's copy of it agree again, without a jump."""
    with cell(name) as it:
        it.follow()
        for _ in range(8):
            it.move(1e-5, 10)
            reply = it.wait()
            assert reply.code == faults.NONE
            gone = it.arm.cycles + 3
            soon(lambda gone=gone: it.arm.cycles >= gone)
            assert it.driver.send(it.goal) == faults.NONE
        it.agree()
        assert it.count("late") >= 8, "packets that came meanwhile"
        assert it.arm.violations == []
        assert it.arm.reason == ""


@every_driver
def test_lost(name):
    """Lost packets are counted, and show in the number of the robot's cycle."""
    with cell(name) as it:
        it.follow()
        before, cycle = it.count("lost", "skipped"), it.wait().cycle
        it.driver.hold()
        it.arm.line.next("drop", 3)
        soon(lambda: it.held() == 0 and it.count("lost", "skipped") - before >= 3)
        assert it.count("lost", "skipped") - before == it.arm.line.done["drop"] == 3
        assert it.wait().cycle > cycle + 3
        assert it.arm.violations == []


@every_driver
def test_duplicated_and_out_of_order(name):
    with cell(name) as it:
        it.follow()
        it.arm.line.next("duplicate", 4)
        soon(lambda: it.tick() == (0, 0) and it.count("duplicates") == 4)
        late = it.count("late")
        it.arm.line.next("reorder", 1)
        soon(lambda: it.tick() == (0, 0) and it.count("late") > late)
        it.agree()
        assert it.count("rejected") == 0
        assert it.arm.violations == []


@every_driver
def test_corrupt(name):
    """Packets that are cut or changed move nothing and raise nothing. Datagrams recover; a stream out of step is silent."""
    with cell(name, 0.3) as it:
        for fault in ("truncate", "corrupt"):
            setattr(it.arm.line, fault, 0.5)
        soon(lambda: (it.held(), it.arm.line.done["truncate"] + it.arm.line.done["corrupt"] > 60)[1] or it.broken)
        it.arm.line.clear()
        if name in STREAMS:
            soon(lambda: it.held() == faults.ROBOT_SILENT)
        else:
            assert it.count("rejected") > 10
            soon(lambda: it.held() == faults.NONE and np.abs(it.X["p"] - it.start).max() < 1e-6)
        assert it.arm._set["p"] == pytest.approx(it.start)
        assert it.arm.violations == []


@every_driver
def test_restarted(name):
    """The robot is stopped, moved elsewhere and restarted: reported as a fault, and nothing sent before is used."""
    with cell(name) as it:
        elsewhere = np.add(it.start, (0.02, 0.01, -0.01))
        it.follow()
        it.move(1e-5, 20)
        arm = it.arm
        arm._halt("somebody stopped it")
        clock.pause(0.1)  # the cycle in which it was stopped is over
        arm._set["p"] = elsewhere
        arm._response.settle(clock.now())
        arm._response.command(arm._set, clock.now(), clock.now() + 0.05)
        found = set()
        soon(lambda: found.add(it.held()) or np.abs(arm.true_pose()["p"] - elsewhere).max() < 1e-5)
        arm.restart()
        expected = {faults.ROBOT_RESTARTED, faults.ROBOT_PROGRAM}
        soon(lambda: found.add(it.held()) or found & expected)
        for _ in range(20):
            it.tick()
            it.goal = it.sent()
        assert arm._set["p"] == pytest.approx(elsewhere, abs=1e-5), "it has not gone back"
        assert arm.violations == []


@every_driver
def test_beyond_the_limit_of_a_cycle(name):
    """Shortened and reported, so that the robot does not object; the loop then stops softly."""
    with cell(name) as it:
        it.follow()
        soon(lambda: it.wait().heard or it.driver.send(it.goal))  # after a lost command the driver first resynchronises
        before, limited = it.sent()["p"][0], it.count("limited")
        it.goal["p"][0] += 10 * STEP
        assert it.driver.send(it.goal) == faults.ROBOT_LIMITED
        assert before < it.sent()["p"][0] <= before + STEP * (1 + 1e-6)
        assert it.count("limited") == limited + 1
        for _ in range(30):
            it.held()
        assert it.arm.reason == ""


@every_driver
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_no_pose_is_not_sent(name, bad):
    with cell(name) as it:
        it.follow()
        assert it.wait().code == faults.NONE
        before = it.sent()["p"].tolist()
        it.goal["p"][1] = bad
        assert it.driver.send(it.goal) == faults.ROBOT_NOT_SENDABLE
        assert it.sent()["p"].tolist() == before
        it.goal = it.sent()
        it.agree()
        assert it.arm.violations == []


@every_driver
def test_one_answer_for_a_packet_and_none_after_the_end(name):
    with cell(name, 0.1) as it:
        it.follow()
        assert it.wait().code == faults.NONE
        assert it.driver.send(it.goal) == faults.NONE
        assert it.driver.send(it.goal) == it.driver.hold() == faults.ROBOT_LINE
        it.driver.stop()
        it.driver.stop()
        it.driver.close()
        it.driver.close()
        assert it.driver.wait(it.X, it.V).code == faults.ROBOT_SILENT
        assert it.driver.send(it.goal) == faults.ROBOT_LINE
        it.driver.stop()
