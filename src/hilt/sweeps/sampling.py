"""Random and low-discrepancy draws: points of the unit cube, mapped by the quantile function of each key's distribution.

The same seed, sampler, count and keys give the same values on every machine.
"""

import warnings
from collections.abc import Mapping

import numpy as np

from hilt.core.faults import InputError, shortened
from hilt.sweeps.spec import Drawn

SAMPLERS = ("random", "sobol", "halton", "latin")
_EDGE = 2.0**-53  # the ends of a normal distribution are infinite


def cube(sampler: str, count: int, dimensions: int, seed: int) -> np.ndarray:
    """Return `count` points of the unit cube."""
    from scipy.stats import qmc

    if sampler not in SAMPLERS:
        raise InputError(f"--sampler is {shortened(sampler)!r}; it must be one of {', '.join(SAMPLERS)}; choose one")
    generator = np.random.default_rng(seed)
    if sampler == "random":
        return generator.random((count, dimensions))
    made = {"sobol": qmc.Sobol, "halton": qmc.Halton, "latin": qmc.LatinHypercube}[sampler](d=dimensions, rng=generator)
    with warnings.catch_warnings():  # Sobol points are balanced best at powers of two: docs/maps.md says so
        warnings.simplefilter("ignore", UserWarning)
        return np.asarray(made.random(count), np.float64)


def draw(
    specs: Mapping[str, Drawn], units: Mapping[str, str], count: int, sampler: str, seed: int
) -> tuple[tuple[float, ...], ...]:
    """Return `count` points with a value for each key, in SI."""
    quantiles = [spec.quantiles(key, units[key]) for key, spec in specs.items()]
    shares = np.clip(cube(sampler, count, len(quantiles), seed), _EDGE, 1.0 - _EDGE)
    return tuple(zip(*(quantile(shares[:, n]).tolist() for n, quantile in enumerate(quantiles)), strict=True))
