"""What a page shows of many rows: exactly their minima and maxima, and the rows themselves where they fit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hilt.cockpit import history as module
from hilt.cockpit.columns import column, columns_of, describe, lowest_highest, numbers
from hilt.cockpit.history import FIRST_BUCKET, History
from hilt.core import signals

ROW = signals.row_type(("F_So_S", "X_WB_cmd", "contact"))
PERIOD = 1e-3
NAMES = ["F_So_S.f.0", "contact", "X_WB_cmd.q.3"]


def rows_of(count, seed=0, begin=0):
    random = np.random.default_rng(seed)
    rows = np.zeros(count, ROW)
    rows["tick"] = begin + np.arange(count)
    rows["t"] = rows["tick"] * PERIOD
    rows["F_So_S"]["f"] = random.normal(size=(count, 3))
    rows["contact"] = random.integers(-1, 2, count)
    rows["X_WB_cmd"]["q"] = random.normal(size=(count, 4))
    return rows


def small(monkeypatch, rows=256, buckets=32, duration=1e3):
    """A history whose levels all overflow within a few thousand rows."""
    monkeypatch.setattr(module, "ROWS_BYTES", rows * 4 * (ROW.itemsize // 8))
    monkeypatch.setattr(module, "BUCKETS", buckets)
    return History(ROW, PERIOD, duration)


def feed(history, rows, cuts):
    for chunk in np.split(rows, sorted(cuts)):
        history.append(chunk)


@given(st.integers(0, 3000), st.lists(st.integers(0, 3000), max_size=12), st.integers(0, 2**31))
def test_every_bucket_has_the_extremes_of_its_rows(count, cuts, seed):
    """Whatever the chunks in which the rows arrive."""
    with pytest.MonkeyPatch.context() as patch:
        history = small(patch)
    rows = rows_of(count, seed)
    feed(history, rows, [cut for cut in cuts if cut <= count])
    for level in history.levels:
        assert level.count == count // level.size
        for i in range(level.first, level.count):
            inside = numbers(rows[i * level.size : (i + 1) * level.size])
            np.testing.assert_array_equal(level.low[:, i % level.room], inside.min(axis=0))
            np.testing.assert_array_equal(level.high[:, i % level.room], inside.max(axis=0))


def assert_extremes(found, rows, names, points, atol):
    """Each point has the smallest and largest number of its rows, which join without gap or overlap; return the first and last
    tick of each, from the line of ticks above those of the names."""
    assert len(found.times) <= points
    first, last = found.low[0].astype(int), found.high[0].astype(int)
    np.testing.assert_array_equal(first[1:], last[:-1] + 1)
    np.testing.assert_allclose(found.times, 0.5 * PERIOD * (first + last), atol=atol)
    for line, name in enumerate(names, 1):
        values = column(rows, name)
        for k, (a, b) in enumerate(zip(first, last, strict=True)):
            assert found.low[line, k] == values[a : b + 1].min()
            assert found.high[line, k] == values[a : b + 1].max()
    return first, last


@given(st.integers(1, 3000), st.floats(-0.5, 3.5), st.floats(0, 3.5), st.integers(1, 400))
def test_every_point_of_a_range_has_the_extremes_of_its_rows(count, begin, length, points):
    """The tick says which rows a point stands for: they join without gap or overlap, to within a bucket of the request."""
    with pytest.MonkeyPatch.context() as patch:
        history = small(patch)
    rows = rows_of(count)
    history.append(rows)
    found = history.range(["tick", *NAMES], begin, begin + length, points)
    first, last = assert_extremes(found, rows, NAMES, points, 0.5 * PERIOD * FIRST_BUCKET)
    inside = rows["tick"][(rows["t"] >= begin) & (rows["t"] <= begin + length)]
    if len(inside) and history.levels[0].first <= inside[0]:  # every row is still there, so at most a bucket's tip is missing
        widest = max([level.size for level in history.levels if level.count] or [1])
        assert len(first)
        assert first[0] - widest < inside[0]
        assert last[-1] + widest > inside[-1]


@pytest.mark.parametrize("begin", [0.0, 0.5, 0.5003, 0.501, 0.5169])
def test_borders_stay_where_they_are_when_the_plot_scrolls(begin):
    """Points of several rows begin at multiples of their number, so that a curve does not flicker while it moves."""
    history, rows = History(ROW, PERIOD, 3.0), rows_of(3000)
    history.append(rows)
    found = history.range(["tick"], begin, begin + 2.0, 150)
    first, last = found.low[0].astype(int), found.high[0].astype(int)
    inside = rows["tick"][(rows["t"] >= begin) & (rows["t"] <= begin + 2.0)]
    assert (first % (last[0] - first[0] + 1) == 0).all()
    assert first[0] <= inside[0] <= last[0]
    assert last[-1] == inside[-1]


def test_few_rows_are_shown_unchanged():
    history = History(ROW, PERIOD, 10.0)
    rows = rows_of(2000)
    feed(history, rows, [7, 8, 500])
    found = history.range(NAMES, 0.1, 0.2, 400)
    inside = rows[(rows["t"] >= 0.1) & (rows["t"] <= 0.2)]
    assert found.full
    np.testing.assert_array_equal(found.times, inside["t"])
    for line, name in enumerate(NAMES):
        np.testing.assert_array_equal(found.low[line], column(inside, name))
        np.testing.assert_array_equal(found.high[line], found.low[line])


def test_what_left_the_rows_is_still_there_in_buckets(monkeypatch):
    history = small(monkeypatch)
    history.append(rows_of(2000))
    assert history.levels[0].first == 2000 - history.levels[0].room
    found = history.range(NAMES, 0.0, 0.1, 400)
    assert not found.full
    assert found.times[0] < FIRST_BUCKET * 4**3 * PERIOD
    assert history.span[0] < found.times[0] + PERIOD


def test_the_memory_is_taken_once(monkeypatch):
    """Nothing grows with the run, and a second run uses what the first had."""
    history = small(monkeypatch)
    before, places = history.nbytes, [level.low.ctypes.data for level in history.levels]
    for begin in range(0, 40_000, 500):
        history.append(rows_of(500, begin=begin))
    history.clear()
    history.append(rows_of(500))
    assert history.nbytes == before
    assert [level.low.ctypes.data for level in history.levels] == places
    assert history.count == 500


@pytest.mark.parametrize("width", [100, 400])
def test_the_memory_of_a_day_at_1_khz_is_bounded(monkeypatch, width):
    """The stated bound holds for any length of run; only sizes are checked, the memory itself is not touched."""
    monkeypatch.setattr(module.np, "full", lambda shape, _, kind: np.empty(shape, kind))
    wide = np.dtype([("t", "f8"), ("values", "f8", (width - 1,))], align=True)
    history = History(wide, 1e-3, 86_400.0)
    per_level = module.BUCKETS * (8 + 8 * width)
    assert history.nbytes <= module.ROWS_BYTES * 1.02 + module.MOST_LEVELS * per_level
    assert history.levels[-1].room * history.levels[-1].size >= 86_400_000


def test_plots_continue_where_the_last_frame_ended():
    """Buckets of successive frames are those of one pass over all rows."""
    history, rows = History(ROW, PERIOD, 10.0), rows_of(1000)
    cursor, low, times = 0, [], []
    for chunk in np.split(rows, [10, 30, 31, 500, 900]):
        history.append(chunk)
        found, cursor = history.buckets(NAMES, cursor, 17, 600)
        low.append(found.low)
        times.append(found.times)
    whole = len(rows) // 17 * 17
    expected, _ = lowest_highest(column(rows[:whole], NAMES[0]), 17)
    np.testing.assert_array_equal(np.concatenate(low, axis=1)[0], expected)
    np.testing.assert_allclose(np.concatenate(times), rows["t"][:whole].reshape(-1, 17)[:, 8], rtol=1e-12)


def test_a_page_that_falls_behind_gets_the_last_buckets(monkeypatch):
    history = small(monkeypatch)
    history.append(rows_of(3000))
    found, cursor = history.buckets(NAMES, 0, 16, 10)
    assert len(found.times) == 10
    assert cursor == 2992
    found, _ = history.buckets(NAMES, 0, 16, 1000)
    assert len(found.times) == history.levels[0].room // 16 - 1  # older rows have gone


def test_a_non_finite_number_hides_nothing():
    values = np.array([1.0, np.nan, 3.0, np.nan, np.nan], np.float32)
    low, high = lowest_highest(values, 3)
    np.testing.assert_array_equal(low, [1.0, np.nan])
    np.testing.assert_array_equal(high, [3.0, np.nan])


def test_every_number_of_a_row_has_a_name_and_words():
    rows = rows_of(5)
    names, table = columns_of(ROW), numbers(rows)
    assert sorted(names.values()) == list(range(ROW.itemsize // 8))
    assert [each["name"] for each in describe(ROW)] == list(names)
    for name, place in names.items():
        np.testing.assert_array_equal(table[:, place], column(rows, name))
    np.testing.assert_array_equal(table[:, names["contact"]], rows["contact"])
    np.testing.assert_array_equal(table[:, names["F_So_S.tau.2"]], rows["F_So_S"]["tau"][:, 2].astype("f4"))


def test_the_energy_of_the_bodies_has_rotation_in_it():
    """A row has it in two parts: a body that only turns is not at rest."""
    rows = np.zeros(4, signals.row_type(("H", "H_rot")))
    rows["t"] = PERIOD * np.arange(4)
    rows["H"], rows["H_rot"] = np.random.default_rng(1).uniform(size=(2, 4))
    place = columns_of(rows.dtype)["H_all"]
    np.testing.assert_array_equal(numbers(rows)[:, place], (rows["H"] + rows["H_rot"]).astype("f4"))
    np.testing.assert_array_equal(column(rows, "H_all"), numbers(rows)[:, place])
    history = History(rows.dtype, PERIOD, 1.0)
    history.append(rows)
    np.testing.assert_array_equal(history.range(["H_all"], -1.0, 9.0, 10).low[0], numbers(rows)[:, place])
