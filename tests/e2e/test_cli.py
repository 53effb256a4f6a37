"""The program as a user sees it: in a separate process, and in this one where only output and files matter."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hilt.cockpit import PAGE
from hilt.record import recording
from hilt.systems.freefloat.freefloat import FREEFLOAT
from tests.e2e.command import here, hilt

pytestmark = pytest.mark.long


def test_json_is_one_object_and_nothing_else(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPROFILEIMPORTTIME", "1")  # on stderr: what is imported
    done = hilt(tmp_path, "run", "freefloat", "--scenario", "paper", "--set", "integrator.kind=euler", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert set(found) == {"system", "scenario", "verdict", "metrics", "reasons", "ledger", "delays", "fault", "recording"}
    assert found["metrics"]["drift_m"] == pytest.approx([0.05, 0.15], rel=0.005)
    assert found["fault"] is None
    assert (tmp_path / found["recording"]).exists()
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "numba" in imported
    assert "pint" not in imported


def test_run_show_and_replay(tmp_path):
    done = hilt(tmp_path, "run", "freefloat", "--scenario", "wall")
    assert done.returncode == 0, done.stderr
    recorded, report = (re.search(rf"{word} +(\S+)", done.stdout)[1] for word in ("recording", "report"))
    assert "Energy ledger" in done.stdout
    assert "× real time" in done.stderr
    page = (tmp_path / report).read_text()
    (tmp_path / report).unlink()
    shown = here(tmp_path, "show", recorded)
    assert shown.returncode == 0, shown.stderr
    assert (tmp_path / report).read_text() == page
    replayed = here(tmp_path, "replay", recorded)
    assert (replayed.returncode, replayed.stderr) == (0, "")
    assert "every byte the same" in replayed.stdout


@pytest.mark.usefixtures("undrawn")
def test_make_run_ends_with_how_to_see_it(tmp_path):
    recipe = (Path(__file__).parents[2] / "Makefile").read_text().partition("\nrun:")[2].partition("\n\n")[0]
    assert "hilt compare" in recipe.splitlines()[-1]
    done = here(tmp_path, "compare", "freefloat", "--set", "loop.duration=1", "--over", "robot.delay=2 ms,4 ms")
    assert done.returncode == 0, done.stderr
    works = "hilt cockpit" if PAGE.is_file() else "make cockpit"  # which builds the page first
    assert works in done.stdout.strip().splitlines()[-1]


def test_a_users_own_scenario_file(tmp_path):
    assert "freefloat" in json.loads(here(tmp_path, "list", "--json").stdout)
    text = FREEFLOAT.scenario_files["paper"].read_text()
    (tmp_path / "mine.toml").write_text(text.replace('mass = "30 kg"', 'mass = "60 kg"'))
    done = here(tmp_path, "run", "mine.toml", "--json", "--set", "integrator.kind=euler")
    found = json.loads(done.stdout)
    assert found["scenario"] == "mine"
    assert found["metrics"]["drift_m"] == pytest.approx([0.025, 0.075], rel=0.005)


@pytest.mark.parametrize(
    ("name", "scenario", "limit"),
    [("workspace", "wall", "limits.workspace_max=['2 mm', 1, 1]"), ("speed", "paper", "limits.speed=0.4 m/s")],
)
@pytest.mark.usefixtures("undrawn")
def test_a_fault_ends_the_run_with_code_3_and_a_whole_recording(tmp_path, name, scenario, limit):
    done = here(tmp_path, "run", "freefloat", "--scenario", scenario, "--set", limit, "--json")
    assert done.returncode == 3
    found = json.loads(done.stdout)
    assert found["fault"]["name"] == name
    assert done.stderr.strip() == found["fault"]["sentence"]
    rows = recording.load(tmp_path / found["recording"]).rows
    assert rows["fault"][-1] == found["fault"]["code"]
    assert not rows["fault"][:-1].any()
    assert rows["tick"].tolist() == list(range(found["fault"]["tick"] + 1))
    assert here(tmp_path, "replay", found["recording"]).returncode == 0
    shown = here(tmp_path, "show", found["recording"])
    assert "is beyond its limit" in shown.stdout.replace("\n", " ")


@pytest.mark.usefixtures("undrawn")
def test_a_run_reports_beforehand_how_long_it_may_take(tmp_path):
    """On stderr, so that the result stays one object; a short run reports nothing."""
    settings = ["--set", "collisions=1", "--out", "runs", "--json"]
    short = here(tmp_path, "run", "docking", *settings)
    assert (short.returncode, short.stderr) == (0, "")
    long = here(tmp_path, "run", "docking", "--set", "loop.duration=20 min", *settings)
    assert long.returncode == 0
    assert json.loads(long.stdout)["fault"] is None
    assert re.fullmatch(r"this will take up to [\d,]+ ticks, about .+ of memory, .+ GB of disk; Ctrl-C ends it\n", long.stderr)


def test_schema_is_a_json_schema_with_units(tmp_path):
    schema = json.loads(here(tmp_path, "schema", "freefloat").stdout)
    assert schema["$defs"]["Body"]["properties"]["mass"]["unit"] == "kg"


@pytest.mark.usefixtures("undrawn")
def test_reproduce_prints_verdicts_and_writes_the_figures(tmp_path):
    done = here(tmp_path, "reproduce", "destefano2017")
    assert done.returncode == 0, done.stderr
    assert "reproduced" in done.stdout
    page = (tmp_path / "runs" / "reproduce-destefano2017.html").read_text()
    assert page.count("<img") == 10  # the paper's numbers beside ours, and its figures
    assert "26 claims: 1 reproduced, 8 differ, 5 fitted, 9 by construction, 2 not testable here" in page


def test_a_periodic_run_keeps_wall_time(tmp_path):
    """2 s of scenario cannot take less than 2 s of wall time; the rows contain the lateness of each tick."""
    periodic = ["--scenario", "oos-sim", "--clock", "periodic", "--set", "loop.duration=2 s"]
    found = json.loads(here(tmp_path, "run", "freefloat", *periodic, "--json").stdout)
    rows = recording.load(tmp_path / found["recording"]).rows
    assert len(rows) == 501
    assert (rows["lateness"] >= 0).all()
    assert rows["lateness"].max() > 0


def test_it_runs_where_the_home_cannot_be_written_to(tmp_path):
    """Compiled code is then not kept, and not looked for elsewhere. A file in place of the folder stops root as well."""
    (tmp_path / "home").write_text("not a folder")
    (tmp_path / "tmp").mkdir()
    home, temporary = str(tmp_path / "home"), str(tmp_path / "tmp")
    done = hilt(tmp_path, "list", HOME=home, XDG_CACHE_HOME=home, TMPDIR=temporary, NUMBA_CACHE_DIR="")
    assert done.returncode == 0, done.stderr
    assert "compiled code is not kept" in done.stderr
    assert not list((tmp_path / "tmp").iterdir())


def test_another_package_can_add_a_system_a_stage_and_a_rig(tmp_path):
    """By entry points alone: a package that is only on the path, with its metadata next to it."""
    (tmp_path / "neighbour.py").write_text(
        "import dataclasses\n"
        "from hilt.core.rig import SimulatedRig\n"
        "from hilt.systems.freefloat.freefloat import FREEFLOAT\n"
        "from hilt.command.setpoint import SETPOINT\n"
        "SYSTEM = dataclasses.replace(FREEFLOAT, name='neighbour', summary='a system from next door')\n"
        "STAGE = dataclasses.replace(SETPOINT, name='neighbours-stage')\n"
        "class NoisyRig(SimulatedRig):\n"
        "    def read(self, row):\n"
        "        print('read') if row['tick'][0] == 0 else None\n"
        "        return super().read(row)\n"
    )
    info = tmp_path / "neighbour-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: neighbour\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[hilt.systems]\nneighbour = neighbour:SYSTEM\n[hilt.stages]\nneighbours-stage = neighbour:STAGE\n"
        "[hilt.rigs]\nnoisy = neighbour:NoisyRig\n"
    )
    path = {"PYTHONPATH": str(tmp_path)}
    assert "a system from next door" in hilt(tmp_path, "list", **path).stdout
    done = hilt(tmp_path, "run", "neighbour", "--scenario", "paper", "--rig", "noisy", **path)
    assert done.returncode == 0, done.stderr
    assert "read" in done.stdout
    probe = "from hilt.core import registry; print(sorted(registry.stages()))"
    stages = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, env={**os.environ, **path})
    assert "neighbours-stage" in stages.stdout
