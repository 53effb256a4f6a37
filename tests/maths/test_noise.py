"""The generator: the same numbers for the same key, and the moments of a normal distribution."""

import numpy as np
import pytest

from hilt.maths import noise


def draw(key, count):
    state = np.zeros(1, noise.NOISE).view(np.recarray)[0]
    state.key = key
    return np.array([noise.normal_vector(state) for _ in range(count)]).ravel()


def test_same_key_same_numbers():
    assert (draw(noise.key_of(1, "a"), 50) == draw(noise.key_of(1, "a"), 50)).all()
    assert (draw(noise.key_of(1, "a"), 50) != draw(noise.key_of(2, "a"), 50)).all()


def test_moments_of_a_normal_distribution():
    """Five standard errors of each moment for n = 30,000: a wrong scale or shape fails, chance does not (p < 1e-6)."""
    x = draw(noise.key_of(7, "moments"), 10_000)
    n = len(x)
    assert abs(x.mean()) < 5 / np.sqrt(n)
    assert x.var() == pytest.approx(1.0, abs=5 * np.sqrt(2 / n))
    assert (x**3).mean() == pytest.approx(0.0, abs=5 * np.sqrt(15 / n))
    assert (x**4).mean() == pytest.approx(3.0, abs=5 * np.sqrt(96 / n))


def test_successive_numbers_are_not_correlated():
    x = draw(noise.key_of(3, "lags"), 10_000)
    for lag in (1, 2, 3, 6):
        assert abs(np.corrcoef(x[:-lag], x[lag:])[0, 1]) < 5 / np.sqrt(len(x))


def test_numbers_agree_with_an_independent_generator():
    """SplitMix64 in plain integers, as published, gives the same uniform numbers."""
    key, mask = noise.key_of(5, "peer"), 2**64 - 1
    state = np.zeros(1, noise.NOISE).view(np.recarray)[0]
    state.key = key
    for counter in range(1, 100):
        z = (key + counter * 0x9E3779B97F4A7C15) & mask
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        z ^= z >> 31
        assert noise.uniform(state) == ((z >> 11) + 1) / 2**53
