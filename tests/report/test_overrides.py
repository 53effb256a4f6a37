"""The changes that a report lists, and the two ways to run it again: the command and the file."""

import shlex

import pytest

from hilt import job
from hilt.core import registry, scenario
from hilt.report import overrides, scenario_text

CHANGES = ["robot.delay=12.5 ms", "compensate.method=twin", "belief.robot.delay=11 ms", "target.mass=3.5 t"]


def test_an_unchanged_scenario_has_no_overrides_and_a_short_command():
    assert overrides.overrides(*found("docking", "table1")) == []
    assert overrides.command(*found("docking", "table1")) == "hilt run docking"
    assert overrides.command(*found("docking", "twin")) == "hilt run docking --scenario twin"


def found(system, name, changes=()):
    system, values, name = job.find(system, name, list(changes))
    return system, name, values


def test_changes_are_shown_in_readable_units():
    shown = {each.key: each.shown for each in overrides.overrides(*found("docking", "table1", CHANGES))}
    assert shown == {
        "robot.delay": "12.5 ms",
        "compensate.method": "twin",
        "belief.robot.delay": "11 ms",
        "target.mass": "3500 kg",
    }


@pytest.mark.parametrize("changes", [CHANGES, ["compensate.method=dac", "seed=7"], ["servicer.inertia=[1, 2, 2.5]", "dof=6"]])
def test_the_command_runs_the_same_scenario(changes):
    system, name, values = found("docking", "table1", changes)
    words = shlex.split(overrides.command(system, name, values))
    settings = [words[n + 1] for n, word in enumerate(words) if word == "--set"]
    assert job.find("docking", name, settings)[1].hash() == values.hash()


def test_a_users_own_scenario_is_run_from_its_file():
    system, _, values = found("docking", "table1", CHANGES)
    assert overrides.overrides(system, "mine", values) == []
    assert overrides.command(system, "mine", values) == "hilt run mine.toml"


SHIPPED = [(name, each) for name, system in registry.systems().items() for each in system.scenario_files]


@pytest.mark.parametrize("case", SHIPPED, ids="-".join)
def test_the_file_is_the_scenario(case, tmp_path):
    system, values, _ = job.find(*case, [])
    path = tmp_path / "again.toml"
    path.write_text(scenario_text.text(values))
    assert scenario.build(system.scenario, scenario.read_toml(path)) == values


def test_the_file_of_a_changed_scenario_runs_with_the_same_metrics(tmp_path):
    system, values, _ = job.find("docking", "table1", [*CHANGES, "collisions=1"])
    path = tmp_path / "again.toml"
    path.write_text(scenario_text.text(values))
    assert "delay = 0.0125  # s" in path.read_text()
    again = job.simulate(*job.find(str(path), None, []))
    assert again.metrics == job.simulate(system, values).metrics
