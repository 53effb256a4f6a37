"""`hilt show`: the report of a run again, with everything in the run's result."""

import json
from dataclasses import replace

import pytest

from hilt import job
from hilt.analysis import beside
from hilt.record.recording import Recorder, stored
from hilt.report import page
from tests.e2e.command import here as hilt
from tests.report.layout import fingerprint

pytestmark = pytest.mark.long

FIGURES = {"p50": 20.0, "p99": 73.0, "p999": 90.0, "max": 321.0}
TIMING = {
    "rate_hz": 250.0,
    "lateness_us": FIGURES,
    "tick_us": FIGURES,
    "overruns": 1,
    "oversleeps": 2,
    "missed": 3,
    "stolen_s": 0.1,
    "rows": 400,
    "rows_lost": 0,
    "rights": {"granted": {"core": "core 1"}, "refused": {}},
    "clock": {},
    "devices": {"robot": {"cycles": 400}},
}
NOTE = "the sensor was biased before the run"


@pytest.fixture(scope="module", autouse=True)
def undrawn_pages():
    """With a fingerprint instead of each figure, as `undrawn`, but for all of these tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hilt.report.figure.Picture.svg", lambda picture: fingerprint(picture.figure))
        yield


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """A run as one on devices leaves it: its result has timing, a note and who did what, and its report is written."""
    folder = tmp_path_factory.mktemp("runs")
    found = job.simulate(*job.find("docking", "table1", ["collisions=1"]))
    recorder = Recorder(folder / "lab.mcap", found.system, found.scenario)
    for n in range(len(found.rows)):
        recorder.append(found.rows[n : n + 1])
    who = [{"what": "start", "who": "the command line", "first": None, "last": None}]
    result = replace(found, recording=recorder.path, timing=TIMING, notes=[NOTE], changes=[], who=who, name="table1")
    recorder.close(result.as_json())
    result = beside.computed(replace(result, origin=stored(recorder.path).origin))
    beside.keep(result)
    page.write(result)
    return result


def test_timing_notes_and_deeds_are_shown_again(ran, tmp_path):
    shown = json.loads(hilt(tmp_path, "show", str(ran.recording), "--json").stdout)
    assert shown == ran.as_json()
    assert shown["timing"]["missed"] == 3
    assert {"name": "note", "t": None, "sentence": NOTE} in shown["faults"]


def test_the_report_stays_what_it_was(ran, tmp_path):
    before = ran.recording.with_suffix(".html").read_text()
    done = hilt(tmp_path, "show", str(ran.recording))
    assert done.returncode == 0, done.stderr
    assert "3 missed" in " ".join(done.stdout.split())
    assert ran.recording.with_suffix(".html").read_text() == before
    assert all(words in before for words in ("<summary>Timing</summary>", NOTE, "Predicted by running every method"))


def test_a_new_report_is_written_beside_an_existing_one(ran, tmp_path):
    """For example one of an older version: it is what the user saw after the run."""
    report = ran.recording.with_suffix(".html")
    before = report.read_text()
    report.write_text("as it was seen then")
    done = hilt(tmp_path, "show", str(ran.recording))
    assert "lab-shown.html" in "".join(done.stdout.split())
    assert report.read_text() == "as it was seen then"
    assert report.with_name("lab-shown.html").read_text() == before
    report.write_text(before)


def test_advice_that_was_not_kept_is_computed_on_request(ran, tmp_path):
    path = beside.path_of(ran.recording)
    path.rename(path.with_suffix(".away"))
    report = ran.recording.with_suffix(".html")
    before = report.read_text()
    report.unlink()
    hilt(tmp_path, "show", str(ran.recording))
    assert "Which method" not in report.read_text()
    report.unlink()
    hilt(tmp_path, "show", str(ran.recording), "--advice")
    assert report.read_text() == before
    assert path.is_file()


@pytest.mark.parametrize("timing", [{}, [], {**TIMING, "rights": {}}, {**TIMING, "devices": 3}, {**TIMING, "rows": "<b>"}])
def test_timing_of_a_stranger_is_left_out(ran, tmp_path, timing):
    path = tmp_path / "odd.mcap"
    recorder = Recorder(path, ran.system, ran.scenario)
    recorder.append(ran.rows[:1])
    recorder.close({**ran.as_json(), "timing": timing})
    assert "timing" not in json.loads(hilt(tmp_path, "show", str(path), "--json").stdout)
