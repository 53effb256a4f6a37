"""`hilt.map` and `hilt.margin`: the same numbers as the commands, from Python."""

import json

import numpy as np
import pytest

import hilt
from tests.e2e.command import here

UNTREATED = {"compensate.method": "none", "robot.delay": "1 ms"}
SET = ("--set", "compensate.method=none", "--set", "robot.delay=1 ms")
X, Y = "robot.delay=0.5..4 ms:5 log", "contact.stiffness=50..500 N/mm:4 log"


@pytest.fixture(scope="module")
def found():
    return hilt.map("docking", "table1", UNTREATED, x=X, y=Y)


@pytest.fixture(scope="module")
def margin():
    return hilt.margin("docking", "table1", UNTREATED, keys=["robot.delay", "contact.stiffness"], samples=0)


def test_a_map_is_that_of_the_command(found, tmp_path):
    printed = here(tmp_path, "map", "docking", "--scenario", "table1", *SET, "--x", X, "--y", Y, "--json").stdout
    assert json.loads(printed) == json.loads(json.dumps(found.as_json()))


def test_a_map_gives_its_boundary_as_an_array_a_table_and_a_picture(found, tmp_path):
    assert found.keys == ("robot.delay", "contact.stiffness")
    np.testing.assert_array_equal(found.boundary, np.concatenate(found.lines))
    assert found.here == (0.001, 176275.0)
    assert found.at_scenario[0] == pytest.approx([1.1305e-3], rel=0.01)
    assert found.closed_forms.keys() == {"untreated contact"}
    frame = found.frame()
    assert list(frame.columns) == ["line", "robot.delay", "contact.stiffness"]
    np.testing.assert_array_equal(frame[["robot.delay", "contact.stiffness"]], found.boundary)
    assert frame.attrs["units"] == {"robot.delay": "s", "contact.stiffness": "N/m"}
    (axes,) = found.plot().axes
    assert axes.get_xlabel() == "robot.delay [ms]"
    assert "closed form" in found.report(tmp_path / "map.html").read_text()
    assert "robot.delay" in repr(found)
    assert "<img" in found._repr_html_()


def test_no_boundary_is_an_empty_one():
    found = hilt.map("docking", "table1", UNTREATED, x="robot.delay=0.5..1 ms:2", y="servicer.mass", limits=["mean_cof=99"])
    assert found.boundary.shape == (0, 2)
    assert len(found.frame()) == 0
    assert "No boundary" in found.sentences[0]


def test_a_margin_is_that_of_the_command(margin, tmp_path):
    asked = ("--key", "robot.delay", "--key", "contact.stiffness", "--samples", "0", "--json")
    printed = here(tmp_path, "margin", "docking", "--scenario", "table1", *SET, *asked).stdout
    assert json.loads(printed) == json.loads(json.dumps(margin.as_json()))


def test_a_margin_gives_critical_values_as_numbers_a_table_and_a_page(margin, tmp_path):
    delay = margin.critical["robot.delay"]
    assert delay.value == pytest.approx(1.1305e-3, rel=0.01)
    assert delay.margin == pytest.approx(delay.value / 0.001 - 1.0)
    assert not margin.beyond
    assert margin.goal.keys() == margin.critical.keys()
    assert margin.sobol is None
    frame = margin.frame()
    assert list(frame.index) == ["robot.delay", "contact.stiffness"]
    assert frame.loc["robot.delay", "critical"] == delay.value
    assert frame.loc["robot.delay", "unit"] == "s"
    assert margin.sentences[0] in repr(margin)
    assert "Critical values" in margin.report(tmp_path / "margin.html").read_text()
    assert "robot.delay" in margin._repr_html_()


def test_uncertainties_are_texts():
    found = hilt.margin(
        "docking", "table1", UNTREATED, keys=["robot.delay"], uncertain={"robot.delay": "5%"}, metrics=["cov_error"], samples=2
    )
    assert found.sobol.uncertain == {"robot.delay": "± 5 %"}


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: hilt.map("docking", x="robot.dely", y=Y), "robot.dely is not a key of this scenario"),
        (lambda: hilt.map("docking", x="=", y=Y), "is not KEY or KEY=RANGE"),
        (lambda: hilt.map("docking", x=X, y=X), "both axes are robot.delay"),
        (lambda: hilt.map("docking", x=X, y=Y, limits=["nonsense"]), "'nonsense' is not a metric"),
        (lambda: hilt.map("docking", x=X, y=Y, seeds=0), "--seeds is 0"),
        (lambda: hilt.map("docking", x=X, y=Y, engine="magic"), "--engine is 'magic'"),
        (lambda: hilt.margin("docking", keys=["robot.dely"]), "robot.dely is not a key of this scenario"),
        (lambda: hilt.margin("docking", uncertain={"robot.delay": "much"}), "is not a distribution"),
        (lambda: hilt.margin("docking", samples=3), "3"),
    ],
)
def test_bad_input_is_one_sentence(call, words):
    with pytest.raises(hilt.InputError, match=words.replace("(", r"\(")) as error:
        call()
    assert "\n" not in str(error.value)
