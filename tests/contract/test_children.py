"""No process that hilt starts imports from the working folder."""

import ast
from pathlib import Path

import pytest

import hilt
from hilt.core import signals
from hilt.core.faults import InputError
from hilt.host.asked import Asked
from hilt.live import station
from hilt.live.recorder import RecorderProcess
from hilt.live.ring import RingWriter

pytestmark = pytest.mark.wall

ROOT = Path(hilt.__file__).parent
PLANTED = ("hilt", "numpy", "json", "struct", "socket", "pydantic", "sitecustomize")


@pytest.fixture
def working_folder(tmp_path, monkeypatch):
    """A folder with modules that print a message when they are imported."""
    for name in PLANTED:
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'mark')!r}, 'a').write({name!r})\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_recorder_imports_nothing_from_the_working_folder(working_folder):
    ring = RingWriter("child", signals.row_type(("X_WB_cmd",)), 16)
    recorder = RecorderProcess("child", working_folder / "run.mcap", {})
    recorder.wait_for(1, 20.0)
    recorder.close()
    ring.close()
    assert not (working_folder / "mark").exists()


@pytest.mark.parametrize("name", ["robot", "sensor"])
def test_the_emulators_import_nothing_from_the_working_folder(working_folder, name):
    device = Asked(name, f"hilt.lab.dry.{name}", "start it again")
    with pytest.raises(InputError):  # it got far enough to read its configuration, which is invalid
        device.hear(device.tell("[]"), 60.0)
    device.end()
    assert not (working_folder / "mark").exists()


def test_a_station_imports_nothing_from_the_working_folder(working_folder):
    with pytest.raises(InputError, match="no-such-system"):
        station.launch({"system": "no-such-system"})
    assert not (working_folder / "mark").exists()


def command_lines(path):
    """Lists that begin with sys.executable."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.List) and node.elts and ast.unparse(node.elts[0]) == "sys.executable":
            yield [ast.unparse(each) for each in node.elts]


def test_every_process_is_started_without_the_working_folder():
    found = [(path, line) for path in ROOT.rglob("*.py") for line in command_lines(path)]
    assert found
    for path, line in found:
        assert line[1] == "'-P'", path
