"""The simulated world: robot, push, wall and sensor, each against its closed form."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hilt.maths import so3
from hilt.plant.robot import robot_step, second_order_matrices
from hilt.plant.sensor import sensor_step
from hilt.systems.freefloat.push import push_step
from hilt.systems.freefloat.wall import wall_step
from tests.systems import benches


def bench(name, *settings):
    sig, _, w, p = benches.parts("freefloat", name, *settings)
    return sig, w, p


@settings(max_examples=40)
@given(st.floats(0.0, 20.0))
def test_a_late_robot_follows_a_ramp_at_its_delay(samples):
    sig, w, p = bench("wall", f"robot.delay={samples * 1e-3!r}")
    for k in range(50):
        sig.X_WB_cmd.p[0] = 0.02 * k * 1e-3
        robot_step(sig, w.robot, p.robot, 1e-3)
        assert sig.X_WB_true.p[0] == pytest.approx(0.02 * (k - samples) * 1e-3, abs=1e-15)


@pytest.mark.parametrize("kind", ["second-order", "delay+second-order"])
@pytest.mark.parametrize("zeta", [0.5, 1.0, 1.5])
def test_a_second_order_robot_lags_a_ramp_by_its_whole_delay(kind, zeta):
    """2ζ/ω_n plus the pure delay, from the first tick on: it was already moving."""
    sig, w, p = bench("wall", f"robot.kind={kind}", "robot.delay=20 ms", "robot.pure_delay=6 ms", f"robot.damping_ratio={zeta}")
    for k in range(100):
        sig.X_WB_cmd.p[0] = 0.02 * k * 1e-3
        robot_step(sig, w.robot, p.robot, 1e-3)
        assert sig.X_WB_true.p[0] == pytest.approx(0.02 * (k * 1e-3 - 0.02), abs=1e-12)


def test_the_second_order_step_is_exact():
    """Against the closed form of the step response, critically damped: 1 - (1 + ωt) e^{-ωt}."""
    omega, dt = 100.0, 0.004
    phi, gamma = second_order_matrices(omega, 1.0, dt)
    state = np.zeros(2)
    for k in range(1, 60):
        state = phi @ state + gamma @ [1.0, 1.0]
        t = k * dt
        assert state[0] == pytest.approx(1 - (1 + omega * t) * math.exp(-omega * t), abs=1e-12)


def test_attitudes_go_through_the_same_robot():
    """A slow turn about one axis is a ramp: it also lags by the whole delay."""
    sig, w, p = bench("tumble", "robot.kind=second-order", "robot.delay=0.2 s", "body.angular_velocity=[0, 0, 0.3]")
    for k in range(100):
        sig.X_WB_cmd.q[:] = so3.exp((0.0, 0.0, 0.3 * 0.1 * k))
        robot_step(sig, w.robot, p.robot, 0.1)
    lag = so3.between(so3.load(sig.X_WB_true.q), so3.load(sig.X_WB_cmd.q))
    assert lag == pytest.approx((0.0, 0.0, 0.3 * 0.2), abs=1e-9)


@given(st.floats(0.0, 60.0))
def test_the_profile_of_the_paper(t):
    sig, w, p = bench("paper")
    sig.t = t
    sig.X_WB_true.q[0] = 1.0
    push_step(sig, w.push, p.push, 0.1)
    first = 1.875 * math.sin(math.pi * t / 32) ** 2 if t < 32 else 0.0
    second = 20 / 3 * math.sin(math.pi * (t - 32) / 18) ** 2 if 32 < t < 50 else 0.0
    assert sig.F_Bcm_true_W.f[0] == pytest.approx(first + second, abs=1e-12)


def test_a_push_off_the_centre_turns_the_body():
    sig, w, p = bench("capture")
    sig.t = 2.75  # the middle of the first push: full force
    sig.X_WB_true.q[:] = (1, 0, 0, 0)
    push_step(sig, w.push, p.push, 0.004)
    arm = np.array([0.6, 0.1, 0.8]) - [0.05, -0.02, 0.30]
    assert sig.F_Bcm_true_W.tau == pytest.approx(np.cross(arm, [0, 12, -20]))


@given(st.floats(-0.03, 0.03), st.floats(-1.0, 1.0))
def test_a_wall_only_pushes(x, rate):
    sig, w, p = bench("wall", "wall.damping=200 N*s/m")
    sig.X_WB_true.q[0] = 1.0
    for position in (x - rate * 1e-3, x):
        sig.F_Bcm_true_W.f[:] = 0
        sig.X_WB_true.p[0] = position
        wall_step(sig, w.wall, p.wall, 1e-3)
    depth, side = abs(x) - 0.01, np.sign(x)
    expected = -side * max(0.0, 48e3 * depth + 200 * side * rate) if depth > 0 else 0.0
    assert sig.F_Bcm_true_W.f[0] == pytest.approx(expected, abs=1e-9)
    assert sig.contact == (side if depth > 0 else 0)


def sense(sig, w, p, force, torque=(0, 0, 0)):
    sig.X_WB_true.q[0] = 1.0
    sig.F_Bcm_true_W.f[:] = force
    sig.F_Bcm_true_W.tau[:] = torque
    sensor_step(sig, w.sensor, p.sensor, 1e-3)


def test_a_low_pass_sensor_rises_with_its_time_constant():
    sig, w, p = bench("wall", "sensor.bandwidth=50 Hz")
    for k in range(1, 20):
        sense(sig, w, p, (10.0, 0, 0))
        assert sig.F_So_S.f[0] == pytest.approx(10 * (1 - math.exp(-2 * math.pi * 50 * k * 1e-3)), rel=1e-12)


def test_bias_and_delay_of_the_sensor():
    sig, w, p = bench("wall", "sensor.delay=2.5 ms", "sensor.bias=[1, 2, 3]")
    for k in range(10):
        sense(sig, w, p, (float(k), 0, 0))
    assert sig.F_So_S.f == pytest.approx((9 - 2.5 + 1, 2, 3))


def test_the_sensor_measures_the_wrench_at_its_own_origin_and_frame():
    """Sensor turned by 90° about z and 0.2 m up: a push along x is along -y there, with a torque."""
    half = math.sqrt(0.5)
    sig, w, p = bench("oos-sim", "sensor.noise=0", "sensor.torque_noise=0", f"sensor.attitude=[{half}, 0, 0, {half}]")
    sense(sig, w, p, (10.0, 0, 0))
    assert sig.F_So_S.f == pytest.approx((0, -10, 0), abs=1e-12)
    # at So the torque in W is -(0, 0, 0.2) × (10, 0, 0) = (0, -2, 0), which is (-2, 0, 0) in S
    assert sig.F_So_S.tau == pytest.approx((-2, 0, 0), abs=1e-12)


def test_noise_has_the_rms_of_the_scenario():
    sig, w, p = bench("oos-sim", "sensor.noise=0.5 N")
    values = []
    for _ in range(2000):
        sense(sig, w, p, (0, 0, 0))
        values.append(sig.F_So_S.f.copy())
    # 6000 numbers: the standard error of the rms is 0.9 %, five of them are allowed
    assert np.sqrt(np.mean(np.square(values))) == pytest.approx(0.5, rel=0.046)
