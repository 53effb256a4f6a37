"""Rig files: no scenario may exceed the hardware's own limits."""

from pathlib import Path

import pytest

from hilt import job
from hilt.cli import lab
from hilt.cockpit import desk
from hilt.core import scenario
from hilt.core.faults import InputError
from hilt.device import rigfile
from hilt.device.paired_rig import check_pairing
from hilt.device.rigfile import Facility, RigFile
from hilt.lab import gentle

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
    others = ["aerial", "franka", "franka-joints", "payload", "two", "ur", "ur-joints"]
    others = [f"dry-lab-{name}" for name in others]
    assert [each["path"] for each in desk.rigs()] == ["dry-lab", *others]
    (tmp_path / "rigs").mkdir()
    (tmp_path / "rigs" / "dry-lab.toml").write_bytes(rigfile.find("dry-lab").read_bytes())
    assert [each["path"] for each in desk.rigs()] == ["rigs/dry-lab.toml", *others]


TWO = rigfile.load(rigfile.find("dry-lab-two"))


def test_one_of_two_robots_is_the_clock_and_each_has_a_rig_file_of_its_own():
    assert (TWO.clock, TWO.other, TWO.carrier) == ("servicer", "target", "target")
    assert TWO.robot == {key: value for key, value in TWO.robots["servicer"].items() if key != "clock"}
    target = TWO.of("target")
    assert target.robot == TWO.robots["target"]
    assert target.other == ""
    assert (target.facility.dead_time, TWO.of("servicer").facility.dead_time) == (0.002, 0.014)
    assert target.facility.sensor_rate == TWO.facility.sensor_rate
    again = scenario.build(RigFile, TWO.model_dump(mode="json"))  # as another process gets it
    assert again.model_dump() == TWO.model_dump()


def test_what_a_facility_says_for_all_robots_holds_where_one_does_not_say_otherwise():
    general = {"system": "docking", "scenario": "table1", "late_limit": 7, "dead_time": "5 ms"}
    made = scenario.build(Facility, {**general, "robots": {"target": {"dead_time": "2 ms"}}})
    again = scenario.build(Facility, made.model_dump(mode="json"))
    for each in (made, again):
        assert (each.of("target").dead_time, each.of("target").late_limit, each.of("servicer").dead_time) == (0.002, 7, 0.005)


def test_the_single_form_means_one_of_each():
    assert (RIG.clock, RIG.other, RIG.carrier, RIG.robots) == ("", "", "", {})


NOT_TWO = {
    (
        "[robots.target]",
        "[robots.target]\nclock = true",
    ): r"robots\.servicer\.clock and robots\.target\.clock are true; one robot",
    ("[lab]", "[robot]\ndriver = 'rsi'\n[lab]"): r"\[robot\] and \[robots\.NAME\] are both given; keep one of the two forms",
    (
        "[lab]",
        "[robots.third]\ndriver = 'rsi'\n[lab]",
    ): r"\[robots\] has 3 tables, servicer, target, third; at most 2 can be used",
    (
        "[lab]",
        "[sensors.a]\ndriver = 'netft'\n[sensors.b]\ndriver = 'netft'\n[lab]",
    ): r"\[sensors\] has 3 tables, target, a, b; at most 2 can be used",
    (
        "[lab]",
        "[sensors.servicer]\ndriver = 'netft'\naddress = '127.0.0.1'\nport = 49156\n"
        "counts_per_force = 1\ncounts_per_torque = 1\nstale = '1 s'\nfrozen = '0 s'\n[lab]",
    ): r"sensors\.servicer\.port and sensors\.target\.port are both 49156; change one",
    ("port = 59157", "port = 59156"): r"robots\.servicer\.port and robots\.target\.port are both 59156; change one",
}


@pytest.mark.parametrize("change", NOT_TWO)
def test_a_rig_that_cannot_be_is_refused_in_one_sentence(tmp_path, change):
    text = rigfile.find("dry-lab-two").read_text(encoding="utf-8")
    assert text.count(change[0]) == 1
    (tmp_path / "rig.toml").write_text(text.replace(*change), encoding="utf-8")
    with pytest.raises(InputError, match=NOT_TWO[change]):
        rigfile.load(tmp_path / "rig.toml")


UNLIKE = {
    (
        "pair.clock=target",
    ): r"the rig file's clock is robots\.servicer, but the scenario's is target; set pair\.clock = 'servicer'",
    (
        "pair.cycle=1 ms",
    ): r"pair\.cycle is 0\.001 s but the robot target takes a set-point every 0\.004 s; set pair\.cycle = '4 ms'",
}


@pytest.mark.parametrize("settings", UNLIKE)
def test_a_scenario_for_other_robots_is_refused(settings):
    system, values, _ = job.find("docking", "table1", [*TWO.settings("docking"), *settings])
    with pytest.raises(InputError, match=UNLIKE[settings]):
        check_pairing(TWO, system.pairing(values), system.name)


def test_one_robot_and_two_are_not_mistaken_for_each_other():
    system, one, _ = job.find("docking", "table1", RIG.settings("docking"))
    _, two, _ = job.find("docking", "table1", TWO.settings("docking"))
    with pytest.raises(InputError, match=r"has the robots servicer and target, but this scenario of docking moves one"):
        check_pairing(TWO, system.pairing(one), system.name)
    with pytest.raises(InputError, match=r"moves two robots, servicer and target, but the rig file has \[robot\]"):
        check_pairing(RIG, system.pairing(two), system.name)
    elsewhere = TWO.model_copy(update={"sensors": {"wall": TWO.sensor}})
    with pytest.raises(InputError, match=r"\[sensors\.wall\] names no robot"):
        check_pairing(elsewhere, system.pairing(two), system.name)


PAYLOAD = rigfile.load(rigfile.find("dry-lab-payload"))


def test_the_clocks_sensor_is_the_first_and_the_other_one_has_a_rig_file_of_its_own():
    assert (PAYLOAD.clock, PAYLOAD.other, PAYLOAD.carrier, PAYLOAD.second_carrier) == ("table", "arm", "table", "arm")
    assert PAYLOAD.sensor == PAYLOAD.sensors["table"]
    assert PAYLOAD.with_second_sensor.sensor == PAYLOAD.sensors["arm"]
    again = scenario.build(RigFile, PAYLOAD.model_dump(mode="json"))  # as another process gets it
    assert again.model_dump() == PAYLOAD.model_dump()


def test_robots_that_hold_on_to_each_other_need_a_sensor_each_and_others_need_one():
    system, values, _ = job.find("payload", "hils-2", PAYLOAD.settings("payload"))
    check_pairing(PAYLOAD, system.pairing(values), system.name)
    one = PAYLOAD.model_copy(update={"sensors": {"arm": PAYLOAD.sensors["arm"]}})
    with pytest.raises(
        InputError, match=r"but the rig file has \[sensors\.arm\]; give \[sensors\.table\] and \[sensors\.arm\]"
    ):
        check_pairing(one, system.pairing(values), system.name)
    arm_first = PAYLOAD.model_copy(update={"robots": {name: PAYLOAD.robots[name] for name in ("arm",)} | {"table": {}}})
    with pytest.raises(
        InputError, match=r"clock is robots\.arm, but the scenario's is table; write clock = true in \[robots\.table\]"
    ):
        check_pairing(arm_first, system.pairing(values), system.name)
    docking, docked, _ = job.find("docking", "table1", TWO.settings("docking"))
    both = TWO.model_copy(update={"sensors": {"target": TWO.sensor, "servicer": TWO.sensor}})
    with pytest.raises(
        InputError, match=r"two sensors, \[sensors\.servicer\] and \[sensors\.target\], but this scenario of docking"
    ):
        check_pairing(both, docking.pairing(docked), docking.name)


def test_tools_that_move_one_robot_refuse_a_rig_of_two():
    with pytest.raises(InputError, match="give each its own rig file"), gentle.armed(TWO):
        pass
