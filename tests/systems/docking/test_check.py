"""Each sentence of `hilt check` names a number: on one side of it the run meets its goal, on the other it does not.

The tutorial's facility: 12 kg against 60 kg at 8 mm/s and 35 N/mm. Every law is compared with a run of the same scenario.
"""

import math
import re

import pytest

from hilt import job
from hilt.analysis.check import check, si, summary

FACILITY = ("servicer.mass=12 kg", "target.mass=60 kg", "approach.speed=8 mm/s", "contact.stiffness=35 N/mm")
OMEGA = math.sqrt(35e3 / 10.0)
PEAK = 8e-3 * math.sqrt(35e3 * 10.0)
QUICK = "robot.delay=2 ms"
TWIN = "compensate.method=twin"


def found(*changes):
    return job.find("docking", "table1", [*FACILITY, *changes])


def remark(about, *changes, key=None):
    system, values, _ = found(*changes)
    return next(each for each in check(system, values) if each.about == about and key in (None, each.key))


def kinds(*changes, seeds=(1,)):
    return {job.simulate(*found(*changes, f"seed={seed}")).verdict.kind for seed in seeds}


def both_sides(about, key, low, high, *changes, fails=("missed", "stopped", "diverged")):
    """The value `low` passes check and run, `high` neither; the sentence names a number between them."""
    good, bad = remark(about, *changes, f"{key}={low}", key=key), remark(about, *changes, f"{key}={high}", key=key)
    assert good.fine
    assert not bad.fine
    assert re.search("is needed|it must be above", bad.sentence)
    assert kinds(*changes, f"{key}={low}") == {"met"}
    assert kinds(*changes, f"{key}={high}") <= set(fails)
    return good, bad


def test_the_tutorials_facility():
    system, values, _ = found("robot.delay=14 ms", "sensor.noise=0.8 N")
    remarks = check(system, values)
    wrong = [each for each in remarks if not each.fine]
    assert [each.about for each in wrong] == ["detection", "delay"] == [each.about for each in remarks[:2]]
    assert wrong[0].sentence == (
        "Ideal peak 4.73 N is below the detection threshold of 6.4 N (8 σ of sensor.noise): noise below 0.0444 N is needed."
    )
    assert "delay below 5.35 ms or compensate.method = 'twin' is needed" in wrong[1].sentence
    assert summary(remarks) == "This scenario cannot meet its goal: 2 of 9 checks failed."
    assert kinds("robot.delay=14 ms", "sensor.noise=0.8 N") == {"missed"}


@pytest.mark.parametrize("changes", [("robot.delay=14 ms", TWIN), (QUICK,)], ids=["as advised", "pida"])
def test_noise_that_is_tolerated(changes):
    needed = remark("detection", *changes, "sensor.noise=0.8 N").needed
    system, values, _ = found(*changes, f"sensor.noise={0.9 * needed}")
    assert all(each.fine for each in check(system, values))
    for factor, kind in ((0.9, "met"), (2.0, "missed")):
        assert kinds(*changes, f"sensor.noise={factor * needed}", seeds=range(1, 6)) == {kind}


@pytest.mark.parametrize("ratio", [0.2, 0.5, 0.9])
def test_force_below_the_threshold_raises_the_peak_by_its_energy(ratio):
    """√(1 + r²), r = threshold over ideal peak; the twin without noise, in real time."""
    threshold = f"detect.threshold={ratio * PEAK}"
    result = job.simulate(*found(TWIN, "compensate.mode=realtime", "robot.delay=0.5 ms", "loop.period=0.1 ms", threshold))
    assert result.metrics["cof"][0] == pytest.approx(math.hypot(1.0, ratio), rel=0.03)


@pytest.mark.parametrize(
    ("method", "law"),
    [
        ("none", lambda wt: ("cov", math.exp(0.5 * math.pi * wt))),
        ("dac", lambda wt: ("cof", math.exp(0.25 * math.pi * wt))),
        ("pida", lambda wt: ("cof", 1.0 + 0.5 * wt * wt)),
    ],
)
@pytest.mark.parametrize("wt", [0.1, 0.2, 0.3])
def test_laws_of_the_delay(method, law, wt):
    name, wanted = law(wt)
    result = job.simulate(*found(f"compensate.method={method}", f"robot.delay={wt / OMEGA}", "loop.period=0.1 ms"))
    assert result.metrics[name][0] == pytest.approx(wanted, abs=0.02 * wanted)


IN_REAL_TIME = (TWIN, "compensate.mode=realtime")
LATE = [((f"compensate.method={method}", "loop.period=0.1 ms"), 20, 0.85, 1.25) for method in ("none", "pic", "dac", "pida")]


@pytest.mark.parametrize(("changes", "late", "low", "high"), [*LATE, (IN_REAL_TIME, 30, 0.9, 1.2), ((TWIN,), 14, 0.95, 1.2)])
def test_delay(changes, late, low, high):
    bad = remark("delay", *changes, f"robot.delay={late} ms")
    assert ("compensate.mode = 'guarded'" in bad.sentence) == (changes == IN_REAL_TIME)
    both_sides("delay", "robot.delay", low * bad.needed, high * bad.needed, *changes)


@pytest.mark.parametrize(("method", "fails_at"), [("none", 0.75), ("pida", 0.7), ("twin", 0.75)])
def test_period(method, fails_at):
    changes = (f"compensate.method={method}", "robot.kind=ideal", "robot.delay=0 s")
    needed = remark("period", *changes).needed
    both_sides("period", "loop.period", needed, needed / fails_at, *changes)


@pytest.mark.parametrize(
    ("about", "key", "needed", "too_little", "changes"),
    [
        ("force", "limits.force", 1.05 * PEAK, 0.9, (QUICK,)),
        ("speed", "limits.speed", 8e-3, 0.9, (QUICK,)),
        ("acceleration", "limits.acceleration", 1.05 * 8e-3 * OMEGA, 0.9, (QUICK,)),
        ("energy", "limits.energy", 0.5 * 12.0 * 8e-3**2, 0.9, (QUICK,)),
        ("sensor range", "sensor.saturation", PEAK, 0.9, (QUICK,)),
        ("speed", "robot.speed_limit", 8e-3, 0.9, (QUICK,)),
        ("acceleration", "robot.acceleration_limit", 8e-3 * OMEGA, 0.5, (QUICK,)),
        # Method twin needs room for its own commands.
        ("speed", "limits.speed", 12e-3, 0.98, (TWIN, "robot.delay=14 ms")),
        ("acceleration", "limits.acceleration", 5 * 8e-3 * OMEGA, 0.5, (TWIN, "robot.delay=14 ms")),
    ],
)
def test_limits(about, key, needed, too_little, changes):
    _, bad = both_sides(about, key, 1.02 * needed, too_little * needed, *changes)
    assert bad.needed == pytest.approx(needed)


def test_workspace():
    reach = 10e-3 + 8e-3 / OMEGA
    for key, sign in (("limits.workspace_max", 1.0), ("limits.workspace_min", -1.0)):
        for factor, fine in ((1.02, True), (0.98, False)):
            box = f"{key}=[{sign * factor * reach}, {sign}, {sign}]"
            system, values, _ = found(QUICK, box)
            about = [each for each in check(system, values) if each.about == "workspace"]
            assert all(each.fine for each in about) == fine
            assert (kinds(QUICK, box) == {"met"}) == fine


def test_duration():
    needed = remark("duration", QUICK).needed
    for factor, contacts in ((1.01, 5), (0.99, 4)):
        assert remark("duration", QUICK, f"loop.duration={factor * needed}").fine == (factor > 1.0)
        assert len(job.simulate(*found(QUICK, f"loop.duration={factor * needed}")).metrics["cov"]) == contacts


def test_resolution():
    for method in ("pida", "twin"):
        both_sides("sensor range", "sensor.resolution", PEAK / 55, PEAK / 20, QUICK, f"compensate.method={method}")


@pytest.mark.parametrize("name", ["bench-1.93", "bench-2.64", "oblique", "soft-rear", "table1", "twin"])
def test_the_check_predicts_the_force_error_of_shipped_scenarios(name):
    system, values, stem = job.find("docking", name, [])
    figure = next(each for each in job.simulate(system, values, stem).verdict.figures if each.metric == "cof")
    assert all(each.fine for each in check(system, values)) == figure.met


def test_numbers_as_written_in_sentences():
    assert [si(*each) for each in ((0.0142, "s"), (0.3, "N"), (1850.0, "N/m"), (8.16e-5, "s"), (0.0, "m"))] == [
        "14.2 ms",
        "0.3 N",
        "1.85 kN/m",
        "81.6 µs",
        "0 m",
    ]
