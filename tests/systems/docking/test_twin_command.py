"""Twin, steps 6 and 8 to 10: clock, prediction, inverse, governor."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hilt.systems.docking.twin import governor, model, predict
from hilt.systems.docking.twin.robot import _midpoint

MASS, K, SPEED = 279.07, 176275.0, 0.02
OMEGA = math.sqrt(K / MASS)
FRAME = model.Frame(1.0, model.KNOWN, model.LINEAR, K, 0.0, 33000.0, 0.0)


def test_the_prediction_has_order_two():
    """From the surface into a linear spring: x = v/ω sin ωt."""
    errors = []
    for steps in (6, 12, 24):
        x, _, a = predict.ahead(FRAME, MASS, 1e-12, SPEED, 0.04, steps)
        errors.append(abs(x - SPEED / OMEGA * math.sin(OMEGA * 0.04)))
        assert a == pytest.approx(-(OMEGA**2) * x)
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.1)
    assert errors[1] / errors[2] == pytest.approx(4, rel=0.1)
    assert errors[0] < 5e-3 * SPEED / OMEGA, "six steps are enough"


@given(st.floats(-5e-3, -1e-3), st.floats(-0.03, 0.03))
def test_a_flight_without_contact_is_a_straight_line(x, v):
    assert predict.ahead(FRAME, MASS, x, v, 0.03, 6) == (x + v * 0.03, v, 0.0)


@pytest.mark.parametrize(("rate", "slope", "aim"), [(1.0, -8.0, 0.7), (0.7, 3.0, 1.0), (0.8, 0.0, 0.8)])
def test_the_clock_ahead_is_the_sum_of_its_ticks(rate, slope, aim):
    dt, beta, sum_ = 1e-6, rate, 0.0
    for _ in range(50_000):
        sum_ += beta * dt
        beta = min(beta + slope * dt, aim) if slope > 0 else max(beta + slope * dt, aim)
    horizon, after, _ = predict.clock_ahead(rate, slope, aim, 0.05)
    assert horizon == pytest.approx(sum_, rel=1e-5)
    assert after == pytest.approx(beta, rel=1e-5)


def test_derivatives_in_real_time():
    """r(t) = x(∫β dt) with β on a ramp: finite differences of r against ṙ, r̈, r⃛."""
    beta, slope = 0.8, -2.0

    def place(t):
        tau = beta * t + 0.5 * slope * t * t
        return SPEED / OMEGA * math.sin(OMEGA * (tau + 0.02))

    x, v = SPEED / OMEGA * math.sin(OMEGA * 0.02), SPEED * math.cos(OMEGA * 0.02)
    found = predict.in_real_time(FRAME, MASS, predict.Ahead(0.0, beta, slope, x, v, -(OMEGA**2) * x))
    h = 1e-3
    r = [place(i * h) for i in (-2, -1, 0, 1, 2)]
    wanted = (
        r[2],
        (r[3] - r[1]) / (2 * h),
        (r[3] - 2 * r[2] + r[1]) / h**2,
        (r[4] - 2 * r[3] + 2 * r[1] - r[0]) / (2 * h**3),
    )
    assert found == pytest.approx(wanted, rel=1e-3)


def test_the_inverse_robot_and_the_robot_are_one():
    """A robot commanded U follows r."""
    T1, T2, dt = 0.0276, 0.0276**2, 1e-4

    def reference(t):
        s, c = math.sin(20 * t), math.cos(20 * t)
        return (1e-3 * s, 20e-3 * c, -0.4 * s, -8.0 * c)

    x, w = reference(0.0)[:2]
    worst = 0.0
    for k in range(2000):
        commanded = [governor.inverse(reference((k + i) * dt), T1, T2)[0] for i in (0, 1)]
        x, w, _, _ = _midpoint(x, w, T1, T2, 0.5 * sum(commanded), dt)
        worst = max(worst, abs(x - reference((k + 1) * dt)[0]))
    assert worst < 1e-8, "1e-5 of the swing"
    _, dU = governor.inverse(reference(0.3), T1, T2)
    more, less = (governor.inverse(reference(0.3 + d), T1, T2)[0] for d in (1e-6, -1e-6))
    assert dU == pytest.approx((more - less) / 2e-6, rel=1e-5)


anything = st.floats(allow_nan=True, allow_infinity=True)


@given(
    st.floats(-1, 1),
    st.floats(-0.03, 0.03),
    st.builds(predict.Motion, *[anything] * 4),
    st.tuples(anything, anything),
    st.tuples(anything, anything),
    st.floats(0.01, 0.025),
)
def test_the_governor_keeps_its_limits_whatever_comes(u, du, now, U, U2, preview):
    A, V, dt = 2.5, 0.03, 1e-3
    u_next, du_next = governor.steer(u, du, now, U, U2, 0.02, preview, A, V, dt)
    assert abs(du_next) <= V
    assert abs(du_next - du) <= A * dt * (1 + 1e-12)
    assert u_next == pytest.approx(u + 0.5 * dt * (du + du_next), abs=1e-15)


def test_the_governor_catches_up_with_a_flight():
    """It starts 0.8 mm behind, like a command without lead, and ends on the line."""
    A, V, dt, u, du = 2.5, 0.03, 1e-3, 0.0, SPEED
    speeds = []
    for k in range(200):
        r = 0.8e-3 + SPEED * (k + 1) * dt
        later = (r + SPEED * 0.01, SPEED)
        u, du = governor.steer(u, du, predict.Motion(r, SPEED, 0.0, 0.0), (r, SPEED), later, 0.0, 0.01, A, V, dt)
        speeds.append(du)
    assert u == pytest.approx(r, abs=1e-9)
    assert max(speeds) <= V
    assert min(speeds) > 0.5 * SPEED, "no large oscillation"


def test_catching_up_takes_little_more_than_the_shortest_time():
    """From rest at a distance d: 2√(d/A); the linear end adds some of its own time."""
    A, d, dt = 2.5, 1e-3, 1e-4
    error, rate, t = d, 0.0, 0.0
    while abs(error) > 0.02 * d or abs(rate) > 2e-3:
        rate += dt * governor.catch_up(error, rate, A)
        error += dt * rate
        t += dt
    assert 0.9 * 2 * math.sqrt(d / A) < t < 2 * math.sqrt(d / A) + 5 * governor.LINEAR_WITHIN
