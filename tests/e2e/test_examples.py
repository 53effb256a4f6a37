"""Every example runs, is short, and prints something; the numbers it prints are right."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
OWN = [
    *(path for path in EXAMPLES if "own_" in path.stem),
    *(ROOT / "examples" / "own_driver" / name for name in ("my_robot.py", "rig.toml")),
]
PAGE = ROOT / "docs" / "extending.md"


def output(path, folder):
    done = subprocess.run([sys.executable, str(path)], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("path", [path for path in EXAMPLES if "own_" not in path.stem], ids=lambda path: path.stem)
def test_example(path, tmp_path):
    assert len(path.read_text().splitlines()) <= 65
    assert output(path, tmp_path)


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.stem)
def test_the_page_about_extending_shows_the_example_as_it_is(path):
    assert path.read_text() in PAGE.read_text()


def executed(notebook):
    """Run the code cells in one namespace, as a notebook does; the value of a cell is shown as a notebook shows it."""
    names = {"__name__": "__main__"}
    cells = [cell for cell in json.loads(notebook.read_text())["cells"] if cell["cell_type"] == "code"]
    shown = []
    for number, cell in enumerate(cells):
        tree = ast.parse("".join(cell["source"]), f"{notebook.name}, cell {number}")
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, notebook.name, "exec"), names)
        value = eval(compile(ast.Expression(last.value), notebook.name, "eval"), names) if last else None
        shown.append(value._repr_html_() if hasattr(value, "_repr_html_") else repr(value))
    return names, cells, shown


def test_the_notebook_runs_200_delays_in_8_lines(tmp_path, monkeypatch):
    """The rebound with 4 ms of delay is 1.171 [He2022, Table 1]; more delay gives more, and 1 % is exceeded far earlier."""
    monkeypatch.chdir(tmp_path)
    names, cells, shown = executed(ROOT / "examples" / "06_delays.ipynb")
    delays, cov = names["axes"].lines[0].get_xdata(), names["axes"].lines[0].get_ydata()
    assert len(delays) == 200
    assert np.interp(0.004, delays, cov) == pytest.approx(1.171, abs=0.003)
    assert np.all(np.diff(cov) > 0)
    assert min(names["missed"]) < 0.001
    (sweep,) = ("".join(cell["source"]) for cell in cells if "linspace" in "".join(cell["source"]))
    assert len([line for line in sweep.splitlines() if line]) <= 8
    assert "data:image/svg+xml" in shown[0]
    plt.close("all")


def test_the_notebook_of_maps(tmp_path, monkeypatch):
    """More delay adds more energy, and a stiffer contact even more: the allowed delay falls with stiffness."""
    monkeypatch.chdir(tmp_path)
    names, _, shown = executed(ROOT / "examples" / "07_maps.ipynb")
    assert len(names["curve"]) == 40
    assert names["grid"].array()["cov_error"].shape == (8, 10)
    assert np.all(np.diff(names["grid"].array()["cov_error"].values, axis=0) > 0)
    limits = names["longest"].values
    assert np.all(np.diff(limits[np.isfinite(limits)]) <= 0)
    assert 0.05 < names["peak"].median() < 0.25
    assert "data:image/svg+xml" in shown[0]
    assert not list(tmp_path.iterdir())
    plt.close("all")


def test_there_are_examples():
    assert EXAMPLES


def test_a_users_own_system_grows_as_theory_says(tmp_path):
    """A spring k with a delay τ drives a mass m like a damping of -k τ: its oscillation grows as exp(k τ t/(2 m)); holding
    the force over a tick of 1 ms adds half of that to τ. Terms of higher order are (ω τ)² < 0.3 %."""
    (path,) = (path for path in EXAMPLES if "own_system" in path.stem)
    printed = output(path, tmp_path)
    assert printed in PAGE.read_text()
    *lines, report = printed.splitlines()
    found = {line.split()[0]: float(line.split()[3]) for line in lines}
    for delay, growth in found.items():
        assert growth == pytest.approx(0.5 * 394.8 / 10.0 * (1e-3 * float(delay) + 0.5e-3), rel=0.005), delay
    assert len(found) == 3
    assert "made by the robot" in (tmp_path / report.split()[1]).read_text()
    assert len(path.read_text().splitlines()) <= 120


def test_a_users_own_method_removes_the_effect_of_the_delay(tmp_path):
    """Uncompensated, 4 ms of delay make each rebound 1.171 times as fast [He2022, Table 1]; a damping of k τ cancels that to
    first order in ω τ = 0.1, so that after five contacts less than 1 % is left."""
    (path,) = (path for path in EXAMPLES if "own_method" in path.stem)
    found, printed = {}, output(path, tmp_path)
    assert printed in PAGE.read_text()
    for line in printed.splitlines()[1:]:
        name, *numbers = line.split()
        found[name] = [float(number) for number in numbers]
    assert found["none"] == pytest.approx([1.171**n for n in range(1, 6)], rel=0.01)
    assert found["damper"] == pytest.approx([1.0] * 5, abs=0.01)
    assert found["pida"] == pytest.approx([1.0] * 5, abs=0.001)
    assert len(path.read_text().splitlines()) <= 40
