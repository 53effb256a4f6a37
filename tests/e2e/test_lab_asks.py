"""Moving the robot from the command line: only after confirmation, and only within the rig's limits."""

import os
import pty
import subprocess
import sys

import pytest

from hilt.device import rigfile
from hilt.lab.dry.facility import Facility
from tests.e2e.command import hilt
from tests.e2e.test_lab_cli import rig_file

pytestmark = [pytest.mark.long, pytest.mark.wall]

ASK = ('arm = "run"', 'arm = "ask"')
MOVES = {"identify": "robot", "calibrate": "tool"}


@pytest.mark.parametrize("command", MOVES)
def test_without_a_terminal_there_is_no_confirmation(tmp_path, command):
    rig = rig_file(tmp_path, ASK)
    done = hilt(tmp_path, command, MOVES[command], str(rig))
    assert done.returncode == 2
    assert "there is no terminal to ask at" in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == [rig], "nothing was written"


def test_the_command_line_cannot_widen_the_rigs_limits(tmp_path):
    rig = rig_file(tmp_path)
    done = hilt(tmp_path, "run", "docking", "--rig", str(rig), "--set", "limits.speed=200 mm/s")
    assert done.returncode == 2
    assert "limits.speed is 0.2 m/s but the rig allows 0.1 m/s" in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == [rig], "nothing was written"


@pytest.fixture
def asking(tmp_path):
    """A facility whose rig asks for confirmation; its robot counts every set-point that moves it as a violation."""
    rig = rig_file(tmp_path, ASK)
    facility = Facility(rigfile.load(rig), [], live=False)
    yield rig, facility.control
    facility.stop()


def test_the_robot_is_held_during_the_question(asking, tmp_path):
    """At a terminal, where the answer is no."""
    rig, control = asking
    ours, theirs = pty.openpty()
    words = [sys.executable, "-m", "hilt.cli.main", "calibrate", "tool", str(rig)]
    child = subprocess.Popen(words, stdin=theirs, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    try:
        assert "Arm it?" in child.stderr.readline()
        before = control.status()["robot"]["answers"]
        control.wait_for(lambda found: found["robot"]["answers"] >= before + 50)  # it is held: every packet is answered
        os.write(ours, b"no\n")
        assert "was not armed" in child.communicate(timeout=60)[1]
    finally:
        child.kill()
        child.communicate()
        os.close(ours)
        os.close(theirs)
    assert child.returncode == 2
    assert control.status()["robot"]["violations"] == []
    assert list(tmp_path.iterdir()) == [rig], "nothing was written"
