"""Scenarios: settings, sentences, hashes."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from hilt.core import scenario
from hilt.core.faults import InputError
from hilt.systems.freefloat.freefloat import FREEFLOAT, FreeFloat

TREE = scenario.read_toml(FREEFLOAT.scenario_files["paper"])


def build(*settings):
    tree = copy.deepcopy(TREE)
    scenario.apply_settings(tree, settings)
    return scenario.build(FreeFloat, tree)


def test_a_setting_changes_one_value():
    assert build("loop.period=10 ms").loop.period == pytest.approx(0.01)
    assert build("push.1.force=[1, '2 N', 0]").push[1].force == (1.0, 2.0, 0.0)


def test_a_scenario_is_frozen():
    with pytest.raises(ValidationError):
        build().body.mass = 3.0


def test_three_moments_are_a_diagonal_tensor():
    assert build("body.inertia=[3, 4, 5]").body.inertia == ((3, 0, 0), (0, 4, 0), (0, 0, 5))


def test_the_hash_depends_on_values_and_not_on_their_notation():
    assert build().hash() == build("summary='other words'").hash() == build("body.mass=30000 g").hash()
    assert build().hash() != build("body.mass=31 kg").hash()


BAD = {
    "body.mass=-3": "body.mass is -3.0 kg; it must be greater than 0 kg",
    "body.mass=nan": "must be a finite number",
    "body.mass='3 m'": "unit does not fit",
    "body.mas=3": "did you mean body.mass?",
    "wall={stiffness = 1, gap = '3 kg'}": "a quantity in m",
    "body.inertia=[1, 1, 2.5]": "largest may be at most the sum of the others",
    "body.inertia=[[1,0.5,0],[0,1,0],[0,0,1]]": "not symmetric",
    "body.inertia=[1, 1, -1]": "greater than 0",
    "body.attitude=[1, 1, 0, 0]": "length",
    "body.position=[1, 2]": "missing",
    "integrator.kind=rk4": "'euler'",
    "robot.delay=1 min": "delay line holds at most",
    "sensor.delay=1 min": "delay line holds at most",
    "robot.kind=second-order": "raise robot.delay",
    "limits.workspace_min=[200, 0, 0]": "the first must be smaller",
    "seed=-1": "at least 0",
    "loop=3": "a table with keys",
    "loop.period=0": "greater than 0 s",
}


@pytest.mark.parametrize(("setting", "words"), BAD.items())
def test_bad_input_is_one_sentence(setting, words):
    with pytest.raises(InputError) as error:
        build(setting)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("setting", ["loop.period", "=3", "loop..period=3", "push.7.start=1", "seed.x=3"])
def test_a_setting_without_form_is_refused(setting):
    with pytest.raises(InputError):
        build(setting)


@given(st.text(max_size=20), st.text(max_size=20))
def test_any_setting_gives_a_scenario_or_a_sentence(key, value):
    try:
        build(f"{key}={value}")
    except InputError as error:
        assert str(error)


@given(
    st.sampled_from([key for key, _ in scenario.keys(FreeFloat) if "." in key]),
    st.one_of(st.text(max_size=8), st.floats(), st.integers()),
)
def test_any_value_gives_a_scenario_or_a_sentence(key, value):
    try:
        build(f"{key}={value}")
    except InputError as error:
        head, *several = str(error).split("\n")
        assert not several or head.endswith("values are wrong or missing:") or "\n" in str(value)


def test_each_noise_has_its_own_key():
    a = build()
    assert a.noise_key("sensor.noise") != a.noise_key("encoder.noise")
    assert a.noise_key("sensor.noise") != build("seed=2").noise_key("sensor.noise")
