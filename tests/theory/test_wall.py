"""Rebounds from a spring: the effect of each integrator and each sample of delay on a contact."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hilt.dynamics.integrators import EXTRA_DELAY

WIDE = (
    "limits.speed=100",
    "limits.force=1e9",
    "limits.acceleration=1e9",
    "limits.energy=1e9",
    "limits.workspace_max=[9,9,9]",
    "limits.workspace_min=[-9,-9,-9]",
)


def gains(simulate, kind, omega_T, samples, mass=30.0, period=1e-3, gap=0.01):
    result = simulate(
        "wall",
        f"integrator.kind={kind}",
        f"body.mass={mass}",
        f"loop.period={period}",
        f"robot.delay={samples * period!r}",
        f"wall.stiffness={mass * (omega_T / period) ** 2}",
        f"wall.gap={gap}",
        *WIDE,
    )
    assert result.fault is None
    assert len(result.metrics["rebound_gain"]) == 5
    return np.array(result.metrics["rebound_gain"])


@pytest.mark.parametrize("kind", EXTRA_DELAY)
@settings(max_examples=12)
@given(
    st.floats(0.005, 0.08),
    st.integers(0, 2) | st.floats(0.0, 2.0),
    st.floats(1.0, 1000.0),
    st.sampled_from([0.0005, 0.001, 0.004]),
    st.floats(0.009, 0.011),
)
def test_growth_per_contact(simulate, kind, omega_T, samples, mass, period, gap):
    """exp(π ω τ_eff / 2), τ_eff = delay + the integrator's own: first order in ωτ, so 1.5 % up to ωT = 0.08."""
    expected = math.exp(0.5 * math.pi * omega_T * (samples + EXTRA_DELAY[kind]))
    assert gains(simulate, kind, omega_T, samples, mass, period, gap) == pytest.approx(expected, rel=0.015)


@settings(max_examples=40)
@given(st.floats(0.01, 0.18), st.floats(0.009, 0.011))
def test_equation_5_keeps_the_energy_in_contact(simulate, omega_T, gap):
    """A symplectic rule: within 0.5 % wherever in a tick the contact begins."""
    assert gains(simulate, "euler", omega_T, 0, gap=gap) == pytest.approx(1.0, abs=0.005)


@pytest.mark.parametrize("delay", [2, 5, 10, 20])
@pytest.mark.parametrize("stiffness", [746e3, 100e3])
def test_a_lead_compensates_the_delay(simulate, delay, stiffness):
    """4500 kg on a table: exp(πω(τ + T/2)/2) without the lead (2 %), and at most 1.02 with x + τ v + ½ τ² a commanded."""
    changes = ("integrator.kind=passive", "body.mass=4500", f"wall.stiffness={stiffness}", f"robot.delay={delay} ms", *WIDE)
    plain, led = (
        np.array(simulate("wall", f"robot.lead={flag}", *changes).metrics["rebound_gain"]) for flag in ("false", "true")
    )
    assert plain == pytest.approx(math.exp(0.5 * math.pi * math.sqrt(stiffness / 4500) * (delay + 0.5) * 1e-3), rel=0.02)
    assert len(led) == 5
    assert led.max() <= 1.02


def test_the_ledger_blames_the_right_part(simulate):
    """Energy added in a contact on a late robot: by the delay with (5), by the integrator with explicit Euler without delay."""

    def net(*changes):
        return {row["port"]: row["net_J"] for row in simulate("wall", *changes).ledger["rows"]}

    late = net("integrator.kind=trapezoid", "robot.delay=2 ms")
    assert late["delay"] > 0.75 * (late["delay"] + late["sampling"]) > 0
    assert late["integrator"] == late["controller"] == 0.0
    explicit = net("integrator.kind=explicit", "robot.delay=0 s")
    assert explicit["delay"] == 0.0
    assert explicit["integrator"] == pytest.approx(explicit["sampling"], rel=0.01)


def test_the_world_returns_what_it_took(simulate):
    """An undamped wall is a spring: its port is balanced to the error of the quadrature where contacts begin and end."""
    rows = {row["port"]: row for row in simulate("wall").ledger["rows"]}
    assert abs(rows["environment"]["net_J"]) < 5e-4 * rows["environment"]["in_J"]


def test_a_damped_wall_dissipates_energy(simulate):
    """Restitution of a damped spring that lets go when its force is zero, in closed form."""
    zeta, omega, mass = 0.05, 40.0, 30.0
    found = simulate(
        "wall",
        "integrator.kind=euler",
        "robot.delay=0 s",
        "loop.period=0.1 ms",
        f"wall.stiffness={mass * omega**2}",
        f"wall.damping={2 * zeta * omega * mass}",
        "collisions=3",
    ).metrics["rebound_gain"]
    root = math.sqrt(1 - zeta**2)
    # x = e^{-ζωt} sin(ω_d t): the force k x + c x' is zero at tan(ω_d t) = -2ζ√(1-ζ²)/(1-2ζ²)
    t = (math.pi - math.atan2(2 * zeta * root, 1 - 2 * zeta**2)) / (omega * root)
    phase = omega * root * t
    expected = math.exp(-zeta * omega * t) * abs(math.cos(phase) - zeta / root * math.sin(phase))
    assert found == pytest.approx([expected] * 3, rel=2e-3)


def test_a_second_order_robot_is_a_delay_for_slow_contacts(simulate):
    """ω small against ω_n: a lag of 2ζ/ω_n acts as a delay of that size."""
    found = simulate(
        "wall",
        "integrator.kind=euler",
        "robot.kind=second-order",
        "robot.delay=2 ms",
        "wall.stiffness=3 N/mm",
    ).metrics["rebound_gain"]
    assert np.mean(found) == pytest.approx(math.exp(0.5 * math.pi * 10 * 0.002), rel=2e-3)
