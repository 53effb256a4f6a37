"""Every example runs, is short, and prints something; what it prints of numbers is right."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def output(path, folder):
    done = subprocess.run([sys.executable, str(path)], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("path", [path for path in EXAMPLES if "own_method" not in path.stem], ids=lambda path: path.stem)
def test_example(path, tmp_path):
    assert len(path.read_text().splitlines()) <= 65
    assert output(path, tmp_path)


@pytest.mark.parametrize("path", [path for path in EXAMPLES if "own_method" in path.stem], ids=lambda path: path.stem)
def test_the_page_about_extending_shows_the_example_as_it_is(path):
    assert path.read_text() in (ROOT / "docs" / "extending.md").read_text()


def test_there_are_examples():
    assert EXAMPLES


def test_a_method_of_ones_own_takes_off_what_the_delay_makes(tmp_path):
    """Untreated, 4 ms of delay make each rebound 1.171 times as fast [He2022, Table 1]; a damping of k τ cancels that to first
    order in ω τ = 0.1, so that after five contacts less than 1 % is left."""
    (path,) = (path for path in EXAMPLES if "own_method" in path.stem)
    found, printed = {}, output(path, tmp_path)
    assert printed in (ROOT / "docs" / "extending.md").read_text()
    for line in printed.splitlines()[1:]:
        name, *numbers = line.split()
        found[name] = [float(number) for number in numbers]
    assert found["none"] == pytest.approx([1.171**n for n in range(1, 6)], rel=0.01)
    assert found["damper"] == pytest.approx([1.0] * 5, abs=0.01)
    assert found["pida"] == pytest.approx([1.0] * 5, abs=0.001)
    assert len(path.read_text().splitlines()) <= 40
