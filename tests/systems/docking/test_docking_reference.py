"""The reference for a contact without a closed form: the same bodies in space, with a fine enough tick or not at all."""

import pytest

from hilt import job
from hilt.core.missing import Missing
from hilt.report import page
from hilt.systems.docking import metrics as docking_metrics

# 84 g against 20.7 kg: a contact of 1 rad in a tick of 4 ms.
LIGHT = [
    "loop.period=4 ms",
    "servicer.mass=0.0838",
    "servicer.inertia=[0.001, 0.004, 0.0035]",
    "target.mass=20.7",
    "target.inertia=[2, 1.5, 3]",
    "contact.stiffness=3588",
    "approach.speed=0.669",
    "robot.delay=1.19 ms",
]


def scenario(*changes):
    return job.find("docking", "oblique", [*LIGHT, *changes])


@pytest.mark.parametrize("stiffness", [3588, 10000])
def test_an_elastic_contact_keeps_the_energy_of_the_reference(stiffness):
    """±(ωT)²/4 in each of five collisions, with ωT at most 0.06 in the reference, so a shorter contact needs more ticks."""
    values = scenario(f"contact.stiffness={stiffness}")[1]
    start = 0.5 * values.servicer.mass * values.approach.speed**2
    assert docking_metrics.ideal_of(values).energy == pytest.approx(start, rel=1e-3)


def test_shipped_scenarios_keep_their_reference():
    """At an eighth of the tick."""
    for name in ("oblique", "twin"):
        assert docking_metrics.fineness(job.find("docking", name, [])[1]) == 8


def test_a_contact_that_no_reference_resolves_has_a_reason_and_no_metrics():
    system, values, name = scenario("contact.stiffness=1e12", "loop.duration=2 s")
    result = job.simulate(system, values, name)
    found = result.as_json()
    for key in ("kinetic_energy_ratio", "mean_cof"):
        assert isinstance(result.metrics[key], Missing)
        assert found["metrics"][key] is None
        assert "too short" in found["reasons"][key]
    assert "too short" in page.render(result)
