"""Frames that a system publishes form one tree, and every number is a column of its row."""

from graphlib import TopologicalSorter

import numpy as np
import pytest

from hilt import job
from hilt.core import registry
from hilt.core.signals import leaves
from hilt.record import standard

CASES = [(name, scenario) for name in registry.names("systems") for scenario in registry.system(name).scenario_files]


@pytest.mark.parametrize(("name", "scenario"), CASES)
def test_frames_are_one_tree(name, scenario):
    system, values, _ = job.find(name, scenario, [])
    frames = standard.of(system, values).frames
    parents = {each.child: each.frame for each in (*frames.fixed, *frames.poses)}
    assert len(parents) == len(frames.fixed) + len(frames.poses), "a frame has one parent"
    list(TopologicalSorter({child: {parent} for child, parent in parents.items()}).static_order())  # no cycle
    roots = set(parents.values()) - set(parents)
    assert len(roots) == 1, f"viewers show one connected tree: {roots}"
    assert {each.frame for each in (*frames.twists, *frames.wrenches)} <= set(parents) | roots


@pytest.mark.parametrize(("name", "scenario"), CASES)
def test_columns_exist_and_names_are_unique(name, scenario):
    system, values, _ = job.find(name, scenario, [])
    frames, columns = standard.of(system, values).frames, leaves(system.row)
    shapes = [
        *((pose.p, 3) for pose in frames.poses),
        *((pose.q, 4) for pose in frames.poses if pose.q),
        *((part, 3) for couple in (*frames.twists, *frames.wrenches) for part in (couple.first, couple.second) if part),
    ]
    for column, size in shapes:
        assert columns[column][2] == (size,), column
    for joints in frames.joints:
        assert joints.begin + len(joints.names) <= columns[joints.q][2][0]
    names = [each.name for each in (*frames.poses, *frames.twists, *frames.wrenches)]
    assert len(set(names)) == len(names)
    for fixed in frames.fixed:
        assert np.isclose(np.linalg.norm(fixed.q), 1.0), fixed
        assert len(fixed.p) == 3


def test_a_docking_target_carries_the_laboratory():
    """X_NW = X_NT X_TW, as the scene draws it."""
    system, values, _ = job.find("docking", "oblique", [])
    frames = standard.of(system, values).frames
    (found,) = (each for each in frames.fixed if each.child == "W")
    assert (found.frame, found.p, found.q) == ("T", values.target.assembly_position, values.target.assembly_attitude)
