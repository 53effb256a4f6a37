"""Systems from the command line: runs side by side, many seeds, the bound, and what is special in a report."""

import html
import json
import re
import shlex

import numpy as np
import pytest

from hilt import job
from hilt.analysis import beside
from hilt.report import page
from tests.e2e.command import here as hilt

STIFF = ["hand.amplitude=20 mm", "force_filter.bandwidth=15", "hand.stiffness=600"]
IDENTIFIED = ["virtual.identify=true", "virtual.mass_ratio=0.8"]
HINDERED = ["virtual.identify=true", "identify.push=false", "hindrance.obstacle_distance=0.15 m"]
# Scenario, figures and words of its report, and what is changed.
SPECIAL = [
    ("aerial hover", {"Energy at the human port"}, ["The guard at the human port watched"], STIFF),
    ("aerial hover", {"Energy at the human port"}, ["had to add up to"], [*STIFF[:2], "hand.stiffness=5000"]),
    (
        "aerial hover",
        set(),
        ["more than the 230 N/m", "The guard at the human port is off", "diverges"],
        [*STIFF, "port_passivity.enabled=false"],
    ),
    ("aerial handover", set(), ["The gains do not pass through it"], ["link.delay=50 ms", "link.loss=0.1"]),
    ("aerial handover", set(), ["it fails", "came from nothing"], ["tank.form=printed", "tank.start=0.011 J"]),
    ("aerial diverter", {"Hook and cable"}, ["not hooked", "which is true", "it ended as failed"], ["cable.offset=35 mm"]),
    ("payload hils-2", {"Identification"}, [], IDENTIFIED),
    ("payload hils-2", {"Identification", "What hinders the payload"}, [], HINDERED),
    ("payload hils-2", {"Link"}, [], ["link.jitter=0.2 s", "link.loss=0.1", "link.duplication=0.05"]),
    ("payload two-arms", {"Two hands"}, [], ["loop.duration=3 s"]),
    ("payload bilateral", {"The link's ledger"}, [], ["link.outage_start=6 s", "link.outage_duration=3 s"]),
    ("payload hils-1", {"Speed and force"}, [], ["virtual.step=explicit"]),
]


def rendered(scenario, changes):
    return page.render(beside.computed(job.simulate(*job.find(*scenario.split(), changes))))


@pytest.mark.parametrize(("scenario", "shown", "said", "changes"), SPECIAL)
@pytest.mark.usefixtures("undrawn")
def test_a_report_shows_what_is_special(scenario, shown, said, changes):
    text = rendered(scenario, changes)
    assert shown <= {html.unescape(title) for title in re.findall(r'<img alt="([^"]*)"', text)}
    assert [words for words in said if words not in text] == []


@pytest.mark.usefixtures("undrawn")
def test_the_warning_disappears_when_the_servo_is_identified():
    servo = ["servo.kind=second-order", "servo.natural_frequency=60", "servo.damping_ratio=0.7"]
    text = rendered("aerial hover", [*servo, "loop.duration=1 s"])
    assert "stiffest hand" in text
    assert "modelled by a lag only" not in text


@pytest.mark.parametrize(
    ("name", "words", "changes"),
    [
        ("workspace", "commanded position x", ["limits.workspace_max=[0.1, 1, 1]"]),
        ("table-angle", "crank angle", ["xy_stage.travel_x=0 m", "hexa.angle_max=0.5 rad"]),
    ],
)
def test_leaving_the_workspace_is_a_fault_with_its_limit(name, words, changes):
    fault = job.simulate(*job.find("payload", "hils-1", changes)).fault
    assert fault.name == name
    assert words in fault.sentence
    assert "limit of" in fault.sentence


def test_two_ports_of_the_link_are_outside_the_balance():
    """With a joystick: what the virtual arm puts in comes out at the slave arm, to 1 %, and neither is in the balance."""
    found = job.simulate(*job.find("payload", "hils-2", [])).as_json()["ledger"]
    ports = {row["port"]: row for row in found["beside"]}
    assert {"master", "slave"} <= ports.keys()  # and those of the grip
    assert ports["slave"]["out_J"] == pytest.approx(ports["master"]["in_J"], rel=0.01)
    assert not {"master", "slave"} & {row["port"] for row in found["rows"]}


@pytest.mark.parametrize(
    ("arguments", "runs", "said"),
    [
        ("docking --over compensate.method=none,dac,pida", 3, ["none diverges", "pida keeps the speed"]),
        ("aerial --scenario push --over estimator.enabled=true,false", 2, ["moves the base by at most"]),
    ],
)
@pytest.mark.usefixtures("undrawn")
def test_runs_side_by_side(tmp_path, arguments, runs, said):
    done = hilt(tmp_path, "compare", *shlex.split(arguments))
    assert done.returncode == 0, done.stderr
    assert [words for words in said if words not in " ".join(done.stdout.split())] == []
    assert len(list(tmp_path.glob("runs/*comparison*.html"))) == 1
    assert len(list(tmp_path.glob("runs/*.mcap"))) == runs


def test_many_seeds_give_the_mean_and_the_worst_of_their_runs(tmp_path):
    """Of the ledger as of the metrics."""
    noise = "sensor.noise=0.5 N"
    each = [job.simulate(*job.find("docking", None, [noise, f"seed={n}"])).as_json() for n in (1, 2, 3)]
    both = json.loads(hilt(tmp_path, "run", "docking", "--seeds", "3", "--set", noise, "--json").stdout)
    assert both["seeds"] == 3
    for n, row in enumerate(both["ledger"]["rows"]):
        assert row["net_J"] == pytest.approx(np.mean([one["ledger"]["rows"][n]["net_J"] for one in each]), rel=1e-12, abs=1e-18)
    assert both["metrics"]["mean_cof"] == pytest.approx(np.mean([one["metrics"]["mean_cof"] for one in each]))
    assert both["metrics"]["cov"] == pytest.approx(np.mean([one["metrics"]["cov"] for one in each], axis=0))
    assert both["worst"]["cov"] <= 0.04
    assert both["worst"]["diverged"] is False
    assert list(tmp_path.iterdir()) == []


FAULTS = ("--set", "sensor.noise=0.5 N", "--set", "limits.force=162.6 N", "--set", "collisions=1")  # some seeds are above it


def test_seeds_that_fault_are_counted_and_end_with_3(tmp_path):
    done = hilt(tmp_path, "run", "docking", "--seeds", "6", *FAULTS, "--json")
    found = json.loads(done.stdout)
    assert done.returncode == 3
    assert 0 < len(found["faulted"]) < 6
    assert found["fault"]["seed"] == found["faulted"][0]
    assert done.stderr.startswith(f"{len(found['faulted'])} of 6 runs ended with a fault")


def test_the_bound_of_a_late_robot(tmp_path):
    done = hilt(tmp_path, "bound", "docking", "--set", "robot.delay=40 ms", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["bound_cof_after_tick"] == pytest.approx(1.1304, abs=1e-4)  # ω 41 ms + 1/10
    assert found["bound_cof"] == found["bound_cof_after_tick"], "its former name"
    assert found["bound_cof_programme"] == pytest.approx(found["bound_cof_after_tick"], abs=1e-3)
    low, high = found["bound_cof_1_to_99_percent"]
    assert low < found["bound_cof_mean"] < high <= found["bound_cof_after_tick"] + 1e-9
    assert found["bound_cof_guarded"] <= 1.05
    assert found["guarded_clock"] <= found["clock_needed"] < 1.0
    assert found["critical_stiffness"] < found["stiffness"]
    assert sum(found["late_parts_s"].values()) == pytest.approx(found["late_s"]) == pytest.approx(0.041)
    assert list(tmp_path.iterdir()) == []


def test_the_bound_in_words(tmp_path):
    done = hilt(tmp_path, "bound", "docking", "--scenario", "oblique")
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stdout.split())
    assert "226.7 kg" in text  # effective mass along the normal, below the reduced mass of 279 kg
    assert "Real time is enough" in text
