"""A report is a function of a result: it simulates nothing, `hilt show` draws the page that the run had, and the reports of all
shipped scenarios are readable: the key result first, no overlapping text, nothing loaded from elsewhere, no empty table."""

import dataclasses
import html
import re
import tomllib
from html.parser import HTMLParser

import pytest

from hilt import job
from hilt.analysis import beside, check
from hilt.core import missing, registry, scenario
from hilt.core.system import System
from hilt.job import Beside
from hilt.record.recording import stored
from hilt.report import comparison, numbers, page
from hilt.report.figure import Picture, styled
from tests.report.layout import fingerprint, problems

pytestmark = pytest.mark.long

SHIPPED = [(name, each) for name, system in registry.systems().items() for each in system.scenario_files]

# Figures and words that a scenario's report must have, whatever else it shows.
FLIGHT = {"Displacement and force", "The flying arm", "How stiff a hand may be"}
ESTIMATOR = {"With and without the estimator", "Estimated force and torque"}
TASK = {"Gains", "Energy tank", "Where the energy was made"}
SHOWN = {
    ("aerial", "hover"): FLIGHT | ESTIMATOR,
    ("aerial", "push"): FLIGHT | ESTIMATOR,
    ("aerial", "handover"): FLIGHT | TASK | {"Energy at the human port"},
    ("aerial", "diverter"): FLIGHT | TASK | {"Hook and cable"},
    ("payload", "pull-3000"): {"Speed and force", "Position", "The link's two ports"},
    ("payload", "feedback-500"): {"Force feedback"},
    ("payload", "hils-1"): {"Force feedback"},
    ("payload", "hils-2"): {"Speed and force"},
    ("payload", "grasp"): {"Grasp", "Speed and force", "Position"},
    ("payload", "outage"): {"Link", "Outage policies", "Re-synchronisation"},
    ("payload", "two-arms"): {"Turning", "Two hands", "Joints", "Does the arm follow?"},
    ("payload", "bilateral"): {"Hand and force", "Felt and applied force", "The link's ledger", "Link", "Effect of the delay"},
    ("freefloat", "paper"): {
        *("Speed and force", "Position", "Correction", "Energy", "Passivity observer", "Where the energy was made"),
    },
    ("freefloat", "wall"): {"Speed and force", "Rebounds"},
    ("freefloat", "capture"): {"Speed and force", "Rotation"},
}
DOCKING = {"Speed and force", "Speed in the contacts", "Contact forces", "Methods on this scenario", "Energy", "Phase plane"}
SAID = {
    ("aerial", "hover"): ("Human.", "Nobody holds the tool", "servo is modelled by a lag only"),
    ("aerial", "push"): ("The estimator saw 63 %", "behind its compliant pose"),
    ("aerial", "handover"): ("The hand has 150 N/m", "Guard.", "Passivity audit", "Actually, the hand took hold at 6 s"),
    ("aerial", "diverter"): ("which is true", "which is not reproduced", "0.5 kg, 800 N/m, 0.08", "0.68 mm above"),
    ("payload", "hils-2"): ("Beside the balance",),
    ("docking", "table1"): ("Which method",),
}


class Outline(HTMLParser):
    """Headings and folds in their order, and what the page loads from elsewhere."""

    def __init__(self, text):
        super().__init__()
        self.parts, self.outside, self._within = [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self._within = tag
        self.parts += [tag] if tag in ("figure", "details") else []
        self.outside += [value for key, value in attrs if key in ("src", "href") and not (value or "").startswith("data:")]

    def handle_data(self, data):
        if self._within in ("h1", "h2"):
            self.parts.append(data)
            self._within = ""


@pytest.fixture
def unreadable(monkeypatch):
    """Collects what is wrong with the figures of the test, which are laid out, but not written."""
    found = []

    def svg(picture):
        with styled():
            picture.figure.draw_without_rendering()
        found.extend(f"{picture.title}: {problem}" for problem in problems(picture.figure))
        return fingerprint(picture.figure)

    monkeypatch.setattr(Picture, "svg", svg)
    return found


@pytest.mark.parametrize("case", SHIPPED, ids="-".join)
def test_a_report_can_be_read(case, unreadable):
    result = beside.computed(job.simulate(*job.find(*case, [])))
    text = page.render(result)
    assert unreadable == []
    outline = Outline(text)
    assert outline.outside == []
    first = [part for part in outline.parts if part != "What to change"][:4]
    assert first == [f"{case[0]} · {case[1]}", "figure", "Numbers", "details"]
    assert html.escape(result.verdict.sentence) in text.partition("<figure>")[0]
    assert [
        each.sentence for each in check.check(result.system, result.scenario) if html.escape(each.sentence) not in text
    ] == []
    titles = {html.unescape(title) for title in re.findall(r'<img alt="([^"]*)"', text)}
    assert SHOWN.get(case, DOCKING if case[0] == "docking" else set()) <= titles
    assert [words for words in SAID.get(case, ()) if words not in text] == []
    assert len(numbers.ten(result)) <= 10
    for nonsense in ("1, 1, 1", r"\d nN", r"\dnan", r"\d nm\b", r"\de[-+]\d+ "):
        assert not re.search(nonsense, re.sub(r"(?s)<pre>.*?</pre>|src=\"[^\"]*\"|closes to [^ ]*", "", text)), nonsense
    written = html.unescape(re.search(r"(?s)<pre>(.*?)</pre>", text)[1])
    assert scenario.build(result.system.scenario, tomllib.loads(written)).hash() == result.scenario.hash()


OUTAGE = ["link.outage_start=3 s", "link.outage_duration=2 s", "link.delay=1 s", "operator.duration=4 s", "loop.duration=9 s"]
# Each compares with something else: methods, a simulated ideal, integrators, policies, feedback, delays, the estimator.
CASES = [
    ("docking", "table1", ["collisions=1"]),
    ("docking", "oblique", ["collisions=1"]),
    ("freefloat", "wall", ["collisions=2"]),
    ("payload", "outage", OUTAGE),
    ("payload", "feedback-500", ["loop.duration=3 s"]),
    ("payload", "bilateral", ["loop.duration=4 s"]),
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
def test_a_recording_is_shown_as_it_was_without_simulating(case, tmp_path, no_simulation, undrawn):
    result = beside.computed(job.run(*job.find(*case), tmp_path))
    beside.keep(result)
    assert result.beside.runs or result.beside.numbers
    again = beside.kept(job.reopened(stored(result.recording)))
    no_simulation()
    drawn = page.render(result)
    assert page.render(again) == drawn


@pytest.mark.parametrize("case", [("docking", "oblique"), ("payload", "outage")], ids="-".join)
def test_without_advice_the_rest_is_drawn_and_says_how_to_get_it(case, no_simulation, undrawn):
    """Oblique contacts have no closed form, so there is no ideal either."""
    result = job.simulate(*job.find(*case, ["loop.duration=4 s"]))
    no_simulation()
    assert "hilt show --advice" in page.render(result)


def test_a_comparison_simulates_nothing(tmp_path, no_simulation, unreadable):
    found = {
        method: beside.computed(
            job.run(*job.find("docking", "table1", [f"compensate.method={method}", "collisions=1"]), tmp_path)
        )
        for method in ("none", "pida")
    }
    no_simulation()
    written = comparison.write(found, tmp_path / "both.html").read_text()
    assert unreadable == []
    assert written.count("<img") == 1
    assert "compensate.method: none, pida" in written
    assert all(run.verdict.kind in written for run in found.values())
    assert Outline(written).outside == [f"{run.recording.stem}.html" for run in found.values()]
    assert comparison.sentence(found)


def test_a_run_that_ended_before_its_first_contact_has_a_report():
    for system, name in (("freefloat", "wall"), ("docking", "table1")):
        result = job.simulate(*job.find(system, name, ["loop.duration=0.1 s"]))
        assert result.verdict.kind == "no contact"
        assert "No contact" in page.render(beside.computed(result))


@pytest.fixture(scope="module")
def wall(tmp_path_factory):
    result = job.run(*job.find("freefloat", "wall", ["collisions=1"]), tmp_path_factory.mktemp("wall"))
    figures = {"integrators": {"euler": {"a": missing.Missing("nothing to compute"), "b": [1.0, float("inf")], "c": True}}}
    return dataclasses.replace(result, beside=Beside({"other": beside.slim(result, ("H", "X_WBcm"))}, figures))


def test_what_is_saved_is_read_back(wall):
    beside.keep(wall)
    found = beside.kept(dataclasses.replace(wall, beside=None)).beside
    read = found.numbers["integrators"]["euler"]
    assert (read["b"], read["c"], read["a"].reason) == ([1.0, float("inf")], True, "nothing to compute")
    assert found.runs["other"].rows.tobytes() == wall.beside.runs["other"].rows.tobytes()
    assert found.runs["other"].scenario == wall.scenario


@pytest.mark.parametrize("harm", ["cut", "other scenario", "no archive"])
def test_what_does_not_fit_is_ignored(wall, harm):
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
