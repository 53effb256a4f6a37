"""Yang et al. 2018: a massive payload pulled by teleoperation."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hilt import job

K_S = 1.0 / 1400.0


def run(name, *changes):
    return job.simulate(*job.find("payload", name, list(changes)))


def test_pulling_three_tonnes():
    """[Yang2018, eq. 1, eq. 2, eq. 3, eq. 4]: impulse m v (1 - e^{-9.5/(m K_s)}); the grip's spring adds a little."""
    metrics = run("pull-3000").metrics
    assert metrics["impulse_Ns"] == pytest.approx(30.0 * (1.0 - math.exp(-9.5 / (3000 * K_S))), abs=0.05)
    assert metrics["final_speed_m_s"] == pytest.approx(0.01, abs=1e-4)


@pytest.mark.parametrize("mass", [500, 3000, 4500, 6000])
def test_time_constant_and_bound_of_the_force(mass):
    """[Yang2018, eq. 5, eq. 8, eq. 9]: the virtual payload follows with m K_s, and no force is larger than v_r/K_s."""
    metrics = run("pull-3000", f"payload.mass={mass}").metrics
    assert metrics["time_constant_s"] == pytest.approx(mass * K_S, rel=0.01)
    assert max(metrics["peak_force_N"], metrics["virtual_peak_force_N"]) <= 0.01 / K_S


def test_the_impulse_does_not_depend_on_the_tick():
    found = [run("pull-3000", f"loop.period={T} ms").metrics["impulse_Ns"] for T in (0.25, 0.5, 1, 2, 5)]
    assert np.ptp(found) <= 0.02


def test_the_printed_explicit_step_diverges():
    """[Yang2018, eq. 5, eq. 6, eq. 7, eq. 10]: K_s D_t + 2 D is 1.31, above one; the forces run away at once."""
    result = run("pull-3000", "virtual.step=explicit")
    assert result.fault is not None
    assert result.metrics["virtual_peak_force_N"] > 1e4


@settings(max_examples=25)
@given(st.floats(100, 8000), st.floats(1e3, 1e6), st.floats(0, 2000), st.floats(1e-4, 5e-2))
def test_the_implicit_step_is_stable(mass, stiffness, damping, period):
    """The force decays. Initially a step into a spring without damping may at most double it."""
    rows = run(
        "pull-3000",
        f"payload.mass={mass}",
        f"virtual.grip_stiffness={stiffness}",
        f"virtual.grip_damping={damping}",
        f"loop.period={period}",
        "grip.stiffness=1 kN/m",
        "grip.damping=0",
        "loop.duration=10 s",
        "limits.force=1e9",
        "limits.acceleration=1e9",
    ).rows
    force = np.abs(rows["f_vir"][:, 0])
    assert force.max() <= 2.0 * 0.01 / K_S
    assert force[-len(force) // 5 :].max() < 0.9 * force.max()


def test_force_feedback_lowers_peak_and_mean_square():
    on, off = (run("feedback-500", f"slave.force_feedback={flag}").metrics for flag in ("true", "false"))
    assert on["peak_force_N"] < 0.8 * off["peak_force_N"]
    assert on["mean_square_force_N2"] < 0.5 * off["mean_square_force_N2"]


def test_the_virtual_arm_shows_the_true_motion():
    assert run("hils-1").metrics["position_error_m"] <= 1e-3
    assert run("hils-2").metrics["position_error_m"] <= 2e-3
    same = run("hils-2", "virtual.grip_stiffness=20 kN/m", "virtual.grip_damping=300 N*s/m").metrics
    assert same["position_error_m"] <= 3e-4


@pytest.mark.parametrize("ratio", [0.8, 1.2])
def test_a_wrong_mass_shows(ratio):
    """8 to 10 mm with ±20 %, held in bounds by the coupling alone."""
    assert 8e-3 <= run("hils-2", f"virtual.mass_ratio={ratio}").metrics["position_error_m"] <= 10e-3


@pytest.mark.parametrize("ratio", [0.8, 1.0, 1.2])
@pytest.mark.parametrize(("grip", "delay"), [(10e3, 2), (20e3, 5), (100e3, 7)])
def test_a_gentle_push_first_finds_mass_and_grip(ratio, grip, delay):
    """0.5 N of noise, 0.1 N of bias: at most 12 N for the push, mass within 1.5 %, grip within 4 %, hands within 1 mm."""
    metrics = run(
        "hils-2",
        "virtual.identify=true",
        f"virtual.mass_ratio={ratio}",
        f"grip.stiffness={grip}",
        f"grip.damping={min(0.015 * grip, 400)}",
        f"link.delay={delay}",
        "arm.force_noise=0.5 N",
        "arm.force_bias=[0.1, 0, 0]",
        "loop.duration=80 s",
    ).metrics
    assert metrics["push_force_N"] <= 12.0
    assert metrics["mass_error"] <= 0.015
    assert metrics["grip_error"] <= 0.04
    assert metrics["position_error_m"] <= 1e-3


def test_the_delay_closes_no_loop():
    """Joystick mode: the same errors with 0, 2, 5 and 7 s."""
    errors = [
        run("hils-2", f"link.delay={delay} s", "loop.duration=65 s").metrics["position_error_m"] for delay in (0, 2, 5, 7)
    ]
    assert np.ptp(errors) <= 1e-5


def test_jitter_and_loss_are_played_out():
    clean, rough = run("hils-2"), run("hils-2", "link.jitter=500 ms", "link.loss=0.2")
    assert rough.metrics["link_loss"] == pytest.approx(0.2, abs=0.01)
    assert abs(rough.metrics["position_error_m"] - clean.metrics["position_error_m"]) <= 5e-5


@pytest.mark.parametrize("mass", [4500, 6000])
def test_an_outage_at_full_speed(mass):
    soft, hold = (
        run("outage", f"payload.mass={mass}", f"link.outage_policy={policy}").metrics for policy in ("soft-stop", "hold")
    )
    assert soft["stopped"]
    assert soft["travel_after_outage_m"] <= 0.10
    assert not hold["stopped"]
    assert hold["travel_after_outage_m"] > 0.25


def test_coming_back_is_without_a_jump():
    """At most 1 mm/s and 5 N within 50 ms, from the outage's end until the blend is over."""
    rows = run("outage").rows
    back = int(np.flatnonzero(rows["link_state"] == 2)[0])
    window = slice(back - 60, back + 2500)
    v, f = rows["v_sc"][window, 0], rows["f_s"][window, 0]
    assert np.abs(v[50:] - v[:-50]).max() <= 1e-3
    assert np.abs(f[50:] - f[:-50]).max() <= 5.0


def test_a_payload_gripped_off_centre_turns_as_theory_says():
    """Angular momentum about the centre of mass is the integral of the lever arm times the force."""
    result = run(
        "pull-3000",
        "payload.dof=6",
        "grip.position=[0.3, 0.2, -0.1]",
        "payload.centre_of_mass=[0.1, 0, 0]",
        "loop.duration=15 s",
        "limits.torque=1 kN*m",
    )
    rows, T = result.rows, result.scenario.loop.period
    impulse = np.cumsum(rows["F_Bcm_true_W"]["tau"], axis=0) * T
    assert result.fault is None
    assert np.abs(rows["L_W"][1:] - impulse[:-1]).max() <= 1e-6 * np.abs(rows["L_W"]).max()
    assert np.abs(rows["V_WBcm"]["w"]).max() > 1e-3


def test_a_late_table_is_sent_where_the_payload_will_be():
    """With the lead the loop behaves as if the table had no delay: same impulse, same peak."""
    now, late = run("pull-3000"), run("pull-3000", "table.delay=20 ms")
    assert late.metrics["impulse_Ns"] == pytest.approx(now.metrics["impulse_Ns"], abs=0.02)
    assert late.metrics["peak_force_N"] == pytest.approx(now.metrics["peak_force_N"], rel=0.02)


NOISY = ("arm.force_noise=0.5 N", "arm.force_bias=[0.1, 0, 0]", "loop.duration=85 s")


@pytest.mark.parametrize("ratio", [0.8, 1.2])
def test_the_transport_itself_identifies_too(ratio):
    """Without a push the mass is known once the payload moves: too late for the ground, which learns it 5 s later, but in
    time for the feed-forward in orbit. A prototype had
    8.6/9.8 mm by the link alone and 1.2/2.6 mm with it; here 9.6/8.6 and 3.6/2.0 mm."""
    told = ("virtual.identify=true", "identify.push=false", f"virtual.mass_ratio={ratio}", *NOISY)
    link_only, fed = (run("hils-2", *told, f"slave.feed_forward={flag}") for flag in ("false", "true"))
    assert fed.metrics["mass_error"] <= 0.01
    assert fed.metrics["position_error_m"] <= 5e-3 < link_only.metrics["position_error_m"]
    assert fed.metrics["final_position_error_m"] <= 2e-4
    mass = fed.rows["m_vir"]
    change = np.diff(mass) / mass[:-1] / fed.scenario.loop.period
    assert np.abs(change).max() <= 0.05 + 1e-9, "the virtual mass changes slowly"
    assert mass[-1] == pytest.approx(4500, rel=0.01)
    jump = np.abs(np.diff(fed.rows["f_vir"][:, 0]))
    assert jump[np.abs(change) > 0].max() <= 0.1, "and position and speed are kept"


def test_drag_is_identified_and_fed_forward():
    plain, told = (
        run("hils-2", "hindrance.drag=50 N*s/m", f"virtual.identify={flag}", *NOISY).metrics for flag in ("false", "true")
    )
    assert told["position_error_m"] <= 1e-3 < plain["position_error_m"]


def test_an_obstacle_in_the_transport_does_not_become_bias():
    """With the bias subtracted the force at the obstacle is at most 1.15 of that without."""
    plain, told = (
        run("hils-2", "hindrance.obstacle_distance=0.15 m", f"virtual.identify={flag}", *NOISY) for flag in ("false", "true")
    )
    assert np.abs(plain.rows["hindrance_W"]).max() > 20.0
    assert told.rows["identify_frozen"].any()
    assert told.metrics["peak_force_N"] <= 1.15 * plain.metrics["peak_force_N"]
    assert abs(told.rows["b_hat"]).max() <= 2.0


@pytest.mark.parametrize("mass", [4500, 6000])
def test_braking_with_the_mass_as_identified(mass):
    """A force of 20 N that rises and falls in 0.4 s: distance v² m/(2 F) and half of 0.4 s at full speed. Soft stop: more."""
    brake, soft = (run("outage", f"payload.mass={mass}", f"link.outage_policy={policy}") for policy in ("brake", "soft-stop"))
    assert brake.metrics["stopped"]
    way = 0.02**2 * mass / 40.0 + 0.02 * 0.2
    assert brake.metrics["travel_after_outage_m"] == pytest.approx(way, rel=0.05)
    assert brake.metrics["travel_after_outage_m"] < 0.75 * soft.metrics["travel_after_outage_m"]
    silent = brake.rows["link_state"] == 1
    assert np.abs(brake.rows["f_s"][silent]).max() <= 21.0


def test_after_an_outage_the_virtual_arm_is_corrected_at_rest():
    """While the slave moves nothing jumps; at rest the virtual arm takes over the offset, without any effect in orbit."""
    rows = run("outage", "loop.duration=100 s").rows
    jump = np.abs(np.diff(rows["x_vir"][:, 0]))
    (at,) = np.flatnonzero(jump > 1e-3)
    assert np.linalg.norm(rows["v_r"][at - 10_000 : at]) == 0.0
    assert jump[at] > 0.3
    assert np.abs(np.diff(rows["v_sc"][at:, 0])).max() < 1e-5
    assert abs(rows["x_vir"][-1, 0] - rows["x_s"][-1, 0]) < 1e-3


def test_duplicates_change_nothing_but_the_count():
    once, twice = (run("hils-2", "link.jitter=50 ms", f"link.duplication={share}") for share in (0, 0.3))
    assert twice.metrics["link_duplicated"] == pytest.approx(0.3 * 65 / 70, abs=0.01), "the last 5 s are in transit"
    for signal in ("v_sc", "x_s", "x_vir", "f_s_ground", "m_ground"):
        assert once.rows[signal].tobytes() == twice.rows[signal].tobytes()


TURN = (
    "payload.dof=6",
    "grip.rotational_stiffness=5 kN*m/rad",
    "grip.rotational_damping=60 N*m*s/rad",
    "virtual.grip_rotational_stiffness=5 kN*m/rad",
    "virtual.grip_rotational_damping=60 N*m*s/rad",
    "slave.rotational_compliance=0.001",
    "slave.rotational_coupling=0.08",
    "slave.rotational_damping=0.3",
    "operator.turn_rate=0.01 rad/s",
)


@pytest.mark.parametrize("arms", [1, 2])
def test_moved_and_turned_at_once(arms):
    """20 s at 0.01 rad/s: hand and payload turn by 0.2 rad, and the virtual hand shows it, for one arm and for two."""
    result = run("hils-1", *TURN, f"arm.count={arms}", f"grip.stiffness={20 / arms} kN/m", f"grip.damping={300 / arms}")
    q = result.rows["X_WBcm"]["q"][-1]
    assert 2 * math.atan2(q[3], q[0]) == pytest.approx(0.2, abs=1e-4)
    assert result.metrics["attitude_error_rad"] <= 3e-4
    assert result.metrics["position_error_m"] <= 1e-3


def test_wrong_inertia_and_centre_of_mass_show():
    right = run("hils-1", *TURN).metrics
    inertia = run("hils-1", *TURN, "virtual.inertia_ratio=1.2").metrics
    centre = run("hils-1", *TURN, "virtual.centre_of_mass_error=[0, 0.05, 0]").metrics
    assert inertia["attitude_error_rad"] > 10 * right["attitude_error_rad"]
    assert centre["attitude_error_rad"] > 50 * right["attitude_error_rad"]
    assert centre["position_error_m"] > 2 * right["position_error_m"]
