"""Processes beside the loop: whatever happens to a reader or the recorder, the writer is not affected and
the counts are right.

Real processes, really killed and stopped. Nothing here compares wall times, which another program on the machine can stretch:
that a writer does not wait is seen from its voluntary context switches: a burst of appends must cause none.
"""

import itertools
import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from hilt.core import signals
from hilt.host import shared
from hilt.live.mailbox import Mailbox, Sender
from hilt.live.recorder import DONE, FAILED, RECORDING, WRITTEN, RecorderProcess
from hilt.live.ring import RingReader, RingWriter
from hilt.record import container, recording
from hilt.record.layout import describe

ROW = signals.row_type(("X_WB_cmd", "F_So_S"))
ORIGIN = {"system": "freefloat", "scenario": "{}", "row": json.dumps(describe(ROW))}
PATIENCE = 60.0  # [s] before a test gives up waiting
_number = itertools.count()

pytestmark = [pytest.mark.wall, pytest.mark.skipif(sys.platform != "linux", reason="shared memory as Linux has it")]


@pytest.fixture
def name():
    return f"processes-{os.getpid()}-{next(_number)}"


class Writer:
    """Appends numbered rows at 1 kHz, and keeps what it appended."""

    def __init__(self, name, capacity):
        self.ring = RingWriter(name, ROW, capacity)
        self.kept = []
        self.row = np.zeros(1, ROW)
        self.append(0)

    def append(self, count, pause=0.001):
        for _ in range(count):
            k = self.ring.count
            self.row["tick"], self.row["t"] = k, k * 1e-3
            self.row["F_So_S"]["f"] = (k, -k, 0.5 * k)
            self.ring.append(self.row)
            self.kept.append(self.row.tobytes())
            if pause:
                time.sleep(pause)

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
def start(name, tmp_path):
    """`start(capacity)` returns a writer and its recorder, which is ready."""
    made = []

    def begin(capacity=8192, folder=tmp_path):
        writer = Writer(name, capacity)
        recorder = RecorderProcess(name, folder / "run.mcap", ORIGIN)
        made.extend((recorder, writer.ring))
        assert recorder.wait_for(RECORDING, PATIENCE), recorder.status.error
        return writer, recorder

    yield begin
    for each in made:
        each.close()


def until(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.005)


def stop(pid):
    """Stop a process and wait until it has stopped; the signal takes a moment."""
    os.kill(pid, signal.SIGSTOP)
    until(lambda: Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T")


def test_a_recording_through_the_process_is_the_rows_byte_for_byte(start):
    writer, recorder = start()
    writer.append(1500)
    writer.ring.end()
    assert recorder.wait_for(WRITTEN, PATIENCE)
    assert recorder.finish({"metrics": {"CoV": 1.0}}) == ""
    assert recorder.status.state == DONE
    assert (recorder.status.rows_written, recorder.status.rows_lost) == (1500, 0)
    assert recorder.status.behind(writer.ring.count) == 0
    found = recording.load(recorder.path)
    assert found.rows.tobytes() == writer.bytes
    assert found.result == {"metrics": {"CoV": 1.0}}
    assert found.origin == ORIGIN


def test_rows_are_on_the_disk_while_the_run_goes_on(start):
    """Half a second at most: the recorder says so itself, and the file agrees."""
    writer, recorder = start()
    writer.append(20)
    until(lambda: recorder.status.rows_written == 20)  # no more rows come: it does not wait for a full chunk
    assert recording.load(recorder.path).rows.tobytes() == writer.bytes


def test_a_killed_recorder_does_not_disturb_the_writer_and_leaves_a_readable_file(start):
    writer, recorder = start()
    writer.append(700)
    until(lambda: recorder.status.rows_written > 0)
    os.kill(recorder.status.pid, signal.SIGKILL)
    writer.append(300)
    assert writer.burst() == 0
    until(lambda: recorder.status.trouble(silence=0.2))
    assert "no sign of life" in recorder.status.trouble(silence=0.2)
    assert "ended too early" in recorder.finish()
    rows = recording.load(recorder.path).rows.tobytes()
    assert rows
    assert writer.bytes.startswith(rows)


def test_a_stopped_recorder_that_falls_behind_counts_exactly_what_it_lost(start):
    writer, recorder = start(capacity=256)
    writer.append(300)
    until(lambda: recorder.status.behind(writer.ring.count) == 0)
    stop(recorder.status.pid)
    assert writer.burst(1000) == 0  # four times round
    assert recorder.status.behind(writer.ring.count) >= 1000
    os.kill(recorder.status.pid, signal.SIGCONT)
    writer.append(50)
    writer.ring.end()
    assert recorder.wait_for(WRITTEN, PATIENCE)
    assert "fell behind" in recorder.finish()
    status, ticks = recorder.status, recording.load(recorder.path).rows["tick"]
    assert status.rows_written + status.rows_lost == writer.ring.count
    assert len(ticks) == status.rows_written
    assert np.diff(ticks).min() == 1
    assert (np.diff(ticks) - 1).sum() == status.rows_lost > 0


READER = """
import sys, time
from hilt.live.ring import RingReader
ring = RingReader(sys.argv[1])
got = 0
print("ready", flush=True)
while not (ring.ended and ring.next == ring.count):
    rows, _ = ring.read(64)
    got += len(rows)
    time.sleep(0.001)
print(got, ring.lost, flush=True)
"""


@pytest.mark.parametrize("fate", [signal.SIGSTOP, signal.SIGKILL])
def test_what_happens_to_a_reader_affects_no_other_process(start, name, fate):
    writer, recorder = start()
    reader = subprocess.Popen([sys.executable, "-c", READER, name], stdout=subprocess.PIPE, text=True)
    assert reader.stdout.readline() == "ready\n"
    writer.append(200)
    stop(reader.pid) if fate == signal.SIGSTOP else reader.kill()
    writer.append(300)
    assert writer.burst(10_000) == 0  # further than the ring holds
    reader.send_signal(signal.SIGCONT)
    until(lambda: recorder.status.behind(writer.ring.count) == 0)
    writer.ring.end()
    assert recorder.wait_for(WRITTEN, PATIENCE)
    rest = reader.communicate(timeout=PATIENCE)[0].split()
    if fate == signal.SIGSTOP:
        got, lost = map(int, rest)
        assert got + lost == writer.ring.count
        assert lost > 0
    recorder.finish()
    status = recorder.status
    assert status.rows_written + status.rows_lost == writer.ring.count
    # If a busy machine made the recorder lose rows in the burst, the stopped reader is not the cause.
    assert len(recording.load(recorder.path).rows) == status.rows_written


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


def test_a_full_disk_is_reported_and_what_was_written_stays_readable(start, small_disk):
    folder, limit = small_disk
    writer, recorder = start(capacity=1 << 16, folder=folder)
    limit(recorder.status.pid)
    row = np.random.default_rng(0)  # noise, which does not compress
    for _ in range(4000):
        writer.row["X_WB_cmd"]["p"] = row.normal(size=3)
        writer.row["X_WB_cmd"]["q"] = row.normal(size=4)
        writer.append(1, 0)
    until(lambda: recorder.status.state == FAILED)
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


def test_a_folder_that_is_not_there_is_a_failed_recorder_and_not_an_exception(name, tmp_path):
    writer = Writer(name, 64)
    recorder = RecorderProcess(name, tmp_path / "nowhere" / "run.mcap", ORIGIN)
    assert not recorder.wait_for(RECORDING, PATIENCE)
    assert "No such file" in recorder.status.trouble()
    writer.append(10)
    writer.ring.close()
    recorder.finish()
    assert recorder.status.rows_lost == 10
    recorder.close()


LOOP = """
import sys, time
import numpy as np
from pathlib import Path
from hilt.core import signals
from hilt.live.recorder import RECORDING, RecorderProcess
from hilt.record.layout import describe
from hilt.live.ring import RingWriter
import json
row = np.zeros(1, signals.row_type(("X_WB_cmd", "F_So_S")))
ring = RingWriter(sys.argv[1], row.dtype, 4096)
origin = {"system": "freefloat", "scenario": "{}", "row": json.dumps(describe(row.dtype))}
recorder = RecorderProcess(sys.argv[1], Path(sys.argv[2]), origin)
recorder.wait_for(RECORDING, 60.0)
print(recorder.status.pid, flush=True)
while True:
    row["tick"] = ring.count
    ring.append(row)
    time.sleep(0.001)
"""


def test_when_the_loop_is_killed_the_recorder_finishes_the_file_and_exits(name, tmp_path):
    path = tmp_path / "run.mcap"
    loop = subprocess.Popen([sys.executable, "-c", LOOP, name, str(path)], stdout=subprocess.PIPE, text=True)
    recorder = int(loop.stdout.readline())
    reader = RingReader(name)
    until(lambda: reader.count > 300)
    assert reader.writer_alive
    assert os.getpgid(recorder) != os.getpgid(loop.pid)  # a terminal's interrupt reaches the loop only
    stop(loop.pid)
    count = reader.count
    assert reader.writer_alive  # stopped is not dead
    until(lambda: reader.beat_age > 0.05)
    loop.send_signal(signal.SIGCONT)
    until(lambda: reader.count > count)
    loop.kill()
    loop.communicate()
    until(lambda: not reader.writer_alive)
    until(lambda: not os.path.exists(f"/proc/{recorder}") or b"hilt" not in command_of(recorder))
    assert path.read_bytes()[-8:] == b"\x89MCAP0\r\n"  # the end of a complete file
    assert recording.load(path).rows["tick"].tolist() == list(range(reader.count))
    assert not shared.left(f"{name}*")  # and nothing is left behind


def command_of(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as stream:
            return stream.read()
    except OSError:
        return b""


SENDER = """
import sys, time
from hilt.live.mailbox import Sender
sender = Sender(sys.argv[1])
sender.set("robot.delay", 0.02, 1.0)
print("sent", flush=True)
while True:
    time.sleep(1.0)
"""


def test_a_killed_sender_frees_its_lane_and_a_stopped_one_blocks_nobody(name):
    box = Mailbox(name)
    children = [subprocess.Popen([sys.executable, "-c", SENDER, name], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    for child in children:
        assert child.stdout.readline() == "sent\n"
    lanes = {request.lane for request in box.poll()}
    assert lanes == {0, 1}
    stop(children[0].pid)
    sender = Sender(name)
    number = sender.arm()
    (request,) = box.poll()
    assert request.lane == 2
    box.answer(request, True, "armed")
    assert sender.answer(number).accepted
    for child in children:
        child.kill()
        child.communicate()
    heirs = [Sender(name), Sender(name)]
    for heir in heirs:
        heir.stop()
    assert {request.lane for request in box.poll()} == {0, 1}
    for each in (sender, *heirs, box):
        each.close()
