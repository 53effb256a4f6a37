"""One signal, one meaning, one writer: in every system, in every scenario that ships, with every method of docking."""

import re
from collections import defaultdict

import pytest

from hilt import job
from hilt.core import registry
from hilt.core.guard import GUARD
from hilt.core.signals import FLOAT, POSE, TABLE, TWIST, declare, leaves, whole

# Any block may set the fault; the first one stays.
FAULTS = {"fault", "fault_axis", "fault_value", "fault_limit"}
# The load on the mock-up is a sum: the first block sets it, later ones read it and add to it.
SUMS = {"F_Bcm_true_W"}

SYSTEMS = tuple(registry.systems())
METHODS = ("none", "pic", "dac", "pida", "pida-literal", "twin")
CASES = [
    *((name, each, ()) for name, system in registry.systems().items() for each in system.scenario_files),
    *(
        ("docking", each, (f"compensate.method={method}", f"dof={dof}"))
        for method in METHODS
        for each, dof in (("table1", 1), ("table1", 6), ("oblique", 6))
    ),
]


def writers(blocks, scenario, row):
    """Names of the blocks that write, by the names of the numbers that they write."""
    found = defaultdict(list)
    for block in blocks:
        if block.when(scenario):
            for name in leaves(row):
                if {name, whole(name)} & set(block.kind.writes):
                    found[name].append(block)
    return found


@pytest.mark.parametrize(("system_name", "scenario_name", "changes"), CASES)
@pytest.mark.parametrize("world", ["plant", "observe"])
def test_every_signal_has_one_writer(system_name, scenario_name, changes, world):
    """`plant` in simulation and `observe` in a lab are alternatives, as are blocks that no scenario has at once."""
    system, scenario, _ = job.find(system_name, scenario_name, list(changes))
    found = writers((*getattr(system, world), *system.tick), scenario, system.row)
    for name, blocks in found.items():
        if whole(name) in SUMS:
            assert all(whole(name) in block.kind.reads for block in blocks[1:]), name
        elif name not in FAULTS:
            assert len(blocks) == 1, f"{name} is written by {', '.join(block.name for block in blocks)}"


@pytest.mark.parametrize("system_name", SYSTEMS)
def test_the_guard_is_the_last_call_of_every_tick(system_name):
    assert registry.system(system_name).tick[-1].kind is GUARD
    assert "X_WB_sent" in GUARD.writes


def test_a_frame_in_a_name_is_the_frame_of_the_signal():
    """X_WB and V_WB are in W, F_So_S and p_C_W in the last letter's frame."""
    frames = {signal.frame for signal in TABLE.values() if signal.frame}
    for name, signal in TABLE.items():
        if signal.kind in (POSE, TWIST):
            assert re.match(rf"[XV]_{signal.frame}[A-Za-z]", name), name
        elif "_" in name and name.rpartition("_")[2] in frames:
            assert signal.frame == name.rpartition("_")[2], name


def test_two_signals_never_differ_by_capitals_alone():
    """A recording has lower-case columns: X_WB_meas and X_Wb_meas would be the same one."""
    assert len({name.lower() for name in TABLE}) == len(TABLE)
    with pytest.raises(ValueError, match="signal X_WB_meas is declared already"):
        declare("X_Wb_meas", FLOAT, "something else", unit="m")
