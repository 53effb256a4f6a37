"""De Stefano et al. 2017: the published numbers, and the laws behind them."""

import numpy as np
import pytest

from hilt.systems.freefloat.freefloat import drift, held_force_position
from hilt.systems.freefloat.paper.destefano2017_runs import (
    controlled_as_printed,
    drift_against_continuous,
    energy_against_continuous,
    power_areas,
)


@pytest.mark.parametrize("T", [0.1, 0.01])
def test_drifts_of_figure_3(simulate, T):
    """[DeStefano2017, fig. 3]: 0.05 m at 32 s and 0.15 m at 50 s for T = 0.1 s, a tenth of it for a tenth of T. The impulses of
    30 and 60 N·s are exact for sin² pulses, so ½ T Δv is exact too."""
    found = simulate("paper", "integrator.kind=euler", f"loop.period={T} s").metrics["drift_m"]
    assert found == pytest.approx([0.5 * T, 1.5 * T], rel=0.0025)


@pytest.mark.parametrize("kind", ["passive", "trapezoid", "momentum"])
@pytest.mark.parametrize("period", ["0.1 s", "0.01 s"])
def test_the_held_controller_is_the_exact_solution(simulate, kind, period):
    assert simulate("paper", f"integrator.kind={kind}", f"loop.period={period}").metrics["position_error_m"] <= 1e-6


@pytest.mark.parametrize("scenario", ["paper", "oos-sim", "wall"])
def test_the_observed_energy_stays_positive_with_the_controller(simulate, scenario):
    """[DeStefano2017, eq. 16, eq. 17]"""
    metrics = simulate(scenario, "integrator.kind=passive").metrics
    assert metrics["e_obs_min_J"] >= -1e-12
    assert metrics["e_obs_uncontrolled_min_J"] < -1e-3


def test_the_uncontrolled_observer_does_not_depend_on_the_controller(simulate):
    """One run shows both: E_obs without the controller is the same in a run with it and in a run without."""
    with_it, without = (simulate("oos-sim", f"integrator.kind={kind}").rows["E_obs_free"] for kind in ("passive", "euler"))
    assert with_it == pytest.approx(without, abs=1e-15)


def test_energy_balance_of_equation_9(simulate):
    """[DeStefano2017, eq. 9]: H(k) = H(k-1) + T v F + ΔH, to rounding of 135 J."""
    rows = simulate("paper", "integrator.kind=euler").rows
    force, v, T, mass = rows["F_Bcm_W"]["f"][:-1, 0], rows["V_WBcm"]["v"][:-1, 0], 0.1, 30.0
    assert np.diff(rows["H"]) == pytest.approx(T * v * force + T**2 * force**2 / (2 * mass), abs=1e-12)


def test_the_energy_estimate_converges(simulate):
    """[DeStefano2017, eq. 12]: ΔE - ΔH of a tick is of order T², so a tenth of T leaves a hundredth."""
    from hilt.systems.freefloat.paper.destefano2017_runs import energy_difference

    sizes = [np.abs(energy_difference(T)[1]).max() for T in (0.1, 0.01, 0.001)]
    assert sizes[0] / sizes[1] == pytest.approx(100, rel=0.02)
    assert sizes[1] / sizes[2] == pytest.approx(100, rel=0.02)


@pytest.mark.parametrize(("kind", "order"), [("euler", 1), ("explicit", 1), ("passive", 2), ("trapezoid", 2)])
def test_order_of_convergence(simulate, kind, order):
    """Position at 40 s, amid the second push, against the continuous solution T/2 earlier: a force that is sampled at the start
    of a tick and held is half a tick late. Corrected for that, rules that are exact for a held force are of second order."""
    from hilt.systems.freefloat.analysis.reference import continuous

    errors = []
    for T in (0.2, 0.1, 0.05):
        result = simulate("paper", f"integrator.kind={kind}", f"loop.period={T} s")
        truth = continuous(result.scenario, np.array([0.0, 40.0 - T / 2]))
        after = result.rows["X_WBcm"]["p"][round(40.0 / T), 0]
        errors.append(abs(after - truth["p"][-1, 0]))
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert orders == pytest.approx([order, order], abs=0.15)


def test_the_exact_solution_of_a_constant_force(simulate):
    """held_force_position against x = F t²/(2m)."""
    result = simulate("paper")
    rows = result.rows.copy()
    rows["F_Bcm_W"]["f"][:] = (3.0, 0, 0)
    t = rows["t"]
    assert held_force_position(rows, 30.0, 0.1)[:, 0] == pytest.approx(3.0 * t**2 / 60, abs=1e-9)
    assert drift(result.rows, result.scenario).max() < 1e-12


def test_held_or_continuous_force_the_conclusion_flips():
    """Euler's half tick ahead and the hold's half tick behind cancel; the controller removes only the first: -½ T Δv."""
    assert drift_against_continuous("euler", 0.1) == pytest.approx([0.0, 0.0], abs=1e-6)
    assert drift_against_continuous("passive", 0.1) == pytest.approx([-0.05, -0.15], abs=1e-6)


def test_figures_4_and_11_by_one_instant():
    """At t_k the controller is closer to the continuous case; half a tick later, and in the printed indices, Euler is."""
    at, later, printed = ([energy_against_continuous(kind, 0.1, s) for kind in ("euler", "passive")] for s in (0.0, 0.5, 1.0))
    assert at == pytest.approx([0.00536, -0.00002], abs=1e-5)
    assert later == pytest.approx([0.00001, -0.00537], abs=1e-5)
    assert printed == pytest.approx([-0.00535, -0.01072], abs=1e-5)


def test_the_velocity_commanded_at_a_tick_is_the_next_one_of_equation_6(simulate):
    """[DeStefano2017, eq. 6]: v(k) = Σ_{j<k} T F(j)/m belongs to t_k as printed; the tick at t_k commands v(k+1)."""
    rows = simulate("paper", "integrator.kind=euler").rows
    printed = np.cumsum(np.r_[0.0, 0.1 * rows["F_Bcm_W"]["f"][:, 0] / 30.0])
    assert rows["v_c"][:, 0] == pytest.approx(printed[1:], abs=1e-12)


def test_the_printed_indices_leave_a_seventh_of_a_millimetre(simulate):
    """[DeStefano2017, eq. 16, eq. 17, eq. 18, eq. 19] without the tick of delay that the shipped passive-literal adds."""
    rows = simulate("paper", "integrator.kind=euler").rows
    x, _ = controlled_as_printed(rows["F_Bcm_W"]["f"][:, 0], 0.1, 30.0)
    assert x[-1] - held_force_position(rows, 30.0, 0.1)[-1, 0] == pytest.approx(-0.14e-3, abs=0.005e-3)


def test_equation_11_is_an_area_and_equation_13_is_not():
    """[DeStefano2017, eq. 11, eq. 13]: under a held force power only rises, and eq. 13 is off by 2 ΔH."""
    power = power_areas()
    assert power.area == pytest.approx(power.by_11, abs=1e-12 * power.made.max())
    assert power.by_13 - power.area == pytest.approx(2.0 * power.made, abs=1e-12 * power.made.max())
    assert power.falling == 0
