"""What `hilt check` says about pushes and walls, compared with simulation."""

import math

import pytest

from hilt import job
from hilt.analysis.check import check


def remarks(name, *changes):
    system, values, _ = job.find("freefloat", name, list(changes))
    return {each.key: each for each in check(system, values)}


def run(name, *changes):
    return job.simulate(*job.find("freefloat", name, list(changes)))


@pytest.mark.parametrize("delay", ["0 ms", "0.5 ms", "2 ms"])
@pytest.mark.parametrize("collisions", [2, 5])
def test_energy_that_a_late_wall_adds(delay, collisions):
    """1 - e^{-πωτN} of what the body then has, with half a tick in τ."""
    changes = (f"robot.delay={delay}", f"collisions={collisions}")
    made = run("wall", *changes).metrics["energy_made"]
    late = remarks("wall", *changes)["robot.delay"].found
    omega = math.sqrt(48e3 / 30.0)
    assert made == pytest.approx(-math.expm1(-math.pi * omega * late * collisions), rel=0.02)


def test_the_delay_that_is_needed():
    needed = remarks("wall")["robot.delay"].needed
    for factor, fine in ((0.9, True), (1.2, False)):
        period = factor * needed  # half of it is the hold, half the delay
        changes = (f"loop.period={period}", f"robot.delay={0.5 * period}")
        assert remarks("wall", *changes)["robot.delay"].fine == fine
        assert (run("wall", *changes).verdict.kind == "met") == fine


def test_the_lead_removes_the_robots_part_as_the_check_says():
    assert "robot.lead = true" in remarks("wall")["robot.delay"].sentence
    changes = ("robot.lead=true", "loop.period=0.1 ms")
    assert remarks("wall", *changes)["robot.delay"].fine
    assert run("wall", *changes).verdict.kind == "met"


@pytest.mark.parametrize(
    ("key", "unit"), [("limits.force", "N"), ("limits.acceleration", "m/s^2"), ("limits.speed", "m/s"), ("limits.energy", "J")]
)
def test_limits_of_pushes(key, unit):
    needed = remarks("paper")[key].needed
    for factor, fine in ((1.01, True), (0.98, False)):
        change = f"{key}={factor * needed} {unit}"
        assert remarks("paper", change)[key].fine == fine
        assert (run("paper", change).fault is None) == fine


def test_workspace_of_pushes():
    end = run("paper").rows["X_WB_cmd"]["p"][:, 0].max()
    for factor, fine in ((1.01, True), (0.98, False)):
        change = f"limits.workspace_max=[{factor * end}, 1, 1]"
        assert all(each.fine for each in remarks("paper", change).values()) == fine
        assert (run("paper", change).fault is None) == fine


def test_a_sensor_that_cannot_measure_the_wall():
    needed = 20e-3 * math.sqrt(48e3 * 30.0)
    assert remarks("wall", f"sensor.saturation={0.9 * needed}")["sensor.saturation"].needed == pytest.approx(needed)
    cut, whole = (run("wall", f"sensor.saturation={factor * needed}", "collisions=1") for factor in (0.5, 10.0))
    assert cut.metrics["rebound_gain"] != pytest.approx(whole.metrics["rebound_gain"], rel=0.05)
