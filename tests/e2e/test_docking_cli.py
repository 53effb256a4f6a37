"""docking from the command line: comparison, seeds, bad input."""

import json

import numpy as np
import pytest

from tests.e2e.command import here as hilt

BAD = {
    "gap smaller than the rod": (["--set", "frames.gap=4 mm"], "radius"),
    "zero mass": (["--set", "servicer.mass=0 kg"], "greater than 0 kg"),
    "delay longer than the buffer": (["--set", "robot.delay=2 s"], "delay line holds at most"),
    "unknown method": (["--set", "compensate.method=magic"], "'none', 'pic', 'dac', 'pida', 'pida-literal'"),
    "sensor slower than the whole": (["--set", "sensor.delay=30 ms"], "raise robot.delay"),
    "oblique in one axis": (["--set", "frames.normal=[1, 1, 0]"], "dof = 6"),
    "never meets": (["--set", "dof=6", "--set", "approach.direction=[0, 1, 0]"], "turn it towards"),
    "no seeds": (["--seeds", "0"], "from 1 to"),
}


@pytest.mark.parametrize(("arguments", "words"), BAD.values(), ids=BAD)
def test_bad_input_is_one_sentence(tmp_path, arguments, words):
    done = hilt(tmp_path, "run", "docking", *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_many_seeds_give_mean_and_worst(tmp_path):
    done = hilt(tmp_path, "run", "docking", "--seeds", "4", "--set", "sensor.noise=0.5 N", "--json")
    found = json.loads(done.stdout)
    assert found["seeds"] == 4
    assert len(found["metrics"]["cov"]) == 5
    assert found["worst"]["cov"] <= 0.04
    assert found["worst"]["diverged"] is False
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("undrawn")
def test_methods_side_by_side(tmp_path):
    done = hilt(tmp_path, "compare", "docking", "--over", "compensate.method=none,dac,pida")
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stdout.split())
    assert "none diverges" in text
    assert "pida keeps the speed" in text
    (written,) = tmp_path.glob("runs/*comparison*.html")
    assert "<img" in written.read_text()
    assert len(list(tmp_path.glob("runs/*.mcap"))) == 3


def test_a_comparison_needs_two_values(tmp_path):
    done = hilt(tmp_path, "compare", "docking", "--over", "compensate.method=none")
    assert done.returncode == 2
    assert "at least two values" in done.stderr


def test_a_run_writes_its_report(tmp_path):
    done = hilt(tmp_path, "run", "docking", "--scenario", "bench-1.93")
    assert done.returncode == 0, done.stderr
    (written,) = tmp_path.glob("runs/*.html")
    assert written.read_text().count("<img") >= 8


FAULTS = ("--set", "sensor.noise=0.5 N", "--set", "limits.force=162.6 N", "--set", "collisions=1")  # some seeds are above it


def test_seeds_that_fault_are_counted_and_end_with_3(tmp_path):
    done = hilt(tmp_path, "run", "docking", "--seeds", "6", *FAULTS, "--json")
    found = json.loads(done.stdout)
    assert done.returncode == 3
    assert 0 < len(found["faulted"]) < 6
    assert found["fault"]["seed"] == found["faulted"][0]
    assert done.stderr.startswith(f"{len(found['faulted'])} of 6 runs ended with a fault")


def test_the_ledger_of_many_seeds_is_their_mean_as_the_metrics_are(tmp_path):
    noise = ("--set", "sensor.noise=0.5 N", "--set", "collisions=1")
    each = [json.loads(hilt(tmp_path, "run", "docking", *noise, "--set", f"seed={n}", "--json").stdout) for n in (1, 2)]
    both = json.loads(hilt(tmp_path, "run", "docking", "--seeds", "2", *noise, "--json").stdout)
    for n, row in enumerate(both["ledger"]["rows"]):
        assert row["net_J"] == pytest.approx(np.mean([one["ledger"]["rows"][n]["net_J"] for one in each]), rel=1e-12, abs=1e-18)
    assert both["metrics"]["mean_cof"] == pytest.approx(np.mean([one["metrics"]["mean_cof"] for one in each]))


@pytest.mark.parametrize("other", [("--rig", "rigs/lab.toml"), ("--clock", "periodic"), ("--cockpit",)], ids="-".join)
def test_seeds_do_not_go_with_a_rig(tmp_path, other):
    """Otherwise the rig would run once and ignore the seeds."""
    done = hilt(tmp_path, "run", "docking", "--seeds", "3", *other)
    assert done.returncode == 2
    assert "--seeds" in done.stderr
    assert not list(tmp_path.iterdir())
