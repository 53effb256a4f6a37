"""Views belong to their system and are found through it; a system without views gets the default ones."""

import dataclasses
import subprocess
import sys

import pytest

from hilt import job
from hilt.cockpit import presets
from hilt.core import registry
from hilt.report import comparison, page
from hilt.reproduce import papers

VIEWS = ("views.report", "views.scene", "views.presets", "paper")


@pytest.mark.parametrize("name", registry.names("systems"))
def test_a_system_brings_its_views(name):
    assert all(registry.system(name).part(each) for each in VIEWS)
    assert registry.system(name).part("views.no_such_view") is None
    assert registry.system(name).part("no_such_room.report") is None


def test_a_system_is_imported_without_its_views():
    """Numbers, `hilt list` and the loop itself need no matplotlib."""
    code = (
        "import sys; from hilt.core import registry; registry.systems(); "
        "print([name for name in sys.modules if '.views' in name or name == 'matplotlib'])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_every_paper_is_found_through_its_system():
    assert papers.names() == ["cuniato2022", "destefano2017", "he2022", "twin", "yang2018"]


@pytest.fixture(scope="module")
def foreign_system():
    """A system of another package that has nothing but its diagram."""
    return dataclasses.replace(registry.system("freefloat"), name="of-somebody-else", package="")


def test_a_foreign_system_has_a_report_and_a_comparison(foreign_system, tmp_path):
    _, values, _ = job.find("freefloat", "wall", ["loop.duration=1 s"])
    result = job.run(foreign_system, values, "wall", tmp_path)
    text = page.write(result).read_text()
    assert "Energy ledger" in text
    assert '<img alt="Speed and force"' in text
    assert "Delays of the loop" not in text
    assert result.as_json()["delays"] == {}
    assert "of-somebody-else" in comparison.write({"one": result, "two": result}, tmp_path / "both.html").read_text()
    assert presets.of([foreign_system], [""], [""]) == []
