"""The compliant frame and its gains: energy, order, closed forms."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hilt.maths import so3
from hilt.systems.aerial import admittance, gains
from hilt.systems.aerial.gains import HOOKED, IMPACT, NORMAL, Gains

DT = 0.005
small = st.floats(-1.0, 1.0)
three = st.tuples(small, small, small)


def frame(z=(0.0,) * 6, v=(0.0,) * 6):
    x = np.zeros(1, admittance.COMPLIANCE)[0]
    x.z[:], x.v[:] = z, v
    return x


def six(figure):
    return np.full(6, figure)


def step_response(t, force, mass, damping, stiffness):
    """Displacement of a mass on a spring and a damper after a step of force, under- or overdamped."""
    a = damping / (2.0 * mass)
    root = np.emath.sqrt(a * a - stiffness / mass)
    return (force / stiffness * (1.0 - np.exp(-a * t) * (np.cosh(root * t) + a / root * np.sinh(root * t)))).real


def push(mass, damping, stiffness, dt, duration, force=3.0):
    x = frame()
    moved = [0.0]
    for _ in range(round(duration / dt)):
        admittance.apply_wrench(x, (force, 0.0, 0.0), (0.0, 0.0, 0.0))
        admittance.comply(x, six(mass), six(damping), six(stiffness), dt)
        moved.append(x.z[0])
    return np.array(moved)


SETS = {"normal": (1.0, 10.0, 5.0), "hooked": (2.0, 10.0, 20.0), "impact": (30.0, 800.0, 400.0), "undamped": (1.0, 0.0, 20.0)}


@pytest.mark.parametrize("figures", SETS.values(), ids=SETS.keys())
def test_a_push_moves_the_frame_as_the_closed_form_says(figures):
    """[Cuniato2022, eq. 4, eq. 8] with x̃ = compliant - desired: along the force, to f/K. The error is of order (ωT)²."""
    t = DT * np.arange(401)
    exact = step_response(t, 3.0, *figures)
    # Largest pole times T, squared, over 12: the midpoint rule's relative error of a time constant.
    pole = np.abs(np.roots(figures)).max() * DT
    assert np.abs(push(*figures, DT, 2.0) - exact).max() <= pole**2 * np.abs(exact).max()


def test_halving_the_tick_quarters_the_error():
    errors = []
    for dt in (0.02, 0.01, 0.005):
        t = dt * np.arange(round(1.0 / dt) + 1)
        errors.append(np.abs(push(2.0, 10.0, 20.0, dt, 1.0) - step_response(t, 3.0, 2.0, 10.0, 20.0)).max())
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.05)
    assert errors[1] / errors[2] == pytest.approx(4.0, rel=0.05)


@given(
    st.lists(small, min_size=6, max_size=6),
    st.lists(small, min_size=6, max_size=6),
    three,
    three,
    st.floats(0.1, 50.0),
    st.floats(0.0, 1000.0),
    st.floats(0.1, 5000.0),
    st.floats(1e-4, 0.1),
)
def test_no_energy_is_made_at_any_tick(z, v, f, tau, mass, damping, stiffness, dt):
    """Stored after - stored before = supplied - dissipated, to rounding.  [Cuniato2022, eq. 9, eq. 11]"""
    x = frame(z, v)
    before = admittance.stored(x, six(mass), six(stiffness))
    admittance.apply_wrench(x, f, tau)
    admittance.comply(x, six(mass), six(damping), six(stiffness), dt)
    after = admittance.stored(x, six(mass), six(stiffness))
    gained = admittance.supplied(x, dt) - admittance.dissipated(x, six(damping), dt)
    assert after - before == pytest.approx(gained, abs=1e-12 * (1.0 + before + after))


@given(three, three, three)
def test_torque_and_turn_rate_have_the_power_of_effort_and_flow(phi, rate, tau):
    """(J φ')·τ = φ'·(Jᵀ τ)."""
    omega = admittance.turn_rate(phi, rate)
    assert np.dot(omega, tau) == pytest.approx(np.dot(rate, admittance.turn_effort(phi, tau)), abs=1e-12)


@given(three, three)
def test_the_turn_rate_is_that_of_the_exponential(phi, rate):
    """Against a central difference: error h² from the third derivative, 1e-16/h from rounding."""
    h = 1e-5
    ahead = so3.exp(tuple(p + h * r for p, r in zip(phi, rate, strict=True)))
    behind = so3.exp(tuple(p - h * r for p, r in zip(phi, rate, strict=True)))
    assert np.array(so3.between(behind, ahead)) / (2 * h) == pytest.approx(np.array(admittance.turn_rate(phi, rate)), abs=1e-8)


def test_a_torque_turns_the_frame_by_the_whole_angle():
    """At rest τ = K φ with φ the angle, not the half of it that the quaternion's vector part would be."""
    x = frame()
    for _ in range(4000):
        admittance.apply_wrench(x, (0.0, 0.0, 0.0), (0.0, 0.0, 3.0))
        admittance.comply(x, six(1.0), six(10.0), six(5.0), DT)
    desired = so3.exp((0.3, -0.2, 0.1))
    turned = so3.between(desired, admittance.compliant_attitude(x, desired))
    assert turned == pytest.approx((0.0, 0.0, 3.0 / 5.0), abs=1e-4)


TABLE = Gains(front_axis="y").table()


def test_the_sets_by_axis():
    assert TABLE[NORMAL, :, 0].tolist() == [1.0, 10.0, 5.0]
    assert TABLE[HOOKED, :, 2].tolist() == [2.0, 10.0, 20.0]
    assert TABLE[IMPACT, :, 0].tolist() == [30.0, 800.0, 400.0]
    assert TABLE[IMPACT, :, 1].tolist() == [1.0, 30.0, 20.0], "the front axis stays soft"
    assert Gains(radius=0.5).table()[HOOKED, :, 5].tolist() == [0.5, 2.5, 5.0]


def ramp(chosen_at, ticks):
    """Desired stiffness along x while the task requests sets: {tick: set}."""
    x = np.zeros(1, gains.RAMP)[0]
    gains.begin(x, TABLE, NORMAL)
    chosen, seen = NORMAL, []
    for n in range(ticks):
        chosen = chosen_at.get(n, chosen)
        gains.ramp_gains(x, TABLE, 0.5, chosen, DT)
        seen.append(x.K_des[0])
    return np.array(seen)


def test_a_ramp_is_a_straight_line_of_half_a_second():
    seen = ramp({0: HOOKED}, 120)
    line = 5.0 + 15.0 * np.minimum(DT * np.arange(1, 121) / 0.5, 1.0)
    assert seen == pytest.approx(line, abs=1e-9)


def test_a_set_that_comes_in_the_middle_of_a_ramp_starts_from_there():
    seen = ramp({0: IMPACT, 50: HOOKED}, 200)
    assert seen[49] == pytest.approx(5.0 + 395.0 / 2.0, abs=1e-9)
    assert seen[49 + 100] == pytest.approx(20.0, abs=1e-9)
    assert np.abs(np.diff(seen)).max() <= 395.0 * DT / 0.5 + 1e-9


@given(st.floats(0.0, 400.0), st.floats(0.0, 400.0))
def test_real_gains_follow_no_faster_than_the_ramp(now, wanted):
    x = np.zeros(1, gains.RAMP)[0]
    x.K_des[:], x.K_rate[:] = wanted, 790.0
    gains.want(x, six(1.0), six(now), DT)
    assert x.dK[0] == pytest.approx(math.copysign(min(abs(wanted - now), 790.0 * DT), wanted - now), abs=1e-9)
