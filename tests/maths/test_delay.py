"""The delay line delays by seconds, fractions of a sample included."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hilt.maths import delay, so3

pytestmark = pytest.mark.uncompiled

DT = 0.001


def new(kind):
    return np.zeros(1, kind).view(np.recarray)[0]


@given(st.floats(0.0, delay.CAPACITY - 2))
def test_a_ramp_comes_out_delayed_exactly(samples):
    line = new(delay.WRENCH_LINE)
    for k in range(delay.CAPACITY + 50):
        delay.push_wrench(line, (float(k), 2.0 * k, 0.0), (-float(k), 0.0, 1.0))
    now = delay.CAPACITY + 49
    assert delay.read_force(line, samples)[:2] == pytest.approx((now - samples, 2 * (now - samples)), abs=1e-9)
    assert delay.read_torque(line, samples) == pytest.approx((samples - now, 0.0, 1.0), abs=1e-9)


def test_no_delay_gives_the_newest_sample():
    line = new(delay.MOTION_LINE)
    q = so3.exp((0.1, 0.2, 0.3))
    delay.push_motion(line, (1.0, 2.0, 3.0), (4.0, 5.0, 6.0), q, (7.0, 8.0, 9.0))
    assert delay.read_position(line, 0.0) == (1.0, 2.0, 3.0)
    assert delay.read_velocity(line, 0.0) == (4.0, 5.0, 6.0)
    assert delay.read_attitude(line, 0.0) == q
    assert delay.read_angular_velocity(line, 0.0) == (7.0, 8.0, 9.0)


@given(st.floats(0.0, 100.0))
def test_a_filled_line_holds_a_past_of_uniform_motion(samples):
    line = new(delay.MOTION_LINE)
    w = (0.0, 0.0, 0.5)
    delay.fill_motion(line, (1.0, 0.0, 0.0), (0.2, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0), w, DT)
    assert delay.read_position(line, samples)[0] == pytest.approx(1.0 - 0.2 * samples * DT, abs=1e-12)
    assert so3.log(delay.read_attitude(line, samples))[2] == pytest.approx(-0.5 * samples * DT, abs=1e-12)
