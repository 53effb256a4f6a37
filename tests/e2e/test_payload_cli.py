"""payload from the command line: reports, faults, bad input."""

import html
import json
import re

import pytest

from hilt import job
from hilt.report import page
from tests.e2e.command import here as hilt

BAD = {
    "negative delay": (["--set", "link.delay=-1 s"], "at least 0 s"),
    "loss above one": (["--set", "link.loss=1.2"], "at most 1"),
    "mass ratio zero": (["--set", "virtual.mass_ratio=0"], "greater than 0"),
    "delay longer than the link": (["--set", "link.delay=1 min"], "the link holds at most"),
    "no direction": (["--set", "operator.direction=[0, 0, 0]"], "give a non-zero vector"),
    "unknown policy": (["--set", "link.outage_policy=pray"], "'hold', 'soft-stop', 'freeze', 'brake'"),
    "negative shaper": (["--set", "operator.shaper=-1 s"], "operator.shaper"),
    "profile that goes back": (
        ["--set", "operator.kind=profile", "--set", "operator.profile=[[0, 0.01], [2, 0.02], [1, 0.01]]"],
        "each later than the previous one",
    ),
    "unknown arm": (["--set", "arm.model=rubber"], "'point', 'jointed'"),
    "duplication above one": (["--set", "link.duplication=1.5"], "at most 1"),
    "bent beyond a limit": (["--set", "arm.jointed.posture=[0, 3, 0, 0, 0, 0, 0]"], "bend it less"),
    "more damping than a device can do": (["--scenario", "bilateral", "--set", "link.delay=8 s"], "shorten master.motor_lag"),
}


@pytest.mark.parametrize(("arguments", "words"), BAD.values(), ids=BAD)
def test_bad_input_is_one_sentence(tmp_path, arguments, words):
    done = hilt(tmp_path, "run", "payload", *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "words", "changes"),
    [
        ("workspace", "commanded position x", ["limits.workspace_max=[0.1, 1, 1]"]),
        ("table-angle", "crank angle", ["xy_stage.travel_x=0 m", "hexa.angle_max=0.5 rad"]),
    ],
)
def test_leaving_the_workspace_is_a_fault_with_its_limit(tmp_path, name, words, changes):
    done = hilt(tmp_path, "run", "payload", "--scenario", "hils-1", *[x for c in changes for x in ("--set", c)], "--json")
    assert done.returncode == 3
    found = json.loads(done.stdout)
    assert found["fault"]["name"] == name
    assert words in done.stderr
    assert "limit of" in done.stderr


def titles(text):
    return {html.unescape(title) for title in re.findall(r'<img alt="([^"]*)"', text)}


def test_a_run_prints_its_ledger_and_writes_its_report(tmp_path):
    done = hilt(tmp_path, "run", "payload", "--scenario", "pull-3000")
    assert done.returncode == 0, done.stderr
    assert "beside the balance" in done.stdout
    (written,) = tmp_path.glob("runs/*.html")
    assert "Beside the balance" in written.read_text()


@pytest.mark.parametrize(
    ("scenario", "shown", "changes"),
    [
        ("hils-2", {"Identification"}, ["virtual.identify=true", "virtual.mass_ratio=0.8"]),
        (
            "hils-2",
            {"Identification", "What hinders the payload"},
            ["virtual.identify=true", "identify.push=false", "hindrance.obstacle_distance=0.15 m"],
        ),
        ("hils-2", {"Link"}, ["link.jitter=0.2 s", "link.loss=0.1", "link.duplication=0.05"]),
        ("two-arms", {"Two hands"}, ["loop.duration=3 s"]),
        ("bilateral", {"The link's ledger"}, ["link.outage_start=6 s", "link.outage_duration=3 s"]),
        ("hils-1", {"Speed and force"}, ["virtual.step=explicit"]),
    ],
)
@pytest.mark.usefixtures("undrawn")
def test_a_report_shows_what_is_switched_on(scenario, shown, changes):
    result = job.simulate(*job.find("payload", scenario, changes))
    assert shown <= titles(page.render(result))


def test_two_ports_of_the_link_are_outside_the_balance():
    """With a joystick: what the virtual arm puts in comes out at the slave arm, to 1 %, and neither is in the balance."""
    found = job.simulate(*job.find("payload", "hils-2", [])).as_json()["ledger"]
    ports = {row["port"]: row for row in found["beside"]}
    assert {"master", "slave"} <= ports.keys()  # and those of the grip
    assert ports["slave"]["out_J"] == pytest.approx(ports["master"]["in_J"], rel=0.01)
    assert not {"master", "slave"} & {row["port"] for row in found["rows"]}
