"""What the terminal prints: verdicts first, comparisons that fit 80 columns, what is done and how long, and what to do next."""

import io
import json

import pytest
from rich.console import Console
from typer.testing import CliRunner

from hilt import job
from hilt.cli import lab as cli_lab
from hilt.cli.main import app
from hilt.core import registry
from hilt.core.faults import InputError
from hilt.device import rigfile
from hilt.report import comparison, terminal

SHORT = {
    "docking": ("table1", "robot.delay", ("2 ms", "4 ms", "8 ms")),
    "freefloat": ("wall", "robot.delay", ("1 ms", "2 ms")),
    "payload": ("pull-3000", "operator.speed", ("5 mm/s", "10 mm/s")),
    "aerial": ("hover", "loop.duration", ("1 s", "2 s")),
}


def printed(show, *arguments):
    console = Console(file=io.StringIO(), width=80, force_terminal=False)
    show(console, *arguments)
    return console.file.getvalue()


@pytest.fixture(scope="module", params=SHORT)
def results(request):
    name, key, choices = SHORT[request.param]
    return {choice: job.simulate(*job.find(request.param, name, [f"{key}={choice}"])) for choice in choices}


def test_a_comparison_has_runs_as_rows_and_at_most_five_columns(results):
    head, *lines = comparison.brief(results)
    assert len(head) <= 5
    assert [line[0] for line in lines] == list(results)
    assert [line[1] for line in lines] == [result.verdict.kind for result in results.values()]
    assert all(len(line) == len(head) for line in lines)


def test_a_comparison_fits_80_columns_and_cuts_nothing(results):
    text = printed(comparison.print_comparison, results)
    assert all(len(line) <= 80 for line in text.splitlines())
    assert "…" not in text
    for line in comparison.brief(results):
        for cell in line:
            assert cell in text


def test_all_metrics_of_a_comparison_are_there_on_request(results):
    found = printed(comparison.print_comparison, results, True)
    first = next(iter(results.values()))
    words = [first.system.metric_words[name].split()[0] for name in first.metrics]
    assert all(word in found for word in words)


def test_a_result_begins_with_its_verdict_and_has_its_ledger(results):
    result = next(iter(results.values()))
    text = " ".join(printed(terminal.print_result, result).split())
    assert text.startswith(result.verdict.sentence)
    assert "Energy ledger" in text
    assert ("beside the balance" in text) == (result.system.name == "payload")


def test_help_begins_with_run_and_names_every_command_once():
    text = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "80"}).output
    listed = [line.split()[1] for line in text.splitlines() if line.startswith("│ ") and line[2] not in " -"]
    assert listed[0] == "run"
    commands = [command.name or command.callback.__name__ for command in app.registered_commands]
    assert listed == commands
    assert len(set(commands)) == len(commands)
    assert all(len(line) <= 80 for line in text.splitlines())


def test_a_missing_rig_is_called_a_rig(tmp_path):
    with pytest.raises(InputError, match=r"^rig file .*nosuch\.toml does not exist"):
        rigfile.load(tmp_path / "nosuch.toml")
    with pytest.raises(InputError, match="'nosuch' is not a rig; known are dry-lab"):
        rigfile.find("nosuch")


@pytest.mark.parametrize(("name", "said"), [("dry-lab", "hilt emulate dry-lab"), ("lab-template", None)])
def test_an_emulator_that_does_not_answer_may_not_run(name, said):
    path = rigfile.find(name)
    file = rigfile.load(path)
    with pytest.raises(InputError) as caught, cli_lab._reaching(file, path):
        raise InputError("the force sensor cannot be reached")
    hint = f"; is the emulator running? {said}, in another terminal" if said else ""
    assert str(caught.value) == f"the force sensor cannot be reached{hint}"


def test_a_wrong_value_is_not_blamed_on_the_emulator():
    path = rigfile.find("dry-lab")
    with pytest.raises(InputError) as caught, cli_lab._reaching(rigfile.load(path), path):
        raise InputError("robot.delay is wrong", "robot.delay")
    assert str(caught.value) == "robot.delay is wrong"


def refused(*_arguments, **_options):
    raise InputError("as far as this")


@pytest.mark.parametrize(
    ("arguments", "place", "said"),
    [
        (("doctor", "--seconds", "3"), "hilt.lab.doctor.examine", "Measuring for 3 s"),
        (("emulate", "dry-lab"), "hilt.lab.dry.facility.serve", "hilt run docking --rig dry-lab"),
        (("reproduce", "he2022"), "hilt.reproduce.papers.reproduce", "Recomputing every number of he2022"),
    ],
)
def test_long_commands_say_at_once_what_they_do(monkeypatch, tmp_path, capsys, arguments, place, said):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(place, refused)
    monkeypatch.setattr("hilt.live.cores.check_nobody_live", lambda: None)  # whatever else is running on this host
    with pytest.raises(InputError, match="as far as this"):
        app(arguments, standalone_mode=False)
    assert said in " ".join(capsys.readouterr().err.split())


def test_a_check_is_one_json_object():
    found = json.loads(CliRunner().invoke(app, ["check", "docking", "--json"]).stdout)
    assert found["fine"] is False
    assert {each["about"] for each in found["checks"] if not each["fine"]} == {"delay"}


@pytest.mark.parametrize("name", list(registry.systems()))
def test_new_prints_the_template_and_nothing_else(name):
    assert CliRunner().invoke(app, ["new", name]).stdout == registry.system(name).template
