"""A robot's compliance from a tap test on the plant itself, which is independent of the fitted model."""

import numpy as np
import pytest

from hilt.core.faults import InputError
from hilt.systems.docking.analysis.compliance import MISFIT, fit
from hilt.systems.docking.arm import Arm
from tests.systems.docking.tapped import SURFACE, tapped


@pytest.mark.parametrize(
    ("stiffness", "frequency", "damping_ratio"), [(0.5e6, 12.0, 0.05), (0.3e6, 8.0, 0.02), (1.0e6, 20.0, 0.1)]
)
def test_the_bending_is_found(stiffness, frequency, damping_ratio):
    """Robot and frame each within 1 %, as required of a lab up to 0.5 N/µm, the mode within 0.3 %; here up to 1 N/µm."""
    found = fit(*tapped(stiffness, frequency, damping_ratio))
    assert found.refusal == ""
    assert found.stiffness == pytest.approx(stiffness, rel=0.01)
    assert found.mode_frequency == pytest.approx(frequency, rel=0.003)
    assert found.mode_damping_ratio == pytest.approx(damping_ratio, rel=0.05)
    assert found.contact_stiffness == pytest.approx(176275.0, rel=0.009)
    assert found.surface == pytest.approx(SURFACE, abs=2e-6)
    assert (found.contact_kind, found.contact_damping) == ("linear", 0.0)


def test_the_deviations_are_of_the_size_of_the_errors():
    """0.5 N of noise: each error within four of its deviations, and these no larger than required of a lab."""
    found = fit(*tapped(noise=0.5))
    for name, truth in (("stiffness", 0.5e6), ("mode_frequency", 12.0), ("contact_stiffness", 176275.0)):
        assert abs(getattr(found, name) - truth) < 4.0 * found.deviations[name]
        assert found.deviations[name] < 0.01 * truth


def test_damping_of_the_frame_is_not_taken_for_that_of_the_robot():
    found = fit(*tapped(damping=150.0))
    assert found.contact_damping == pytest.approx(150.0, rel=0.15)
    assert found.mode_damping_ratio == pytest.approx(0.05, rel=0.05)
    assert found.stiffness == pytest.approx(0.5e6, rel=0.01)


def test_a_force_that_is_later_than_assumed_changes_only_its_age():
    t, motor, force, when, noise, series = tapped()
    found = fit(t, motor, force, when + 0.0006, noise, series)
    assert found.lateness == pytest.approx(0.0006, abs=3e-5)
    assert found.stiffness == pytest.approx(0.5e6, rel=0.01)
    assert found.mode_damping_ratio == pytest.approx(0.05, rel=0.05)


def test_a_hertz_frame_is_recognised():
    found = fit(*tapped(kind="hertz"))
    assert found.contact_kind == "hertz"
    assert found.stiffness == pytest.approx(0.5e6, rel=0.01)
    assert found.refusal == ""


def test_a_tip_that_never_leaves_the_frame_shows_nothing():
    with pytest.raises(InputError, match=r"in the air for 0 %.*--amplitude"):
        fit(*tapped(amplitude=0.005e-3))


def test_what_one_mode_does_not_explain_is_refused_with_its_size():
    """A second mode, here a tone of 31 Hz while the tip touches."""
    found = fit(*tapped(force=lambda t, x, f: f * (1.0 + 0.25 * np.sin(2.0 * np.pi * 31.0 * t))))
    assert found.residual_share > MISFIT
    assert f"{100 * found.residual_share:.2g} % of the force" in found.refusal


@pytest.mark.parametrize(("play", "friction"), [(50e-6, 0.0), (0.0, 5.0)])
def test_play_and_dry_friction_in_the_gears_are_refused(play, friction):
    """50 µm of play or 5 N of friction do not act like a spring and damper: a fit of one would be far off."""
    found = fit(*tapped(arm=lambda bending: Arm(bending, None, play, 0.0, friction)))
    assert found.residual_share > MISFIT
    assert "does not explain the tap test" in found.refusal


def test_a_stiff_robot_is_given_no_stiffness():
    found = fit(*tapped(stiffness=1e9, frequency=40.0))
    assert "treat it as rigid" in found.refusal
