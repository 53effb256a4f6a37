"""An error carries the keys of the values that it is about; no one has to parse its sentence for them."""

import re
from pathlib import Path

import pytest

from hilt import job
from hilt.core import scenario
from hilt.core.faults import InputError, Unfit
from hilt.core.scenario import Section
from hilt.device import rigfile

WRONG = {
    "a unit": ("docking", ["robot.delay=3 kg"], ("robot.delay",)),
    "a bound": ("docking", ["loop.period=-1"], ("loop.period",)),
    "a choice": ("docking", ["compensate.method=magic"], ("compensate.method",)),
    "an unknown key": ("docking", ["robot.dealy=1"], ("robot.dealy",)),
    "an entry of a list": ("docking", ["servicer.inertia.7=1"], ("servicer.inertia.7",)),
    "below a value": ("docking", ["loop.period.x=1"], ("loop.period.x",)),
    "two sections": ("docking", ["frames.gap=1 mm", "rod.radius=2 mm"], ("frames.gap", "rod.radius")),
    "the loop and a section": ("docking", ["robot.delay=2 s"], ("robot.delay", "loop.period")),
    "inside a section": ("docking", ["servicer.inertia=[1, 1, 5]"], ("servicer.inertia",)),
    "a section by its own name": ("freefloat", ["body.dof=1", "body.velocity=[1, 1, 0]"], ("body.velocity", "body.dof")),
    "limits": (
        "docking",
        ["limits.workspace_min=[1, 1, 1]", "limits.workspace_max=[0, 0, 0]"],
        ("limits.workspace_min", "limits.workspace_max"),
    ),
    "an operator": ("payload", ["operator.direction=[0, 0, 0]"], ("operator.direction",)),
    "a tank": ("aerial", ["tank.start=1e6 J"], ("tank.start", "tank.low", "tank.high")),
}


@pytest.mark.parametrize("what", WRONG)
def test_an_error_knows_its_keys(what):
    system, settings, keys = WRONG[what]
    with pytest.raises(InputError) as caught:
        job.find(system, None, settings)
    assert caught.value.keys == keys
    assert caught.value.key == keys[0]


def test_a_key_inside_a_list_of_sections_has_its_number():
    class Point(Section):
        low: float
        high: float

        def model_post_init(self, _):
            if self.low > self.high:
                raise Unfit("low is above high; swap them", "low", "high")

    class Line(Section):
        points: list[Point]

    with pytest.raises(InputError) as caught:
        scenario.build(Line, {"points": [{"low": 0, "high": 1}, {"low": 2, "high": 1}]})
    assert caught.value.keys == ("points.1.low", "points.1.high")


def test_errors_of_a_rig_file_have_its_keys(tmp_path):
    text = (Path(__file__).parents[2] / "rigs" / "dry-lab.toml").read_text()
    (tmp_path / "rig.toml").write_text(re.sub(r"(?m)^cycle = .*$", 'cycle = "5 ms"', text))
    with pytest.raises(InputError) as caught:
        rigfile.load(tmp_path / "rig.toml")
    assert caught.value.key == "robot.cycle"


def test_settings_of_a_rig_keep_their_types():
    """A value is merged as it was read and not as it would be printed: a text that looks like a list stays a text."""
    tree = {"summary": ""}
    scenario.apply_settings(tree, [("summary", "[1, 2]"), ("a.b", [True, "x"]), "c=[1, 2]", ["d", None]])
    assert tree == {"summary": "[1, 2]", "a": {"b": [True, "x"]}, "c": [1, 2], "d": None}
