"""Long runs take little memory, and a full disk loses nothing that was written."""

import json
import os
import resource
import subprocess
import sys

import numpy as np
import pytest

from benchmarks.memory import measure
from hilt import job
from hilt.metrics.survey import Survey
from hilt.record import recording
from hilt.report import page
from tests.e2e.command import here

pytestmark = pytest.mark.long

LONGER = os.environ.get("HILT_MEMORY", "")  # all systems, 20, 40 and 80 s


@pytest.mark.parametrize("system", ["freefloat", *(["docking", "payload", "aerial"] if LONGER else [])])
def test_the_memory_of_a_run_does_not_grow_with_its_rows(system):
    """A row of the smallest system has 1112 bytes, and a run that keeps its rows needs memory for all of them."""
    found = measure(system, [20.0, 40.0, 80.0] if LONGER else [4.0, 20.0], kept_bytes=1 << 20)
    assert found["rows"][-1] > 2 * found["rows"][0], found
    assert found["bytes_a_row"] < 100, found


def test_a_long_run_is_plotted_from_a_survey_and_measured_from_all_rows(tmp_path, monkeypatch):
    found = job.find("freefloat", "paper", ["loop.period=2 ms"])
    result = job.run(*found, tmp_path)
    monkeypatch.setattr(job, "KEPT_BYTES", 1000)
    monkeypatch.setattr("hilt.metrics.survey.ROWS_BYTES", 1 << 20)
    long = job.finish_recorded(result.system, result.scenario, "x", recording.stored(result.recording))
    assert long.survey.every > 1
    assert len(long.rows) < len(result.rows)
    assert long.rows[-1] == result.rows[-1]
    assert (long.metrics, long.ledger, long.fault) == (result.metrics, result.ledger, result.fault)
    text = page.write(long).read_text()
    assert "The metrics and the ledger use all rows" in text
    assert "How fast it moves" in text


@pytest.mark.parametrize("count", [1, 31, 1024, 1025, 200_000])
def test_nothing_hides_between_the_rows_of_a_survey(count):
    dtype = np.dtype([("tick", "<i8"), ("t", "<f8"), ("x", "<f8", (2,))])
    rows = np.zeros(count, dtype)
    rows["tick"], rows["t"] = np.arange(count), np.arange(count) * 1e-3
    rows["x"] = np.random.default_rng(0).normal(size=(count, 2))
    rows["x"][count // 2, 1] = 77.0
    survey = Survey(dtype)
    for part in np.array_split(rows, 7):
        survey.feed(part)
    t, low, high = survey.extremes("x")
    assert (np.diff(t) > 0).all()
    assert high[:, 1].max() == 77.0
    assert low[:, 0].min() == rows["x"][:, 0].min()
    assert len(t) <= 2048 + 32
    kept = survey.rows()
    assert kept["tick"][-1] == count - 1
    assert (kept["tick"][:-1] % survey.every == 0).all()
    assert kept.nbytes < 50e6


def filled(folder, limit, *arguments):
    """Rows of a run whose recording cannot be larger than this, and its recording."""

    def full():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    command = [sys.executable, "-P", "-m", "hilt.cli.main", "run", "freefloat", *arguments, "--json", "--out", "full"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, preexec_fn=full)
    assert done.returncode == 3, done.stderr
    fault = json.loads(done.stdout)["fault"]
    assert fault["name"] == "recorder"
    assert "cannot continue" in fault["sentence"]
    (path,) = (folder / "full").glob("*.mcap")
    found = recording.load(path)
    assert job.replay(found) is None
    return found.rows, path


def test_a_full_disk_ends_the_run_softly_and_keeps_what_was_written(tmp_path):
    rows, path = filled(tmp_path, 400_000, "--set", "loop.period=1 ms", "--set", "loop.duration=60 s")
    assert 256 <= len(rows) < 60_000
    assert rows["tick"].tolist() == list(range(len(rows)))
    shown = here(tmp_path, "show", str(path))
    assert shown.returncode == 0
    assert "The run was cut off" in shown.stdout


def test_a_disk_that_is_full_at_the_very_end_keeps_every_row(tmp_path):
    """The rows fit, the result of the run does not."""
    brief = "loop.duration=1 s"
    whole = json.loads(here(tmp_path, "run", "freefloat", "--set", brief, "--json").stdout)["recording"]
    rows, _ = filled(tmp_path, (tmp_path / whole).stat().st_size - 100, "--set", brief)
    assert len(rows) == len(recording.load(tmp_path / whole).rows)
