"""Gathered parameters are those of a scenario that was set up by itself, to the last byte; every read of a key is detected."""

import numpy as np
import pytest

from hilt.core.counter import Counter, References
from hilt.core.faults import InputError
from hilt.core.signals import record
from hilt.sweeps.engines.plain import Plain
from hilt.sweeps.engines.threads import Threads
from hilt.sweeps.memo import Memo
from hilt.sweeps.packing import Packing
from hilt.sweeps.tracing import Trace
from tests.sweeps.spaces import AXES, space

NOTHING = Counter(
    record(), record(), record(), lambda s: 1, lambda q, s: None, lambda *_: None, lambda *_: None, (), lambda *_: {}
)


def some(count: int, most: int, seed: int = 1) -> np.ndarray:
    return np.sort(np.random.default_rng(seed).choice(most, min(count, most), replace=False))


@pytest.mark.parametrize("name", AXES)
def test_gathered_parameters_are_those_of_a_scenario_alone(name):
    tried = space(name)
    packing = Packing(tried, NOTHING)
    numbers = some(40 if name == "docking" else 8, tried.count)
    seen = 0
    for part in np.array_split(numbers, 3):  # what was learnt from the first chunks must hold for the later ones
        for group in packing.pack(part):
            group.complete()
            for i, number in enumerate(part[group.at]):
                bench = tried.system.set_up(tried.scenario(int(number)))
                assert group.diagram.code is bench.code
                for field in bench.p.dtype.names:
                    assert group.p[i : i + 1][field].tobytes() == bench.p[field].tobytes(), (field, tried.settings(int(number)))
                assert group.ticks[i] == bench.ticks
                seen += 1
    assert seen == len(numbers)


def test_what_is_learnt_from_a_later_chunk_keeps_the_parts_of_the_earlier_ones(monkeypatch):
    """A block that reads a key only in some scenarios, and results that are evicted because there are many."""
    monkeypatch.setattr("hilt.sweeps.memo.MOST", 3)
    monkeypatch.setattr("hilt.sweeps.packing.MOST", 3)
    axes = {"detect.threshold": [1.0, None], "sensor.noise": [0.2, 0.5, 0.7], "robot.delay": [0.01, 0.02], "seed": [1, 2, 3]}
    tried = space("docking", None, axes)
    packing = Packing(tried, NOTHING)
    for numbers in np.arange(tried.count).reshape(-1, 6)[[0, 3, 1, 5, 0, 2, 4, 3]]:  # a given threshold needs no noise
        for group in packing.pack(numbers):
            group.complete()
            for i, number in enumerate(numbers[group.at]):
                alone = tried.system.set_up(tried.scenario(int(number))).p
                assert all(group.p[i : i + 1][name].tobytes() == alone[name].tobytes() for name in alone.dtype.names)


def test_a_function_is_computed_once_for_all_scenarios_that_agree_in_what_it_reads():
    tried = space("docking")
    calls = []
    trace = Trace(tried.scenario(0), tried.keys)

    def stiff(scenario):
        calls.append(scenario.contact.stiffness)
        return scenario.robot.delay if scenario.contact.stiffness > 1e5 else 0.0

    memo = Memo(tried, stiff, trace)
    places = tried.places(np.arange(tried.count))
    found = memo.column(places, float)
    values = tried.columns(np.arange(tried.count))
    assert np.array_equal(found, np.where(values["contact.stiffness"] > 1e5, values["robot.delay"], 0.0))
    assert [tried.axes[a].keys[0] for a in memo.axes] == ["robot.delay", "contact.stiffness"]
    assert len(calls) <= 3 + 3 * 2  # some to find out what it reads, then each pair, out of 1152 scenarios


def test_copies_and_beliefs_are_followed():
    tried = space("docking")
    trace = Trace(tried.scenario(0), tried.keys)

    def read_by(function):
        trace.read.clear()
        memo = Memo(tried, function, trace)
        memo.of(tried.places(np.arange(tried.count)))
        return {tried.axes[a].keys[0] for a in memo.axes}

    assert read_by(lambda s: s.robot.kind) == set()
    assert read_by(lambda s: s.model_copy(update={"seed": 1}).seed) == set()  # another value has taken its place
    assert read_by(lambda s: s.model_copy(update={"collisions": 1}).seed) == {"seed"}
    assert read_by(lambda s: s.robot.model_copy(update={"delay": 0.0}).delay) == set()
    assert read_by(lambda s: s.robot.model_copy().delay) == {"robot.delay"}
    assert read_by(lambda s: hash(s.contact) and 0) == {"contact.stiffness"}
    assert read_by(lambda s: s.contact) == {"contact.stiffness"}  # the section may be read later
    assert read_by(lambda s: s.believed.sensor.noise) >= {"sensor.noise"}
    assert "belief.robot.delay" in read_by(lambda s: s.believed.robot.delay)


def test_values_that_do_not_fit_together_are_refused_as_by_a_run():
    tried = space("docking", None, {"robot.delay": [0.02, 0.04], "sensor.delay": [0.0, 0.03]})
    with pytest.raises(InputError, match=r"robot\.delay is 0\.02 s in total"):
        Packing(tried, NOTHING).pack(np.arange(tried.count))
    assert len(Packing(tried, NOTHING).pack(np.array([0, 2, 3]))[0].at) == 3


@pytest.mark.parametrize("name", AXES)
def test_threads_compute_what_a_run_computes(name):
    tried = space(name)
    numbers = some(36 if name == "docking" else 4, tried.count, seed=2)
    _, alone = next(iter(Plain().run(tried, [numbers])))
    parts = list(Threads(2).run(tried, np.array_split(numbers, 3)))
    assert np.array_equal(np.concatenate([part for part, _ in parts]), numbers)
    for key, column in alone.items():
        together = np.concatenate([found.get(key, np.full(len(part), np.nan)).astype(float) for part, found in parts])
        np.testing.assert_array_equal(together, column.astype(float), err_msg=key)


def test_any_order_and_any_number_of_workers_give_the_same_bytes():
    tried = space("docking")
    numbers = some(48, tried.count, seed=3)
    mixed = np.random.default_rng(4).permutation(numbers)

    def table(workers, chunks):
        found = {}
        for part, columns in Threads(workers).run(tried, chunks):
            for i, number in enumerate(part):
                found[int(number)] = {key: values[i].tobytes() for key, values in columns.items() if values[i] == values[i]}
        return found

    once = table(1, [numbers])
    assert once == table(2, np.array_split(mixed, 5)) == table(2, [mixed])
    assert list(References([1.0, 2.0], np.array([1, 0])).column(float)) == [2.0, 1.0]
