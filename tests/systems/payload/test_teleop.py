"""Link, operator and slave arm, each by itself."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hilt.core import faults
from hilt.plant.joystick import PATIENCE, Joystick, joystick_step
from hilt.systems.payload.arm import point_arms_step
from hilt.systems.payload.grip import grip_step
from hilt.systems.payload.link import link_step
from hilt.systems.payload.operator import bell, operator_step
from hilt.systems.payload.slave import slave_step
from hilt.systems.payload.virtual_arm import virtual_arm_step
from tests.systems import benches

DT = 0.01


def bench(name, *settings_):
    values, made = benches.bench("payload", name, f"loop.period={DT}", *settings_)
    return values, made.row[0], made.x[0], made.w[0], made.p[0]


def values_playout(seconds):
    """Play-out in whole ticks."""
    return np.ceil(seconds / DT - 1e-9) * DT


def send(sig, x, p, ticks, signal=lambda t: t):
    """What is played out in orbit while the ground sends a function of time as its reference velocity."""
    played, silence = [], []
    for k in range(ticks):
        sig.tick, sig.t = k, k * DT
        sig.v_r[0] = sig.x_vir_up[0] = signal(sig.t)
        link_step(sig, x.link, p.link, DT)
        played.append(sig.v_r_orbit[0])
        silence.append(sig.link_silence)
    return np.array(played), np.array(silence)


@settings(max_examples=12)
@given(st.floats(0.0, 3.0), st.floats(0.0, 0.5), st.floats(0.0, 0.4))
def test_a_ramp_comes_out_one_playout_delay_later(delay, jitter, loss):
    """Whatever is late or lost: time stamps restore the ramp, except for the newest packets, which have no successor yet."""
    _, sig, x, _, p = bench("hils-2", f"link.delay={delay}", f"link.jitter={jitter}", f"link.loss={loss}")
    played, silence = send(sig, x, p, 450)
    t = np.arange(450) * DT
    settled = t > delay + jitter + 0.5
    late = t - played - values_playout(delay + jitter)
    assert (late[settled] >= -1e-9).all()
    assert (late[settled] <= silence[settled] + 1e-9).all()


@settings(max_examples=12)
@given(st.floats(0.05, 2.0))
def test_a_clean_link_is_only_a_delay(delay):
    _, sig, x, _, p = bench("hils-2", f"link.delay={delay}")
    played, silence = send(sig, x, p, 300, signal=lambda t: np.sin(t))
    t = np.arange(300) * DT - values_playout(delay)
    assert played[t > 0] == pytest.approx(np.sin(t[t > 0]), abs=1e-9)
    assert (silence == 0).all()


def test_losses_are_counted_and_an_outage_is_silence():
    _, sig, x, _, p = bench("hils-2", "link.delay=0.5", "link.loss=0.3", "link.outage_start=2", "link.outage_duration=1")
    _, silence = send(sig, x, p, 600)
    assert sig.link_sent == 600
    assert sig.link_lost == pytest.approx(0.3 * 500 + 100, abs=40)
    t = np.arange(600) * DT
    assert silence[(t > 3.0) & (t < 3.45)].min() > 0.4
    assert silence[t > 3.8].max() < 0.2


def test_two_runs_lose_the_same_packets_and_another_seed_loses_others():
    arrivals = []
    for seed in (1, 1, 2):
        _, sig, x, _, p = bench("hils-2", "link.loss=0.3", f"seed={seed}")
        send(sig, x, p, 200)
        arrivals.append(x.link.arrival[:200].copy())
    assert (arrivals[0] == arrivals[1]).all()
    assert (arrivals[0] != arrivals[2]).any()


def test_a_human_arrives_without_overshoot():
    """An arm that follows at once: the hand stops within a few millimetres of its target."""
    values, sig, x, _, p = bench("hils-2")
    speeds = []
    for k in range(6000):
        sig.tick, sig.t = k, k * DT
        operator_step(sig, x.operator, p.operator, DT)
        sig.x_vir[0] += DT * sig.v_r[0]
        speeds.append(sig.v_r[0])
    assert np.abs(speeds).max() <= values.operator.speed + 1e-12
    assert sig.x_vir[0] == pytest.approx(values.operator.speed * values.operator.duration, abs=5e-3)
    assert np.abs(np.diff(speeds)).max() < 0.05 * values.operator.speed, "a hand does not jump"


@given(*[st.floats(-10.0, 10.0)] * 3)
def test_the_slave_law(force, reference, away):
    """[Yang2018, eq. 2]: reference, force feedback and coupling, at rest."""
    _, sig, x, _, p = bench("hils-2")
    sig.f_s[0], sig.v_r_orbit[0], sig.x_vir_orbit[0] = force, reference, away
    slave_step(sig, x.slave, p.slave, DT)
    assert sig.v_sc[0] == pytest.approx(reference - force / 1400 + 0.08 * away, abs=1e-12)


@pytest.mark.parametrize("signal", ["v_r_orbit", "x_vir_orbit", "f_s"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_the_slave_arm_is_never_sent_a_non_finite_value(signal, value):
    """A virtual arm that has diverged on the ground arrives with the link's delay: a fault in the tick of its arrival."""
    _, sig, x, _, p = bench("hils-2")
    sig[signal][0] = value
    slave_step(sig, x.slave, p.slave, DT)
    assert sig.fault in (faults.NOT_FINITE, faults.WRIST_FORCE)


def test_play_in_the_grip():
    _, sig, _, w, p = bench("hils-2", "grip.play=1 mm", "grip.damping=0")
    sig.X_WB_true.q[0] = 1.0
    for apart, force in ((0.0009, 0.0), (0.0015, 20e3 * 0.0005), (-0.003, -20e3 * 0.002)):
        sig.hands[0] = apart
        grip_step(sig, w.grip, p.grip, DT)
        assert sig.f_s[0] == pytest.approx(force, abs=1e-9)


def commanded(ticks, *settings_, name="hils-1"):
    """What an operator commands over time, 10 ms a tick."""
    _, sig, x, _, p = bench(name, *settings_)
    found = np.zeros((ticks, 6))
    for k in range(ticks):
        sig.tick, sig.t = k, k * DT
        operator_step(sig, x.operator, p.operator, DT)
        found[k] = [*sig.v_r, *sig.w_r]
    return found


def test_the_shaper_keeps_the_distance_and_has_the_least_jerk():
    """A step becomes the minimum-jerk ramp of 10 s³ - 15 s⁴ + 6 s⁵, and its integral stays."""
    plain, shaped = (commanded(2600, f"operator.shaper={T} s")[:, 0] for T in (0, 2))
    assert shaped.sum() == pytest.approx(plain.sum(), rel=1e-12)
    s = np.arange(1, 201) / 200
    assert shaped[100:300] == pytest.approx(0.01 * (10 * s**3 - 15 * s**4 + 6 * s**5), abs=2e-6)
    assert bell(2.0, DT).sum() == pytest.approx(1.0)


def test_a_profile_is_followed_between_its_points():
    found = commanded(900, "operator.kind=profile", "operator.profile=[[0, 0], [2, 0.01], [5, 0.01], [7, 0]]")[:, 0]
    t = np.arange(900) * DT - 1.0
    assert found == pytest.approx(np.interp(t, [0, 2, 5, 7], [0, 0.01, 0.01, 0], left=0, right=0), abs=1e-12)


def test_a_step_may_also_turn():
    found = commanded(300, "operator.turn_rate=0.02 rad/s", "operator.turn_axis=[0, 3, 4]")
    assert found[200, 3:] == pytest.approx([0.0, 0.012, 0.016])
    assert (found[:99, 3:] == 0).all()


def test_a_joystick_in_shared_memory_moves_the_reference_until_released(tmp_path):
    name = f"test-{tmp_path.name}"
    _, sig, x, w, p = bench("hils-1", "operator.kind=live", f"operator.joystick={name}", "operator.turn_rate=0.1 rad/s")
    stick = Joystick(name)
    sig.t = 5.0

    def tick():
        joystick_step(sig, w.joystick, p.joystick, DT)
        operator_step(sig, x.operator, p.operator, DT)

    tick()
    assert (sig.v_r == 0).all()
    stick.move((0.5, 0.0, -2.0), (0.0, 1.0, 0.0))
    tick()
    assert list(sig.v_r) == pytest.approx([0.005, 0.0, -0.01]), "more than full deflection is full"
    assert sig.w_r[1] == pytest.approx(0.1)
    for _ in range(round(PATIENCE / DT) + 1):
        tick()
    assert (sig.v_r == 0).all(), "nobody holds the stick"
    assert (sig.w_r == 0).all()


def virtual(*settings_):
    """The virtual payload after five seconds of a constant reference, 1 ms a tick."""
    sig, x, _, p = benches.parts("payload", "pull-3000", "loop.period=1 ms", *settings_)
    return sig, x.virtual, p.virtual


ROTATES = (
    "payload.dof=6",
    "grip.position=[0.3, 0.2, -0.1]",
    "payload.centre_of_mass=[0.1, 0, 0]",
    "virtual.grip_rotational_stiffness=5 kN*m/rad",
    "virtual.grip_rotational_damping=50 N*m*s/rad",
    "slave.rotational_compliance=0.001",
    "slave.rotational_damping=0.3",
)


def test_the_virtual_payload_keeps_momentum_and_angular_momentum():
    """[Yang2018, eq. 7, eq. 8, eq. 9]: m v and L are the sums of the force and of its torque about the centre of mass."""
    sig, x, p = virtual(*ROTATES)
    momentum, angular = np.zeros(3), np.zeros(3)
    for k in range(3000):
        sig.tick, sig.t = k, k * 1e-3
        sig.v_r[:], sig.w_r[:] = (0.01, 0.004, 0.0), (0.0, 0.02, 0.03)
        place = np.array(x.c)
        lever = np.array(sig.x_tvir) - place
        virtual_arm_step(sig, x, p, 1e-3)
        momentum += 1e-3 * np.array(sig.f_vir)
        angular += 1e-3 * (np.cross(lever, sig.f_vir) + sig.tau_vir)
    assert 3000 * np.array(x.v_t) == pytest.approx(momentum, rel=1e-12)
    assert np.array(x.L) == pytest.approx(angular, rel=1e-9, abs=1e-12)
    assert np.linalg.norm(x.w_t) > 1e-3


def test_hand_and_virtual_payload_turn_together_after_a_while():
    """A grip that transmits torque: the payload follows the hand's rotation with I K_s, its translation with m K_s."""
    sig, x, p = virtual(*(each for each in ROTATES if "position" not in each and "centre" not in each))
    for k in range(4000):
        sig.tick, sig.t = k, k * 1e-3
        sig.w_r[:] = (0.0, 0.0, 0.03)
        virtual_arm_step(sig, x, p, 1e-3)
    lag = 45.64 * 0.001 + 5e-3
    assert x.w_t[2] == pytest.approx(0.03, rel=0.02)
    assert 2 * np.arctan2(x.q_t[3], x.q_t[0]) == pytest.approx(0.03 * (sig.t - lag), abs=0.03 * 0.02)


def test_two_hands_are_felt_as_one():
    """Force and torque midway between two hands that turn: what one hand would give, and K_t d²/2 about z."""
    _, sig, _, w, p = bench("hils-2", "arm.count=2", "payload.dof=6", "grip.damping=0", "grip.spacing=0.5 m")
    sig.X_WB_true.q[0] = 1.0
    w.arm.place[0] = 0.001
    w.arm.q[:] = (np.cos(0.001), 0, 0, np.sin(0.001))
    point_arms_step(sig, w.arm, p.arm, DT)
    grip_step(sig, w.grip, p.grip, DT)
    assert list(sig.f_s) == pytest.approx([40.0, 0.0, 0.0], abs=1e-4)
    assert sig.tau_s[2] == pytest.approx(20e3 * 0.5**2 / 2 * np.sin(0.002), rel=1e-5)
    assert list(sig.x_s) == pytest.approx([0.001, 0, 0], abs=1e-12)
    assert list(sig.F_Bcm_true_W.tau) == pytest.approx(list(sig.tau_s))
