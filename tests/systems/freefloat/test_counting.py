"""What is counted tick by tick agrees with the definitions applied to all rows at once."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hilt import job
from hilt.core.meter import measure
from hilt.core.missing import Missing
from hilt.systems.freefloat.counting import SPARE
from hilt.systems.freefloat.freefloat import drift

SYSTEM, WALL = job.find("freefloat", "wall", [])[:2]


def touching(contacts, speeds):
    """Rows of a body that touches the walls and moves like this."""
    rows = np.zeros(len(contacts), SYSTEM.row)
    rows["contact"], rows["t"] = contacts, np.arange(len(rows)) * 1e-3
    rows["V_WBcm"]["v"][:, 0] = speeds
    return rows


def gains(contacts, speeds):
    """Speeds in the middle of the intervals without contact, each divided by the one before."""
    flights, flight = [], []
    for contact, speed in zip([*contacts, 1], [*speeds, 0.0], strict=True):
        if contact == 0:
            flight.append(abs(speed))
        elif flight:
            flights.append(flight[len(flight) // 2])
            flight = []
    return [b / a if a else math.nan for a, b in itertools.pairwise(flights)]


@settings(max_examples=50)
@given(st.lists(st.tuples(st.sampled_from([0, 0, 0, 1, -1]), st.integers(-3, 3)), min_size=1, max_size=200))
def test_rebounds_are_those_of_the_flights(ticks):
    contacts, speeds = zip(*ticks, strict=True)
    found = measure(SYSTEM.metrics(WALL), touching(contacts, speeds))["rebound_gain"]
    assert found == pytest.approx(gains(contacts, speeds), rel=1e-15, nan_ok=True)
    assert all(isinstance(each, Missing) == math.isnan(each) for each in found)


def test_a_body_that_chatters_has_a_list_of_finite_length():
    contacts = np.arange(4 * SPARE) % 2
    found = measure(SYSTEM.metrics(WALL), touching(contacts, 1.0 + contacts))["rebound_gain"]
    assert found == [1.0] * (WALL.collisions + SPARE)


@pytest.mark.parametrize("name", ["paper", "oos-sim", "capture"])
def test_the_drift_is_that_of_all_rows(name):
    result = job.simulate(*job.find("freefloat", name, ["loop.duration=20 s", "integrator.kind=euler"]))
    away, t = drift(result.rows, result.scenario), result.rows["t"]
    assert result.metrics["position_error_m"] == away.max()
    ends = sorted({push.start + push.duration for push in result.scenario.push})
    wanted = [away[np.argmax(t >= end - 1e-9)] for end in ends if end <= t[-1] + 1e-9]
    assert result.metrics["drift_m"] == wanted
    assert wanted or name == "paper"


def test_a_value_that_is_not_a_number_is_not_forgotten():
    rows = touching(np.zeros(30, int), np.ones(30))
    rows["V_WBcm"]["v"][10, 1] = math.nan
    rows["E_obs"][10, 0] = math.nan
    found = measure(SYSTEM.metrics(WALL), rows)
    assert math.isnan(found["largest_speed_m_s"])
    assert math.isnan(found["e_obs_min_J"])
    assert math.isfinite(found["largest_v_pc_m_s"])
