"""Two robots with one delay."""

import pytest

from hilt.core.pairing import Shared

STILL = ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0))


def pairing(clock, servicer, target, slack=0.002):
    lags = {"servicer": servicer, "target": target}
    return Shared("servicer", "target", clock, 0.001, 0.004, slack, 0.5, lags, STILL)


@pytest.mark.parametrize("clock", ["servicer", "target"])
@pytest.mark.parametrize("lags", [(0.030, 0.012), (0.012, 0.030), (0.02, 0.02), (0.0, 0.0)])
def test_both_have_the_same_delay_and_the_other_robot_gets_its_set_points_in_time(clock, lags):
    found = pairing(clock, *lags)
    for name, lag in found.lags.items():
        assert found.later(name) >= 0.0
        assert lag + found.later(name) == pytest.approx(found.delay, abs=1e-15)
    assert found.later(found.other) >= 0.001 + 0.002 + 0.002 - 1e-15  # its cycle, half a tick, the slack


def test_a_clock_that_is_slow_enough_costs_nothing():
    assert pairing("servicer", 0.030, 0.012).delay == 0.030
    assert pairing("target", 0.030, 0.012).delay == pytest.approx(0.035)  # the slower robot waits for its set-points
