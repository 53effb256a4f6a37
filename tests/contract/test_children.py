"""Real child processes: they import nothing from the working folder, and end as those of a virtual machine do."""

import ast
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import hilt
from hilt import job
from hilt.core.faults import InputError
from hilt.device import rigfile
from hilt.host import claims, shared
from hilt.lab.dry.control import FacilityControl, name_of
from hilt.lab.dry.robot import free_port
from hilt.live import mailbox, station
from hilt.live.mailbox import LIVE, STOPPED, Sender
from hilt.record import recording
from tests.patience import HUNG, becomes

ROOT = Path(hilt.__file__).parent
SERVE = """
import json, sys
from hilt.core import scenario
from hilt.device.rigfile import RigFile
from hilt.lab.dry.facility import serve
sys.exit(serve(scenario.build(RigFile, json.loads(sys.argv[1])), []))
"""
HOLD = """
import sys
from hilt.host import claims
ours = claims.Claims()
print(ours.take(sys.argv[1]), flush=True)
sys.stdin.read()
"""
PLANTED = ("hilt", "numpy", "json", "struct", "socket", "pydantic", "sitecustomize")

pytestmark = pytest.mark.wall


@pytest.fixture
def working_folder(tmp_path, monkeypatch):
    """A folder with modules that print a message when they are imported."""
    for name in PLANTED:
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'mark')!r}, 'a').write({name!r})\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_station_imports_nothing_from_the_working_folder(working_folder):
    with pytest.raises(InputError, match="no-such-system"):
        station.launch({"system": "no-such-system"})
    assert not (working_folder / "mark").exists()


def command_lines(path):
    """Lists that begin with sys.executable."""
    text = path.read_text()
    for node in ast.walk(ast.parse(text if "sys.executable" in text else "")):
        if isinstance(node, ast.List) and node.elts and ast.unparse(node.elts[0]) == "sys.executable":
            yield [ast.unparse(each) for each in node.elts]


def test_every_process_is_started_without_the_working_folder():
    found = [(path, line) for path in ROOT.rglob("*.py") for line in command_lines(path)]
    assert found
    for path, line in found:
        assert line[1] == "'-P'", path


def test_a_killed_facility_leaves_neither_processes_nor_memory():
    rig = rigfile.load(ROOT.parents[1] / "rigs" / "dry-lab.toml")
    rig = rig.model_copy(update={name: {**getattr(rig, name), "port": free_port()} for name in ("robot", "sensor")})
    parent = subprocess.Popen([sys.executable, "-c", SERVE, rig.model_dump_json()], stdout=subprocess.PIPE, text=True)
    parent.stdout.readline()
    control = FacilityControl(rig)
    pids = [control.status()[name]["pid"] for name in ("robot", "sensor")]
    control.close()
    assert not {os.getpgid(pid) for pid in pids} & {os.getpgid(parent.pid)}, "a terminal's interrupt is the parent's"
    ends = [os.pidfd_open(pid) for pid in pids]
    parent.kill()
    parent.communicate(timeout=HUNG)
    for end in ends:
        assert select.select([end], [], [], HUNG)[0]
        os.close(end)
    with pytest.raises(InputError, match="not running"):
        FacilityControl(rig)
    shared.sweep()  # as its owner's next command does
    assert not shared.left(f"{name_of(rig)}*")


def test_a_station_whose_terminal_is_closed_stops_and_leaves_nothing_behind(tmp_path):
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup it is ignored, and children inherit that
    name = station.launch({"system": "freefloat", "settings": ["loop.duration=600 s"], "out": str(tmp_path), "go": True})
    signal.signal(signal.SIGHUP, before)
    sender = Sender(name)
    becomes(lambda: sender.front.state == LIVE)
    os.kill(sender.pid, signal.SIGHUP)
    becomes(lambda: sender.front.state == STOPPED and sender.front.recording)
    found = recording.load(Path(sender.front.recording))
    assert found.result["fault"]["name"] == "requested"
    assert job.replay(found) is None
    os.kill(sender.pid, signal.SIGHUP)
    becomes(lambda: name not in mailbox.sessions())
    assert shared.left(f"{sender.pid}-*") == []


def test_the_claims_of_a_killed_process_are_free():
    name = f"test {os.getpid()}"
    child = subprocess.Popen([sys.executable, "-c", HOLD, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "True\n"
    assert claims.taken([name]) == [name]
    child.kill()
    child.communicate(timeout=HUNG)
    assert claims.taken([name]) == []
