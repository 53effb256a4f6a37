"""A sweep computes what `hilt run` computes: every metric of random valid scenarios is the same, to the last bit.

A handful of each system; `HILT_SWEEPS=200` runs more. Scenarios that have the same keys are the points of one axis that moves
all keys in which they differ: what was packed for one of them must not be used for another.
"""

import contextlib
import functools
import math
import os
from dataclasses import replace

import numpy as np
import pytest

from hilt import job
from hilt.core import missing, registry
from hilt.core.faults import InputError
from hilt.sweeps import columns, results, seeds
from hilt.sweeps.batch import tree_of
from hilt.sweeps.engines.threads import Threads
from hilt.sweeps.space import Axis, Space
from tests.contract.valid_scenarios import GENERATORS, scenario_of

ASKED = os.environ.get("HILT_SWEEPS")
HANDFUL = {"aerial": 4, "docking": 4, "freefloat": 16, "payload": 4}

pytestmark = pytest.mark.long


def valid(system, count):
    """The first scenarios of the generator that are valid."""
    found, number = {}, 0
    while len(found) < count:
        with contextlib.suppress(InputError):
            found[number] = scenario_of(system, number)
        number += 1
    return found


def leaves(node, path=""):
    """Every value of a tree with its key; a number in a key is the index of an entry."""
    inside = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    if not inside:
        return {path: node}
    return {key: value for name, each in inside for key, value in leaves(each, f"{path}.{name}" if path else f"{name}").items()}


def spaces(system, scenarios):
    """Return spaces with all of them, and the scenarios' numbers in the order of the points."""
    groups = {}
    for number, values in scenarios.items():
        found = leaves(tree_of(values))
        groups.setdefault(tuple(sorted(found)), []).append((number, found))
    for keys, group in groups.items():
        numbers, points = zip(*group, strict=True)
        moved = tuple(key for key in keys if any(point[key] != points[0][key] for point in points))
        axes = (Axis(moved, tuple(tuple(point[key] for key in moved) for point in points)),) if moved else ()
        base = scenarios[numbers[0]]
        yield Space(system, "random", tree_of(base), base, axes), numbers


@functools.cache
def run_of(name, number):
    """A run as `hilt run` computes it, without its rows except the first and last."""
    result = job.simulate(registry.system(name), scenario_of(name, number))
    return replace(result, rows=result.rows[-1:].copy()), result.verdict


def alone(name, number):
    """Its columns."""
    result, _ = run_of(name, number)
    ends = {"ticks": int(result.rows["tick"][-1]) + 1, "fault": int(result.rows["fault"][-1])}
    return {name: float(value) for name, value in {**columns.flat(result.system, result.metrics), **ends}.items()}


def same(a, b):
    return a == b or (math.isnan(a) and math.isnan(b))


@pytest.mark.parametrize("name", GENERATORS)
def test_a_sweep_computes_what_a_run_computes(name):
    system, scenarios = registry.system(name), valid(name, int(ASKED or HANDFUL[name]))
    seen, differ, metrics = 0, {}, 0
    for space, numbers in spaces(system, scenarios):
        for part, found in Threads(2).run(space, np.array_split(np.arange(space.count), min(2, space.count))):
            for i, point in enumerate(part):
                number = numbers[point]
                wanted = alone(name, number)
                for key in {**wanted, **found}:
                    pair = wanted.get(key, math.nan), float(found[key][i]) if key in found else math.nan
                    metrics += not math.isnan(pair[0])
                    if not same(*pair):
                        differ[number, key] = pair
                seen += 1
    print(f"{name}: {seen} scenarios, {metrics} metrics")
    assert differ == {}
    assert seen == len(scenarios)


@pytest.mark.parametrize("name", GENERATORS)
def test_results_without_rows_are_those_of_runs(name):
    """What `--seeds` averages: metrics with their reasons, ledgers, faults and verdicts, to the last bit."""
    system, scenarios, seen = registry.system(name), valid(name, int(ASKED or HANDFUL[name])), 0
    for space, numbers in spaces(system, scenarios):
        for number, found in zip(numbers, results.run(space, 2), strict=True):
            wanted, verdict = run_of(name, number)
            for part in ("metrics", "ledger", "fault"):
                assert repr(getattr(found, part)) == repr(getattr(wanted, part)), (number, part)
            assert missing.reasons(found.metrics) == missing.reasons(wanted.metrics)
            assert repr(found.verdict) == repr(verdict)
            assert len(found.rows) == 2
            seen += 1
    assert seen == len(scenarios)


@pytest.mark.parametrize(
    ("name", "settings", "count"),
    [("docking", ["sensor.noise=0.5 N"], 300), ("freefloat", ["sensor.noise=0.5 N", "loop.duration=0.5 s"], 3)],
)
def test_many_seeds_are_runs_one_after_the_other(name, settings, count):
    """More runs of docking than are started together, of which the first and some others are compared."""
    system, values, scenario = job.find(name, None, settings)
    space = Space(system, scenario, tree_of(values), values, (Axis(("seed",), tuple((seed,) for seed in range(count))),))
    found = list(results.run(space, 2))
    assert [each.scenario.seed for each in found] == list(range(count))
    for seed in {0, 1, count // 2, count - 1}:
        wanted = job.simulate(system, values.model_copy(update={"seed": seed}), scenario)
        assert repr(found[seed].metrics) == repr(wanted.metrics)
        assert found[seed].ledger == wanted.ledger
    summary = seeds.run(system, values.model_copy(update={"seed": 0}), scenario, count)
    key = next(each for each in ("mean_cof", "energy_made") if each in summary.mean)
    assert summary.mean[key] == np.mean([each.metrics[key] for each in found])
