"""The parts of docking, each against its law."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from hilt.core import ledger
from hilt.maths import so3
from hilt.plant.encoder import encoder_step
from hilt.plant.robot import robot_step
from hilt.plant.sensor import target_sensor_step
from hilt.systems.docking.contact import contact_step
from hilt.systems.docking.contact_sense import contact_sense_step
from hilt.systems.docking.delay_compensation import COMPENSATE, energy_controller
from hilt.systems.docking.identify import identify_step
from hilt.systems.docking.metrics import damped_contact
from hilt.systems.docking.two_bodies import two_bodies_step
from tests.systems.docking import benches
from tests.systems.docking.benches import DT, FREE, K

pytestmark = pytest.mark.uncompiled

number = st.floats(-1.0, 1.0)
vector = st.tuples(number, number, number)


def bench(name, *changes):
    values, made = benches.bench(name, *changes)
    return values, made.row[0], made.x[0], made.w[0], made.p[0]


def touch(sig, w, p, depth, rate=0.0):
    """Put the true tip `depth` into the front frame, moving at `rate`."""
    sig.X_WB_true.p[:] = (FREE + depth, 0, 0)
    sig.X_WB_true.q[:] = (1, 0, 0, 0)
    sig.V_WB_true.v[:] = (rate, 0, 0)
    contact_step(sig, w.contact, p.contact, DT)
    return sig.F_C_true_W[0]


@given(st.floats(-0.005, 0.005).filter(lambda depth: abs(depth) > 1e-9), st.floats(-0.1, 0.1))
def test_a_frame_is_a_spring_and_a_damper_that_only_push(depth, rate):
    """[He2022, eq. 5]"""
    _, sig, _, w, p = bench("bench-2.64")
    expected = max(0.0, 76.9e3 * depth + 130 * rate) if depth > 0 else 0.0
    assert touch(sig, w, p, depth, rate) == pytest.approx(expected, abs=1e-6)


def test_hertz_and_friction_are_options():
    _, sig, _, w, p = bench("table1", "contact.kind=hertz", "contact.friction=0.3")
    assert touch(sig, w, p, 1e-3) == pytest.approx(6e6 * 1e-3**1.5)
    sig.V_WB_true.v[:] = (0, 0.01, 0)
    contact_step(sig, w.contact, p.contact, DT)
    assert sig.F_C_true_W[1] == pytest.approx(0.3 * 6e6 * 1e-3**1.5, rel=1e-3), "the rod drags the target along"


def test_the_rear_frame_has_its_own_stiffness():
    _, sig, _, w, p = bench("soft-rear")
    sig.X_WB_true.p[:] = (-0.011, 0, 0)
    sig.X_WB_true.q[:] = (1, 0, 0, 0)
    contact_step(sig, w.contact, p.contact, DT)
    assert sig.F_C_true_W[0] == pytest.approx(-0.6 * K * 1e-3)
    assert sig.contact == -1


def test_the_sensor_under_the_target_measures_force_and_moment():
    _, sig, _, w, p = bench("oblique")
    sig.F_C_true_W[:] = (10, 20, 30)
    sig.p_C_true_W[:] = (0.5, 0.2, 0.1)
    target_sensor_step(sig, w.sensor, p.sensor, DT)
    assert sig.F_So_S.f == pytest.approx((10, 20, 30))
    assert sig.F_So_S.tau == pytest.approx(np.cross([0.1, 0.1, 0.1], [10, 20, 30]))


def test_the_sensor_cuts_and_rounds():
    _, sig, _, w, p = bench("table1", "sensor.saturation=50 N", "sensor.resolution=0.2 N")
    for force, shown in ((7.31, 7.4), (7.29, 7.2), (80, 50), (-80, -50)):
        sig.F_C_true_W[0] = force
        target_sensor_step(sig, w.sensor, p.sensor, DT)
        assert sig.F_So_S.f[0] == pytest.approx(shown)


def test_encoder_noise_has_the_rms_of_the_scenario():
    _, sig, _, w, p = bench("table1", "encoder.position_noise=2 um", "encoder.velocity_noise=0.1 mm/s")
    seen = []
    for _ in range(3000):
        encoder_step(sig, w.encoder, p.encoder, DT)
        seen.append((*sig.X_WB_meas.p, *sig.V_WB_meas.v))
    rms = np.sqrt(np.mean(np.square(seen), axis=0))  # 3000 numbers: five standard errors are 6.5 %
    assert rms[:3] == pytest.approx(2e-6, rel=0.065)
    assert rms[3:] == pytest.approx(1e-4, rel=0.065)


def test_jitter_stays_within_its_bounds():
    """On a ramp the lag is the current delay."""
    _, sig, _, w, p = bench("table1", "robot.delay=20 ms", "robot.jitter=3 ms")
    lags = []
    for k in range(2000):
        sig.X_WB_cmd.p[0] = 0.02 * k * DT
        robot_step(sig, w.robot, p.robot, DT)
        lags.append(k * DT - sig.X_WB_true.p[0] / 0.02)
    assert 0.017 - 1e-9 <= min(lags) < 0.0175
    assert 0.0225 < max(lags) <= 0.023 + 1e-9


def test_the_robots_own_limits_hold_and_it_arrives():
    _, sig, _, w, p = bench("table1", "robot.delay=0", "robot.speed_limit=0.1 m/s", "robot.acceleration_limit=2 m/s^2")
    w.robot.limited_v[:] = 0
    sig.V_WB_cmd.v[:] = 0
    sig.X_WB_cmd.p[:] = (0.05, 0, 0)
    path = []
    for _ in range(1500):
        robot_step(sig, w.robot, p.robot, DT)
        path.append(sig.X_WB_true.p[0])
    v = np.diff(path) / DT
    assert np.abs(v).max() <= 0.1 + 1e-9
    assert np.abs(np.diff(v)).max() <= 2 * DT + 1e-9
    assert path[-1] == pytest.approx(0.05, abs=1e-6)
    assert max(path) < 0.05 + 2e-4, "it brakes in time"


def test_the_lead_takes_the_sensors_delay_off():
    """[He2022, eq. 6]: on a ramp of force, F_act is the current force and not that of τ_p ago."""
    _, sig, x, _, p = bench("table1", "sensor.delay=4 ms", "robot.delay=20 ms")
    for k in range(20):
        sig.F_So_filt_S.f[0] = 1000 * (k * DT - 0.004)
        contact_sense_step(sig, x.sense, p.sense, DT)
    assert sig.F_act_W[0] == pytest.approx(1000 * 19 * DT)


def test_contact_is_detected_with_hysteresis():
    _, sig, x, _, p = bench("table1", "sensor.noise=0.5 N")  # threshold 4 N, released at 2 N
    seen = []
    for force in (3.9, 4.1, 3.0, 2.1, 1.9, 3.0):
        sig.F_So_filt_S.f[0] = -force
        contact_sense_step(sig, x.sense, p.sense, DT)
        seen.append((int(sig.in_contact), float(sig.e_W[0])))
    assert seen == [(0, 0), (1, -1), (1, -1), (1, -1), (0, 0), (0, 0)]


@given(vector, vector, vector)
def test_the_tip_moves_as_a_point_of_a_rigid_body(turn, v, w):
    """[He2022, eq. 3, eq. 4, eq. 25, eq. 26]: the derivative of p + R r, by a difference."""
    _, sig, x, _, p = bench("oblique")
    tip, h = np.array([0.3, 0.1, 0.05]), 1e-6
    q = so3.exp(turn)
    places = []
    for step in (-h, 0.0, h):
        for pose in (sig.X_WB_meas, sig.X_WB_sim):
            pose.p[:] = np.array(v) * step
            pose.q[:] = so3.multiply(so3.exp(tuple(step * a for a in w)), q)
        for twist in (sig.V_WB_meas, sig.V_WB_sim):
            twist.v[:], twist.w[:] = v, w
        contact_sense_step(sig, x.sense, p.sense, DT)
        places.append((sig.p_C_W.copy(), sig.p_C_des_W.copy(), sig.v_C_W.copy(), sig.v_C_des_W.copy()))
    assert places[1][0] == pytest.approx(np.array(so3.rotate(q, tuple(tip))), abs=1e-12)
    for n in (0, 1):
        assert places[1][2 + n] == pytest.approx((places[2][n] - places[0][n]) / (2 * h), abs=1e-8)


def press(values, sig, x, p, k, c, omega=25.0, depth=1e-3, noise=None, sign=1.0, offset=0.0, jitter=None):
    """A half sine of contact with this stiffness and damping, as encoders and sensor see it."""
    for n in range(126):
        t = n * DT
        compression, rate = depth * math.sin(omega * t), depth * omega * math.cos(omega * t)
        sig.p_C_W[0], sig.v_C_W[0] = offset + sign * compression + (jitter() if jitter else 0.0), sign * rate
        sig.F_act_W[0] = sign * max(k * compression + c * rate, 1e-9) + (noise() if noise else 0.0)
        sig.e_W[0], sig.in_contact = sign, 1
        identify_step(sig, x.identify, p.identify, DT)
    found = sig.k_hat, sig.c_hat, sig.identified
    sig.in_contact = 0
    identify_step(sig, x.identify, p.identify, DT)
    return found


@pytest.mark.parametrize("kind", ["absolute", "akf"])
@pytest.mark.parametrize(("k", "c"), [(K, 0.0), (76900.0, 130.0), (20000.0, 50.0)])
def test_clean_data_give_stiffness_and_damping(kind, k, c):
    """[He2022, eq. 8, eq. 11, eq. 12, eq. 13]: both filters find the parameters that generated the data."""
    values, sig, x, _, p = bench("table1", f"identify.kind={kind}")
    k_hat, c_hat, valid = press(values, sig, x, p, k, c)
    assert valid
    assert k_hat == pytest.approx(k, rel=2e-3)
    assert c_hat == pytest.approx(c, abs=2e-3 * 2 * math.sqrt(k * values.reduced_mass))


def test_two_surfaces_are_kept_apart():
    values, sig, x, _, p = bench("table1")
    for k, sign in ((176e3, 1.0), (60e3, -1.0), (176e3, 1.0), (60e3, -1.0)):
        assert press(values, sig, x, p, k, 0.0, sign=sign, offset=sign * 0.01)[0] == pytest.approx(k, rel=1e-3)


def test_increments_fail_with_encoder_noise_and_the_absolute_form_does_not():
    rng = np.random.default_rng(5)
    errors = {}
    for kind in ("absolute", "akf"):
        values, sig, x, _, p = bench("table1", f"identify.kind={kind}", "encoder.position_noise=2 um", "sensor.noise=0.5")
        noise, jitter = (lambda: rng.normal(0.0, 0.5)), (lambda: rng.normal(0.0, 2e-6))
        press(values, sig, x, p, K, 0.0, noise=noise, jitter=jitter)
        errors[kind] = abs(press(values, sig, x, p, K, 0.0, noise=noise, jitter=jitter)[0] / K - 1)
    assert errors["absolute"] < 0.01 < errors["akf"]


@given(st.floats(0, 500), st.floats(-0.05, 0.05), st.floats(10, 1000), st.floats(0, 1.0), st.floats(0, 0.05))
def test_the_energy_controller_never_gives_more_than_was_stored(force, v, mass, energy, damping):
    """[He2022, eq. 14, eq. 16, eq. 17, eq. 19]: while leaving, the energy stays above zero, and F_α only reduces the force."""
    x = np.zeros(1, COMPENSATE.state)[0]
    x.observer.into = energy
    alpha = energy_controller(x, force, damping * v, v, mass, DT)
    assert alpha <= 0.0
    if v <= 0.0:
        assert ledger.energy(x.observer) >= -1e-12 - abs(damping * v * v * DT)
    else:
        assert alpha == 0.0


@given(st.lists(vector, min_size=1, max_size=30))
def test_momentum_and_angular_momentum_stay_whatever_the_force(forces):
    """[He2022, eq. 1, eq. 2]"""
    _, sig, x, _, p = bench("oblique", "servicer.angular_velocity=[0.1, -0.2, 0.05]", "target.angular_velocity=[0, 0.01, 0.02]")
    totals = []
    for force in [*forces, (0.0, 0.0, 0.0)]:
        sig.F_hat_W[:] = 1000 * np.array(force)
        two_bodies_step(sig, x.bodies, p.bodies, DT)
        totals.append((*sig.P_N, *sig.L_N))
    assert np.ptp(totals, axis=0).max() < 1e-10


@given(vector)
def test_an_impulse_changes_the_energy_by_force_times_mean_velocity(force):
    """The identity behind the ledger: ΔE = -T F·½(v + v⁺) for the tip's relative velocity."""
    _, sig, x, _, p = bench("oblique", "servicer.angular_velocity=[0.1, -0.2, 0.05]")
    contact_sense_step(sig, x.sense, p.sense, DT)
    sig.F_hat_W[:] = 300 * np.array(force)
    two_bodies_step(sig, x.bodies, p.bodies, DT)
    before = sig.H + sig.H_rot
    stored = ledger.energy(x.bodies.integrator) + ledger.energy(x.bodies.rotation)
    old = sig.p_C_des_W.copy()
    contact_sense_step(sig, x.sense, p.sense, DT)
    port = -sig.F_hat_W @ (sig.p_C_des_W - old)
    sig.F_hat_W[:] = 0
    two_bodies_step(sig, x.bodies, p.bodies, DT)
    assert sig.H + sig.H_rot - before == pytest.approx(port + stored, abs=1e-12)


def test_what_the_robot_shows_is_the_motion_seen_from_the_target():
    """Against a plain computation with matrices: X_WB = (X_NT X_TW)⁻¹ X_NA X_AB."""
    values, sig, x, _, p = bench(
        "oblique",
        "target.angular_velocity=[0.02, 0.03, -0.01]",
        "target.assembly_attitude=[0.8, 0, 0.6, 0]",
        "servicer.assembly_attitude=[0.96, 0.28, 0, 0]",
    )

    def matrix(position, q):
        X = np.eye(4)
        X[:3, :3], X[:3, 3] = Rotation.from_quat(np.roll(q, -1)).as_matrix(), position
        return X

    sig.F_hat_W[:] = (30, -20, 10)
    for _ in range(200):
        two_bodies_step(sig, x.bodies, p.bodies, DT)
    A, T = x.bodies.servicer, x.bodies.target
    X_NB = matrix(A.p, A.q) @ matrix(values.servicer.assembly_position, values.servicer.assembly_attitude)
    X_NW = matrix(T.p, T.q) @ matrix(values.target.assembly_position, values.target.assembly_attitude)
    assert matrix(sig.X_WB_sim.p, sig.X_WB_sim.q) == pytest.approx(np.linalg.inv(X_NW) @ X_NB, abs=1e-9)


@given(st.floats(-500, 500))
def test_one_axis_is_the_special_case_of_six(force):
    """The short form for one degree of freedom agrees with the general one without lever arms."""
    ends = []
    for dof in (1, 6):
        _, sig, x, _, p = bench("table1", f"dof={dof}")
        for _ in range(20):
            contact_sense_step(sig, x.sense, p.sense, DT)
            sig.F_hat_W[:] = (force, 0, 0)
            two_bodies_step(sig, x.bodies, p.bodies, DT)
        ends.append((*sig.X_WB_sim.p, *sig.V_WB_sim.v, sig.H, ledger.energy(x.bodies.integrator)))
    assert ends[0] == pytest.approx(ends[1], abs=1e-12)


@settings(max_examples=15)
@given(st.floats(0.02, 0.5), st.floats(1e3, 1e6), st.floats(1, 1000))
def test_the_closed_form_of_a_damped_contact(zeta, k, mass):
    """Restitution and peak force against a fine numerical solution; stiffness and mass only scale it."""
    c, omega = 2 * zeta * math.sqrt(k * mass), math.sqrt(k / mass)

    def leaves(t, y):
        return k * y[0] + c * y[1] if t > 0.1 / omega else 1.0

    leaves.terminal = True
    found = solve_ivp(
        lambda t, y: (y[1], -(k * y[0] + c * y[1]) / mass),
        (0, 10 / omega),
        (0, 1),
        events=leaves,
        rtol=1e-10,
        atol=1e-14,
        max_step=0.005 / omega,
    )
    restitution, peak = damped_contact(k, c, mass)
    assert abs(found.y[1, -1]) == pytest.approx(restitution, rel=1e-5)
    assert (k * found.y[0] + c * found.y[1]).max() == pytest.approx(peak, rel=1e-4)
