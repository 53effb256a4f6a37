"""A report is a function of a result: it simulates nothing, and `hilt show` draws the page that the run had."""

import dataclasses

import pytest

from hilt import job
from hilt.analysis import beside
from hilt.core import missing, registry
from hilt.core.system import System
from hilt.job import Beside
from hilt.record.recording import stored
from hilt.report import comparison, page

# Each with something of its own beside it: methods, a simulated ideal, integrators, policies, feedback, delays, the estimator.
CASES = [
    ("docking", "table1", ["collisions=1"]),
    ("docking", "oblique", ["collisions=1"]),
    ("freefloat", "wall", ["collisions=2"]),
    ("payload", "outage", []),
    ("payload", "feedback-500", ["loop.duration=3 s"]),
    ("payload", "bilateral", []),
    ("aerial", "hover", ["loop.duration=2 s"]),
]


@pytest.fixture
def no_simulation(monkeypatch):
    def begin():
        def refuse(self, scenario):
            raise AssertionError(f"{self.name} is simulated while it is drawn")

        monkeypatch.setattr(System, "set_up", refuse)

    return begin


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(case[:2]))
def test_a_recording_is_shown_as_it_was_without_simulating(case, tmp_path, no_simulation):
    result = beside.computed(job.run(*job.find(*case), tmp_path))
    beside.keep(result)
    assert result.beside.runs or result.beside.figures
    again = beside.kept(job.reopened(stored(result.recording)))
    no_simulation()
    drawn = page.render(result)
    assert page.render(again) == drawn


@pytest.mark.parametrize("case", [("docking", "oblique"), ("payload", "outage")], ids="-".join)
def test_without_advice_the_rest_is_drawn_and_says_how_to_get_it(case, no_simulation):
    """Oblique contacts have no closed form, so there is no ideal either."""
    result = job.simulate(*job.find(*case, ["loop.duration=4 s"]))
    no_simulation()
    assert "hilt show --advice" in page.render(result)


def test_a_comparison_simulates_nothing(tmp_path, no_simulation):
    found = {
        method: beside.computed(
            job.run(*job.find("docking", "table1", [f"compensate.method={method}", "collisions=1"]), tmp_path)
        )
        for method in ("none", "pida")
    }
    no_simulation()
    assert "<img" in comparison.write(found, tmp_path / "both.html").read_text()
    assert comparison.sentence(found)


@pytest.fixture(scope="module")
def wall(tmp_path_factory):
    result = job.run(*job.find("freefloat", "wall", ["collisions=1"]), tmp_path_factory.mktemp("wall"))
    figures = {"integrators": {"euler": {"a": missing.Missing("nothing to compute"), "b": [1.0, float("inf")], "c": True}}}
    return dataclasses.replace(result, beside=Beside({"other": beside.slim(result, ("H", "X_WBcm"))}, figures))


def test_what_is_kept_comes_back(wall):
    beside.keep(wall)
    found = beside.kept(dataclasses.replace(wall, beside=None)).beside
    told = found.figures["integrators"]["euler"]
    assert (told["b"], told["c"], told["a"].reason) == ([1.0, float("inf")], True, "nothing to compute")
    assert found.runs["other"].rows.tobytes() == wall.beside.runs["other"].rows.tobytes()
    assert found.runs["other"].scenario == wall.scenario


@pytest.mark.parametrize("harm", ["cut", "other scenario", "no archive"])
def test_what_does_not_fit_is_as_if_it_were_not_there(wall, harm):
    beside.keep(wall)
    path, asked = beside.path_of(wall.recording), dataclasses.replace(wall, beside=None)
    if harm == "cut":
        path.write_bytes(path.read_bytes()[:-200])
    elif harm == "no archive":
        path.write_bytes(b"PK no archive")
    else:
        _, values, _ = job.find("freefloat", "wall", ["collisions=2"])
        asked = dataclasses.replace(asked, scenario=values)
    assert beside.kept(asked).beside is None


def test_every_system_with_advice_has_it_in_its_analysis():
    assert all(system.part("analysis.beside") for system in registry.systems().values())
