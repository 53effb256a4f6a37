"""A rig file that names code: run from beside the file or from the command line, and never from where others can write."""

import contextlib
import itertools
import os
import sys
from pathlib import Path

import pytest

import hilt
from hilt.cockpit import desk
from hilt.core.faults import InputError
from hilt.device import own, rigfile
from hilt.device.live_rig import LabRig
from hilt.live import mailbox, station
from tests.another_user import STRANGER

pytestmark = pytest.mark.wall

DRY_LAB = (Path(__file__).parents[2] / "rigs" / "dry-lab.toml").read_text()
DRIVER = """
from pathlib import Path
from hilt.core.scenario import Section
Path({mark!r}).write_text("code was run")
class Device(Section):
    driver: str
    cycle: float = 0.004
    def connect(self):
        return None
"""
_number = itertools.count()


@pytest.fixture
def module(monkeypatch):
    """A name that no other test has used; what is loaded here is forgotten afterwards."""
    before, path = set(sys.modules), list(sys.path)
    monkeypatch.setattr(own, "_files", {})
    monkeypatch.setattr(own, "_classes", [])
    yield f"my_robot_{next(_number)}"
    sys.path[:] = path
    for name in set(sys.modules) - before:
        if name.startswith("my_robot"):
            del sys.modules[name]


@pytest.fixture
def mark(tmp_path):
    return tmp_path / "mark"


def write_rig(folder, driver):
    folder.mkdir(exist_ok=True)
    text = f'[robot]\ndriver = "{driver}"\n[sensor]\ndriver = "{driver}"\n' + DRY_LAB[DRY_LAB.index("[lab]") :]
    (folder / "rig.toml").write_text(text)
    return folder / "rig.toml"


def write_driver(path, mark):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(DRIVER.format(mark=str(mark)))
    return path


def refusal(path):
    with pytest.raises(InputError) as error:
        rigfile.load(path)
    assert len(str(error.value).splitlines()) == 1
    return str(error.value)


def test_a_driver_beside_the_rig_file_is_found_with_what_it_imports(tmp_path, module, mark):
    folder = tmp_path / "lab"
    path = write_driver(folder / f"{module}.py", mark)
    path.write_text(f"import {module}_helper\n" + path.read_text())
    (folder / f"{module}_helper.py").write_text("")
    rig = rigfile.load(write_rig(folder, f"{module}:Device"))
    assert rig.robot_section.cycle == 0.004
    assert rig.model_copy(update={"summary": "a copy"}).sensor_section.driver == f"{module}:Device"
    assert sys.path[0] != str(folder), "its neighbours hide nobody's modules"


def test_a_driver_in_a_package_beside_the_rig_file_is_found(tmp_path, module, mark):
    folder = tmp_path / "lab"
    write_driver(folder / module / "arm.py", mark)
    (folder / module / "__init__.py").write_text("")
    assert rigfile.load(write_rig(folder, f"{module}.arm:Device")).robot_section


def test_a_driver_is_not_taken_from_the_working_folder(tmp_path, module, mark, monkeypatch):
    write_driver(tmp_path / "here" / f"{module}.py", mark)
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.syspath_prepend("")
    said = refusal(write_rig(tmp_path / "lab", f"{module}:Device"))
    assert "beside the rig file" in said
    assert "--driver" in said
    assert not mark.exists()


def test_a_driver_is_taken_from_where_the_command_line_says(tmp_path, module, mark, monkeypatch):
    rig = write_rig(tmp_path / "lab", f"{module}:Device")
    own.allow(str(write_driver(tmp_path / "drivers" / f"{module}.py", mark)))
    assert rigfile.load(rig).robot_section
    assert own.allowed() == [str(tmp_path / "drivers" / f"{module}.py")]


def test_an_installed_class_needs_to_be_named(tmp_path, module, mark, monkeypatch):
    write_driver(tmp_path / "site" / f"{module}.py", mark)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    rig = write_rig(tmp_path / "lab", f"{module}:Device")
    assert "was not found" in refusal(rig)
    own.allow(f"{module}:Device")
    assert rigfile.load(rig).robot_section


def new(path):
    path.mkdir() if path.suffix != ".py" else path.touch()
    return path


SPOILED = {  # by somebody who can write to a folder of the module, or to a file
    "folder": lambda folder, file: folder.chmod(0o777),
    "folder for a group": lambda folder, file: (os.chown(folder, -1, STRANGER), folder.chmod(0o775)),
    "sticky folder": lambda folder, file: folder.chmod(0o1777),
    "file": lambda folder, file: file.chmod(0o666),
    "neighbour": lambda folder, file: new(folder / "helper.py").chmod(0o666),
    "compiled": lambda folder, file: new(folder / "__pycache__").chmod(0o777),
    "owner": lambda folder, file: os.chown(file, STRANGER, STRANGER),
    "above": lambda folder, file: folder.parent.chmod(0o777),
}
AS_ROOT = {"folder for a group", "owner"}


@pytest.mark.parametrize("named", ["beside", "command line", "installed"])
@pytest.mark.parametrize("how", SPOILED)
def test_code_that_others_can_write_is_never_run(tmp_path, module, mark, monkeypatch, named, how):
    if how in AS_ROOT and os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    folder = tmp_path / "above" / "code"
    path = write_driver(folder / f"{module}.py", mark)
    rig = write_rig(folder if named == "beside" else tmp_path / "lab", f"{module}:Device")
    SPOILED[how](folder, path)
    if named == "installed":
        monkeypatch.syspath_prepend(str(folder))
    if named != "beside":
        own.allow(str(path) if named == "command line" else f"{module}:Device")
    said = refusal(rig)
    assert "belongs to another user" in said or "can be written to by others" in said
    assert not mark.exists()


def test_listing_and_checking_rigs_runs_no_driver(tmp_path, module, mark, monkeypatch):
    write_driver(tmp_path / "rigs" / f"{module}.py", mark)
    write_rig(tmp_path / "rigs", f"{module}:Device")
    (tmp_path / "rigs" / "dry.toml").write_text(DRY_LAB)
    (tmp_path / "rigs" / "broken.toml").write_text(DRY_LAB.replace('driver = "rsi"', 'driver = "ros"'))
    monkeypatch.chdir(tmp_path)
    listed = {each["path"]: each["summary"] for each in desk.rigs()}
    assert "cannot be used" not in listed["rigs/rig.toml"] + listed["rigs/dry.toml"]
    assert "known are" in listed["rigs/broken.toml"]
    assert desk.check(desk.Order(system="docking", scenario="table1", rig="rigs/rig.toml")) == []
    assert not mark.exists()
    rigfile.load(tmp_path / "rigs" / "rig.toml")
    assert mark.exists(), "the mark would have shown it"


STATION = """
from hilt.core.scenario import Section
from hilt.core import clock
from hilt.device.protocol import Reply
class Robot:
    cycle = 0
    def wait(self, X_WB, V_WB):
        clock.pause(0.004)
        self.sent(X_WB)
        self.cycle += 1
        return Reply(0, self.cycle)
    def sent(self, X_WB):
        X_WB["p"], X_WB["q"] = (0, 0, 0), (1, 0, 0, 0)
    send = lambda self, X_WB_cmd: 0
    read = lambda self, wrench: 0
    hold = lambda self: 0
    bias = stop = close = lambda self: None
    counters = lambda self: {}
class Device(Section):
    driver: str
    cycle: float = 0.004
    def connect(self):
        return Robot()
"""


@pytest.mark.parametrize("named", ["beside", "command line"])
def test_a_station_finds_the_driver_that_its_starter_was_given(tmp_path, module, monkeypatch, named):
    """It is a separate process, started without the working folder."""
    code = tmp_path / ("lab" if named == "beside" else "drivers") / f"{module}.py"
    code.parent.mkdir()
    code.write_text(STATION)
    rig = write_rig(tmp_path / "lab", f"{module}:Device")
    rig.write_text(rig.read_text().replace("[lab]", '[lab]\nready = "0.1 s"\nrealtime = false'))
    if named != "beside":
        own.allow(str(code))
    monkeypatch.chdir(tmp_path)
    name = station.launch({"system": "docking", "scenario": "table1", "rig": "lab/rig.toml", "out": str(tmp_path / "runs")})
    with contextlib.closing(mailbox.Sender(name)) as sender:
        assert sender.front.state == mailbox.READY
        assert sender.wait(sender.quit(), 10.0).accepted


def test_a_robot_whose_wait_returns_a_number_is_refused_before_it_is_armed(tmp_path, module):
    code = tmp_path / "lab" / f"{module}.py"
    code.parent.mkdir()
    code.write_text(STATION.replace("return Reply(0, self.cycle)", "return 0"))
    rig = LabRig(rigfile.load(write_rig(tmp_path / "lab", f"{module}:Device")))
    with pytest.raises(InputError, match=r"returned 0; it must return Reply"):
        rig.open()
    assert rig.state == mailbox.OFF


CONNECT, LOADED, WAIT = "        return Robot()", "class Robot:", "        clock.pause(0.004)"
OUTSIDE = {  # what a driver does past the virtual machine: where in STATION, what instead, and what the user is told
    "a socket": (CONNECT, "        socket.socket()", "opens a socket; .*machine.socket"),
    "a socket when the module is loaded": (LOADED, "socket.socket()", "opens a socket; .*machine.socket"),
    "a socket in the run": (WAIT, "        self.cycle < 300 or socket.socket()", "opens a socket; .*machine.socket"),
    "a thread": (CONNECT, "        threading.Thread(target=print).start()", r"starts a thread; .*machine.thread\("),
    "a class of threads": (LOADED, "class Reader(threading.Thread): ...", r"starts a thread; .*machine.thread\("),
    "a process": (CONNECT, "        subprocess.run(['true'])", "starts a process, .*test this part on a real one"),
    "a sleep": (WAIT, "        time.sleep(0.004)", r"sleeps; .*clock.pause\("),
    "a sleep by another name": (WAIT, "        doze(0.004)", r"sleeps; .*clock.pause\("),
    "the time": (WAIT, "        time.monotonic()", r"reads the time .*clock.now\("),
    "the time by another name": (WAIT, "        t.time()", r"reads the time .*clock.wall\("),
}


@pytest.mark.virtual
@pytest.mark.parametrize("what", OUTSIDE)
def test_a_driver_that_gets_past_the_virtual_machine_is_told_its_line_and_what_to_write(
    tmp_path, module, machine, monkeypatch, what
):
    """The session ends with one sentence, and leaves nothing behind."""
    monkeypatch.chdir(tmp_path)
    rig = write_rig(tmp_path / "lab", f"{module}:Device")
    rig.write_text(rig.read_text().replace("[lab]", '[lab]\nready = "0.1 s"'))
    before, line, told = OUTSIDE[what]
    imports = "import socket, subprocess, threading, time\nimport time as t\nfrom time import sleep as doze\n"
    text = imports + STATION.replace(before, f"{line}\n{before}")
    (tmp_path / "lab" / f"{module}.py").write_text(text)
    number = text.splitlines().index(line) + 1
    with pytest.raises(InputError, match=rf"^\S*lab/{module}\.py:{number} {told}[^\n]*$"):
        hilt.run("docking", None, {"loop.duration": "2 s"}, rig=str(rig))
    assert [each.name for each in machine.processes if not each.ended] == ["hilt"]
    assert not machine.network.bound
    assert not machine.segments.names


@pytest.mark.parametrize(
    "name", ["../x:Device", "os:system", "a/b:C", ":Device", "x:", "x:y:z", "x y:z", "numpy:ndarray", "²:x"]
)
def test_odd_names_are_one_sentence(tmp_path, module, name):
    assert "driver" in refusal(write_rig(tmp_path / "lab", name))


BROKEN = {
    "syntax": ("def", "SyntaxError"),
    "error": ("raise RuntimeError('one\\ntwo')", "RuntimeError: one two"),
    "no class": ("", "must be a hilt.scenario.Section"),
    "another thing": ("Device = 3", "must be a hilt.scenario.Section"),
    "no connect": ("from hilt.core.scenario import Section\nclass Device(Section):\n    driver: str", "with connect()"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_driver_is_one_sentence(tmp_path, module, kind):
    text, expected = BROKEN[kind]
    rig = write_rig(tmp_path / "lab", f"{module}:Device")
    (tmp_path / "lab" / f"{module}.py").write_text(text)
    assert expected in refusal(rig)


def test_a_driver_that_is_called_like_another_module_is_refused(tmp_path, module, mark):
    write_driver(tmp_path / "lab" / "json.py", mark)
    assert "rename json.py" in refusal(write_rig(tmp_path / "lab", "json:Device"))
    assert not mark.exists()


@pytest.mark.parametrize("given", ["nothing.py", "neither"])
def test_what_the_command_line_names_must_be_there(module, given):
    with pytest.raises(InputError, match="--driver"):
        own.allow(given)
