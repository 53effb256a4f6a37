"""Trials: whatever strikes a lab, the laws hold; the same seed gives the same trial; and a defect is found."""

import functools
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hilt.device.live_rig import LabRig
from hilt.host.machine import Machine
from hilt.host.virtual.machine import VirtualMachine
from hilt.lab.trials import campaign
from hilt.lab.trials.run import run
from hilt.lab.trials.schedule import KINDS, Fault, draw, read, written
from hilt.lab.trials.shrink import shrunk
from hilt.lab.trials.trial import labs

LABS = labs()
KEPT = [line for line in (Path(__file__).parent / "schedules.txt").read_text().splitlines() if not line.startswith("#")]


@functools.cache
def ran(name, seed):
    return run(LABS[name], seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", LABS)
def test_the_laws_hold_in_every_lab_that_comes_with_hilt(name, seed):
    outcome = ran(name, seed)
    assert not outcome.wrong, f"python tools/campaign.py --again '{outcome.line}'\n" + "\n".join(outcome.wrong)


@pytest.mark.parametrize("line", KEPT)
def test_what_once_broke_a_law(line):
    place, _, faults = line.partition(": ")
    name, seed = place.split()
    outcome = run(LABS[name], int(seed), read(faults))
    assert not outcome.wrong, "\n".join(outcome.wrong)


def test_the_same_seed_gives_the_same_trial():
    assert run(LABS["dry-lab"], 1) == ran("dry-lab", 1)
    assert ran("dry-lab", 1).faults


# It can fail: defects put in by hand; tools/defects.py has many more.


@pytest.mark.parametrize(
    ("method", "instead", "faults", "words"),
    [
        ("rest", lambda self: None, "stop operator 1.9", "it braked with"),
        ("_sense", lambda self: 0, "sensor sensor 1.6 0.4 1.0", "did not end the run"),
    ],
)
def test_a_defect_is_found(monkeypatch, method, instead, faults, words):
    monkeypatch.setattr(LabRig, method, instead)
    outcome = run(LABS["dry-lab"], 1, read(faults))
    assert words in outcome.wrong[0]


def test_what_is_replaced_is_the_machine_alone():
    """The shipped modules run, not look-alikes: on a virtual machine two references differ, and nothing else."""

    def everything():
        return {
            (name, key): id(value)
            for name, module in list(sys.modules.items())
            if name.startswith("hilt.")
            for key, value in vars(module).items()
        }

    before = everything()
    with VirtualMachine().running():
        inside = everything()
    changed = {place for place in before if before[place] != inside[place]}
    assert changed == {("hilt.host.machine", "_machine"), ("hilt.core.clock", "_time")}
    assert everything() == before


def test_a_virtual_machine_replaces_all_of_the_real_one():
    asked = {name for name in vars(Machine) if not name.startswith("_")}
    assert asked <= set(vars(VirtualMachine))


# Schedules


@given(
    st.lists(
        st.builds(
            Fault,
            st.sampled_from(sorted(KINDS)),
            st.sampled_from(["robot", "robot>hilt"]),
            *(st.integers(0, 50_000).map(lambda n: n / 1e4) for _ in range(3)),
        ),
        max_size=4,
    )
)
def test_a_schedule_is_read_as_it_was_written(faults):
    assert read(written(faults)) == tuple(faults)


def test_only_roles_that_are_played_are_struck():
    for seed in range(300):
        for fault in draw("dry-lab", seed, 1.0, 1.0, ("hilt", "robot", "sensor", "recorder")):
            assert set(fault.target.split(">")) <= {"hilt", "robot", "sensor", "recorder", "operator", "disk", "clock"}


def test_a_schedule_is_made_smaller_as_long_as_it_fails():
    faults = read("lose robot>hilt 1.2345 0.3 0.8; stop operator 2.0; kill robot 1.8765")
    assert shrunk(faults, lambda less: any(each.kind == "kill" for each in less)) == read("kill robot 1.88")
    assert shrunk(faults, lambda less: False) == faults


# Campaigns


def test_a_campaign_goes_on_where_it_was_interrupted(tmp_path):
    path = tmp_path / "campaign.txt"
    path.write_text(f"{campaign.Line('dry-lab', 0, '', 'done', 'nothing')}\ndry-lab 1 ok do")
    made = list(campaign.run(["dry-lab"], range(2), path, workers=1))
    assert [line.seed for line in made] == [1]
    assert {line.seed for line in campaign.lines_of(path)} == {0, 1}
    assert "trials" in campaign.table(campaign.lines_of(path))


@pytest.mark.parametrize("wrong", ["", "robot: 1 hard stops / another"])
def test_a_line_of_a_campaign_is_read_as_it_was_written(tmp_path, wrong):
    line = campaign.Line("dry-lab-ur", 12, wrong, "robot-silent,refused", "cable robot 1.6000 0.2000; stop operator 2.0000")
    (tmp_path / "c.txt").write_text(f"{line}\n")
    assert campaign.lines_of(tmp_path / "c.txt") == [line]
