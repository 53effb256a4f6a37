"""The wheel: it installs the page, the rigs and the scenarios; one without the page is not built.

The page of the installed hilt is opened by test_cockpit_systems.py, which starts every system from it.
"""

import json
import shutil

import pytest

from hilt import job
from tests.e2e.cockpit import needs_browser
from tests.e2e.wheel import ROOT, build

pytestmark = needs_browser


def test_the_installed_hilt_is_the_wheels_and_lists_systems_and_rigs(wheel, tmp_path):
    found = wheel.hilt("list", cwd=tmp_path)
    assert found.returncode == 0, found.stderr
    words = " ".join(found.stdout.split())
    assert all(name in words for name in ("docking", "table1", "dry-lab", "lab-template"))
    assert str(wheel.folder) in words  # where the rigs are: here, and not in the checkout
    assert str(ROOT / "src") not in words


def test_the_installed_hilt_runs_a_scenario_to_the_same_numbers(wheel, tmp_path):
    found = wheel.hilt("run", "docking", "--json", cwd=tmp_path)
    assert found.returncode == 0, found.stderr
    here = job.simulate(*job.find("docking", None, []))
    assert json.loads(found.stdout)["metrics"]["cov"] == list(here.metrics["cov"])
    assert list((tmp_path / "runs").glob("*.mcap"))


def test_the_installed_hilt_knows_its_rigs_by_name(wheel, tmp_path):
    known = wheel.hilt("emulate", "dry-lab", "--set", "robot.delay=nonsense", cwd=tmp_path)
    assert "robot.delay" in known.stderr  # the rig was found: the error is about the setting
    unknown = wheel.hilt("run", "docking", "--rig", "wet-lab", cwd=tmp_path)
    assert unknown.returncode == 2
    assert "known are simulated, dry-lab, dry-lab-aerial" in unknown.stderr


PAGE = {"index.html", "cockpit.js", "cockpit.css", "LICENSES.txt"}


@pytest.mark.parametrize("missing", [PAGE, {"LICENSES.txt"}], ids=["all of it", "the licences of what it contains"])
def test_a_wheel_without_the_whole_page_is_not_built(tmp_path, missing):
    source = tmp_path / "source"
    shutil.copytree(ROOT / "tools", source / "tools")
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("static", "node_modules", "__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    for name in PAGE - missing:
        static = source / "src" / "hilt" / "cockpit" / "static"
        static.mkdir(exist_ok=True)
        (static / name).write_text("built")
    built = build(source, tmp_path / "dist")
    assert built.returncode != 0
    (sentence,) = built.stderr.strip().splitlines()
    assert "page is not built" in sentence
    assert not list((tmp_path / "dist").glob("*.whl"))
