"""What every stage guarantees: it touches what it declares and allocates nothing. A stage is tested by being registered."""

import functools
import os
from dataclasses import replace

import numpy as np
import pytest
from numba.core.runtime import rtsys

from hilt.compiled import plain
from hilt.core import registry, scenario
from hilt.core.signals import LOOP, leaves, whole
from tests.spoiling import spoil

pytestmark = pytest.mark.bounds

# In the scenarios that cover most of a system; with HILT_STAGES=all in every one. With bounds checks only two systems.
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
    if ALL or (name in SHOWN.get(system_name, system.scenario_files) and (system_name in CHECKED or not BOUNDS))
    for key in system.kinds(scenario_of(system_name, name))
]


@functools.cache
def run_of(system_name, name):
    """A bench in the middle of a run, so that stages have something to do: the diagram is Python, its stages are compiled."""
    system = registry.system(system_name)
    bench = system.set_up(scenario_of(system_name, name))
    for k in range(min(bench.ticks // 2, 600)):
        bench.row[0].tick, bench.row[0].t = k, k * bench.p[0].dt
        plain(bench.code.plant)(bench.row, bench.w, bench.p)
        plain(bench.code.tick)(bench.row, bench.x, bench.p)
    return system, bench


def in_motion(system_name, name):
    system, bench = run_of(system_name, name)
    return system, replace(bench, **{part: getattr(bench, part).copy() for part in ("row", "x", "w", "p")})


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
    for steps in (1, 10, 1000):
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
