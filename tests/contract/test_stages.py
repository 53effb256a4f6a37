"""What every stage guarantees: it touches what it declares and allocates nothing. A stage is tested by being registered."""

import os

import numpy as np
import pytest
from numba.core.runtime import rtsys

from hilt.core import registry, scenario
from hilt.core.signals import LOOP, leaves, whole
from tests.spoiling import spoil

pytestmark = pytest.mark.bounds

# In the scenario that covers most of a system; with HILT_STAGES=all in every one. The two large systems are not compiled again
# for the bounds checks, which takes minutes; the other two are, but only for them.
SHOWN = {"aerial": ("handover",), "docking": ("oblique", "twin"), "freefloat": ("capture",), "payload": ("hils-2", "bilateral")}
CHECKED = ("docking", "freefloat")
ALL, BOUNDS = os.environ.get("HILT_STAGES") == "all", os.environ.get("NUMBA_BOUNDSCHECK") == "1"


def scenario_of(system_name, name):
    system = registry.system(system_name)
    return scenario.build(system.scenario, scenario.read_toml(system.scenario_files[name]))


CASES = [
    (system_name, key, name)
    for system_name, system in registry.systems().items()
    for name in system.scenario_files
    if ALL or (name in SHOWN.get(system_name, system.scenario_files) and (system_name in CHECKED) == BOUNDS)
    for key in system.kinds(scenario_of(system_name, name))
]


def in_motion(system_name, name):
    """A bench in the middle of a run, so that stages have something to do."""
    system = registry.system(system_name)
    bench = system.set_up(scenario_of(system_name, name))
    bench.code.batch(bench.row, bench.x, bench.w, bench.p, np.zeros(min(bench.ticks // 2, 600), system.row))
    return system, bench


def stage_of(system, name, bench, key):
    kind = system.kinds(scenario_of(system.name, name))[key]
    state = (bench.x if key in bench.x.dtype.names else bench.w)[0][key]
    return kind, state, bench.p[0][key], float(bench.p[0].dt)


def column(row, name):
    """A signal or, `X_WBcm.q`, a part of one."""
    signal, _, part = name.partition(".")
    return row[signal][part] if part else row[signal]


def finite(column):
    if column.dtype.names:
        return all(finite(column[part]) for part in column.dtype.names)
    return bool(np.isfinite(column).all())


@pytest.mark.parametrize(("system_name", "key", "name"), CASES)
def test_a_stage_touches_only_what_it_declares(system_name, key, name):
    system, bench = in_motion(system_name, name)
    kind, x, p, dt = stage_of(system, name, bench, key)
    row = bench.row
    declared = {whole(name) for name in (*kind.reads, *kind.writes)}
    for signal in system.row.names:
        if signal not in declared and signal not in LOOP:
            spoil(row[signal])
    before, params = row.copy(), bench.p.tobytes()
    kind.step(row[0], x, p, dt)
    for signal in kind.writes:
        assert finite(column(row, signal)), f"{kind.name} computed {signal} from something it does not declare"
    for signal in leaves(system.row):
        if signal not in kind.writes and whole(signal) not in kind.writes:
            assert column(row, signal).tobytes() == column(before, signal).tobytes(), f"{kind.name} wrote {signal}"
    assert bench.p.tobytes() == params, f"{kind.name} wrote its parameters"


@pytest.mark.parametrize(("system_name", "key", "name"), sorted({case[:2]: case for case in CASES}.values()))
def test_a_stage_allocates_nothing(system_name, key, name):
    system, bench = in_motion(system_name, name)
    kind, x, p, dt = stage_of(system, name, bench, key)
    counts = []
    for steps in (1, 10, 10_000):
        before = rtsys.get_allocation_stats().alloc
        for _ in range(steps):
            kind.step(bench.row[0], x, p, dt)
        counts.append(rtsys.get_allocation_stats().alloc - before)
    assert counts[1] == counts[2] == 0


def test_the_counter_of_allocations_counts():
    """Otherwise the test above would pass with a counter that does not work."""
    import numba

    @numba.njit
    def allocate():
        return np.zeros(3)

    allocate()
    before = rtsys.get_allocation_stats().alloc
    allocate()
    assert rtsys.get_allocation_stats().alloc > before
