"""One step of the integrators against the equations of the paper."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from hilt.core.signals import row_type
from hilt.dynamics.integrators import CODES
from hilt.dynamics.rotation import ROTATION, angular_velocity, free_rule, rotation_step
from hilt.dynamics.translation import TRANSLATION, controller_velocity, translation_step

pytestmark = pytest.mark.uncompiled

T, MASS = 0.1, 30.0
force = st.floats(-100.0, 100.0)


def new(kind):
    stages = (TRANSLATION, ROTATION)
    row = np.zeros(1, row_type([name for s in stages for name in (*s.reads, *s.writes)])).view(np.recarray)
    x, p = (np.zeros(1, t).view(np.recarray) for t in (TRANSLATION.state, TRANSLATION.params))
    p[0].mass, p[0].axes, p[0].kind, p[0].threshold = MASS, 1, CODES[kind], 1e-9
    return row[0], x[0], p[0]


def push(sig, x, p, forces):
    for f in forces:
        sig.F_Bcm_W.f[0] = f
        translation_step(sig, x, p, T)


@given(st.lists(force, min_size=1, max_size=20))
def test_euler_is_equations_5_and_6(forces):
    """[DeStefano2017, eq. 5, eq. 6]"""
    sig, x, p = new("euler")
    push(sig, x, p, forces)
    v = T / MASS * np.cumsum(forces)
    assert x.v[0] == pytest.approx(v[-1], abs=1e-12)
    assert x.p[0] == pytest.approx(T * v.sum(), abs=1e-12)


@given(st.lists(force, min_size=1, max_size=20))
def test_the_observer_sums_equation_10(forces):
    """[DeStefano2017, eq. 10, eq. 16]: without a controller E_obs is minus the sum of T² F²/(2m)."""
    sig, x, p = new("euler")
    push(sig, x, p, [*forces, 0.0])
    assert sig.E_obs_free[0] == pytest.approx(-sum(T**2 * f**2 / (2 * MASS) for f in forces), abs=1e-12)
    assert sig.E_obs[0] == sig.E_obs_free[0]


@given(force.filter(lambda f: f == 0.0 or abs(f) > 1e-8))
def test_the_held_controller_takes_half_the_step_off(f):
    """[DeStefano2017, eq. 17, eq. 18, eq. 19]: v_pc = T F/(2m), which is the trapezoid."""
    sig, x, p = new("passive")
    push(sig, x, p, [f])
    assert sig.v_pc[0] == pytest.approx(T * f / (2 * MASS), abs=1e-15)
    assert sig.v_c[0] == pytest.approx(x.v[0] / 2, abs=1e-15)
    assert x.p[0] == pytest.approx(T**2 * f / (2 * MASS), abs=1e-15)


@given(st.lists(force, min_size=1, max_size=50))
def test_the_held_controller_never_lets_the_energy_below_zero(forces):
    sig, x, p = new("passive")
    for f in [*forces, 0.0]:
        push(sig, x, p, [f])
        assert sig.E_obs[0] >= -1e-12
    assert np.isfinite(x.p[0])


@given(st.lists(force, min_size=2, max_size=50), st.sampled_from(["passive", "passive-literal"]))
def test_the_correction_is_bounded_whatever_the_force(forces, kind):
    """A vanishing force divides a rounding error of E (held) or the last tick's energy (as printed)."""
    sig, x, p = new(kind)
    for f in forces:
        push(sig, x, p, [f])
        assert abs(sig.v_pc[0]) <= T * abs(f) / MASS + 1e-15


def test_the_controller_rests_while_the_energy_is_positive():
    for kind in CODES.values():
        assert controller_velocity(kind, 0.5, 3.0, MASS, 0.0, T) == 0.0
        assert controller_velocity(kind, -0.5, 0.0, MASS, 0.0, T) == 0.0


@given(st.lists(force, min_size=1, max_size=20), st.sampled_from(sorted(CODES)))
def test_the_ports_of_one_axis_balance(forces, kind):
    """ΔH = port of the command + integrator + controller, for every rule; only the left side uses ½ m v²."""
    sig, x, p = new(kind)
    port = 0.0
    for f in forces:
        before = x.p[0]
        push(sig, x, p, [f])
        port += f * (x.p[0] - before)
    made = sum(x[name].into - x[name].out for name in ("integrator", "controller"))
    assert 0.5 * MASS * x.v[0] ** 2 == pytest.approx(port + made, abs=1e-9)


def spin(kind, inertia, w, ticks, dt, tau=(0.0, 0.0, 0.0)):
    sig, _, _ = new("euler")
    x, p = (np.zeros(1, t).view(np.recarray)[0] for t in (ROTATION.state, ROTATION.params))
    p.inertia[:], p.inverse_inertia[:] = np.diag(inertia), np.diag(1 / np.array(inertia))
    p.rotates, p.kind, p.q0[0], p.w0_B[:] = 1, CODES[kind], 1.0, w
    ROTATION.reset(sig, x, p)
    sig.F_Bcm_W.tau[:] = tau
    for _ in range(ticks):
        rotation_step(sig, x, p, dt)
    return sig, x


@pytest.mark.parametrize("kind", ["euler", "explicit", "momentum"])
def test_a_turn_about_a_principal_axis_is_exact(kind):
    sig, x = spin(kind, (98, 70, 50), (0.0, 0.0, 0.3), 100, 0.1)
    assert sig.V_WBcm.w == pytest.approx((0, 0, 0.3), abs=1e-12)
    assert x.q == pytest.approx((np.cos(1.5), 0, 0, np.sin(1.5)), abs=1e-12)


def test_a_constant_torque_about_a_principal_axis():
    """ω = τ t / I; the work τ²t²/(2I) is the energy."""
    sig, _ = spin("momentum", (98, 70, 50), (0, 0, 0), 51, 0.1, tau=(0, 7.0, 0))
    assert sig.V_WBcm.w[1] == pytest.approx(7.0 * 5.0 / 70, rel=1e-12)
    assert sig.H_rot == pytest.approx((7.0 * 5.0) ** 2 / (2 * 70), rel=1e-12)


@given(st.tuples(*[st.floats(-0.5, 0.5)] * 3))
def test_free_angular_momentum_stays_to_the_last_bit(w):
    _, x = spin("momentum", (98, 70, 50), w, 50, 0.1)
    assert tuple(x.L_W) == (98 * w[0], 70 * w[1], 50 * w[2])


def turned(inertia, w, ticks, dt):
    """A free body after some ticks: attitude, rate, and the largest deviation of its energy, relative."""
    inverse, q = np.linalg.inv(inertia), (1.0, 0.0, 0.0, 0.0)
    L = tuple(float(part) for part in inertia @ np.array(w))
    w = angular_velocity(q, L, inverse)
    start, worst = np.dot(L, w), 0.0
    for _ in range(ticks):
        q, w, _ = free_rule(q, L, w, inverse, dt)
        worst = max(worst, abs(np.dot(L, w) / start - 1.0))
    return q, w, worst


# From a rod to a disc: each moment is the sum of two of these.
shape = st.tuples(*[st.floats(-2.0, 2.0)] * 3).map(
    lambda a: np.array([10 ** a[1] + 10 ** a[2], 10 ** a[2] + 10 ** a[0], 10 ** a[0] + 10 ** a[1]])
)
rate = st.tuples(*[st.floats(-1.0, 1.0)] * 3).filter(lambda w: max(map(abs, w)) > 1e-3)


@given(shape, rate, rate, st.floats(-6.0, 2.0))
def test_a_free_body_gains_no_energy_at_any_rate(moments, axis, w, size):
    """From 1e-6 rad to many turns per tick; bodies of any shape, turned arbitrarily in their own frame."""
    R = Rotation.from_rotvec(axis).as_matrix()
    _, _, worst = turned(R @ np.diag(moments) @ R.T, np.array(w) * 10**size, 30, 1.0)
    assert worst <= 30 * 1e-15 * moments.max() / moments.min()  # rounding of 30 ticks


def test_the_free_rule_is_of_second_order():
    """Against the same rule at a hundredth of the coarsest tick."""
    inertia, w = np.diag([98.0, 70.0, 50.0]), (0.3, 0.4, -0.2)
    exact = np.array(turned(inertia, w, 1000, 0.01)[0])
    errors = [np.abs(np.array(turned(inertia, w, n, 10.0 / n)[0]) - exact).max() for n in (10, 20, 40)]
    assert np.log2(np.array(errors[:-1]) / errors[1:]) == pytest.approx([2.0, 2.0], abs=0.1)
