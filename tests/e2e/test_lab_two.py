"""Two emulated robots, each a process with its own clock: contacts, forces, faults of either, and clocks that drift.

Docking shares its motion between two robots; payload's table and slave arm are joined by the grip.
"""

import csv
import os
import signal
from typing import NamedTuple

import numpy as np
import pytest

from hilt import job
from hilt.core import clock
from hilt.core.faults import InputError
from hilt.device import rigfile
from hilt.device.live_rig import READY
from hilt.host import machine as host
from tests.e2e.lab import GAP, PERIOD, ROUNDED, Run, assert_kept, changed, until
from tests.e2e.test_lab_contacts import TWIN, as_in_space

pytestmark = [pytest.mark.virtual, pytest.mark.long]

BRIEF = ("link.delay=0.5 s", "operator.start=0 s", "operator.duration=3 s", "loop.duration=5 s")
WHOLE = os.environ.get("HILT_PAYLOAD") == "whole"  # also all of hils-2, with its 5 s of delay


class Pair(NamedTuple):
    """Two robots, the clock and the other one, and a run that moves both."""

    rig: str
    clock: str
    other: str
    run: dict
    speed: float  # m/s that each of them reaches
    later: float  # s for which the other one has set-points


PAIRS = {
    "docking": Pair("dry-lab-two", "servicer", "target", {"settings": (GAP,)}, 0.009, 0.018),
    "payload": Pair(
        "dry-lab-payload",
        "table",
        "arm",
        # A light one follows the operator at once: both robots reach the speed of hils-2.
        {"system": "payload", "scenario": "hils-2", "settings": (*BRIEF, "payload.mass=500 kg")},
        0.015,
        0.008,
    ),
}


@pytest.fixture
def two(dry, tmp_path):
    def start(name):
        pair = PAIRS[name]
        return pair, Run(dry(pair.rig, [GAP] if name == "docking" else []), tmp_path / "runs", **pair.run)

    return start


@pytest.mark.parametrize("carrier", ["target", "servicer"])
def test_contact_as_in_space_on_robots_of_12_and_30_ms(lab, carrier):
    """Momentum and energy as with one robot, wherever the sensor is."""
    file = rigfile.load(rigfile.find("dry-lab-two"))
    run = lab(file.model_copy(update={"sensors": {carrier: file.sensor}}), TWIN)
    as_in_space(run.go())
    assert [robot["late"] for robot in run.robots().values()] == [0, 0]
    rows = run.result.rows
    assert rows["P_N"][:, 0] == pytest.approx(300.0 * 0.02, rel=1e-9)  # of both bodies, by rounding
    assert rows["H"].max() <= 0.5 * 300.0 * 0.02**2 * (1 + 1e-9)  # nothing adds energy
    moved = np.ptp(rows["hall_poses"][:, 0]), np.ptp(rows["hall_poses"][:, 7])
    assert moved[0] == pytest.approx(moved[1], rel=0.05)  # the share is one half; touches fall at different times


@pytest.mark.parametrize("settings", [(), BRIEF] if WHOLE else [BRIEF])
def test_virtual_and_slave_hand_agree_and_the_forces_are_those_of_the_simulation(lab, tmp_path, settings):
    """Virtual to slave within 2 mm, forces within 10 % of the same scenario simulated, every limit kept."""
    run = lab("dry-lab-payload", *settings, system="payload", scenario="hils-2", emulated=())
    simulated = job.run(*run.found, tmp_path)
    result = run.go()
    assert result.fault is None
    assert [robot["late"] for robot in run.robots().values()] == [0, 0]
    assert result.metrics["position_error_m"] <= 2e-3
    rows, peak = result.rows, simulated.metrics["peak_force_N"]
    assert result.metrics["peak_force_N"] == pytest.approx(peak, rel=0.1)
    # Over the whole run, not only at its peak: both the table's sensor and the wrist's, as rms of the difference.
    for force in (rows["f_s"], rows["F_Bcm_W"]["f"]):
        apart = force - simulated.rows["f_s"][: len(force)]
        assert np.sqrt((apart**2).sum(axis=1).mean()) < 0.1 * peak
    assert np.abs(rows["f_s"][:, 1:]).max() < 1.0, "the weights of hand and mock-up are subtracted: the noise is 0.05 N"
    assert_kept(run.facility, "table", "arm")


def test_a_stop_halts_both_and_both_drive_home(lab):
    run = lab("dry-lab-two")
    assert run.go(Run.say_stop, 0.6).fault.name == "requested"
    with pytest.raises(InputError, match=r"mm and .* rad from the start of the scenario"):
        run.session.check_start()
    run.control.live(True)
    run.session.home(0.05)
    run.session.check_start()
    for robot in run.robots().values():
        assert (robot["violations"], robot["hard_stops"], robot["late"]) == ([], 0, 0)


def rest_of(run, name, since):
    """Until when a robot's commanded motion lasted after `since` [s]."""
    t, p = run.log(name)
    t, p = t[t > since - 0.1], p[t > since - 0.1]
    moving = np.flatnonzero(np.linalg.norm(np.diff(p, axis=0), axis=1) > 1e-6)
    return max(float(t[moving[-1] + 1]), since) if len(moving) else since


@pytest.mark.parametrize("victim", ["arm", "table"])
def test_a_robot_that_falls_silent_on_the_way_home_stops_the_other(two, victim):
    """The grip connects both: if one moved on it would be torn. A manual stop stops both at once."""
    pair, run = two("payload")
    assert run.go(Run.say_stop, 2.5).fault.name == "requested"
    run.control.live(True)
    with pytest.raises(InputError, match="stopped softly while it returned"):
        run.meanwhile(Run.say_stop, 0.5, run.session.home)
    ends = [rest_of(run, name, run.when) for name in (pair.clock, pair.other)]
    assert abs(ends[0] - ends[1]) < 0.05, "neither moves on"
    cable = f"{'robot' if victim == pair.clock else victim}.disconnect"
    with pytest.raises(InputError):
        run.meanwhile(lambda run: run.control.set(cable, True), 0.5, run.session.home)
    assert run.rig.state == READY
    other = pair.other if victim == pair.clock else pair.clock
    going = rest_of(run, other, run.when) - run.when
    # Silence is noticed after 25 cycles and two ticks; 20 mm/s are stopped within 20 ms.
    assert going < (25 + 2) * PERIOD + 0.02
    assert_kept(run.facility, other)
    run.close()


@pytest.mark.parametrize("victim", ["clock", "other"])
@pytest.mark.parametrize("name", PAIRS)
def test_a_killed_robot_stops_both(two, name, victim):
    """The other one stops softly, within the distance stated in docs/safety.md."""
    pair, run = two(name)

    def kill(run):
        until(lambda: np.linalg.norm(run.rig._twist["v"]) > 1.01 * pair.speed)
        run.when = clock.now()
        host.kill(run.facility.pids["robot" if victim == "clock" else pair.other], signal.SIGKILL)

    result = run.go(kill, 0.4)
    survivor = pair.other if victim == "clock" else pair.clock
    assert result.fault.name == ("robot-silent" if victim == "clock" else "other-robot")
    assert len(run.robots()) == 1
    assert_kept(run.facility, survivor)
    t, p = run.log(survivor)
    after, before = p[t > run.when], p[t <= run.when][-10:]
    way = np.linalg.norm(after - before[-1], axis=1).max()
    speed = np.linalg.norm(np.diff(p[t > run.when - 0.2], axis=0), axis=1).max() / PERIOD
    # The clock goes on until the silence is detected, 25 cycles and two ticks, and stops softly. The other one only has what it
    # was sent before and then waits at rest; a packet in transit adds a cycle.
    going = (25 + 2) * PERIOD if victim == "other" else pair.later + 2 * PERIOD
    assert speed > 0.9 * pair.speed, "it was moving"
    assert way <= speed * going + speed**2 / (2 * run.file.lab.deceleration) + ROUNDED
    assert np.linalg.norm(np.diff(after[-20:], axis=0), axis=1).max() < 1e-6, "it is at rest"
    run.close()


def straight(rows, cycle, drift):
    """The phase of the second robot's clock stays within 0.1 ms of a straight line with this slope."""
    sure = rows["t"] > 2.0  # the clocks follow the earliest packets of the last half second
    t, phase = rows["t"][sure], np.unwrap(rows["clock_phase"], period=cycle)[sure]
    slope, first = np.polyfit(t, phase, 1)
    assert np.abs(phase - first - slope * t).max() < 1e-4
    assert slope == pytest.approx(drift, abs=5e-6)


DRIFT = 4e-4  # by which the other robot's cycles are longer


def test_robots_of_4_and_1_ms_whose_clocks_drift(lab, tmp_path):
    """A KUKA robot is the clock, a Franka robot makes the target's part. The phase drifts by four of its cycles. In flight it
    moves by the same distance in every cycle: none is skipped, none repeated."""
    file, franka = (rigfile.load(rigfile.find(name)) for name in ("dry-lab-two", "dry-lab-franka"))
    place = {key: file.robots["target"][key] for key in ("X_WR", "X_TB")}
    alike = ("dead_time", "natural_frequency", "damping_ratio", "acceleration_limit", "late_limit")
    emulated = {key: getattr(franka.facility, key) for key in alike} | {"clock_drift": DRIFT}
    target = file.facility.robots["target"].model_copy(update=emulated)
    file = changed(
        file, robots={"target": {**franka.robot, **place}}, facility={"robots": {**file.facility.robots, "target": target}}
    )
    file = file.model_copy(update={"limits": franka.limits})  # a start at speed within a cycle of 1 ms
    settings = ["pair.cycle=1 ms", "target_robot.delay=15 ms", "target_robot.pure_delay=5 ms", "target_robot.damping_ratio=1"]
    settings += [TWIN, "loop.duration=12 s", "frames.gap=125 mm"]
    run = lab(file, emulated=settings)
    result = run.go()
    assert result.fault is None
    with (tmp_path / "log-target.csv").open(encoding="utf-8") as lines:
        log = np.array([[float(row[key]) for key in ("ipoc", *"xyz")] for row in csv.DictReader(lines)])
    cycles, steps = np.diff(log[:, 0]), np.linalg.norm(np.diff(log[:, 1:], axis=0), axis=1)
    assert cycles.max() == 1, "every cycle was answered"
    around = np.median(np.lib.stride_tricks.sliding_window_view(steps, 51), axis=1)
    flying = steps[25:-25][np.abs(around - 1e-5) < 1e-7]  # half of 20 mm/s
    assert len(flying) > 5_000
    assert flying.min() > 5e-6
    assert flying.max() < 1.6e-5
    straight(result.rows, 0.001, -DRIFT)


def test_payload_on_clocks_that_drift(lab):
    file = rigfile.load(rigfile.find("dry-lab-payload"))
    arm = file.facility.robots["arm"].model_copy(update={"clock_drift": DRIFT})
    file = changed(file, facility={"robots": {**file.facility.robots, "arm": arm}})
    result = lab(file, "link.delay=0.5 s", "loop.duration=12 s", system="payload", scenario="hils-2", emulated=()).go()
    assert result.fault is None
    assert result.metrics["position_error_m"] <= 2e-3
    straight(result.rows, PERIOD, -DRIFT)
