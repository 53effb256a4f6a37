"""Rotation: energy, momentum, order, and an independent solution."""

import numpy as np
import pytest

from hilt.systems.freefloat.analysis.reference import continuous

CLEAN = ("sensor.noise=0", "sensor.torque_noise=0", "sensor.bandwidth=0", "robot.kind=ideal", "robot.delay=0")


def test_momentum_keeps_the_energy_of_a_tumbling_body(simulate):
    """14.16 J, 60 s, T = 0.1 s. Of second order, and the error does not accumulate: 0.005 J is 0.04 %."""
    metrics = simulate("tumble").metrics
    assert abs(metrics["rotation_energy_drift_J"]) <= 0.005
    assert metrics["angular_momentum_error"] <= 1e-9


def test_explicit_euler_gains_a_fifth_of_the_energy(simulate):
    rows = simulate("tumble", "integrator.kind=explicit").rows
    assert rows["H_rot"][0] == pytest.approx(14.16, abs=0.005)
    assert rows["H_rot"][-1] - rows["H_rot"][0] == pytest.approx(2.76, abs=0.02)


def test_momentum_is_of_second_order(simulate):
    def error(period):
        result = simulate("tumble", f"loop.period={period} s", "loop.duration=10 s")
        truth = continuous(result.scenario, np.array([0.0, 10.0]))["q"][-1]
        q = result.rows["X_WBcm"]["q"][-1]
        return min(np.abs(q - truth).max(), np.abs(q + truth).max())

    errors = [error(T) for T in (0.1, 0.05, 0.025)]
    assert np.log2(np.array(errors[:-1]) / errors[1:]) == pytest.approx([2.0, 2.0], abs=0.1)


def test_a_push_off_centre_agrees_with_the_continuous_solution(simulate):
    """No delay, no noise, a fine tick: the rest is due to the held force, of first order in T."""

    def errors(period):
        result = simulate("capture", *CLEAN, f"loop.period={period}")
        rows, t = result.rows, result.rows["t"]
        truth = continuous(result.scenario, t)
        return np.abs(rows["X_WBcm"]["p"] - truth["p"]).max(), np.abs(rows["H_rot"] - truth["H_rot"]).max()

    coarse, fine = errors(0.004), errors(0.002)
    assert fine[0] < 2e-4
    assert np.array(coarse) / fine == pytest.approx([2.0, 2.0], rel=0.05)


def test_linear_and_angular_impulse(simulate):
    """∫F dt of the sin² pulses is half peak times duration: the momentum they must leave, whatever turns meanwhile."""
    result = simulate(
        "capture", "sensor.noise=0", "sensor.torque_noise=0", "robot.kind=ideal", "robot.delay=0", "sensor.bandwidth=0"
    )
    impulse = sum(np.array(push.force) * push.duration / 2 for push in result.scenario.push)
    gained = 250.0 * (result.rows["V_WBcm"]["v"][-1] - result.rows["V_WBcm"]["v"][0])
    assert gained == pytest.approx(impulse, abs=1e-6)


def test_a_body_that_may_not_turn_does_not(simulate):
    rows = simulate("oos-sim").rows
    assert (rows["X_WBcm"]["q"] == [1, 0, 0, 0]).all()
    assert (rows["H_rot"] == 0).all()


@pytest.mark.parametrize("kind", ["momentum", "explicit", "euler"])
def test_the_ledger_closes_where_a_tick_makes_whole_turns(simulate, kind):
    """At 0.1 s and up to 90 rad/s: the port uses the shorter rotation, and so must the ledger."""
    rates = "body.angular_velocity=[40, 70, -30]"
    result = simulate(
        "capture",
        *CLEAN,
        f"integrator.kind={kind}",
        rates,
        "loop.period=0.1 s",
        "limits.angular_speed=1e9",
        "limits.energy=1e18",
        "limits.speed=1e9",
        "limits.acceleration=1e9",
    )
    assert np.abs(result.rows["V_WBcm"]["w"]).max() * 0.1 > 2 * np.pi
    assert abs(result.ledger["residual_J"]) <= 1e-9 * result.ledger["exchanged_J"]
