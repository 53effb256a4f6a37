"""A sweep computes what `hilt run` computes: every metric of random valid scenarios is the same, to the last bit.

A handful of each system; `HILT_SWEEPS=200` asks for more. Scenarios that have the same keys are the points of one axis that
moves all keys in which they differ: what was packed for one of them must not be taken for another.
"""

import contextlib
import math
import os

import numpy as np
import pytest

from hilt import job
from hilt.core import registry
from hilt.core.faults import InputError
from hilt.sweeps import columns
from hilt.sweeps.batch import tree_of
from hilt.sweeps.engines.threads import Threads
from hilt.sweeps.space import Axis, Space
from tests.contract.valid_scenarios import GENERATORS, scenario_of

ASKED = os.environ.get("HILT_SWEEPS")
HANDFUL = {"aerial": 4, "docking": 4, "freefloat": 16, "payload": 4}

pytestmark = pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="too slow without the compiler")


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
    """Spaces with all of them, and the scenarios' numbers in the order of the points."""
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


def alone(system, values):
    """The columns of one run as `hilt run` computes it."""
    result = job.simulate(system, values)
    ends = {"ticks": int(result.rows["tick"][-1]) + 1, "fault": int(result.rows["fault"][-1])}
    return {name: float(value) for name, value in {**columns.flat(system, result.metrics), **ends}.items()}


def same(a, b):
    return a == b or (math.isnan(a) and math.isnan(b))


@pytest.mark.parametrize("name", GENERATORS)
def test_a_sweep_computes_what_a_run_computes(name):
    system, scenarios = registry.system(name), valid(name, int(ASKED or HANDFUL[name]))
    seen, differ, figures = 0, {}, 0
    for space, numbers in spaces(system, scenarios):
        for part, found in Threads(2).run(space, np.array_split(np.arange(space.count), min(2, space.count))):
            for i, point in enumerate(part):
                number = numbers[point]
                wanted = alone(system, scenarios[number])
                for key in {**wanted, **found}:
                    pair = wanted.get(key, math.nan), float(found[key][i]) if key in found else math.nan
                    figures += not math.isnan(pair[0])
                    if not same(*pair):
                        differ[number, key] = pair
                seen += 1
    print(f"{name}: {seen} scenarios, {figures} figures")
    assert differ == {}
    assert seen == len(scenarios)
