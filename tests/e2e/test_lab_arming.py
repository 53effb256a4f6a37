"""Arming: only while the run is recorded, only by an answer to the question, and never after a signal."""

import contextlib
import fcntl
import os
import pty
import shutil
import signal
import socket
import struct
import subprocess
import sys
import termios

import pytest

from hilt.core.faults import InputError
from hilt.device import rigfile
from hilt.host import shared
from hilt.lab.dry.facility import Facility
from hilt.record import recording
from tests.e2e.test_lab_cli import rig_file
from tests.e2e.test_lab_faults import kill_recorder
from tests.e2e.walls import LONG, Run, until

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(sys.platform != "linux", reason="terminals, signals and shared memory as Linux has them"),
]


@pytest.fixture
def unarmed(facility, tmp_path):
    """READY on a facility whose robot counts every set-point that moves it as a violation."""
    run = Run(facility, tmp_path / "new" / "runs")
    before = run.open()
    facility.control.live(False)
    yield run.session
    after = facility.control.status()["robot"]
    assert after["violation_count"] == before["violation_count"], after["violations"]
    run.session.close()
    assert shared.left(f"{os.getpid()}-*") == [], "and nothing is left in shared memory"


def test_without_a_recorder_nothing_is_armed(unarmed, tmp_path, monkeypatch):
    """It dies before it has started."""
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(InputError, match=r"not armed: the recorder's process has ended \(exit code 1\)"):
        unarmed.go()
    assert list(tmp_path.iterdir()) == [], "no file and no folder"


def test_if_the_recorder_cannot_write_nothing_is_armed(unarmed, tmp_path):
    """The disk is full from the first byte on."""
    folder = tmp_path / "new" / "runs"
    folder.mkdir(parents=True)
    try:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8k", "tmpfs", str(folder)], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("may not mount a tmpfs here: only root may")
    try:
        (folder / "full").write_bytes(bytes(8192))
        with pytest.raises(InputError, match=r"not armed: .* cannot continue: No space left"):
            unarmed.go()
        assert [each.name for each in folder.iterdir()] == ["full"]
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True, capture_output=True)


def test_a_recorder_that_is_killed_before_its_first_row_costs_nothing(run):
    """It dies at the moment the robot goes live: a fault, and the rows are still there."""
    result = run(kill_recorder, after=0.0)
    assert result.fault.name == "recorder"
    assert "still in shared memory" in str(result.notes)
    found = recording.load(result.recording)
    assert len(found.rows) == result.timing["rows"]
    assert found.result["fault"]["name"] == "recorder"


def test_a_folder_that_is_deleted_meanwhile_is_made_again(run):
    result = run(lambda each: shutil.rmtree(each.session.folder), settings=["collisions=1"], lab={"missed": 100_000})
    assert result.fault is None
    assert "was deleted during the run" in str(result.notes)
    found = recording.load(result.recording)
    assert len(found.rows) == result.timing["rows"]
    assert found.result is not None


@pytest.mark.usefixtures("hangs_up")
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_a_signal_is_a_soft_stop_while_live(run, number):
    result = run(lambda each: os.kill(os.getpid(), number))
    assert result.fault.name == "requested"
    assert f"interrupted by {number.name}" in str(result.notes)


class Terminal:
    """A command at its own terminal."""

    def __init__(self, folder, *words):
        self._ours, self._theirs = pty.openpty()
        self.child = subprocess.Popen(
            [sys.executable, "-m", "hilt.cli.main", *words],
            cwd=folder,
            stdin=self._theirs,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
        )

    def type(self, text):
        os.write(self._ours, text)
        until(lambda: struct.unpack("i", fcntl.ioctl(self._theirs, termios.FIONREAD, bytes(4)))[0])  # it lies there

    def answer(self, text):
        """Return whether it has ended, after time to read this."""
        os.write(self._ours, text)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.child.wait(0.2)
        return self.child.poll() is not None

    def close(self):
        self.child.kill()
        self.child.communicate()
        os.close(self._ours)
        os.close(self._theirs)


@pytest.mark.parametrize(
    ("words", "number"), [(("run", "docking", "--rig"), signal.SIGHUP), (("calibrate", "tool"), signal.SIGTERM)]
)
def test_what_was_typed_before_the_question_does_not_answer_it_and_a_signal_ends_it(tmp_path, words, number):
    """Robot and sensor are released, and nothing is left behind."""
    rig = rig_file(tmp_path, ('arm = "run"', 'arm = "ask"'))
    facility = Facility(rigfile.load(rig), [], live=False)
    here = Terminal(tmp_path, *words, str(rig))
    try:
        here.type(b"yes\nyes\n")
        assert "Arm it?" in here.child.stderr.readline()
        before = facility.control.status()["robot"]["answers"]
        facility.control.wait_for(lambda found: found["robot"]["answers"] >= before + 100)
        assert here.child.poll() is None, "it waits for an answer"
        here.child.send_signal(number)
        said = here.child.communicate(timeout=LONG)[1]
        assert here.child.returncode == 130
        assert said.splitlines()[-1] == f"hilt: interrupted by {number.name}; nothing was run"
        assert "Traceback" not in said
        facility.control.wait_for(lambda found: found["sensor"]["clients"] == 0)
        status = facility.control.status()["robot"]
        assert status["violation_count"] == 0, status["violations"]
    finally:
        here.close()
        facility.stop()
    assert list(tmp_path.iterdir()) == [rig]
    assert shared.left(f"{here.child.pid}-*") == []


@pytest.mark.parametrize("words", [("run", "docking", "--rig"), ("calibrate", "tool")])
def test_only_what_is_typed_after_the_question_answers_it(tmp_path, words):
    """Yes before it and no after it is a no, however long the robot takes to be armed."""
    rig = rig_file(tmp_path, ('arm = "run"', 'arm = "ask"'))
    facility = Facility(rigfile.load(rig), [], live=False)
    here = Terminal(tmp_path, *words, str(rig))
    try:
        here.type(b"yes\nyes\n")
        assert "Arm it?" in here.child.stderr.readline()
        until(lambda: here.answer(b"no\n"))  # what arrives together with the question is not its answer either
        said = here.child.communicate(timeout=LONG)[1]
        assert here.child.returncode == 2
        assert "the robot was not armed; answer yes to arm it" in said
        status = facility.control.status()["robot"]
        assert status["violation_count"] == 0, status["violations"]
    finally:
        here.close()
        facility.stop()


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT])
def test_a_signal_while_it_connects_ends_it_cleanly(tmp_path, number):
    """The sensor is there but sends nothing; the session already has its mailbox."""
    rig = rig_file(tmp_path, ("stale =", 'time_limit = "60 s"\nstale ='))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", rigfile.load(rig).sensor["port"]))
        here = Terminal(tmp_path, "run", "docking", "--rig", str(rig))
        try:
            silent.settimeout(LONG)
            silent.recv(64)  # it requests the sensor's stream
            here.child.send_signal(number)
            said = here.child.communicate(timeout=LONG)[1]
        finally:
            here.close()
    assert said.strip() == f"hilt: interrupted by {number.name}; nothing was run"
    assert here.child.returncode == 130
    assert list(tmp_path.iterdir()) == [rig]
    assert shared.left(f"{here.child.pid}-*") == []
