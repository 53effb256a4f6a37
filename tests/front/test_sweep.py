"""`hilt.sweep`: the same tables as the command, from Python."""

import json

import numpy as np
import pytest
from matplotlib.figure import Figure

import hilt
from hilt.sweeps.table import Table
from tests.e2e.command import here

OVER = {"robot.delay": "2..8 ms:4", "compensate.method": "none,pida"}


@pytest.fixture(scope="module")
def swept():
    return hilt.sweep("docking", "table1", {"collisions": 1}, over=OVER)


def test_each_row_has_the_results_of_its_run(swept):
    found = swept.frame()
    assert len(found) == len(swept) == 8
    assert found.attrs["units"]["robot.delay"] == "s"
    for number in (1, 6):
        line, alone = found.loc[number], swept.run(number)
        assert alone.scenario.robot.delay == line["robot.delay"]
        assert alone.scenario.compensate.method == line["compensate.method"]
        assert alone.metrics["cov"] == pytest.approx([line["cov_1"]], rel=1e-12)


def test_an_array_has_the_axes_as_dimensions(swept):
    found = swept.array()["cov_error"]
    assert found.dims == ("robot.delay", "compensate.method")
    late = found.sel({"compensate.method": "none"}).values
    assert np.all(np.diff(late) > 0)  # more delay adds more energy


def test_it_is_the_table_of_the_command(swept, tmp_path):
    over = [word for key, text in OVER.items() for word in ("--over", f"{key}={text}")]
    done = here(tmp_path, "sweep", "docking", "--scenario", "table1", "--set", "collisions=1", *over, "--json", "--out", "a")
    assert json.loads(done.stdout)["scenarios"] == 8
    assert Table.open(tmp_path / "a").frame().equals(swept.frame())


@pytest.mark.parametrize(
    "target", [("docking", "table1"), (hilt.system("docking"), "table1"), (hilt.scenario("docking", "table1"),)]
)
def test_it_accepts_what_run_accepts(swept, target):
    found = hilt.sweep(
        *target, settings={"collisions": 1}, over={"robot.delay": ["2 ms", 0.008], "compensate.method": ["none"]}
    )
    assert found.frame()["cov_1"].tolist() == swept.frame()["cov_1"][[0, 6]].tolist()


def test_nothing_is_written_unless_a_folder_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = hilt.sweep("docking", settings={"collisions": 1}, over={"robot.delay": [0.001]}, seeds=2)
    kept = found.folder
    assert kept.exists()
    assert not list(tmp_path.iterdir())
    del found
    assert not kept.exists()
    hilt.sweep("docking", settings={"collisions": 1}, over={"robot.delay": [0.001]}, record="mine")
    assert (tmp_path / "mine" / "sweep.json").exists()
    with pytest.raises(hilt.InputError, match="holds a sweep already"):
        hilt.sweep("docking", settings={"collisions": 1}, over={"robot.delay": [0.001]}, record="mine")
    hilt.sweep("docking", settings={"collisions": 1}, over={"robot.delay": [0.001]}, record="mine", resume=True)


def test_pictures_and_a_notebook(swept, tmp_path):
    assert isinstance(swept.plot("cov"), Figure)
    assert isinstance(swept.plot(), Figure)
    shown = swept._repr_html_()
    assert "<table>" in shown
    assert "data:image/svg+xml" in shown
    assert repr(swept).startswith("<Sweep docking · table1: robot.delay (4) × compensate.method (2); 8 scenarios in ")
    assert "docking · table1" in swept.report(tmp_path / "mine.html").read_text()


@pytest.mark.parametrize(
    ("do", "words"),
    [
        (lambda swept: swept.map("cov"), "a map needs two axes of numbers"),
        (lambda swept: swept.plot("magic"), "'magic' is not a column of this sweep"),
        (lambda swept: swept.run(8), "there is no scenario 8"),
        (lambda _: hilt.sweep("docking"), "over names no key"),
        (lambda _: hilt.sweep("docking", over={"robot.delay": []}), "must be a text such as"),
        (lambda _: hilt.sweep("docking", over={"robot.delay": [[1, 2]]}), "must be a text such as"),
        (lambda _: hilt.sweep("docking", over={"robot.delay": "2..1 ms:4"}), "is empty"),
        (lambda _: hilt.sweep("docking", over={"robot.delay": "1,2 ms"}, metrics=["speed"]), "'speed' is not a metric"),
        (lambda _: hilt.sweep("docking", over={"robot.delay": "1,2 ms"}, engine="magic"), "--engine is 'magic'"),
    ],
)
def test_bad_input_is_one_sentence(swept, do, words):
    with pytest.raises(hilt.InputError) as error:
        do(swept)
    assert words in str(error.value)
