"""Every system's checks, on every scenario that comes with it: sentences with numbers, and runs that agree with them."""

import pytest

from hilt import job
from hilt.analysis.check import check
from hilt.core import registry

SHIPPED = [(system.name, name) for system in registry.systems().values() for name in system.scenario_files]


@pytest.mark.parametrize(("system", "name"), SHIPPED)
def test_remarks_are_sentences_about_keys(system, name):
    found, values, _ = job.find(system, name, [])
    remarks = check(found, values)
    assert [each.fine for each in remarks] == sorted(each.fine for each in remarks)
    for each in remarks:
        node = values
        for part in each.key.split("."):
            node = getattr(node, part)
        assert each.sentence.endswith(".")
        assert each.fine or "needed" in each.sentence


def test_a_hand_that_is_too_stiff():
    """The limit of the loop, held against runs by tests/theory/test_cuniato2022.py, is the number reported."""
    loop = ["hand.amplitude=20 mm", "force_filter.bandwidth=15", "port_passivity.enabled=false"]
    for stiffness, fine in ((150, True), (600, False)):
        system, values, name = job.find("aerial", "hover", [*loop, f"hand.stiffness={stiffness}"])
        (remark,) = check(system, values)
        assert remark.fine == fine
        assert (job.simulate(system, values, name).verdict.kind == "met") == fine


@pytest.mark.parametrize(("key", "factor"), [("limits.speed", 0.9), ("limits.energy", 0.9)])
def test_a_payload_faster_than_allowed(key, factor):
    system, values, _ = job.find("payload", "hils-1", [])
    needed = next(each.needed for each in check(system, values) if each.key == key)
    system, values, name = job.find("payload", "hils-1", [f"{key}={factor * needed}"])
    assert not next(each.fine for each in check(system, values) if each.key == key)
    assert job.simulate(system, values, name).verdict.kind == "stopped"
