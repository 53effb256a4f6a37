"""Processes beside the loop: whatever happens to a reader, a sender or the recorder, the writer is not affected and the counts
are right.

In virtual time, except for what the kernel does: that a writer waits for nobody is seen from its voluntary context switches,
and a disk is really full. A loop is really killed in tests/e2e/test_lab_wall.py.
"""

import json
import os
import resource
import signal
import subprocess
import sys

import numpy as np
import pytest

from hilt.core import clock, signals
from hilt.host import machine as host
from hilt.host import shared
from hilt.live.mailbox import Mailbox, Sender
from hilt.live.recorder import DONE, FAILED, RECORDING, WRITTEN, RunRecorder
from hilt.live.ring import RingReader, RingWriter
from hilt.record import container, recording
from hilt.record.layout import describe
from tests.patience import HUNG, becomes

ROW = signals.row_type(("X_WB_cmd", "F_So_S"))
ORIGIN = {"system": "freefloat", "scenario": "{}", "row": json.dumps(describe(ROW))}
NAME = f"processes-{os.getpid()}"
virtual, wall = pytest.mark.virtual, pytest.mark.wall


class Writer:
    """Appends numbered rows at 1 kHz, and keeps what it appended."""

    def __init__(self, capacity):
        self.ring = RingWriter(NAME, ROW, capacity)
        self.kept = []
        self.row = np.zeros(1, ROW)

    def append(self, count, pause=0.001):
        for _ in range(count):
            k = self.ring.count
            self.row["tick"], self.row["t"] = k, k * 1e-3
            self.row["F_So_S"]["f"] = (k, -k, 0.5 * k)
            self.ring.append(self.row)
            self.kept.append(self.row.tobytes())
            if pause:
                clock.pause(pause)

    def burst(self, count=2000):
        """Voluntary context switches during a burst of appends: how often the writer waited."""
        self.append(10, 0)
        before = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
        self.append(count, 0)
        return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw - before

    @property
    def bytes(self):
        return b"".join(self.kept)


@pytest.fixture
def start(tmp_path):
    """`start(capacity)` returns a writer and its recorder, which is ready."""
    made = []

    def begin(capacity=8192, folder=tmp_path, state=RECORDING):
        writer = Writer(capacity)
        recorder = RunRecorder(NAME, folder / "run.mcap", ORIGIN)
        made.extend((recorder, writer.ring))
        assert recorder.wait_for(state, HUNG) == folder.exists(), recorder.status.error
        return writer, recorder

    yield begin
    for each in made:
        each.close()


def check_counts(writer, recorder):
    """Every row is in the recording, in order, or counted as lost."""
    status, ticks = recorder.status, recording.load(recorder.path).rows["tick"]
    assert status.rows_written + status.rows_lost == writer.ring.count
    assert len(ticks) == status.rows_written
    assert np.diff(ticks).min(initial=1) == 1
    assert (np.diff(ticks) - 1).sum() + writer.ring.count - 1 - ticks[-1] == status.rows_lost


@virtual
def test_a_recording_through_the_process_is_the_rows_byte_for_byte(start):
    writer, recorder = start()
    writer.append(1500)
    writer.ring.end()
    assert recorder.wait_for(WRITTEN, 0.1)
    assert recorder.finish({"metrics": {"CoV": 1.0}}) == ""
    assert recorder.status.state == DONE
    assert (recorder.status.rows_written, recorder.status.rows_lost) == (1500, 0)
    assert recorder.status.behind(writer.ring.count) == 0
    found = recording.load(recorder.path)
    assert found.rows.tobytes() == writer.bytes
    assert found.result == {"metrics": {"CoV": 1.0}}
    assert found.origin == ORIGIN


@virtual
def test_rows_are_on_the_disk_while_the_run_goes_on(start):
    """After half a second at most, even if no more rows come: it does not wait for a full chunk."""
    writer, recorder = start()
    writer.append(20)
    clock.pause(0.5)
    assert recorder.status.rows_written == 20
    assert recording.load(recorder.path).rows.tobytes() == writer.bytes


@virtual
def test_a_killed_recorder_does_not_disturb_the_writer_and_leaves_a_readable_file(start):
    writer, recorder = start()
    writer.append(700)
    host.kill(recorder.status.pid, signal.SIGKILL)
    writer.append(300)
    assert "no sign of life for 0.3 s" in recorder.status.trouble(silence=0.2)
    assert "exit code -9" in recorder.trouble()
    assert "ended too early" in recorder.finish()
    rows = recording.load(recorder.path).rows.tobytes()
    assert rows
    assert writer.bytes.startswith(rows)


@virtual
def test_a_stopped_recorder_that_falls_behind_counts_exactly_what_it_lost(start):
    writer, recorder = start(capacity=256)
    writer.append(300)
    host.kill(recorder.status.pid, signal.SIGSTOP)
    writer.append(1000, 0)  # four times round
    assert recorder.status.behind(writer.ring.count) >= 1000
    host.kill(recorder.status.pid, signal.SIGCONT)
    writer.append(50)
    writer.ring.end()
    assert recorder.wait_for(WRITTEN, 0.1)
    assert "fell behind" in recorder.finish()
    assert 700 < recorder.status.rows_lost < 800, "all but what the ring holds"
    check_counts(writer, recorder)


@virtual
@pytest.mark.parametrize("fate", [signal.SIGSTOP, signal.SIGKILL])
def test_what_happens_to_a_reader_affects_no_other_process(start, machine, fate):
    writer, recorder = start(capacity=256)
    found = []

    def read():
        ring, got = RingReader(NAME), 0
        while not (ring.ended and ring.next == ring.count):
            got += len(ring.read(64)[0])
            clock.pause(0.001)
        found.append((got, ring.lost))

    reader = machine.begin("reader", read)
    writer.append(200)
    reader.send_signal(fate)
    writer.append(1000)  # further than the ring holds
    reader.send_signal(signal.SIGCONT)
    writer.ring.end()
    assert recorder.wait_for(WRITTEN, 0.1)
    clock.pause(0.1)
    assert reader.poll() == (0 if fate == signal.SIGSTOP else -9)
    assert [sum(each) for each in found] == [1200] * (fate == signal.SIGSTOP)
    assert all(lost > 700 for _, lost in found)
    recorder.finish()
    assert recorder.status.rows_lost == 0
    check_counts(writer, recorder)


@virtual
def test_a_folder_that_is_not_there_is_a_failed_recorder_and_not_an_exception(start, tmp_path):
    writer, recorder = start(64, tmp_path / "nowhere")
    assert "No such file" in recorder.status.trouble()
    writer.append(10)
    writer.ring.close()
    recorder.finish()
    assert recorder.status.rows_lost == 10


@virtual
def test_when_the_loop_is_killed_the_recorder_finishes_the_file_and_exits(start, machine, tmp_path):
    loop = machine.begin("loop", lambda: start(4096)[0].append(10**9))
    clock.pause(1.0)
    (recorder,) = machine.named("recorder")
    reader = RingReader(NAME)
    loop.send_signal(signal.SIGSTOP)
    count = reader.count
    clock.pause(0.1)
    assert reader.writer_alive, "stopped is not dead"
    assert reader.beat_age > 0.09
    assert reader.count == count > 300
    loop.send_signal(signal.SIGCONT)
    clock.pause(0.1)
    assert reader.count > count
    loop.send_signal(signal.SIGKILL)
    assert not reader.writer_alive
    clock.pause(0.5)
    assert (recorder.ended, recorder.code) == (True, 0)
    path = tmp_path / "run.mcap"
    assert path.read_bytes()[-8:] == b"\x89MCAP0\r\n"  # the end of a complete file
    assert recording.load(path).rows["tick"].tolist() == list(range(reader.count))
    assert not shared.left(f"{NAME}*")  # and nothing is left behind


@virtual
def test_a_killed_sender_frees_its_lane_and_a_stopped_one_blocks_nobody(machine):
    box = Mailbox(NAME)

    def send():
        Sender(NAME).set("robot.delay", 0.02, 1.0)
        host.event().wait()

    children = [machine.begin("sender", send) for _ in range(2)]
    clock.pause(0.01)
    assert {request.lane for request in box.poll()} == {0, 1}
    children[0].send_signal(signal.SIGSTOP)
    sender = Sender(NAME)
    number = sender.arm()
    (request,) = box.poll()
    assert request.lane == 2
    box.answer(request, True, "armed")
    assert sender.answer(number).accepted
    for child in children:
        child.send_signal(signal.SIGKILL)
    for heir in (Sender(NAME), Sender(NAME)):
        heir.stop()
    assert {request.lane for request in box.poll()} == {0, 1}


# On the real machine

READER = """
import sys, time
from hilt.live.ring import RingReader
ring = RingReader(sys.argv[1])
print("ready", flush=True)
while True:
    ring.read(64)
    time.sleep(0.001)
"""


@wall
def test_a_writer_waits_for_nobody(start):
    """Neither for a stopped reader and recorder nor for killed ones. A signal that stops a process reaches it before the next
    thing that it does."""
    writer, recorder = start()
    reader = subprocess.Popen([sys.executable, "-c", READER, NAME], stdout=subprocess.PIPE, text=True)
    assert reader.stdout.readline() == "ready\n"
    writer.append(100)
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in (reader.pid, recorder.status.pid):
            os.kill(pid, number)
        assert writer.burst(10_000) == 0  # further than the ring holds
    reader.communicate(timeout=HUNG)
    assert "ended too early" in recorder.finish()
    assert writer.bytes.startswith(recording.load(recorder.path).rows.tobytes())


@pytest.fixture(params=["small tmpfs", "file size limit"])
def small_disk(request, tmp_path):
    """A folder with room for 300 kB, and what must be done to the recorder for it."""
    if request.param == "file size limit":
        yield tmp_path, lambda pid: resource.prlimit(pid, resource.RLIMIT_FSIZE, (300_000, 300_000))
        return
    mount = ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(tmp_path)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("may not mount a tmpfs")
    yield tmp_path, lambda pid: None
    subprocess.run(["umount", "--lazy", str(tmp_path)], check=True, capture_output=True)


@wall
def test_a_full_disk_is_reported_and_what_was_written_stays_readable(start, small_disk):
    folder, limit = small_disk
    writer, recorder = start(capacity=1 << 16, folder=folder)
    limit(recorder.status.pid)
    row = np.random.default_rng(0)  # noise, which does not compress
    for _ in range(4000):
        writer.row["X_WB_cmd"]["p"] = row.normal(size=3)
        writer.row["X_WB_cmd"]["q"] = row.normal(size=4)
        writer.append(1, 0)
    becomes(lambda: recorder.status.state == FAILED)
    assert "cannot continue" in recorder.status.trouble()
    assert writer.burst() == 0
    writer.ring.end()
    error = recorder.finish()
    assert "No space left" in error or "too large" in error
    status, rows = recorder.status, recording.load(recorder.path).rows
    assert status.rows_written + status.rows_lost == writer.ring.count
    assert len(rows) == status.rows_written > 0
    assert container.whole_bytes(recorder.path) == recorder.path.stat().st_size  # no half chunk at its end
    assert writer.bytes.startswith(rows.tobytes())
