"""Cuniato et al. 2022: a human and a flying arm, in the whole loop."""

import numpy as np
import pytest

from hilt import job
from hilt.systems.aerial.analysis.hand_limit import LAG_ONLY, loops_of, stiffest_hand, warning
from hilt.systems.aerial.task import FAILED, INSTALLED, MOUNTED, RAISED, RELEASED


def run(name, *changes):
    return job.simulate(*job.find("aerial", name, list(changes)))


def test_hover():
    """Within 1 mm with the estimator; without it the arm's weight, slightly off centre, leaves about 10 mm."""
    held, left = (run("hover", f"estimator.enabled={flag}").metrics for flag in ("true", "false"))
    assert max(held["base_displacement_m"]) < 1e-3
    assert left["base_final_error_m"] == pytest.approx(0.010, abs=0.002)


@pytest.mark.parametrize(("estimates", "far", "tolerance"), [("true", 0.085, 0.010), ("false", 0.183, 0.02)])
def test_a_push_at_the_tool(estimates, far, tolerance):
    """10 N for 0.5 s; the same from 100 Hz to 1 kHz."""
    found = [run("push", f"loop.period={T} ms", f"estimator.enabled={estimates}").metrics for T in (10, 5, 2, 1)]
    moved = [m["base_displacement_m"][0] for m in found]
    assert moved == pytest.approx([far] * 4, abs=tolerance)
    assert np.ptp(moved) <= 0.02 * np.mean(moved)


def test_the_estimator_sees_the_push():
    """1 - (1 + wt) e^{-wt} with w = 20 rad/s: 0.107 s and 0.194 s, no overshoot; the arm's own motion adds a little."""
    metrics = run("push").metrics
    assert metrics["estimator_t63_s"] == pytest.approx(0.105, abs=0.015)
    assert metrics["estimator_t90_s"] == pytest.approx(0.200, abs=0.03)
    assert metrics["estimator_overshoot"] < 0.05


def test_a_human_mounts_a_tool():
    """Case A: the tool's 1.4 N remain, and the arm sags by 1.4 N over 20 N/m."""
    result = run("handover")
    m, states = result.metrics, set(result.rows["task_state"])
    assert result.fault is None
    assert m["tool_force_final_N"] == pytest.approx(1.40, abs=0.02)
    assert m["sag_m"] == pytest.approx(0.070, abs=0.003)
    assert m["ik_error_max_m"] < 1e-3
    assert m["joint_torque_max_Nm"] < 5.0
    assert m["passivity_audit_min_J"] >= -1e-9
    assert m["tank_min_J"] >= 0.01
    assert {RAISED, MOUNTED, RELEASED} <= states


def test_the_tank_delays_the_gains():
    """Fig. 4, 5: with little energy in it the tank delays the stiffness that the task requests at once."""
    rows = run("handover", "tank.start=0.02 J", "tank.share=0.05").rows
    behind = rows["K_arm_des"][:, 0] - rows["K_arm"][:, 0]
    assert behind.max() > 1.0
    assert rows["E_tank"].min() >= 0.01 - 1e-12
    assert rows["E_audit"].min() >= -1e-9


def contact(seed):
    """Every contact parameter wrong by up to 20 %, the cable by up to 20 mm."""
    rng = np.random.default_rng(seed)
    figures = {
        "mass": 0.5,
        "stiffness": 800,
        "damping_ratio": 0.08,
        "wall_stiffness": 8e3,
        "wall_damping": 60,
        "friction": 0.3,
        "gate_force": 30,
        "gate_friction": 0.2,
    }
    changes = [f"cable.{name}={value * rng.uniform(0.8, 1.2)}" for name, value in figures.items()]
    return [*changes, f"cable.offset={rng.uniform(-0.02, 0.02)}", f"seed={seed}"]


@pytest.mark.parametrize("seed", range(8))
def test_the_diverter_hooks(seed):
    """Case B. The paper has 0.1 m in x without a contact model; here the rise displaces the base in z."""
    result = run("diverter", *contact(seed))
    m, rows = result.metrics, result.rows
    assert result.fault is None
    assert m["hooked"]
    assert rows["latched_true"][-1] == 1, "what the task concludes is true"
    assert rows["task_state"][-1] == INSTALLED
    assert max(m["base_displacement_m"]) <= 0.045
    assert m["joint_torque_max_Nm"] <= 4.0
    assert m["recovery_time_s"] <= 5.0


@pytest.mark.parametrize("offset", [0.035, -0.035])
def test_a_cable_too_far_aside_is_reported_as_failed(offset):
    result = run("diverter", f"cable.offset={offset}")
    assert not result.metrics["hooked"]
    assert result.rows["latched_true"].max() == 0
    assert result.rows["task_state"][-1] == FAILED
    assert result.fault is None


SLOW_FILTER = ("hand.amplitude=20 mm", "force_filter.bandwidth=15")


@pytest.mark.parametrize("stiffness", [600, 1000, 2000, 5000])
def test_stiff_hands_diverge_without_the_guard_and_not_with_it(stiffness):
    bare, guarded = (
        run("hover", *SLOW_FILTER, f"hand.stiffness={stiffness}", f"port_passivity.enabled={flag}").metrics
        for flag in ("false", "true")
    )
    assert bare["diverged"]
    assert bare["hand_stiffness_limit_N_m"] < stiffness
    assert not guarded["diverged"]
    assert guarded["late_force_N"] <= 2.5
    assert guarded["human_port_energy_min_J"] >= -0.2


def test_a_soft_hand_feels_nothing_of_the_guard():
    bare, guarded = (
        run("hover", *SLOW_FILTER, "hand.stiffness=150", f"port_passivity.enabled={flag}").metrics for flag in ("false", "true")
    )
    assert not bare["diverged"]
    assert guarded["late_force_N"] <= 1.05 * bare["late_force_N"]
    assert guarded["added_damping_max_Ns_m"] <= 2.0


LOOPS = [
    ("5 ms", 15, 15, "normal"),
    ("5 ms", 100, 15, "normal"),
    ("1 ms", 15, 15, "normal"),
    ("10 ms", 15, 15, "normal"),
    ("5 ms", 15, 40, "normal"),
    ("2 ms", 40, 15, "normal"),
    ("5 ms", 15, 15, "hooked"),
    ("5 ms", 40, 30, "hooked"),
]


@pytest.mark.parametrize(("period", "bandwidth", "lag", "gains"), LOOPS)
def test_the_computed_limit_of_the_hand_is_that_of_the_simulation(period, bandwidth, lag, gains):
    """15 % below it the loop is stable, 15 % above it diverges: filter, lag, gains and tick varied."""
    figures = {"normal": (1, 10, 5), "hooked": (2, 10, 20)}[gains]
    changes = [
        f"loop.period={period}",
        f"force_filter.bandwidth={bandwidth}",
        f"servo.lag={lag} ms",
        "port_passivity.enabled=false",
        "hand.amplitude=1 mm",
        "loop.duration=60 s",
        "force_filter.bias_samples=0",
        "hand.start=0.5 s",
        *(f"gains.normal.{name}={figure}" for name, figure in zip(("mass", "damping", "stiffness"), figures, strict=True)),
    ]
    _, scenario, _ = job.find("aerial", "hover", [*changes, "hand.stiffness=100"])
    limit = stiffest_hand(loops_of(scenario)["normal sideways"], scenario.hand.damping)
    below, above = (run("hover", *changes, f"hand.stiffness={share * limit}").metrics for share in (0.85, 1.15))
    assert not below["diverged"]
    assert below["late_force_N"] < 1.0
    assert above["diverged"] or above["late_force_N"] > 3.0 * below["late_force_N"]


def test_a_servo_known_by_its_lag_alone_gets_a_warning():
    _, scenario, _ = job.find("aerial", "hover", [])
    assert warning(scenario.servo) == LAG_ONLY


def test_a_late_link_is_felt_but_harmless():
    """50 ms each way: the simulated arm responds later, the human's port is not affected."""
    now, late = (run("handover", f"link.delay={delay} ms") for delay in (0, 50))
    assert late.fault is None
    assert late.metrics["tool_force_final_N"] == pytest.approx(now.metrics["tool_force_final_N"], abs=1e-3)
    assert late.metrics["passivity_audit_min_J"] >= -1e-9
