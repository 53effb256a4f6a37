"""Force filter, servo, hand and both admittances as stages, each by itself."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hilt.core.faults import InputError
from hilt.core.gravity import STANDARD_GRAVITY
from hilt.core.scenario import Section, build
from hilt.maths import so3
from hilt.plant.robot import robot_step
from hilt.plant.sensor import Sensor
from hilt.systems.aerial.arm_admittance import ARM_ADMITTANCE, arm_admittance_step
from hilt.systems.aerial.force_filter import FORCE_FILTER, ForceFilter, force_filter_step
from hilt.systems.aerial.gains import HOOKED
from hilt.systems.aerial.hand import AWAY, GONE, HAND, HOLDS, Hand, hand_step
from hilt.systems.aerial.hardware_admittance import HARDWARE_ADMITTANCE, Hardware, hardware_admittance_step
from hilt.systems.aerial.servo import SERVO, Servo
from tests.systems.aerial.stages import DT, make

TURNED = so3.exp((0.4, -0.7, 1.1))


class Keys(Section):
    """The sections, so that bad input gives its sentence."""

    hand: Hand | None = None
    servo: Servo | None = None
    force_filter: ForceFilter | None = None


def test_bias_and_load_are_distinguished():
    """The bias is taken unturned, with the gripper's weight included; the tool turns and only the human's force remains."""
    mass, centre = 0.7, np.array([0.01, 0.02, 0.1])
    filter_ = ForceFilter(bandwidth=600.0, bias_samples=50, load_mass=mass, load_centre=tuple(centre))
    sensor = Sensor(position=(0.0, 0.0, -0.05), attitude=so3.exp((0.0, 0.0, 0.8)))
    sig, x, p = make(FORCE_FILTER, force_filter=filter_, sensor=sensor)
    bias_f, bias_tau = np.array([3.0, -2.0, 1.0]), np.array([0.1, 0.2, -0.3])

    def measure(q_HB, f, tau):
        """A wrench at the tool's origin plus the load, as the sensor measures it."""
        weight = np.array([0.0, 0.0, -mass * STANDARD_GRAVITY])
        arm = np.array(so3.rotate(q_HB, sensor.position))
        f_all = f + weight
        tau_all = tau + np.cross(so3.rotate(q_HB, tuple(centre)), weight) - np.cross(arm, f_all)
        q_HS = so3.multiply(q_HB, sensor.attitude)
        sig.X_WB_meas.q = q_HB
        sig.F_So_S.f = np.array(so3.rotate_back(q_HS, tuple(f_all))) + bias_f
        sig.F_So_S.tau = np.array(so3.rotate_back(q_HS, tuple(tau_all))) + bias_tau
        force_filter_step(sig, x, p, DT)

    zero = np.zeros(3)
    for n in range(50):
        assert sig.bias_ready == 0
        measure((1.0, 0.0, 0.0, 0.0), zero, zero)
        assert sig.F_h_raw_H.f.tolist() == [0.0, 0.0, 0.0], n
    assert sig.bias_ready == 1
    f, tau = np.array([1.0, 2.0, -4.0]), np.array([0.3, 0.0, 0.2])
    measure(TURNED, f, tau)
    assert sig.F_h_raw_H.f == pytest.approx(f, abs=1e-12)
    assert sig.F_h_raw_H.tau == pytest.approx(tau, abs=1e-12)

    bias_f = np.array([0.0, 5.0, 0.0])
    sig.bias_request = 1
    for _ in range(50):
        measure(TURNED, zero, zero)
    assert sig.bias_ready == 1, "a request that stays up is one request"
    measure(TURNED, f, tau)
    assert sig.F_h_raw_H.f == pytest.approx(f, abs=1e-12)


def test_the_filter_is_an_exact_lag():
    sig, x, p = make(FORCE_FILTER, force_filter=ForceFilter(bandwidth=15.0, bias_samples=0))
    sig.F_So_S.f[1] = 4.0
    for n in range(1, 40):
        force_filter_step(sig, x, p, DT)
        assert sig.F_h_H.f[1] == pytest.approx(4.0 * (1.0 - math.exp(-15.0 * n * DT)), abs=1e-12)


def test_a_filter_above_nyquist_is_refused():
    ForceFilter(bandwidth=600.0).check(DT)
    with pytest.raises(
        ValueError, match=r"force_filter.bandwidth is 700 rad/s; .* at most the Nyquist frequency of 628\.319 rad/s"
    ):
        ForceFilter(bandwidth=700.0).check(DT)


@pytest.mark.parametrize(
    "servo",
    [
        Servo(kind="lag", lag=0.02, hold="zero"),
        Servo(kind="second-order", natural_frequency=40.0, damping_ratio=0.6, hold="zero"),
    ],
)
def test_a_held_step_comes_as_the_closed_form_says(servo):
    sig, x, p = make(SERVO, servo=servo)
    sig.X_WB_cmd.p[0] = 1.0
    t = DT * np.arange(1, 60)
    seen = []
    for _ in t:
        robot_step(sig, x, p, DT)
        seen.append((sig.X_WB_true.p[0], sig.V_WB_true.v[0]))
    if servo.kind == "lag":
        decay = np.exp(-t / 0.02)
        exact = np.column_stack([1.0 - decay, decay / 0.02])
    else:
        a, b = 0.6 * 40.0, 0.8 * 40.0
        exact = np.column_stack(
            [1.0 - np.exp(-a * t) * (np.cos(b * t) + a / b * np.sin(b * t)), 1600.0 / b * np.exp(-a * t) * np.sin(b * t)]
        )
    assert np.array(seen) == pytest.approx(exact, abs=1e-10)


@pytest.mark.parametrize("kind", [{"kind": "lag", "lag": 0.02}, {"kind": "second-order", "natural_frequency": 80.0}])
def test_a_slow_motion_is_followed_one_whole_lag_behind(kind):
    servo = Servo(delay=0.012, **kind)
    sig, x, p = make(SERVO, servo=servo)
    for n in range(400):
        sig.X_WB_cmd.p[0] = 0.3 * (n + 1) * DT  # the set-point for the end of the tick
        robot_step(sig, x, p, DT)
    assert 400 * DT - sig.X_WB_true.p[0] / 0.3 == pytest.approx(servo.whole_lag, abs=1e-6)


def hold(ticks, path=lambda t: 0.0, **hand):
    """Rows of a hand on a tool that moves along x on `path`, with its exact velocity."""
    sig, x, p = make(HAND, hand=Hand(**{"stiffness": 200.0, "amplitude": 0.0, "start": 0.1, **hand}))
    rows = []
    for n in range(ticks):
        sig.t = n * DT
        sig.X_WB_true.p[0] = path(sig.t)
        sig.V_WB_true.v[0] = (path(sig.t + 1e-6) - path(sig.t - 1e-6)) / 2e-6
        hand_step(sig, x, p, DT)
        rows.append(sig.copy())
    return np.array(rows)


def test_a_hand_takes_hold_without_a_jump_and_lets_go():
    log = hold(300, path=lambda t: 0.3 + 0.01 * math.sin(3.0 * t), release=1.0)
    t, f = DT * np.arange(300), log["F_Bcm_true_W"]["f"][:, 0]
    assert np.abs(np.diff(f)).max() < 0.15
    assert (f[t < 0.1] == 0.0).all()
    assert (f[t >= 1.31] == 0.0).all()
    held = (t > 0.4) & (t < 1.0)
    path = 0.01 * np.sin(3.0 * t)
    grip = 0.01 * math.sin(0.3)
    assert f[held] == pytest.approx((-200.0 * (path - grip) - 5.0 * 0.03 * np.cos(3.0 * t))[held], abs=1e-6)
    assert [log["hand_state"][n] for n in (0, 100, 299)] == [AWAY, HOLDS, GONE]


def test_the_hand_leads_by_its_amplitude():
    log = hold(2000, amplitude=0.02, frequency=0.5, direction=(0.0, 3.0, 4.0), damping=0.0)
    f = log["F_Bcm_true_W"]["f"]
    assert np.abs(f[:, 1]).max() == pytest.approx(200.0 * 0.02 * 0.6, rel=1e-3)
    assert np.abs(f[:, 2]).max() == pytest.approx(200.0 * 0.02 * 0.8, rel=1e-3)


def test_work_on_a_driven_hand_is_what_its_damper_dissipates():
    """Over whole periods the spring returns what it took; the trapezoidal rule misses (ωT)²/12 of it."""
    log = hold(1601, path=lambda t: 0.01 * math.sin(math.pi * t), start=0.0, grasp=1e-3)
    work = log["W_human"]["into"] - log["W_human"]["out"]
    per_period = -5.0 * (0.01 * math.pi) ** 2 * 0.5 * 2.0
    assert work[1600] - work[800] == pytest.approx(2 * per_period, rel=1e-3)


def test_the_mounted_tool_weighs_on_the_arm_after_the_handover():
    log = hold(400, stiffness=0.0, damping=0.0, tool_mass=1.4 / STANDARD_GRAVITY, handover=1.0, tool_centre=(0.1, 0.0, 0.0))
    t, wrench = DT * np.arange(400), log["F_Bcm_true_W"]
    assert (wrench["f"][t <= 1.0, 2] == 0.0).all()
    assert wrench["f"][-1] == pytest.approx([0.0, 0.0, -1.4], abs=1e-12)
    assert wrench["tau"][-1] == pytest.approx([0.0, 0.14, 0.0], abs=1e-12)


def test_tremor_has_its_size_and_its_frequency():
    """0.2 N rms; the phase wanders, so the period holds on the mean over 40 s: ± 2 rad · √40/(2π · 400) = 0.5 %."""
    log = hold(8000, stiffness=0.0, damping=0.0, tremor=0.2, tremor_frequency=10.0, start=0.0, grasp=1e-3)
    f = log["F_Bcm_true_W"]["f"][1:]
    assert np.sqrt((f**2).mean(axis=0)) == pytest.approx([0.2] * 3, rel=0.03)
    crossings = (np.diff(np.sign(f[:, 0])) > 0).sum()
    assert crossings == pytest.approx(10.0 * 40.0, rel=0.02)


def test_a_hand_that_lets_go_before_it_holds_is_refused():
    with pytest.raises(InputError, match=r"hand.release is 1 s; it must come after hand.start = 2 s"):
        build(Keys, {"hand": {"stiffness": 100, "amplitude": 0, "start": 2, "release": 1}})
    with pytest.raises(InputError, match=r"servo.lag is 0 s"):
        build(Keys, {"servo": {"kind": "lag"}})


@given(st.floats(-0.2, 0.2))
def test_the_hardware_shows_the_base_inside_its_box_and_smoothly(away):
    """[Cuniato2022, eq. 5] as a displacement: x_asked = x_rest + LPF(clamp(e_p')); it produces no force."""
    sig, x, p = make(HARDWARE_ADMITTANCE, hardware=Hardware(follow_gains=False))
    sig.X_HB_rest.p = sig.X_WB_meas.p = (0.5, 0.0, 0.4)
    sig.e_p_H[1] = away
    for n in range(1, 30):
        hardware_admittance_step(sig, x, p, DT)
        shown = min(max(away, -0.05), 0.05) * (1.0 - math.exp(-20.0 * n * DT))
        assert sig.X_WB_asked.p[1] == pytest.approx(shown, abs=1e-12)
    assert np.abs(sig.z_hw).max() == 0.0


def test_the_hardware_yields_along_the_force():
    """To f/K and τ/K at rest; K 5 N/m, M 1 kg, D 10 N·s/m settle with 1.9 s."""
    sig, x, p = make(HARDWARE_ADMITTANCE, hardware=Hardware(follow_gains=False))
    sig.X_HB_rest.p, sig.X_HB_rest.q = (0.5, 0.0, 0.4), TURNED
    sig.F_h_H.f[2], sig.F_h_H.tau[0] = -1.0, 0.5
    for _ in range(6000):
        hardware_admittance_step(sig, x, p, DT)
    assert sig.X_WB_asked.p == pytest.approx([0.5, 0.0, 0.2], abs=1e-6)
    assert so3.between(TURNED, tuple(sig.X_WB_asked.q)) == pytest.approx((0.1, 0.0, 0.0), abs=1e-6)


def test_the_arm_sags_by_its_tool_over_its_stiffness():
    """1.4 N on hooked gains of 20 N/m: 70 mm, with the audit of arm and tank never negative.  [Cuniato2022, eq. 8, eq. 15]"""
    sig, x, p = make(ARM_ADMITTANCE)
    sig.X_bE_des.p = (0.1, 0.0, -0.3)
    sig.F_E_b.f[2] = -1.4
    least, full = math.inf, math.inf
    for n in range(3000):
        sig.gain_set = HOOKED if n > 400 else 0
        arm_admittance_step(sig, x, p, DT)
        least, full = min(least, sig.E_audit), min(full, sig.E_tank)
    assert sig.X_bE_cmd.p == pytest.approx([0.1, 0.0, -0.37], abs=1e-4)
    assert sig.K_arm == pytest.approx([20.0] * 6)
    assert sig.M_arm == pytest.approx([2.0] * 6)
    assert least >= -1e-9
    assert full < 0.1, "raising the stiffness under load has cost energy"
