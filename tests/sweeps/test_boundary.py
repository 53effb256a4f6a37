"""The boundary of known regions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hilt.sweeps import boundary

SIZES = st.integers(5, 14)


@settings(max_examples=60)
@given(st.floats(0, 2 * np.pi), st.floats(0.2, 0.8), st.floats(0.2, 0.8), SIZES, SIZES)
def test_every_point_lies_on_a_line(angle, a, b, columns, rows):
    """A half plane through (a, b): one line, whose points are off by at most half of the last interval."""
    normal = np.array([np.cos(angle), np.sin(angle)])
    height = lambda points: (points - np.array([a, b])) @ normal  # noqa: E731
    found = boundary.find(lambda points: height(points) > 0, columns, rows)
    assert len(found.lines) == 1
    assert np.abs(height(found.points)).max() <= 0.5 / (min(columns, rows) - 1) / 2**boundary.HALVINGS + 1e-12


@settings(max_examples=40)
@given(st.floats(0.25, 0.4), st.floats(0.45, 0.55), st.floats(0.45, 0.55), st.integers(10, 20))
def test_a_circle_is_one_closed_ring_of_the_right_length(radius, a, b, size):
    found = boundary.find(lambda points: np.hypot(points[:, 0] - a, points[:, 1] - b) < radius, size, size)
    assert len(found.lines) == 1
    ring = found.lines[0]
    assert np.array_equal(ring[0], ring[-1])
    assert np.hypot(ring[:, 0] - a, ring[:, 1] - b) == pytest.approx(radius, abs=1e-3 / size)
    length = np.hypot(*np.diff(ring, axis=0).T).sum()
    assert length == pytest.approx(2 * np.pi * radius, rel=0.05)  # chords are shorter than their arcs


def area(polygon):
    x, y = polygon.T
    return 0.5 * abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1)))


@settings(max_examples=40)
@given(st.floats(0, 2 * np.pi), st.floats(0.2, 0.8), SIZES, SIZES)
def test_patches_cover_a_region_and_its_complement_the_rest(angle, a, columns, rows):
    normal = np.array([np.cos(angle), np.sin(angle)])
    inside = lambda points: (points - a) @ normal > 0  # noqa: E731
    within = boundary.find(inside, columns, rows)
    without = boundary.find(lambda points: ~inside(points), columns, rows)
    assert sum(map(area, within.patches)) + sum(map(area, without.patches)) == pytest.approx(1.0, abs=1e-9)
    cloud = np.random.default_rng(0).random((20_000, 2))
    assert sum(map(area, within.patches)) == pytest.approx(inside(cloud).mean(), abs=0.02)


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(2, 7), st.integers(2, 7))
def test_any_pattern_is_separated_once_and_completely(seed, columns, rows):
    """For any grid: every crossed edge has exactly one point, and lines end at the border or not at all."""
    grid = np.random.default_rng(seed).random((columns, rows)) < 0.5

    def inside(points):
        i = np.rint(points[:, 0] * (columns - 1)).astype(int)
        j = np.rint(points[:, 1] * (rows - 1)).astype(int)
        return grid[i, j]

    found = boundary.find(inside, columns, rows, halvings=3)
    crossed = (grid[1:] != grid[:-1]).sum() + (grid[:, 1:] != grid[:, :-1]).sum()
    inverse = boundary.find(lambda points: ~inside(points), columns, rows, halvings=3)
    assert sum(map(area, found.patches)) + sum(map(area, inverse.patches)) == pytest.approx(1.0)
    distinct = {tuple(point) for line in found.lines for point in line}
    assert len(distinct) == crossed
    for line in found.lines:
        if not np.array_equal(line[0], line[-1]) or len(line) == 1:
            for end in (line[0], line[-1]):
                assert np.isclose(end, 0.0).any() or np.isclose(end, 1.0).any()


def test_points_are_requested_in_batches():
    """One call for the grid and one for each halving: an engine runs each batch at once."""
    calls = []

    def inside(points):
        calls.append(len(points))
        return points[:, 0] > 0.31

    found = boundary.find(inside, 5, 9, halvings=4)
    assert calls == [45, 9, 9, 9, 9]
    assert found.tried == sum(calls)


def test_without_a_boundary_there_are_no_points():
    found = boundary.find(lambda points: np.ones(len(points), bool), 4, 4)
    assert found.lines == ()
    assert found.points.shape == (0, 2)
    assert found.grid.all()
