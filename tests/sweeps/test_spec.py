"""Texts of axes: what they mean, and the sentence for each invalid one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hilt import job
from hilt.core.faults import InputError
from hilt.core.units import to_si
from hilt.sweeps import making, sampling, spec
from hilt.sweeps.making import Request, over_of


def space(*over, system="docking", scenario=None, settings=(), **rest):
    return making.find(system, scenario, list(settings), Request(over_of(over), **rest))


def points(*over, **rest):
    (axis,) = space(*over, **rest).axes
    return [point[0] if len(point) == 1 else point for point in axis.points]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("robot.delay=2..40 ms:39", [to_si(f"{n} ms", "s") for n in range(2, 41)]),
        ("robot.delay=2ms..40ms:39", [to_si(f"{n} ms", "s") for n in range(2, 41)]),
        ("robot.delay=500 us..1.5 ms:3", [0.0005, 0.001, 0.0015]),
        ("robot.delay=0.1..0.5 ms:5", [to_si(f"0.{n} ms", "s") for n in range(1, 6)]),
        ("robot.delay=0.002..0.004:3", [0.002, 0.003, 0.004]),
        ("robot.delay=1,2,5 ms", [0.001, 0.002, 0.005]),
        ("robot.delay=1 ms, 0.2 cs, 0.005 s", [0.001, 0.002, 0.005]),
        ("contact.stiffness=10..1000 N/mm:3 log", [1e4, 1e5, 1e6]),
        ("compensate.method=none,pida,twin", ["none", "pida", "twin"]),
        ("collisions=1..3:3", [1, 2, 3]),
        ("belief.robot.delay=1..3 ms:3", [0.001, 0.002, 0.003]),
    ],
)
def test_a_text_means_these_values(text, values):
    found = points(text)
    assert found == values
    assert [type(each) for each in found] == [type(each) for each in values]


def test_entries_of_lists_are_keys():
    assert points("body.velocity.0=1..3 mm/s:3", system="freefloat", scenario="capture") == [0.001, 0.002, 0.003]


@given(
    st.floats(1e-3, 400).map(lambda x: float(f"{x:.6g}")),
    st.sampled_from([("ms", "s"), ("N/mm", "N/m"), ("mm", "m"), ("deg", "rad"), ("%", "1"), ("g", "kg")]),
)
def test_a_value_on_an_axis_is_what_set_makes_of_it(number, units):
    given_unit, si = units
    text = f"{number!r}..{2 * number!r} {given_unit}:2"
    assert spec.read("key", text).values("key", si)[0] == to_si(f"{number!r} {given_unit}", si)


def test_seeds_start_at_the_scenarios_and_vary_fastest():
    found = space("robot.delay=2..3 ms:2", seeds=3, settings=["seed=7"])
    assert found.columns(np.arange(6))["seed"].tolist() == [7, 8, 9, 7, 8, 9]
    assert found.scenario(4).seed == 8


@pytest.mark.parametrize("sampler", sampling.SAMPLERS)
def test_joint_draws_follow_their_distributions_and_are_reproducible(sampler):
    over = ("contact.stiffness=normal(176,9) N/mm", "robot.delay=loguniform(1,100) ms", "contact.damping=uniform(1,3) N*s/m")
    found = points(*over, draws=512, sampler=sampler)
    assert found == points(*over, draws=512, sampler=sampler)
    assert found != points(*over, draws=512, sampler=sampler, draw_seed=2)
    stiffness, delay, damping = np.array(found).T
    # The means of 512 draws: within five standard errors.
    assert stiffness.mean() == pytest.approx(176e3, abs=5 * 9e3 / 512**0.5)
    assert np.log10(delay).mean() == pytest.approx(-2, abs=5 * 2 / 12**0.5 / 512**0.5)
    assert damping.mean() == pytest.approx(2, abs=5 * 2 / 12**0.5 / 512**0.5)
    assert (delay.min(), delay.max()) > (0.001, 0.09)
    assert abs(np.corrcoef(stiffness, damping)[0, 1]) < 5 / 512**0.5


def test_low_discrepancy_draws_fill_a_range_more_evenly_than_random_ones():
    def holes(sampler):
        return np.diff(np.sort(points("robot.delay=uniform(0,1) ms", draws=256, sampler=sampler))).max()

    assert all(holes(sampler) < 0.5 * holes("random") for sampler in ("sobol", "latin"))


def test_draws_with_a_count_are_separate_axes():
    found = space("contact.stiffness=normal(176,9) N/mm:4", "robot.delay=uniform(1,2) ms:3")
    assert found.shape == (4, 3)
    assert all(axis.drawn for axis in found.axes)
    first, second = (axis.column(axis.keys[0]) for axis in found.axes)
    assert np.corrcoef(first[:3], second)[0, 1] < 0.9999  # not one stream for both


@pytest.mark.parametrize(
    ("over", "labels"),
    [
        ("robot.delay=10 ms,20 ms", ["10 ms", "20 ms"]),
        ("robot.delay=10, 20 ms", ["10 ms", "20 ms"]),
        ("robot.delay=0.01,0.02", ["0.01", "0.02"]),
        ("robot.delay=10..20 ms:2", ["10 ms", "20 ms"]),
        ("contact.stiffness=10000 N/m, 20 N/mm", ["10000 N/m", "20 N/mm"]),
        ("compensate.method=none,pida", ["none", "pida"]),
        ("collisions=1..3:3", ["1", "2", "3"]),
    ],
)
def test_a_comparison_is_a_sweep_over_one_axis_with_the_scenarios_that_set_gives(over, labels):
    found = making.choices("docking", "table1", ["loop.duration=9 s"], over)
    assert list(found) == labels
    key = over.partition("=")[0]
    for label, each in found.items():
        assert each == job.find("docking", "table1", ["loop.duration=9 s", f"{key}={label}"])


def test_a_scenario_that_lacks_what_the_axes_give_is_complete(tmp_path):
    text = "\n".join(line for line in _shipped("freefloat", "paper").splitlines() if not line.startswith("mass"))
    (tmp_path / "mine.toml").write_text(text)
    found = space("body.mass=1..3 kg:3", system=str(tmp_path / "mine.toml"))
    assert [found.scenario(n).body.mass for n in range(3)] == [1.0, 2.0, 3.0]


def _shipped(system, name):
    from hilt.core import registry

    return registry.system(system).scenario_files[name].read_text()


@pytest.mark.parametrize(
    ("over", "rest", "words"),
    [
        (["robot.dela=1..2 ms:3"], {}, "robot.dela is not a key of this scenario; did you mean robot.delay?"),
        (["system=docking,payload"], {}, "system is not a key"),
        (["robot=1,2"], {}, "robot is a table; vary one of its keys"),
        (["robot.delay=1..2 kg:3"], {}, "its unit does not fit; it must be a quantity in s"),
        (["robot.delay=1,2 kg"], {}, "robot.delay is '1 kg'; its unit does not fit"),
        (["robot.delay=uniform(1,2) kg:3"], {}, "its unit does not fit"),
        (["robot.delay=1..2 furlongs:3"], {}, "robot.delay"),
        (["collisions=1..3 ms:3"], {}, "collisions has none; leave it out"),
        (["collisions=1..3:4"], {}, "collisions is 1.66"),
        (["robot.delay=4..2 ms:3"], {}, "is empty: 4 is not below 2 ms"),
        (["robot.delay=2..2 ms:3"], {}, "is empty"),
        (["robot.delay=1..2 ms:0"], {}, "has no values"),
        (["robot.delay=1..2 ms"], {}, "does not say how many values; add a count, such as 1..2 ms:20"),
        (["contact.stiffness=0..2 N/mm:3 log"], {}, "goes through zero: a logarithmic range needs both ends above 0"),
        (["contact.stiffness=-1..2 N/mm:3 log"], {}, "its lower end is -1 N/mm"),
        (["contact.stiffness=loguniform(0,2) N/mm:3"], {}, "needs two ends above 0"),
        (["contact.stiffness=normal(1,0) N/mm:3"], {}, "has no spread"),
        (["contact.stiffness=uniform(2,1) N/mm:3"], {}, "is empty"),
        (["contact.stiffness=beta(2,1) N/mm:3"], {}, "beta is not a distribution; choose one of normal, uniform, loguniform"),
        (["contact.stiffness=normal(1,9) N/mm:50"], {}, "(drawn from normal(1,9) N/mm:50"),
        (["contact.stiffness=normal(176,9) N/mm"], {}, "does not say how many draws"),
        (["robot.delay=1..2 ms:3"], {"draws": 4}, "--draws is 4, and no key is drawn"),
        (["contact.stiffness=normal(176,9) N/mm"], {"draws": 4, "sampler": "dice"}, "--sampler is 'dice'"),
        (["contact.stiffness=normal(176,9) N/mm"], {"draws": 0}, "--draws is 0"),
        (["contact.stiffness=-3..3 N/mm:3"], {}, "contact.stiffness is -3000.0 N/m; it must be greater than 0 N/m"),
        (["compensate.method=none,magic"], {}, "compensate.method is 'magic'; it must be one of"),
        (["robot.delay=1,1 ms"], {}, "robot.delay has the value 0.001 twice"),
        (["robot.delay=1,,2 ms"], {}, "has an empty value"),
        (["robot.delay=nan,1"], {}, "it must be a finite number"),
        (["body.velocity=[1,2,3],[4,5,6]"], {"system": "freefloat"}, "vary its entries one by one"),
        (["robot.delay=1..2 ms:3", "robot.delay=1..2 ms:3"], {}, "robot.delay is given twice"),
        (["loop.period=0.1..1 ms:9", "robot.delay=2..100 ms:9"], {}, "at loop.period = 0.0001 s the delay line holds at most"),
        (["seed=1..3:3"], {"seeds": 2}, "seed is given twice"),
        (["robot.delay=1..2 ms:3"], {"seeds": 0}, "--seeds is 0"),
        (["robot.delay"], {}, "is not KEY=VALUES"),
        (["robot.delay="], {}, "is not KEY=VALUES"),
        (["robot.delay=a..b"], {}, "is not understood"),
        (["robot.delay=" + "1," * 20000 + "1"], {}, "characters of values"),
    ],
)
def test_a_bad_axis_is_one_sentence(over, rest, words):
    with pytest.raises(InputError) as error:
        space(*over, **rest)
    said = str(error.value)
    assert words in said
    assert "\n" not in said
    assert len(said) < 500


@pytest.mark.parametrize(
    "over",
    [
        ["robot.delay=1..2 ms:1000000000000"],
        ["robot.delay=1..2 ms:1000000", "contact.stiffness=normal(176,9) N/mm:1000000"],
        ["robot.delay=1..2 ms:10000", "contact.stiffness=1..2 N/mm:10000", "contact.damping=1..2 N*s/m:10000"],
    ],
)
def test_a_grid_of_a_million_millions_is_refused_before_it_exists(over):
    with pytest.raises(InputError, match=r"1e\+12 scenarios: at most .* years and .* TB of disk; the limits are"):
        space(*over)
