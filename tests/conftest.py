"""Shared by all tests: run a shipped scenario with changes."""

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, settings
from numba.core import config
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys

from hilt import job
from hilt.job import Result

# The contract tests count allocations. Asked for here and not by the environment: pytest's own filters import Numba before us.
vars(config)["NRT_STATS"] = 1
rtsys.initialize(cpu_target.target_context)

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
