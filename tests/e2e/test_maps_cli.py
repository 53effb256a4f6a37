"""`hilt map` and `hilt margin` as users call them."""

import json
from pathlib import Path

import pytest

from tests.e2e.command import here

UNTREATED = ("docking", "--scenario", "table1", "--set", "compensate.method=none", "--set", "robot.delay=1 ms")
AXES = ("--x", "robot.delay=0.5..4 ms:5 log", "--y", "contact.stiffness=50..500 N/mm:4 log")
MARGIN = ("--key", "robot.delay", "--samples", "2")


def test_a_map_as_json(tmp_path):
    """Nothing but JSON, nothing written; the boundary within 1 % of the closed form that comes with it."""
    done = here(tmp_path, "map", *UNTREATED, *AXES, "--json")
    found = json.loads(done.stdout)
    assert done.returncode == 0
    assert done.stderr == ""
    assert not list(tmp_path.iterdir())
    assert (found["x"]["key"], found["y"]["key"]) == ("robot.delay", "contact.stiffness")
    assert all(5e-4 <= x <= 4e-3 and 5e4 <= y <= 5e5 for x, y in found["boundary"])
    (form,) = found["closed_forms"]
    assert found["at_scenario"]["x"] == pytest.approx([1.1305e-3], rel=0.01)
    assert form["leaves_out"]
    assert found["scenario"] == [1e-3, 176275.0]
    assert found["runs"] > 20
    assert found["limits"] == ["diverged"]


def test_a_map_without_json_is_a_page(tmp_path):
    done = here(tmp_path, "map", *UNTREATED, *AXES, "--limit", "cov=20%", "--out", "pages")
    assert done.returncode == 0, done.stderr
    (page,) = (tmp_path / "pages").iterdir()
    assert page.suffix == ".html"
    text = page.read_text()
    assert "closed form" in " ".join(done.stdout.split())
    assert "Closed forms" in text
    assert "the edges of the cells" in text


def test_a_key_alone_has_a_range_around_the_scenario(tmp_path):
    done = here(
        tmp_path, "map", *UNTREATED, "--x", "robot.delay=0.5..4 ms:3", "--y", "servicer.mass", "--json", "--limit", "mean_cof=9"
    )
    found = json.loads(done.stdout)
    assert (found["y"]["low"], found["y"]["high"], found["y"]["log"]) == (75.0, 1200.0, True)
    assert found["boundary"] == []  # 9 times the force is nowhere


def test_a_margin_as_json(tmp_path):
    bench = ("docking", "--scenario", "bench-2.64", "--set", "compensate.method=none", "--set", "robot.kind=delay")
    done = here(tmp_path, "margin", *bench, "--set", "sensor.delay=0", "--set", "robot.delay=1 ms", *MARGIN, "--json")
    found = json.loads(done.stdout)
    assert done.returncode == 0
    assert not list(tmp_path.iterdir())
    assert found["critical"]["robot.delay"]["value"] == pytest.approx(1.69e-3, rel=0.02)
    assert found["critical"]["robot.delay"]["unit"] == "s"
    assert found["critical"]["robot.delay"]["margin"] == pytest.approx(0.69, abs=0.04)
    assert set(found["sobol"]["metrics"]) == {"cov_error", "cof_error"}
    assert found["advice"].startswith("This scenario needs pic")


def test_a_margin_of_a_file_is_a_page(tmp_path):
    """The critical delay of a wall is that of exp(πωτ/2), less the T/2 of its integrator."""
    text = (
        'system = "freefloat"\ncollisions = 5\n[loop]\nperiod = "1 ms"\nduration = "30 s"\n[body]\nmass = "30 kg"\ndof = 1\n'
        'velocity = ["20 mm/s", 0, 0]\n[robot]\nkind = "delay"\ndelay = "0.5 ms"\n[wall]\nstiffness = "4 N/mm"\ngap = "10 mm"\n'
    )
    (tmp_path / "my.toml").write_text(text)
    done = here(tmp_path, "margin", "my.toml", *MARGIN, "--uncertain", "wall.stiffness=5%", "--out", "pages")
    assert done.returncode == 0, done.stderr
    (page,) = (tmp_path / "pages").iterdir()
    critical = 2 * 0.22314 / (5 * 3.14159 * (4000 / 30) ** 0.5) - 0.5e-3
    assert critical == pytest.approx(1.96e-3, abs=0.01e-3)
    said = " ".join(done.stdout.split())
    assert "1.96" in said
    assert "Margin is (critical - now)/now" in page.read_text()


def test_the_page_of_maps_says_what_the_commands_say(tmp_path):
    """Its numbers, without the spaces that a table or a terminal puts between them."""
    page = "".join((Path(__file__).parents[2] / "docs" / "maps.md").read_text().split())
    ranges = ("--x", "robot.delay=0.5..40 ms:9 log", "--y", "contact.stiffness=20..700 N/mm:9 log")
    said = here(tmp_path, "map", "docking", "--set", "compensate.method=none", *ranges).stdout
    assert "".join(said.partition("report")[0].split()) in page
    bench = ("docking", "--scenario", "bench-2.64", "--set", "compensate.method=none", "--set", "robot.kind=delay")
    rest = ("--set", "sensor.delay=0", "--set", "robot.delay=1 ms", "--key", "robot.delay", "--samples", "0")
    found = json.loads(here(tmp_path, "margin", *bench, *rest, "--json").stdout)
    delay = found["critical"]["robot.delay"]
    assert f"robot.delay1ms{1e3 * delay['value']:.4g}ms+{100 * delay['margin']:.0f}%" in page
