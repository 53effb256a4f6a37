"""Live values: they start at the scenario's, stay within their bounds, and change in a linear ramp."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hilt import job
from hilt.core import registry
from hilt.core.tuning import LONGEST, RepeatedChanges, Tuning, knobs

SYSTEMS = {name: job.find(name, None, []) for name in registry.names("systems")}
SCENARIOS = [(name, scenario) for name, (system, _, _) in SYSTEMS.items() for scenario in system.scenario_files]


@pytest.fixture
def tuning():
    system, values, _ = SYSTEMS["docking"]
    return Tuning(knobs(system, values, system.set_up(values)), values.loop.period)


@pytest.mark.parametrize(("name", "scenario"), SCENARIOS)
def test_a_knob_has_the_scenarios_value_and_changes_the_loops_own_number(name, scenario):
    system, values, _ = job.find(name, scenario, [])
    bench = system.set_up(values)
    found = knobs(system, values, bench)
    assert {f"limits.{each}" for each in ("force", "speed", "energy")} <= set(found)
    for key, knob in found.items():
        given_value = values
        for part in key.split("."):
            given_value = given_value[int(part)] if part.isdigit() else getattr(given_value, part)
        assert knob.value == given_value, key
        assert knob.low <= knob.value <= knob.high, key
        before = bench.p.tobytes()
        for place in knob.places:
            place[...] = knob.value + 1.0
        assert bench.p.tobytes() != before, f"{key} must be the bench's own memory, not a copy"
        assert knob.unit, key
        assert knob.meaning, key


def test_on_devices_the_simulated_world_has_no_knobs():
    system, values, _ = SYSTEMS["docking"]
    bench = system.set_up(values)
    assert "contact.stiffness" in knobs(system, values, bench)
    assert not any(key.startswith("contact.") for key in knobs(system, values, bench, on_devices=True))


def test_a_limit_can_be_lowered_and_never_raised(tuning):
    knob = tuning.knobs["limits.speed"]
    limit = knob.value
    assert not tuning.ask(0, "limits.speed", 1.001 * limit, 0.0)[0]
    assert tuning.ask(0, "limits.speed", 0.5 * limit, 0.0)[0]
    tuning.step(0)
    assert knob.value == 0.5 * limit
    assert tuning.ask(1, "limits.speed", limit, 0.0)[0], "back to what the scenario allows"


@given(end=st.floats(1.0, 1e6), ramp=st.floats(0.0, 2.0))
def test_a_ramp_is_straight_and_ends_exactly(end, ramp):
    system, values, _ = SYSTEMS["docking"]
    period = values.loop.period
    tuning = Tuning(knobs(system, values, system.set_up(values)), period)
    knob = tuning.knobs["contact.stiffness"]
    begin = knob.value
    assert tuning.ask(7, "contact.stiffness", end, ramp)[0]
    path = []
    for tick in range(7, 7 + round(2.5 / period)):
        tuning.step(tick)
        path.append(knob.value)
    ticks = max(1, round(max(ramp, knob.ramp) / period))
    assert path[ticks - 1] == end, "after the ramp, to the last bit"
    assert path[-1] == end
    steps = np.diff([begin, *path[:ticks]])
    assert np.allclose(steps, (end - begin) / ticks, rtol=0, atol=1e-9 * (abs(begin) + abs(end)))


def test_a_new_change_starts_from_where_the_old_one_is(tuning):
    knob = tuning.knobs["contact.stiffness"]
    tuning.ask(0, "contact.stiffness", 1e5, 1.0)
    for tick in range(100):
        tuning.step(tick)
    here = knob.value
    tuning.ask(100, "contact.stiffness", 2e5, 1.0)
    tuning.step(100)
    assert abs(knob.value - here) < 1.1 * abs(2e5 - here) * 1e-3


def test_what_is_refused_changes_nothing(tuning):
    before = {key: knob.value for key, knob in tuning.knobs.items()}
    for key, value, ramp in (
        ("no.such.key", 1.0, 0.0),
        ("contact.stiffness", 0.0, 0.0),
        ("contact.stiffness", -1.0, 0.0),
        ("contact.damping", -1e-12, 0.0),
        ("contact.stiffness", 1e5, 2 * LONGEST),
    ):
        accepted, sentence = tuning.ask(0, key, value, ramp)
        assert not accepted
        assert key in sentence or "ramp" in sentence
    tuning.step(0)
    assert before == {key: knob.value for key, knob in tuning.knobs.items()}
    assert tuning.changes == []


def test_changes_are_made_again_in_the_same_ticks():
    system, values, _ = SYSTEMS["docking"]
    asked = [(3, "contact.stiffness", 1e5, 0.2), (50, "contact.damping", 40.0, 0.0), (90, "contact.stiffness", 2e5, 0.0)]
    paths = []
    tunings = [Tuning(knobs(system, values, system.set_up(values)), values.loop.period) for _ in range(2)]
    row = np.zeros(1, system.row)
    again = RepeatedChanges(tunings[1], [dict(zip(("tick", "key", "value", "ramp"), each, strict=True)) for each in asked])
    for tick in range(400):
        for change in asked:
            if change[0] == tick:
                tunings[0].ask(*change)
        tunings[0].step(tick)
        row["tick"] = tick
        again.look(row)
        paths.append([tuple(knob.value for knob in each.knobs.values()) for each in tunings])
    assert all(one == two for one, two in paths)
    assert tunings[0].changes == tunings[1].changes
