"""The port primitive."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hilt.core import ledger
from hilt.core.signals import PORT

pytestmark = pytest.mark.uncompiled

number = st.floats(-100.0, 100.0)


def new_port():
    return np.zeros(1, PORT).view(np.recarray)[0]


@given(st.lists(st.tuples(number, number), max_size=30))
def test_in_less_out_is_the_sum_of_effort_times_flow(pairs):
    port = new_port()
    for effort, flow in pairs:
        ledger.book(port, effort, flow, 0.1)
    works = [e * f * 0.1 for e, f in pairs]
    assert ledger.energy(port) == pytest.approx(sum(works), abs=1e-9)
    assert port.into + port.out == pytest.approx(sum(map(abs, works)), abs=1e-9)
    assert port.into >= 0 <= port.out


def test_a_spring_gives_back_what_it_took():
    """Mean effort on the displacement is exact for a linear spring: the loop closes to rounding."""
    port = new_port()
    x = np.sin(np.linspace(0, 2 * np.pi, 1001))
    for a, b in itertools.pairwise(x):
        ledger.book(port, -1000 * (a + b) / 2, b - a, 1.0)
    assert port.into == pytest.approx(2 * 500, rel=1e-5)
    assert ledger.energy(port) == pytest.approx(0.0, abs=1e-9)


def test_a_wrench_works_on_motion_and_turn():
    port = new_port()
    ledger.book_wrench(port, (1.0, 2.0, 3.0), (4.0, 5.0, 6.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    assert ledger.energy(port) == 6.0
