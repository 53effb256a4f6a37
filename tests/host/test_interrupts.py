"""Signals that end a command."""

import subprocess
import sys

import pytest

LOST = """
import os, signal
from hilt.host import interrupts

class Dropped:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        for _ in range(10):
            pass  # the handler runs here, where exceptions are lost

with interrupts.raising():
    assert not interrupts.came()
    dropped = Dropped()
    del dropped
    print("went on", interrupts.came())
"""


@pytest.mark.wall
def test_a_signal_whose_exception_was_lost_is_not_forgotten():
    done = subprocess.run([sys.executable, "-c", LOST], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Exception ignored in" in done.stderr
    assert done.stdout == "went on True\n"
