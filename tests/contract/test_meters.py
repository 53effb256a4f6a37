"""Metrics do not depend on how the rows of a run are split: one definition for rows in memory and for a recording."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hilt import job
from hilt.core import registry
from hilt.core.meter import Lag, Staircase, joined, lengths
from hilt.core.missing import Missing
from hilt.host.realtime import percentiles
from hilt.metrics.tally import Percentiles, Tally

CASES = {
    "freefloat paper": ("freefloat", "paper", []),
    "freefloat wall": ("freefloat", "wall", []),
    "freefloat tumble": ("freefloat", "tumble", ["loop.duration=4 s"]),
    "docking table1": ("docking", "table1", ["loop.duration=4 s"]),
    "docking twin": ("docking", "table1", ["loop.duration=4 s", "compensate.method=twin"]),
    "payload": ("payload", None, ["loop.duration=4 s"]),
    "payload bilateral": ("payload", "bilateral", ["loop.duration=4 s"]),
    "payload grasp": (
        "payload",
        "grasp",
        ["operator.close_at=1 s", "operator.release_at=2 s", "grip.reach=1 m", "link.delay=0.5 s", "loop.duration=4 s"],
    ),
    "aerial": ("aerial", "push", ["loop.duration=3 s"]),
}
_kept = {}


def run(case):
    if case not in _kept:
        system, scenario, changes = CASES[case]
        _kept[case] = job.simulate(*job.find(system, scenario, changes))
    return _kept[case]


def exactly(value):
    """Two metrics are equal if these are: every bit, and the reason if one is missing."""
    if isinstance(value, list):
        return [exactly(each) for each in value]
    return ("missing", value.reason) if isinstance(value, Missing) else value.hex() if isinstance(value, float) else value


@pytest.mark.parametrize("case", CASES)
@settings(max_examples=10)
@given(data=st.data())
def test_chunks_of_any_size_give_the_same_metrics_to_the_last_bit(case, data):
    result = run(case)
    rows = result.rows
    cuts = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=12)))
    tally = Tally(result.system, result.scenario)
    for begin, end in zip([0, *cuts], [*cuts, len(rows)], strict=True):
        chunk = rows[begin:end].copy()
        tally.feed(chunk)
        chunk.view(np.uint8)[:] = 255  # its memory is used again
    assert tally.count == len(rows)
    again = tally.metrics()
    assert {name: exactly(value) for name, value in again.items()} == {
        name: exactly(value) for name, value in result.metrics.items()
    }
    assert tally.ledger() == result.ledger
    assert tally.fault() == result.fault


@pytest.mark.parametrize("name", registry.names("systems"))
def test_metrics_of_non_finite_rows_have_reasons(name):
    result = run({"freefloat": "freefloat wall", "docking": "docking twin"}.get(name, name))
    rows = result.rows[:300].copy()
    for field in set(rows.dtype.names) - {"t", "tick"}:
        base = rows.dtype[field].base
        for part in base.names or (None,):
            values = rows[field] if part is None else rows[field][part]
            if values.dtype.kind == "f":
                values[100:] = np.nan
    found = job.finish(result.system, result.scenario, "", rows).metrics
    for key, value in found.items():
        for each in value if isinstance(value, list) else [value]:
            assert isinstance(each, Missing) or math.isfinite(each), key


@given(
    st.lists(st.floats(0.0, 3.0) | st.sampled_from([0.0, 1e-9, 1e-4, 0.01, 0.0100001]), min_size=1, max_size=400),
    st.integers(1, 7),
)
def test_percentiles_by_counting_are_those_of_all_values(values, parts):
    """To 0.1 µs up to 10 ms, to a thousandth above."""
    values = np.array(values)
    tally = Percentiles()
    for part in np.array_split(values, parts):
        tally.feed(part)
    exact, found = percentiles(values * 1e6), tally.result()
    assert found["max"] == exact["max"]
    for name in ("p50", "p99", "p999"):
        assert found[name] == pytest.approx(exact[name], abs=0.11, rel=1.01e-3 if exact[name] > 9_999 else 1e-12)


@given(
    st.lists(st.integers(-20, 20).map(float) | st.just(math.nan), min_size=1, max_size=60),
    st.integers(1, 9),
    st.integers(-21, 21),
)
def test_a_staircase_knows_when_a_level_was_last_passed(values, size, level):
    values, t = np.array(values), np.arange(len(values)) * 0.5
    for sign in (1.0, -1.0):
        stairs = Staircase(sign)
        for begin in range(0, len(values), size):
            stairs.take(t[begin : begin + size], values[begin : begin + size])
        outside = sign * values > level
        last = t[outside][-1] if outside.any() else -math.inf
        assert stairs.last(lambda v, s=sign: s * v > level) == last


@given(st.integers(0, 50), st.lists(st.integers(1, 20), min_size=1, max_size=10))
def test_a_lag_pairs_each_row_with_the_one_that_many_before(late, sizes):
    numbers = np.arange(sum(sizes))
    lag, at, pairs = Lag(late), 0, []
    for size in sizes:
        first, before = lag.take(numbers[at : at + size])
        pairs += list(zip(numbers[at + first : at + size], before, strict=True))
        at += size
    assert pairs == [(n, n - late) for n in numbers[late:]]


@given(st.lists(st.tuples(*[st.floats(width=64)] * 3), max_size=20))
def test_lengths_are_norms_to_the_last_bit(vectors):
    rows = np.zeros(len(vectors), [("t", "f8"), ("v", "f8", 3), ("n", "i8")])  # as in rows of signals, not side by side
    rows["v"] = np.reshape(vectors, (-1, 3))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(lengths(rows["v"]), np.linalg.norm(rows["v"], axis=1))


def test_joined_rows_are_a_copy():
    rows = run("payload").rows
    parts = [rows[:3], rows[3:3], rows[3:40:2]]
    found = joined(parts)
    assert found.tobytes() == np.concatenate(parts).tobytes()
    assert found.dtype == rows.dtype
    assert not np.shares_memory(joined([rows[:5]]), rows)
