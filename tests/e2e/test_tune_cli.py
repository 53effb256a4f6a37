"""`hilt tune` as users call it."""

import json

from tests.e2e.command import here

DOCKING = ("docking", "--scenario", "table1", "--set", "collisions=1", "--set", "sensor.noise=0.5 N")
VARY = ("--vary", "robot.delay=15..25 ms", "--objective", "cof")


def test_the_winner_is_a_scenario_file_that_runs(tmp_path):
    done = here(tmp_path, "tune", *DOCKING, *VARY, "--trials", "6", "--seeds", "1", "--unseen", "3")
    assert done.returncode == 0, done.stderr
    assert "Better: cof" in done.stdout
    text = (tmp_path / "tuned.toml").read_text()
    assert text.startswith("# Tuned by hilt tune")
    again = here(tmp_path, "run", "tuned.toml", "--json")
    assert again.returncode == 0
    assert 1.0 < json.loads(again.stdout)["metrics"]["cof"][0] < 1.14  # 20 ms costs 14 %, less costs less


def test_several_processes_share_the_trials(tmp_path):
    """Each of them finishes its part in a shared storage, which a later call continues."""
    common = (*DOCKING, *VARY, "--seeds", "1", "--unseen", "2", "--storage", "trials.log", "--json")
    done = here(tmp_path, "tune", *common, "--trials", "7", "--processes", "2", "--out", "a.toml")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert json.loads(done.stdout)["trials"] == 7
    more = here(tmp_path, "tune", *common, "--trials", "2", "--out", "b.toml")
    found = json.loads(more.stdout)
    assert found["trials"] == 9
    assert found["better"]
    assert found["unseen"]["seeds"] == [2, 3]
    assert found["file"] == "b.toml"


def test_a_result_that_is_not_better_is_not_written(tmp_path):
    worse = ("--vary", "robot.delay=21..25 ms", "--objective", "cof", "--trials", "3", "--seeds", "1", "--unseen", "2")
    done = here(tmp_path, "tune", *DOCKING, *worse)
    assert done.returncode == 1
    assert "Not better" in done.stdout
    assert not list(tmp_path.iterdir())
    forced = here(tmp_path, "tune", *DOCKING, *worse, "--force")
    assert forced.returncode == 0
    assert "# Not better" in (tmp_path / "tuned.toml").read_text()
