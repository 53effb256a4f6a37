"""The tutorial's commands, in order, print what the page shows; and they are few."""

import re
import shlex
import tomllib
from pathlib import Path

import pytest

from tests.e2e.command import here

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "tutorial.md").read_text()
BLOCK = re.compile(r"^```(console|toml)\n(.*?)^```", re.M | re.S)
MOST_COMMANDS, MOST_LINES = 8, 15  # from a fresh clone to the verdict


def steps():
    """What the reader does, in order: ("command", text, lines shown) or ("edit", text, ())."""
    for kind, text in BLOCK.findall(PAGE):
        if kind == "toml":
            yield "edit", text, ()
        else:
            for part in text.split("$ ")[1:]:
                command, *shown = part.strip().splitlines()
                yield "command", command, shown


def edited(text, changes):
    """Each value in its section, as one would do it in an editor: the line stays where it is, including comments."""
    for section, values in tomllib.loads(changes).items():
        for key, value in values.items():
            text, found = re.subn(rf'(^\[{section}\][^\[]*?^{key} = )"[^"]*"', rf'\g<1>"{value}"', text, count=1, flags=re.M)
            assert found == 1, f"the template has no [{section}] with {key}"
    return text


def words(text):
    """Words without the terminal's line breaks, which depend on its width."""
    return " ".join(text.split())


def until_the_verdict():
    found = []
    for step in steps():
        found.append(step)
        if any(line.startswith("Goal met") for line in step[2]):
            return found
    pytest.fail("the tutorial does not end with a goal that is met")


def test_the_verdict_is_reached_in_a_few_steps():
    found = until_the_verdict()
    assert sum(kind == "command" for kind, *_ in found) <= MOST_COMMANDS
    own = [line for kind, text, _ in found if kind == "edit" for line in text.splitlines() if line.strip()]
    assert 0 < len(own) <= MOST_LINES


def test_it_is_about_the_facility_of_the_page():
    (changes,) = (text for kind, text, _ in steps() if kind == "edit")
    values = {f"{section}.{key}": value for section, each in tomllib.loads(changes).items() for key, value in each.items()}
    assert values == {
        "servicer.mass": "12 kg",
        "target.mass": "60 kg",
        "approach.speed": "8 mm/s",
        "contact.stiffness": "35 N/mm",
        "robot.delay": "14 ms",
        "sensor.noise": "0.8 N",
    }


def test_the_first_commands_set_everything_up():
    first, second, *_ = (text for kind, text, _ in steps() if kind == "command")
    assert first == "make run"
    assert "\nrun: $(READY)" in (ROOT / "Makefile").read_text()
    assert second == ". .venv/bin/activate"


def test_each_command_prints_what_the_page_shows(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    shown_at_all = 0
    for kind, text, shown in list(steps())[2:]:
        if kind == "edit":
            file = tmp_path / "my.toml"
            file.write_text(edited(file.read_text(), text))
            continue
        program, *arguments = shlex.split(text.partition(" > ")[0])
        assert program == "hilt"
        done = here(tmp_path, *arguments)
        assert done.returncode == 0, done.stderr
        if into := text.partition(" > ")[2]:
            (tmp_path / into).write_text(done.stdout)
        for line in shown:
            assert words(line) in words(done.stdout), f"{text}: the page shows different output"
            shown_at_all += 1
        if arguments[0] == "run" and "--seeds" not in arguments:
            assert max(tmp_path.glob("runs/*.html"), key=lambda path: path.stat().st_mtime_ns).name in done.stdout.replace(
                "\n", ""
            )
    assert shown_at_all >= 8
