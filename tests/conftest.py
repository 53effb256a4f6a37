"""Shared by all tests: run a shipped scenario with changes."""

import gc
import os
import signal
from collections.abc import Callable, Iterator

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants
from numba.core import config
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys

from hilt import job
from hilt.host.virtual.machine import VirtualMachine
from hilt.job import Result
from tests.report.layout import fingerprint

gc.disable()  # while the tests are imported: a fifth of that time
# The contract tests count allocations. Set here and not in the environment: pytest's own filters import Numba before us.
vars(config)["NRT_STATS"] = 1
rtsys.initialize(cpu_target.target_context)

settings.register_profile(
    "hilt",
    deadline=None,
    derandomize=True,
    max_examples=15 if vars(config)["DISABLE_JIT"] else 100,  # as plain Python the same laws are shown once more, on a few
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.load_profile("hilt")
# Hypothesis also draws constants from the sources that a process happens to have loaded: which tests ran before in it would
# decide what is drawn. A failure must be reproducible.
providers._get_local_constants = Constants


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.get_closest_marker("long") is None)  # started last, every other worker would wait for them
    for item in items:
        if item.get_closest_marker("root") and os.geteuid() != 0:
            item.add_marker(pytest.mark.skip(reason="only root can become another user"))


def pytest_collection_finish() -> None:
    """What all tests import stays: the garbage collector need not look at it again and again."""
    gc.freeze()
    gc.enable()


def _simulate(name: str, *changes: str) -> Result:
    return job.simulate(*job.find("freefloat", name, list(changes)))


@pytest.fixture
def simulate() -> Callable[..., Result]:
    """`simulate("wall", "robot.delay=2 ms")`: the scenario of freefloat in the compiled loop."""
    return _simulate


@pytest.fixture(autouse=True)
def machine(request: pytest.FixtureRequest) -> Iterator[VirtualMachine | None]:
    """The virtual machine on which a test marked `virtual` runs, with all that it starts; its seed can be given in the marker.
    Whoever wants wall time has none."""
    marker = request.node.get_closest_marker("virtual")
    if marker is None:
        yield None
        return
    with VirtualMachine(**marker.kwargs).running() as machine:
        yield machine
        crashes = machine.crashes
    assert not crashes, crashes[0]


@pytest.fixture
def hangs_up() -> Iterator[None]:
    """SIGHUP has its usual effect, here and in processes started from here: under nohup it would be ignored in all of them."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages with a fingerprint instead of each figure: writing figures costs more than everything else."""
    monkeypatch.setattr("hilt.report.figure.Picture.svg", lambda picture: fingerprint(picture.figure))
