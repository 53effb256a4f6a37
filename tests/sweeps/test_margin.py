"""Critical values and sensitivity, of an engine whose results are known without simulation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hilt import job
from hilt.core.faults import InputError
from hilt.sweeps import critical, margin, sensitivity
from hilt.sweeps.batch import Batch
from hilt.sweeps.beyond import Limit
from hilt.sweeps.edges import Vital

DOCKING, BASE, NAME = job.find("docking", "table1", [])
DELAY, STIFFNESS = "robot.delay", "contact.stiffness"


class Formula:
    """An engine that computes mean_cof by a formula of the axes' values, and counts its requests."""

    name = "formula"

    def __init__(self, formula):
        self.formula, self.batches = formula, []

    def run(self, space, chunks):
        for numbers in chunks:
            self.batches.append(len(numbers))
            columns = space.columns(numbers)
            yield numbers, {"mean_cof": self.formula(columns), "fault": np.zeros(len(numbers), np.int32)}


def batch_of(formula, **options):
    return Batch(DOCKING, NAME, BASE, Formula(formula), **options)


@settings(max_examples=40)
@given(st.floats(0.0011, 0.39))
def test_a_limit_on_either_side_is_found(limit):
    """The scenario is at 20 ms; the limit is found on either side of it."""
    batch = batch_of(lambda columns: columns[DELAY] / limit)
    (found,) = critical.find(batch, [Vital(DELAY, 1e-3, 0.4)], (Limit("mean_cof", 1.0),))
    assert found.beyond == (limit < 0.02)
    (delay,) = found.keys
    assert delay.value == pytest.approx(limit, rel=2e-4)
    assert delay.margin == pytest.approx((limit - 0.02) / 0.02, abs=2e-3)


def test_the_nearest_of_two_counts():
    inside = (0.015, 0.1)  # 25 % below and five times as much
    batch = batch_of(lambda columns: (columns[DELAY] < inside[0]) | (columns[DELAY] > inside[1]))
    (found,) = critical.find(batch, [Vital(DELAY, 1e-3, 0.4)], (Limit("mean_cof"),))
    assert found.keys[0].value == pytest.approx(0.015, rel=1e-3)


def test_no_limit_says_how_far_was_searched():
    """Delays that do not fit into the delay line are invalid: the search ends before them."""
    batch = batch_of(lambda columns: np.zeros(len(columns[DELAY])))
    (found,) = critical.find(batch, [Vital(DELAY, 1e-3, 4.0)], (Limit("mean_cof", 1.0),))
    (delay,) = found.keys
    assert delay.value is None
    assert delay.margin is None
    assert delay.searched[0] == pytest.approx(1e-3)
    assert 0.3 < delay.searched[1] < 0.512


def test_all_keys_and_limits_share_a_scan():
    batch = batch_of(lambda columns: columns[DELAY] / 0.03 + columns[STIFFNESS] / 1e6)
    vital = [Vital(DELAY, 1e-3, 0.4), Vital(STIFFNESS, 1e4, 1e7)]
    tight, loose = critical.find(batch, vital, (Limit("mean_cof", 1.0),), (Limit("mean_cof", 2.0),))
    assert sum(batch.engine.batches[: -2 * critical.ROUNDS]) == 1 + 4 * critical.SCAN
    assert tight.keys[0].value == pytest.approx(0.03 * (1.0 - 0.176275), rel=1e-3)
    assert loose.keys[1].value == pytest.approx(1e6 * (2.0 - 0.02 / 0.03), rel=1e-3)
    assert batch.runs == sum(batch.engine.batches)


def test_with_several_seeds_the_worst_counts():
    batch = batch_of(lambda columns: columns[DELAY] * (1 + 0.1 * (columns["seed"] == 3)) / 0.04, seeds=4)
    (found,) = critical.find(batch, [Vital(DELAY, 1e-3, 0.4)], (Limit("mean_cof", 1.0),))
    assert found.keys[0].value == pytest.approx(0.04 / 1.1, rel=1e-3)


def test_indices_of_a_sum_are_the_shares_of_its_variance():
    """a + 2 b, uniform with the same width: shares 1/5 and 4/5, no interaction."""
    spread = sensitivity.Uncertain("0..1", lambda q: np.asarray(q))
    batch = batch_of(lambda columns: 5.0 + columns[DELAY] + 2.0 * columns[STIFFNESS])
    found = sensitivity.indices(batch, {DELAY: spread, STIFFNESS: spread}, ["mean_cof"], samples=1024)
    (each,) = found.metrics
    assert each.first == pytest.approx({DELAY: 0.2, STIFFNESS: 0.8}, abs=0.02)
    assert each.total == pytest.approx({DELAY: 0.2, STIFFNESS: 0.8}, abs=0.02)
    assert each.middle == pytest.approx((5.474, 7.526), abs=0.03)  # of a trapezoid from 5 to 8
    assert found.sentence.startswith("For a better prediction, measure contact.stiffness (80 %")


def test_a_product_is_all_interaction():
    """One key alone explains nothing of (a - ½)(b - ½)."""
    spread = sensitivity.Uncertain("0..1", lambda q: np.asarray(q))
    batch = batch_of(lambda columns: (columns[DELAY] - 0.5) * (columns[STIFFNESS] - 0.5))
    (each,) = sensitivity.indices(batch, {DELAY: spread, STIFFNESS: spread}, ["mean_cof"], samples=1024).metrics
    assert each.first == pytest.approx({DELAY: 0.0, STIFFNESS: 0.0}, abs=0.05)
    assert each.total == pytest.approx({DELAY: 1.0, STIFFNESS: 1.0}, abs=0.05)


def test_what_does_not_vary_or_is_missing_is_reported():
    spread = sensitivity.within(0.02)
    constant = sensitivity.indices(batch_of(lambda columns: np.ones(len(columns[DELAY]))), {DELAY: spread}, ["mean_cof"], 8)
    assert constant.metrics[0].why == "it does not vary"
    assert constant.sentence == ""
    partly = sensitivity.indices(
        batch_of(lambda columns: np.where(columns[DELAY] > 0.02, np.nan, columns[DELAY])), {DELAY: spread}, ["mean_cof"], 8
    )
    assert "runs have no such value" in partly.metrics[0].why


def test_indices_and_their_spread_are_the_same_every_time():
    batch = batch_of(lambda columns: columns[DELAY] + 1e-3 * np.sin(1e3 * columns[DELAY]))
    first, second = (sensitivity.indices(batch, {DELAY: sensitivity.within(0.02)}, ["mean_cof"], 16).metrics for _ in range(2))
    assert first == second
    assert first[0].error[DELAY] > 0.0


@pytest.mark.parametrize("samples", [1, 3, 100, 2**20])
def test_samples_are_powers_of_two(samples):
    with pytest.raises(InputError, match="power of 2"):
        sensitivity.indices(batch_of(lambda columns: columns[DELAY]), {DELAY: sensitivity.within(0.02)}, ["mean_cof"], samples)


def test_an_edge_of_what_is_zero_now_is_an_edge():
    damping = "contact.damping"
    batch = batch_of(lambda columns: columns[damping] / 2000.0)
    question = margin.Question((Limit("mean_cof", 1.0),), (damping,), metrics=("mean_cof",), samples=16, advice=False)
    assert margin.find(batch, question).sentence.startswith("The only edge (mean_cof > 1) is at contact.damping = 2 kN·s/m")


def test_a_margin_is_nothing_but_numbers_and_words():
    batch = batch_of(lambda columns: columns[DELAY] / 0.03)
    question = margin.Question((Limit("mean_cof", 1.0),), (DELAY, STIFFNESS), metrics=("mean_cof",), samples=16, advice=False)
    found = margin.find(batch, question).as_json()
    assert found["critical"][DELAY]["value"] == pytest.approx(0.03, rel=1e-3)
    assert found["critical"][DELAY]["unit"] == "s"
    assert found["critical"][STIFFNESS]["value"] is None
    assert found["sobol"]["metrics"]["mean_cof"]["total"][DELAY] == pytest.approx(1.0, abs=0.2)
    assert found["sentence"] == "The nearest edge (mean_cof > 1) is robot.delay: 50 % above its value."
