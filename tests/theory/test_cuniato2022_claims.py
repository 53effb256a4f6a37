"""Cuniato et al. 2022: what the printed equations give by themselves."""

import pytest

from hilt.systems.aerial.paper.cuniato2022_equations import (
    final_yielding,
    haptic_noise,
    mixer_fits,
    power_errors,
    vector_part_ratio,
)


def test_noise_on_the_displacement():
    """[Cuniato2022, eq. 5]: √6 σ/T² of the second difference alone is 2.45 N at 100 Hz with 1 kg; damping adds little."""
    assert haptic_noise(0.01) == pytest.approx(6**0.5 * 1e-4 / 0.01**2, rel=0.02)
    assert haptic_noise(0.005) == pytest.approx(4.0 * haptic_noise(0.01), rel=0.02)


def test_a_steady_force_moves_the_compliant_frame_with_it():
    """[Cuniato2022, eq. 8]: f/K, 1 N over 5 N/m, to the remainder after 20 s (e^-11)."""
    assert final_yielding() == pytest.approx(0.2, rel=1e-4)


def test_half_the_angle():
    """sin(θ/2)/θ at 0.2 rad is 0.4992."""
    assert vector_part_ratio() == pytest.approx(0.49917, abs=1e-5)


def test_power_needs_the_inverse_transpose():
    printed, right = power_errors()
    assert right < 1e-12
    assert printed > 0.1


def test_the_mixer_is_z_up():
    """[Cuniato2022, eq. 2] with the first rotor on +x, as in hilt; on -x it is z down. The paper does not say which."""
    assert mixer_fits(1.0)
    assert not mixer_fits(-1.0)
    assert mixer_fits(-1.0, -1.0)
    assert not mixer_fits(1.0, -1.0)
