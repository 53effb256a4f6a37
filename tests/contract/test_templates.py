"""`hilt new`: a commented file for every system that runs as it is, meets its goal, and shows the keys that matter."""

from dataclasses import replace

import pytest

from hilt import job
from hilt.analysis.check import check
from hilt.core import outline, registry, scenario, toml
from hilt.core.faults import InputError
from hilt.core.guard import Limits
from hilt.device import rigfile

SYSTEMS = list(registry.systems())


@pytest.fixture(params=SYSTEMS)
def made(request, tmp_path):
    path = tmp_path / "my.toml"
    path.write_text(registry.system(request.param).template)
    return path


def test_a_new_scenario_runs_as_it_is_and_meets_its_goal(made):
    system, values, name = job.find(str(made), None, [])
    assert all(remark.fine for remark in check(system, values))
    assert job.simulate(system, values, name).verdict.kind == "met"


def test_it_explains_itself(made):
    text = made.read_text()
    assert text.startswith("# ")
    for words in ("hilt check", "hilt run", "hilt schema", "[goal]", "[loop]"):
        assert words in text


def test_what_it_says_in_comments_is_valid_too(made):
    """The tables that are commented out are also accepted when uncommented."""
    lines = made.read_text().splitlines()
    offered = [
        line[2:] if line.startswith(("# [", "# ")) and ("=" in line or line.startswith("# [")) else line for line in lines[5:]
    ]
    tree = toml.parse("\n".join([*lines[:5], *offered]))
    system = registry.system(tree["system"])
    scenario.build(system.scenario, tree)


@pytest.mark.parametrize("name", SYSTEMS)
def test_an_outline_has_every_key_and_fits_the_screen(name):
    system = registry.system(name)
    lines = list(outline.lines(system.scenario))
    assert [line.key for line in lines] == [key for key, _ in scenario.keys(system.scenario)]
    shown = outline.chosen(lines, toml.parse(system.template))
    printed = list(outline.columns(shown, 80))
    assert len(printed) <= 30
    assert all(len(line) <= 80 for line in printed)
    needed = {line.key for line in lines if line.default == "needed" and line.key.count(".") == 1}
    tree = toml.parse(system.template)
    assert {key for key in needed if key.split(".")[0] in tree} <= {line.key for line in shown}


def test_defaults_in_an_outline_are_those_of_the_scenario():
    system = registry.system("docking")
    _, values, _ = job.find("docking", None, [])
    defaults = {line.key: line.default for line in outline.lines(system.scenario)}
    assert defaults["goal.cov"] == "0.01"
    assert defaults["servicer.mass"] == "needed"
    assert defaults["compensate.method"] == "pida" == type(values.compensate)().method


def test_a_simulation_needs_no_limits_and_a_rig_all_of_them():
    """Defaults are for simulation only: a rig file has to give every single limit."""
    tree = scenario.read_toml(rigfile.find("dry-lab"))
    scenario.build(rigfile.RigFile, tree)
    for key in rigfile.RigLimits.model_fields:
        less = {**tree, "limits": {name: value for name, value in tree["limits"].items() if name != key}}
        with pytest.raises(InputError, match=rf"limits\.{key} is missing, and devices need every limit"):
            scenario.build(rigfile.RigFile, less)
    assert set(Limits.model_fields) <= set(rigfile.RigLimits.model_fields)


def test_on_a_rig_its_limits_replace_those_that_a_scenario_leaves_out(tmp_path):
    path = tmp_path / "my.toml"
    path.write_text(registry.system("docking").template)
    file = rigfile.load(rigfile.find("dry-lab"))
    _, values, _ = job.find(str(path), None, file.settings("docking"))
    rigfile.check_limits(values, file)
    assert values.limits.force == file.limits.force


def test_a_body_that_turns_needs_its_inertia(tmp_path):
    path = tmp_path / "my.toml"
    path.write_text(registry.system("docking").template)
    with pytest.raises(InputError, match=r"servicer\.inertia is missing"):
        job.find(str(path), None, ["dof=6"])


def test_a_system_without_files_has_its_defaults_for_a_template():
    system = replace(registry.system("freefloat"), scenario_folder=None)
    text = system.template
    assert toml.parse(text) == {"system": "freefloat"}
    assert "# robot.delay: 0 s" in text
