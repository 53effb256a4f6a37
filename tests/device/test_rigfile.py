"""Rig files: nobody may ask for more than the hardware's own limits."""

from pathlib import Path

import pytest

from hilt import job
from hilt.cli import lab
from hilt.cockpit import desk
from hilt.core.faults import InputError
from hilt.device import rigfile

RIG = rigfile.load(Path(__file__).parents[2] / "rigs" / "dry-lab.toml")


def check(*settings):
    _, values, _ = job.find("docking", "table1", [*RIG.settings("docking"), *settings])
    rigfile.check_limits(values, RIG)


TIGHTER = (
    "limits.speed=20 mm/s",
    "limits.force=100 N",
    "limits.jerk=2000 m/s^3",
    "limits.angular_acceleration=1 rad/s^2",
    "limits.workspace_min=['-0.2 m', '-0.01 m', '-0.05 m']",
    "limits.workspace_max=['0.1 m', '0.05 m', '0.05 m']",
)
LOOSER = {
    "limits.force=3001 N": "limits.force is 3001 N but the rig allows 3000 N at most",
    "limits.torque=301 N*m": "limits.torque is 301 N·m but the rig allows 300 N·m at most",
    "limits.speed=0.2": "limits.speed is 0.2 m/s but the rig allows 0.1 m/s at most",
    "limits.angular_speed=1": "limits.angular_speed is 1 rad/s but the rig allows 0.2 rad/s at most",
    "limits.acceleration=11": "limits.acceleration is 11 m/s² but the rig allows 10 m/s² at most",
    "limits.angular_acceleration=31": "limits.angular_acceleration is 31 rad/s² but the rig allows 30 rad/s² at most",
    "limits.jerk=2501": "limits.jerk is 2501 m/s³ but the rig allows 2500 m/s³ at most",
    "limits.energy=2.5 J": "limits.energy is 2.5 J but the rig allows 2 J at most",
    "limits.workspace_min=[-0.2, -0.06, -0.05]": "limits.workspace_min y is -0.06 m but the rig allows -0.05 m at least",
    "limits.workspace_max=[0.2, 0.05, 0.051]": "limits.workspace_max z is 0.051 m but the rig allows 0.05 m at most",
}


@pytest.mark.parametrize("setting", ["seed=2", *TIGHTER])
def test_the_rigs_own_limits_and_tighter_ones_pass(setting):
    check(setting)


@pytest.mark.parametrize("setting", LOOSER)
def test_a_looser_limit_is_refused_in_one_sentence(setting):
    with pytest.raises(InputError) as refusal:
        check(setting)
    assert str(refusal.value).startswith(LOOSER[setting] + "; ")
    assert str(refusal.value).endswith("change [limits] of the rig file")


def test_every_limit_of_the_guard_is_compared():
    """A limit that is added to the guard later is checked too, or this fails: each has a case above."""
    named = {each.partition(".")[2].partition("=")[0] for each in LOOSER}
    assert named == set(type(RIG.limits).model_fields)


@pytest.mark.parametrize(("key", "typical"), [("angular_acceleration", "30 rad/s^2"), ("jerk", "2500 m/s^3")])
def test_devices_need_every_limit(tmp_path, key, typical):
    lines = (Path(__file__).parents[2] / "rigs" / "dry-lab.toml").read_text().splitlines()
    (tmp_path / "rig.toml").write_text("\n".join(line for line in lines if not line.startswith(f"{key} =")))
    with pytest.raises(InputError) as refusal:
        rigfile.load(tmp_path / "rig.toml")
    assert str(refusal.value) == (
        f"limits.{key} is missing, and devices need every limit; add it to [limits] of the rig file, "
        f'typically {key} = "{typical}" (rig.toml, line {lines.index("[limits]") + 1})'
    )


def test_a_scenario_without_a_limit_is_wider_than_any_rig():
    values = job.find("docking", "table1", RIG.settings("docking"))[1]
    values = values.model_copy(update={"limits": values.limits.model_copy(update={"jerk": None})})
    with pytest.raises(InputError, match=r"limits\.jerk is .* but the rig allows 2500 m/s³ at most"):
        rigfile.check_limits(values, RIG)


def test_a_rig_that_comes_with_hilt_has_a_name_and_any_other_is_a_path():
    assert {"dry-lab", "dry-lab-aerial", "lab-template"} <= set(rigfile.shipped())
    assert rigfile.load(rigfile.find("dry-lab")).model_dump() == RIG.model_dump()
    assert rigfile.find("rigs/mine.toml") == Path("rigs/mine.toml")
    with pytest.raises(InputError, match=r"'mine' is not a rig; known are .*dry-lab"):
        rigfile.find("mine")


def test_a_copy_is_written_beside_ones_own_rig_and_never_into_the_installed_hilt():
    assert lab._out_file(Path("rigs/mine.toml"), None, "tool") == Path("rigs/mine-tool.toml")
    assert lab._out_file(rigfile.find("dry-lab"), None, "tool") == Path("dry-lab-tool.toml")


def test_the_cockpit_offers_the_dry_labs_where_the_folder_has_none_of_that_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert [each["path"] for each in desk.rigs()] == [
        "dry-lab",
        "dry-lab-aerial",
        "dry-lab-franka",
        "dry-lab-ur",
        "dry-lab-ur-joints",
    ]
    (tmp_path / "rigs").mkdir()
    (tmp_path / "rigs" / "dry-lab.toml").write_bytes(rigfile.find("dry-lab").read_bytes())
    assert [each["path"] for each in desk.rigs()] == [
        "rigs/dry-lab.toml",
        "dry-lab-aerial",
        "dry-lab-franka",
        "dry-lab-ur",
        "dry-lab-ur-joints",
    ]
