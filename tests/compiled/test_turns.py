"""Processes that need the same function at the same moment: one compiles it, the others use its cached code."""

import fcntl
import os
import signal
import subprocess
import sys

import pytest

from hilt.compiled import turns
from hilt.compiled.turns import Turns

OWN = """
import math
from hilt.compiled import jit

@jit
def inner(x):
    for i in range(100):
        x = math.sin(x) + math.cos(i * x)
    return x

@jit
def outer(x):
    return inner(x) + inner(x + 1.0)
"""
PROGRAM = """
import sys
from numba.core import event

class Compiled(event.Listener):
    names = []
    def on_start(self, found):
        self.names.append(found.data["dispatcher"].py_func.__name__)
    def on_end(self, _):
        pass

import own
print("ready", flush=True)
sys.stdin.readline()
with event.install_listener("numba:compile", Compiled()) as seen:
    value = own.outer(0.5)
print(value, *seen.names)
"""


def test_each_function_is_compiled_by_one_of_four_processes(tmp_path):
    (tmp_path / "own.py").write_text(OWN)
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "PYTHONPATH": str(tmp_path)}
    environment.pop("NUMBA_CACHE_DIR", None)
    (tmp_path / "cache").mkdir(mode=0o700)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    processes = [subprocess.Popen([sys.executable, "-c", PROGRAM], env=environment, **pipes) for _ in range(4)]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    said = [process.communicate()[0].split() for process in processes]
    assert len({words[0] for words in said}) == 1
    assert sorted(name for words in said for name in words[1:]) == ["inner", "outer"]


def test_the_turn_of_a_killed_process_is_free(tmp_path):
    path = str(tmp_path / "lock")
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        Turns().wait(path)
        os.write(writer, b"!")
        signal.pause()
    os.read(reader, 1)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    own = Turns()
    own.wait(path)
    with open(path, "rb") as other, pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    own.give_back()
    with open(path, "rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_nothing_waits_for_ever_for_a_stopped_process(tmp_path, monkeypatch):
    monkeypatch.setattr(turns, "_PATIENCE", 0.2)
    path = str(tmp_path / "lock")
    with open(path, "wb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        assert not Turns().wait(path)
