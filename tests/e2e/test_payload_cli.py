"""payload from the command line: reports, faults, bad input."""

import json

import pytest

from tests.e2e.test_cli import hilt

BAD = {
    "negative delay": (["--set", "link.delay=-1 s"], "at least 0 s"),
    "loss above one": (["--set", "link.loss=1.2"], "at most 1"),
    "mass ratio zero": (["--set", "virtual.mass_ratio=0"], "greater than 0"),
    "delay longer than the link": (["--set", "link.delay=1 min"], "the link holds at most"),
    "no direction": (["--set", "operator.direction=[0, 0, 0]"], "give a direction"),
    "unknown policy": (["--set", "link.outage_policy=pray"], "'hold', 'soft-stop', 'freeze'"),
}


@pytest.mark.parametrize(("arguments", "words"), BAD.values(), ids=BAD)
def test_bad_input_is_one_sentence(tmp_path, arguments, words):
    done = hilt(tmp_path, "run", "payload", *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "words", "changes"),
    [
        ("workspace", "commanded position x", ["limits.workspace_max=[0.1, 1, 1]"]),
        ("table-angle", "crank angle", ["xy_stage.travel_x=0 m", "hexa.angle_max=0.5 rad"]),
    ],
)
def test_leaving_the_workspace_is_a_fault_with_its_limit(tmp_path, name, words, changes):
    done = hilt(tmp_path, "run", "payload", "--scenario", "hils-1", *[x for c in changes for x in ("--set", c)], "--json")
    assert done.returncode == 3
    found = json.loads(done.stdout)
    assert found["fault"]["name"] == name
    assert words in done.stderr
    assert "limit of" in done.stderr


@pytest.mark.parametrize("scenario", ["pull-3000", "feedback-500", "hils-1", "hils-2", "outage"])
def test_every_scenario_has_a_report(tmp_path, scenario):
    done = hilt(tmp_path, "run", "payload", "--scenario", scenario)
    assert done.returncode == 0, done.stderr
    (page,) = tmp_path.glob("runs/*.html")
    assert page.read_text().count("<img") >= 4
