"""Faults of processes and of the disk while the robot is LIVE: killed, stopped, full, slow. The loop is not disturbed.

Loop, recorder, reader, robot and sensor are separate processes. A few of these are also killed in wall time: test_lab_cli.py.
"""

import shutil
import signal

import numpy as np
import pytest

from hilt import job
from hilt.core import clock
from hilt.device.live_rig import LIVE
from hilt.live.ring import RingReader, rings
from hilt.record import recording
from tests.e2e.lab import GAP, ROBOTS, Run, until

pytestmark = pytest.mark.virtual

LATE = 1e-4  # s: more than an undisturbed row is late on the virtual machine


class Reader:
    """Another process, which reads every row of a run."""

    def __init__(self, machine):
        self.rows = []
        self.child = machine.begin("reader", self._read)

    def _read(self):
        ring = RingReader(until(rings)[0])
        while not (ring.ended and ring.next == ring.count):
            self.rows.append(ring.read(4096)[0])
            clock.pause(0.02)


def kill(run, machine):
    (recorder,) = machine.named("recorder")
    machine.kill(recorder.pid, signal.SIGKILL)


def stop(run, machine):
    (recorder,) = machine.named("recorder")
    machine.kill(recorder.pid, signal.SIGSTOP)
    clock.pause(2.5)
    machine.kill(recorder.pid, signal.SIGCONT)


def fill(run, machine):
    machine.disk.full = True


def slow(run, machine):
    machine.disk.slow = 100_000_000  # ns for each write


def stop_reader(run, machine):
    (reader,) = machine.named("reader")
    machine.kill(reader.pid, signal.SIGSTOP)


def delete(run, machine):
    shutil.rmtree(run.session.folder)


CHUNK = 0.22  # s of rows in the first chunk: of the quarter of a second since the file was opened, before the run was live
LOOKED = 32  # ticks between two checks of the recorder
DIES = "the recorder's process has ended (exit code -9)"
# What happens, when [s], what the rig says about it, ticks from there to its fault, its sentence, whether rows are lost.
CASES = {
    "the recorder is killed": (kill, 0.8, "stop", LOOKED, DIES, True),
    "the recorder is killed, which is counted": (kill, 0.8, "count", None, DIES, True),
    "the recorder is killed before its first row": (kill, 0.0, "stop", LOOKED, "were still in shared memory", False),
    "the recorder is stopped": (stop, 0.8, "stop", 2.0 / 0.004 + LOOKED, "no sign of life", False),
    "the disk is full": (fill, 0.3, "stop", LOOKED + 130, "No space left", True),  # noticed with the next chunk
    "the disk is full, which is counted": (fill, 0.3, "count", None, "No space left", True),
    "the disk is slow": (slow, 0.3, "stop", None, "", False),
    "the folder is deleted": (delete, 0.3, "stop", None, "was deleted during the run; it was restored", False),
    "a reader is stopped": (stop_reader, 0.3, "stop", None, "", False),
}


@pytest.mark.parametrize("name", CASES)
def test_nothing_beside_the_loop_disturbs_it(lab, machine, name):
    """No row begins late, the robot misses no answer, and the recording is the beginning of the rows, byte for byte."""
    do, after, reaction, ticks, words, lost = CASES[name]
    reader = Reader(machine)
    run = lab("dry-lab", "collisions=1000", f"loop.duration={1.6 if ticks is None else 20} s", lab={"recorder": reaction})
    result = run.go(lambda run: do(run, machine), after)
    assert (result.fault and result.fault.name) == ("recorder" if ticks else None)
    if ticks:
        assert result.fault.tick - after / run.cycle <= ticks + 1
    assert words in str(result.notes)
    assert bool(result.notes) == bool(words)
    assert run.judged()["late"] == 0
    rows = np.concatenate(reader.rows)
    assert rows["lateness"].max() < LATE
    kept = recording.load(result.recording).rows
    both = min(len(kept), len(rows))  # the reader may have been stopped
    assert kept[:both].tobytes() == rows[:both].tobytes()
    assert both >= min(after, CHUNK) / run.cycle
    assert (result.timing["rows_lost"] > 0) == lost
    if do is not stop_reader:
        assert result.timing["rows"] - result.timing["rows_lost"] == len(kept)
        assert rows["tick"].tolist() == list(range(result.timing["rows"]))


def away(machine, facility, folder, *settings, after=0.5):
    """hilt in a process of its own, a while after it went live: its run, its handle, and what it finds."""
    found = {}

    def main():
        found["run"] = run = Run(facility, folder, settings=(GAP, "collisions=1000", *settings))
        run.open()
        found["result"] = run.session.go()
        run.close()

    child = machine.begin("hilt", main)
    until(lambda: "run" in found and found["run"].rig.state == LIVE)
    clock.pause(after)
    return found["run"], child, found


CAME_BACK = {"rsi": "robot-gap", "rtde": "lateness", "fci": "lateness"}
GONE = {"rsi": "answers in a row were late", "rtde": "the counter stood still", "fci": "its client has disconnected"}


@pytest.mark.parametrize("rig", ROBOTS)
def test_a_loop_that_is_stopped_for_a_while_does_not_move_the_robot_afterwards(dry, machine, tmp_path, rig):
    """The robot stops when there are no answers, and does not start again: no set-point moves it after the pause."""
    run, loop, found = away(machine, dry(rig), tmp_path)
    machine.kill(loop.pid, signal.SIGSTOP)
    clock.pause(0.15)
    moved = run.judged()
    machine.kill(loop.pid, signal.SIGCONT)
    until(lambda: "result" in found)
    run.result = result = found["result"]
    assert result.fault.name == CAME_BACK[run.file.robot["driver"]]
    assert result.rows["lateness"].max() > 0.14
    assert run.speed > 0.01, "it was moving before"
    robot = run.judged()
    assert (robot["set_points"], robot["violations"]) == (moved["set_points"], [])
    assert job.replay(recording.load(result.recording)) is None


@pytest.mark.parametrize("rig", ROBOTS)
def test_a_killed_loop_leaves_a_robot_that_stops_by_itself_and_a_whole_file(dry, lab, machine, tmp_path, rig):
    """And nothing in shared memory once another session has started."""
    facility = dry(rig)
    run, loop, _ = away(machine, facility, tmp_path)
    ring = RingReader(next(each for each in rings() if each.startswith(f"{loop.pid}-")))
    machine.kill(loop.pid, signal.SIGKILL)
    clock.pause(0.5)
    robot = run.judged()
    assert robot["stops"] == 1
    assert GONE[run.file.robot["driver"]] in robot["last_reason"]
    assert (robot["violations"], robot["hard_stops"]) == ([], 0)
    assert not ring.writer_alive
    assert machine.named("recorder") == []
    (path,) = tmp_path.glob("*.mcap")
    assert recording.load(path).rows["tick"].tolist() == list(range(ring.count))
    Run(facility, tmp_path).close()
    assert [each for each in machine.segments.left() if each.startswith(f"{loop.pid}-")] == []
