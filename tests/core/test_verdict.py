"""A verdict names what happened and judges it by the scenario's own goal."""

import json
from dataclasses import replace

import pytest

from hilt import job
from hilt.core import registry
from hilt.core.faults import Fault, InputError
from hilt.core.verdict import Verdict, of_many, percent

SHIPPED = [(system.name, name) for system in registry.systems().values() for name in system.scenario_files]


def run(*changes, system="docking", name="table1"):
    return job.simulate(*job.find(system, name, list(changes)))


def fault(name, sentence="stopped at t = 1 s: it was so; do this"):
    return Fault(1, name, 1000, 1.0, "x", 2.0, 1.0, sentence)


@pytest.fixture(scope="module")
def good():
    return run(name="twin")


def test_a_run_is_judged_by_the_goal_of_its_scenario(good):
    """The same rows, with a goal just above and just below their worst value."""
    worst = {"cov": max(abs(v - 1) for v in good.metrics["cov"]), "cof": max(abs(v - 1) for v in good.metrics["cof"])}
    assert good.verdict.kind == "met"
    assert {figure.metric: figure.value for figure in good.verdict.figures} == pytest.approx(worst)
    for share, kind in ((1.001, "met"), (0.999, "missed")):
        goal = good.scenario.goal.model_copy(update={"cof": share * worst["cof"]})
        judged = replace(good, scenario=good.scenario.model_copy(update={"goal": goal})).verdict
        assert judged.kind == kind
        assert judged.sentence.startswith(f"Goal {kind}")


def test_goals_of_docking(good):
    assert (good.scenario.goal.cov, good.scenario.goal.cof) == (0.01, 0.05)
    _, values, _ = job.find("docking", "table1", ["goal.cov=2 %", "goal.cof=0.1"])
    assert (values.goal.cov, values.goal.cof) == (0.02, 0.1)
    with pytest.raises(InputError, match=r"goal\.cov is 1.*at most 0\.5"):  # not taken for 1 %
        job.find("docking", "table1", ["goal.cov=1"])


@pytest.mark.parametrize(("system", "name"), SHIPPED)
def test_a_goal_changes_nothing_in_a_run(system, name):
    """The hash stays the same, also for files without a goal."""
    _, values, _ = job.find(system, name, [])
    others = values.model_copy(update={"goal": None})
    assert values.hash() == others.hash()
    assert '"goal"' not in values.canonical()


@pytest.mark.parametrize("change", ["robot.delay=4 ms", "robot.delay=20 ms", "limits.speed=30 mm/s"])
def test_a_loop_that_makes_energy_diverged_even_if_a_limit_stopped_it(change):
    found = run("compensate.method=none", change)
    assert found.verdict.kind == "diverged"
    assert "the loop made energy" in found.verdict.sentence
    stopped = change.startswith("limits")
    assert (found.fault is not None) == ("stopped by its speed limit" in found.verdict.sentence) == stopped


def test_a_limit_that_stops_a_sound_loop_is_no_divergence():
    found = run("limits.force=10 N")
    assert found.fault is not None
    assert not found.metrics["diverged"]
    assert found.verdict.kind == "stopped"
    assert found.verdict.sentence.startswith("Stopped by its force limit at t = 0.5")


@pytest.mark.parametrize(
    ("name", "by"),
    [
        ("requested", "a person"),
        ("dead-man", "the dead-man switch"),
        ("robot-silent", "the robot"),
        ("sensor-gap", "the force sensor"),
        ("device", "a device"),
        ("lateness", "a late tick"),
        ("workspace", "its workspace limit"),
    ],
)
def test_the_verdict_names_who_stopped_a_run(good, name, by):
    judged = replace(good, fault=fault(name)).verdict
    assert (judged.kind, judged.sentence) == ("stopped", f"Stopped by {by} at t = 1 s: it was so.")


def test_a_run_that_was_cut_short_is_not_judged_as_complete(good):
    judged = replace(good, rows=good.rows[: len(good.rows) // 2]).verdict
    assert judged.kind == "stopped"
    assert "before its end" in judged.sentence


def test_a_run_without_contact_is_not_fine():
    assert run("loop.duration=0.5 s").verdict.kind == "no contact"


def test_an_undetected_contact_is_not_fine():
    """A threshold above every force: the bodies meet and the controller does nothing; this must not count as success."""
    found = run("detect.threshold=1 MN")
    assert found.metrics["contacts_missed"] == len(found.metrics["cof"]) > 0
    assert found.verdict.kind == "no contact"
    assert "threshold of 1e+06 N" in found.verdict.sentence
    assert run().metrics["contacts_missed"] == 0


def test_of_many_seeds_the_worst_counts():
    met, bad = Verdict("met", "Goal met."), Verdict("diverged", "Diverged: so.")
    assert of_many({1: met, 2: met}).kind == "met"
    judged = of_many({1: met, 2: bad, 3: Verdict("missed", "Goal missed.")})
    assert judged.kind == "diverged"
    assert judged.sentence == "Goal met with 1 of 3 seeds. Seed 2: Diverged: so."


@pytest.mark.parametrize(
    ("changes", "kind"),
    [((), "diverged"), (("robot.delay=0 ms", "loop.period=0.1 ms"), "met"), (("loop.duration=0.1 s",), "no contact")],
)
def test_freefloat_is_judged_by_its_energy(changes, kind):
    """Between walls delay and sampling add energy: without delay, and at a short period, the goal is met."""
    assert run(*changes, system="freefloat", name="wall").verdict.kind == kind


def test_a_stiff_hand_diverges_and_the_verdict_reports_the_energy_added():
    changes = ["hand.amplitude=20 mm", "force_filter.bandwidth=15", "hand.stiffness=600"]
    bare = run(*changes, "port_passivity.enabled=false", system="aerial", name="hover")
    assert bare.verdict.kind == "diverged"
    assert "J more than they put in" in bare.verdict.sentence
    assert run(*changes, "port_passivity.enabled=true", system="aerial", name="hover").verdict.kind == "met"


@pytest.mark.parametrize(("change", "kind"), [("goal.following=5 mm", "met"), ("goal.following=0.1 mm", "missed")])
def test_payload_is_judged_by_how_well_the_virtual_arm_shows_the_slave_arm(change, kind):
    assert run(change, system="payload", name="pull-3000").verdict.kind == kind


def test_a_verdict_is_json(good):
    found = json.loads(json.dumps(good.as_json()))["verdict"]
    assert found["kind"] == "met"
    assert [figure["metric"] for figure in found["figures"]] == ["cov", "cof"]


def test_percent():
    assert [percent(x) for x in (0.0, 0.00004, 0.0136, 0.136, 1.65)] == ["0.00 %", "0.00 %", "1.36 %", "13.6 %", "165 %"]
    assert [percent(x) for x in (50.81, 2e9)] == ["5081 %", "2e+11 %"]
