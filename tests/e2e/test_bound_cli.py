"""The bound from the command line."""

import json

import pytest

from tests.e2e.command import here as hilt

BAD = {
    "no such scenario": (["docking", "--scenario", "nowhere"], "not a scenario of docking"),
    "a system without contact": (["payload"], "payload has no bound on its contact force; give one that has (docking)"),
}


@pytest.mark.parametrize(("arguments", "words"), BAD.values(), ids=BAD)
def test_bad_input_is_one_sentence(tmp_path, arguments, words):
    done = hilt(tmp_path, "bound", *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_the_bound_of_a_late_robot(tmp_path):
    done = hilt(tmp_path, "bound", "docking", "--set", "robot.delay=40 ms", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["bound_cof_after_tick"] == pytest.approx(1.1304, abs=1e-4)  # ω 41 ms + 1/10
    assert found["bound_cof"] == found["bound_cof_after_tick"], "its former name"
    assert found["bound_cof_programme"] == pytest.approx(found["bound_cof_after_tick"], abs=1e-3)
    low, high = found["bound_cof_1_to_99_percent"]
    assert low < found["bound_cof_mean"] < high <= found["bound_cof_after_tick"] + 1e-9
    assert found["bound_cof_guarded"] <= 1.05
    assert found["guarded_clock"] <= found["clock_needed"] < 1.0
    assert found["critical_stiffness"] < found["stiffness"]
    assert sum(found["late_parts_s"].values()) == pytest.approx(found["late_s"]) == pytest.approx(0.041)
    assert list(tmp_path.iterdir()) == []


def test_the_bound_in_words(tmp_path):
    done = hilt(tmp_path, "bound", "docking", "--scenario", "oblique")
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stdout.split())
    assert "226.7 kg" in text  # effective mass along the normal, below the reduced mass of 279 kg
    assert "Real time is enough" in text
