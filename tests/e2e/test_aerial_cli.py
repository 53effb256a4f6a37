"""aerial from the command line: reports, faults, bad input."""

import html
import json
import re

import pytest

from hilt import job
from hilt.analysis import beside
from hilt.report import page
from tests.e2e.command import here as hilt

BAD = {
    "hardware out of reach": (["--set", "hardware_arm.start=[2, 0, 0.4]"], "choose a closer hardware_arm.start"),
    "flying arm out of reach": (["--set", "tool.position=[1, 0, -0.3]"], "move the tool closer to the base"),
    "zero mass": (["--set", "vehicle.mass=0"], "vehicle.mass is 0.0 kg; it must be greater than 0 kg"),
    "filter above Nyquist": (["--set", "force_filter.bandwidth=700"], "at most the Nyquist frequency of 628.319 rad/s"),
    "negative delay": (["--set", "link.delay=-1 ms"], "at least 0 s"),
    "negative hand": (["--set", "hand.stiffness=-1"], "at least 0 N/m"),
    "tank over its brim": (["--set", "tank.start=1 J"], "between these bounds"),
    "contact from more to less": (["--set", "task.handover.contact=[3, 1]"], "swap them"),
}


@pytest.mark.parametrize(("arguments", "words"), BAD.values(), ids=BAD)
def test_bad_input_is_one_sentence(tmp_path, arguments, words):
    done = hilt(tmp_path, "run", "aerial", *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def titles(text):
    return {html.unescape(title) for title in re.findall(r'<img alt="([^"]*)"', text)}


def test_a_run_prints_its_ledger_and_writes_its_report(tmp_path):
    done = hilt(tmp_path, "run", "aerial", "--scenario", "push")
    assert done.returncode == 0, done.stderr
    assert "Energy ledger" in done.stdout
    (written,) = tmp_path.glob("runs/*.html")
    assert "Displacement and force" in titles(written.read_text())


STIFF = ["hand.amplitude=20 mm", "force_filter.bandwidth=15", "hand.stiffness=600"]


@pytest.mark.parametrize(
    ("scenario", "shown", "said", "changes"),
    [
        ("hover", {"Energy at the human port"}, ("The guard at the human port watched",), STIFF),
        ("hover", {"Energy at the human port"}, ("had to add up to",), [*STIFF[:2], "hand.stiffness=5000"]),
        ("handover", set(), ("The gains do not pass through it",), ["link.delay=50 ms", "link.loss=0.1"]),
        ("handover", set(), ("it fails", "came from nothing"), ["tank.form=printed", "tank.start=0.011 J"]),
        ("diverter", {"Hook and cable"}, ("not hooked", "which is true", "it ended as failed"), ["cable.offset=35 mm"]),
        ("hover", set(), ("stiffest hand",), ["servo.kind=second-order", "servo.natural_frequency=60"]),
    ],
)
@pytest.mark.usefixtures("undrawn")
def test_a_report_shows_what_is_special(scenario, shown, said, changes):
    text = page.render(beside.computed(job.simulate(*job.find("aerial", scenario, changes))))
    assert shown <= titles(text)
    for words in said:
        assert words in text


@pytest.mark.usefixtures("undrawn")
def test_the_warning_disappears_when_the_servo_is_identified():
    changes = ["servo.kind=second-order", "servo.natural_frequency=60", "servo.damping_ratio=0.7"]
    text = page.render(beside.computed(job.simulate(*job.find("aerial", "hover", [*changes, "loop.duration=1 s"]))))
    assert "modelled by a lag only" not in text


@pytest.mark.usefixtures("undrawn")
def test_a_hand_that_is_too_stiff_is_named_and_stopped(tmp_path):
    """600 N/m, a slow filter, no guard: exit code 3, the limit in the report, the fault marked."""
    settings = [word for change in [*STIFF, "port_passivity.enabled=false"] for word in ("--set", change)]
    done = hilt(tmp_path, "run", "aerial", "--scenario", "hover", *settings, "--json")
    assert done.returncode == 3
    found = json.loads(done.stdout)
    assert found["metrics"]["diverged"] is True
    assert found["metrics"]["hand_stiffness_limit_N_m"] < 600
    shown = hilt(tmp_path, "show", found["recording"])
    assert shown.returncode == 0, shown.stderr
    (written,) = tmp_path.glob("runs/*.html")
    text = written.read_text()
    assert "more than the 230 N/m" in text
    assert "The guard at the human port is off" in text


@pytest.mark.usefixtures("undrawn")
def test_runs_side_by_side(tmp_path):
    done = hilt(tmp_path, "compare", "aerial", "--scenario", "push", "--over", "estimator.enabled=true,false")
    assert done.returncode == 0, done.stderr
    assert "moves the base by at most" in " ".join(done.stdout.split())
