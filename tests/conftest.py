"""Shared by all tests: run a shipped scenario with changes."""

import os

os.environ.setdefault("NUMBA_NRT_STATS", "1")  # read when Numba is imported: the contract tests count allocations

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, settings
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys

from hilt import job
from hilt.job import Result

rtsys.initialize(cpu_target.target_context)  # else nobody counts where all code comes out of the cache

settings.register_profile(
    "hilt", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
settings.load_profile("hilt")


def _simulate(name: str, *changes: str) -> Result:
    return job.simulate(*job.find("freefloat", name, list(changes)))


@pytest.fixture
def simulate() -> Callable[..., Result]:
    """`simulate("wall", "robot.delay=2 ms")`: the scenario of freefloat in the compiled loop."""
    return _simulate
