"""A colour means one thing."""

import re
from itertools import combinations
from pathlib import Path

import hilt
from hilt.report import colours

SIGNALS = {colours.MEASURED, colours.CONTROLLER, colours.MADE, colours.TRUTH, colours.LOST, *colours.AXES, *colours.CYCLE}


def distance(one, two):
    """Distance between two colours, 0 to 441."""
    parts = ([int(each[i : i + 2], 16) for i in (1, 3, 5)] for each in (one, two))
    return sum((a - b) ** 2 for a, b in zip(*parts, strict=True)) ** 0.5


def test_a_limit_is_never_taken_for_a_joint_or_a_signal():
    assert colours.LIMIT not in {*SIGNALS, *colours.STATES}
    assert all(distance(colours.LIMIT, each) > 90 for each in (*SIGNALS, *colours.STATES))
    assert colours.BOUND["color"] == colours.LIMIT


def test_joints_and_axes_differ_from_each_other():
    for several in (colours.AXES, colours.CYCLE, colours.STATES):
        assert all(distance(one, two) > 50 for one, two in combinations(several, 2))


def test_no_view_defines_its_own_colours():
    """Except those of bodies and frames in drawings, which have no meaning."""
    views = [path for path in Path(hilt.__file__).parent.rglob("*.py") if {"views", "paper", "report"} & set(path.parts)]
    own = {path.name for path in views if re.search(r"#[0-9a-fA-F]{6}|get_cmap|\"C[0-9]\"", path.read_text())}
    assert {name for name in own if not name.startswith("scene")} <= {"colours.py", "style.py", "summary.py", "still.py"}
