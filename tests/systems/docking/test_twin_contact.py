"""Twin, steps 1 to 3: what is learnt about a frame from a contact."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hilt.systems.docking.twin import contact, model
from hilt.systems.docking.twin.fit import FIT_2, FIT_3, update_2, update_3
from tests.systems.docking.benches import DT, K, parts

MASS, SPEED = 279.07, 0.02


def bench(*settings):
    sig, x, _, p = parts("table1", "compensate.method=twin", "compensate.mode=realtime", *settings)
    return sig, x.twin_contact, p.twin_contact


def press(sig, x, p, force, surface, e=1, ticks=160, speed=SPEED, k=K):
    """Half an oscillation in and out of a frame at `surface`; F = force(depth, depth')."""
    omega = math.sqrt(k / MASS)
    for i in range(ticks):
        t = (i - 5) * DT
        depth, rate = (speed / omega * math.sin(omega * t), speed * math.cos(omega * t)) if t > 0 else (speed * t, speed)
        if omega * t > math.pi:
            depth, rate = -speed * (t - math.pi / omega), -speed
        sig.x_late, sig.v_late = surface + e * depth, e * rate
        sig.x_sim, sig.v_sim = sig.x_late, sig.v_late
        sig.F_n, sig.fresh = e * max(0.0, force(depth, rate)) if depth > 0 else 0.0, 1
        contact.contact_step(sig, x, p, DT)


@given(st.floats(1e4, 1e6), st.floats(-100, 500), st.floats(-50, 50))
def test_least_squares_find_three_constants_from_three_samples(k, c, b):
    """Without noise: R = 0, and three samples that are independent of each other."""
    fit = np.zeros(1, FIT_3)[0]
    fit.P[:] = np.diag([1e12, 1e6, 1e4])
    for depth, v in ((0.0, 0.02), (1e-3, 0.015), (1.5e-3, -0.01)):
        y = k * depth + c * v + b - (fit.theta[0] * depth + fit.theta[1] * v + fit.theta[2])
        update_3(fit, (depth, v, 1.0), y, 0.0)
    assert fit.theta == pytest.approx([k, c, b], rel=1e-6, abs=1e-4)


def test_and_two_from_two():
    fit = np.zeros(1, FIT_2)[0]
    fit.P[:] = np.diag([1e10, 1e2])
    for depth in (0.0, 1e-3):
        update_2(fit, (depth, 1.0), 3e4 * depth + 5.0 - fit.theta[0] * depth - fit.theta[1], 0.0)
    assert fit.theta == pytest.approx([3e4, 5.0], rel=1e-9)


@pytest.mark.parametrize("e", [1, -1])
@pytest.mark.parametrize(("error", "c"), [(-0.4, 300.0), (0.0, 300.0), (0.4, 300.0), (0.0, 0.0)])
def test_a_linear_frame_is_found(e, error, c):
    """Beliefs 40 % wrong and 0.7 mm off; the assumed error of 0.1 % of the peak in each sample leaves less than 1 %. An elastic
    frame is given no damping."""
    sig, x, p = bench(f"prior.stiffness_error={error}")
    surface = e * 10.7e-3
    press(sig, x, p, lambda depth, rate: K * depth + c * rate, surface, e)
    i = model.place_of(e)
    assert sig.frame_known[i] == model.KNOWN
    assert sig.frame_known[1 - i] == model.UNSEEN
    assert sig.frame_model[i] == model.LINEAR
    assert sig.frame_k[i] == pytest.approx(K, rel=0.01)
    assert sig.frame_c[i] == pytest.approx(c, rel=0.05, abs=0.0)
    assert sig.frame_s[i] == pytest.approx(surface, abs=3e-6)
    assert sig.touch == 0


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_samples_between_two_ticks_leave_a_damped_frame_as_it_is(share):
    """A sensor delay that is no multiple of the tick: the first sample is a mean of one before the touch and one after it."""
    sig, x, p = bench("prior.stiffness_error=0.3")
    omega, c = math.sqrt(K / MASS), 700.0
    t = (np.arange(160) - 5.7) * DT
    depth = np.where(t < 0, SPEED * t, SPEED / omega * np.sin(omega * t))
    rate = np.where(t < 0, SPEED, SPEED * np.cos(omega * t))
    force = np.where(depth > 0, np.maximum(0.0, K * depth + c * rate), 0.0)
    samples = [(1.0 - share) * each[1:] + share * each[:-1] for each in (depth, rate, force)]
    for at, sig.v_late, sig.F_n in [*zip(*samples, strict=True)] * 2:
        sig.x_late = 10e-3 + at
        sig.x_sim, sig.v_sim, sig.fresh = sig.x_late, sig.v_late, 1
        contact.contact_step(sig, x, p, DT)
    assert sig.frame_k[0] == pytest.approx(K, rel=1e-3)
    assert sig.frame_c[0] == pytest.approx(c, rel=1e-2)
    assert sig.frame_s[0] == pytest.approx(10e-3, abs=0.5e-6)


def test_a_hertz_frame_is_found():
    sig, x, p = bench()
    press(sig, x, p, lambda depth, rate: 6e6 * depth**1.5, 10e-3)
    assert sig.frame_model[0] == model.HERTZ
    assert sig.frame_q[0] == pytest.approx(6e6 ** (2 / 3), rel=0.02)
    assert sig.frame_s[0] == pytest.approx(10e-3, abs=5e-6)
    assert model.force(model.frame_of(sig, 1), 10.5e-3, 0.0) == pytest.approx(6e6 * 0.5e-3**1.5, rel=0.02)


def test_a_frame_that_moved_is_found_again_and_not_marked_known():
    sig, x, p = bench()
    known = []
    for surface in (10e-3, 10e-3, 9.7e-3, 9.7e-3):
        press(sig, x, p, lambda depth, rate: K * depth, surface)
        assert sig.frame_s[0] == pytest.approx(surface, abs=5e-6)
        known.append(sig.frame_known[0])
    assert known[1:] == [model.KNOWN, model.SEEN, model.KNOWN]


def test_a_frame_that_is_gone_is_forgotten():
    sig, x, p = bench()
    press(sig, x, p, lambda depth, rate: K * depth, 10e-3)
    sig.F_n, sig.x_late, sig.v_late = 0.0, 11e-3, SPEED
    contact.contact_step(sig, x, p, DT)
    assert sig.touch_event == contact.ABSENT
    assert sig.frame_known[0] == model.UNSEEN
    assert model.force(model.frame_of(sig, 1), 11e-3, SPEED) == 0.0


def test_one_odd_sample_in_flight_has_no_effect():
    sig, x, p = bench("sensor.noise=0.5 N")
    before = [np.array(sig[name]) for name in model.SIGNALS]
    sig.x_late, sig.v_late, sig.x_sim, sig.v_sim, sig.F_n, sig.fresh = 2e-3, SPEED, 2e-3, SPEED, 4.0, 1
    contact.contact_step(sig, x, p, DT)
    assert sig.touch == 1
    sig.F_n, sig.x_late = 0.1, 1.9e-3
    contact.contact_step(sig, x, p, DT)
    assert sig.touch == 0
    assert sig.touch_event == contact.CAME_TO_NOTHING
    assert all(np.array_equal(sig[name], was) for name, was in zip(model.SIGNALS, before, strict=True)), "nothing was learnt"


def test_a_lost_sample_begins_no_contact():
    """Held from an earlier contact, it shows a force where there is none."""
    sig, x, p = bench("sensor.noise=0.5 N")
    sig.x_late, sig.v_late, sig.x_sim, sig.v_sim, sig.F_n, sig.fresh = 9.9e-3, -SPEED, 9.9e-3, -SPEED, 16.0, 0
    contact.contact_step(sig, x, p, DT)
    assert sig.touch == 0
    assert sig.frame_known[0] == model.UNSEEN


@given(st.floats(-2e-3, 2e-3), st.floats(-0.05, 0.05), st.floats(-1.0, 1.0))
def test_the_rate_of_the_force_is_its_derivative(depth, v, a):
    h = 1e-7
    for kind in (model.LINEAR, model.HERTZ):
        frame = model.Frame(1.0, model.KNOWN, kind, K, 300.0, 33000.0, 0.0)
        x = 1e-3 + depth
        if x < 1e-5 or model.force(frame, x, v) < 1.0:
            continue
        before = model.force(frame, x - h * v, v - h * a)
        after = model.force(frame, x + h * v, v + h * a)
        assert model.force_rate(frame, x, v, a) == pytest.approx((after - before) / (2 * h), rel=1e-4, abs=1e-2)
