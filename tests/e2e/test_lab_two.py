"""Docking on two emulated robots, each a process with its own clock: metrics of the contact, faults of either, and limits.

`HILT_ROBOTS=all` also runs the contact with the sensor on the servicer, and a minute with clocks of 4 and 1 ms that drift.
"""

import csv
import os
import threading
import time

import numpy as np
import pytest

from hilt import job
from hilt.core.faults import InputError
from hilt.device import rigfile
from hilt.device.live_rig import LIVE, READY
from hilt.lab.dry.facility import running_facility
from hilt.live.mailbox import Sender
from hilt.live.session import Session
from tests.e2e.walls import PERIOD, as_in_space, hurry, kill_while_live, live_run, straight, until

pytestmark = pytest.mark.alone

GAP = "frames.gap=15 mm"
ALL = os.environ.get("HILT_ROBOTS") == "all"


def two_robots(carrier="target", patience=125, lab=None, **emulated):
    """With the long timeouts of the other tests' rig (lab.py)."""
    file = rigfile.load(rigfile.find("dry-lab-two"))
    robots = {name: {**table, "patience": patience} for name, table in file.robots.items()}
    late = {name: each.model_copy(update={"late_limit": 250, **emulated}) for name, each in file.facility.robots.items()}
    sensor = {**file.sensor, "frozen": "400 ms", "stale": "500 ms"}
    waits = {"ready": 0.2, "lateness": 2.0, "missed": 100, "realtime": True, **(lab or {})}
    return file.model_copy(
        update={
            "lab": file.lab.model_copy(update=waits),
            "robots": robots,
            "robot": {**file.robot, "patience": patience},
            "sensors": {carrier: sensor},
            "sensor": sensor,
            "facility": file.facility.model_copy(update={"robots": late}),
        }
    )


def found(facility, *settings):
    return job.find("docking", "table1", [*facility.rig.settings("docking"), GAP, *settings])


def judged(facility):
    """What the robots themselves report about their set-points; one whose process was killed reports nothing."""
    status = facility.control.status()
    return {name: status[name] for name in ("robot", "target") if "violation_count" in status[name]}


@pytest.fixture(scope="module")
def facility(tmp_path_factory):
    with running_facility(two_robots(patience=25), [GAP], diary=tmp_path_factory.mktemp("two") / "log.csv") as made:
        yield made


def test_contact_as_in_space_on_robots_of_12_and_30_ms(facility, tmp_path):
    contact_as_in_space(facility, tmp_path)


@pytest.mark.skipif(not ALL, reason="HILT_ROBOTS=all runs it too")
def test_the_same_with_the_sensor_on_the_servicer(tmp_path):
    with running_facility(two_robots("servicer"), [GAP]) as facility:
        contact_as_in_space(facility, tmp_path)


def contact_as_in_space(facility, tmp_path):
    """|CoV - 1| ≤ 0.03 and |CoF - 1| ≤ 0.08; momentum and energy as with one robot."""
    for _ in range(3):  # a cycle that the host takes from robots or loop in a contact changes its metrics
        facility.control.restart()
        facility.control.wait_for(lambda status: all(status[each]["state"] != "returning" for each in ("robot", "target")))
        facility.control.forget()
        result = live_run(facility, found(facility, "compensate.method=twin"), tmp_path)
        robots = judged(facility)
        assert result.fault is None, (result.fault, result.notes)
        assert len(robots) == 2
        for robot in robots.values():
            assert robot["violation_count"] == 0, robot["violations"]
        rows = result.rows
        assert rows["P_N"][:, 0] == pytest.approx(300.0 * 0.02, rel=1e-9)  # of both bodies, by rounding
        assert rows["H"].max() <= 0.5 * 300.0 * 0.02**2 * (1 + 1e-9)  # nothing adds energy
        moved = np.ptp(rows["hall_poses"][:, 0]), np.ptp(rows["hall_poses"][:, 7])
        assert moved[0] == pytest.approx(moved[1], rel=0.05)  # the share is one half; touches fall at different times
        if as_in_space(result):
            return
    raise AssertionError((result.metrics["cov"], result.metrics["cof"]))


def poses_of(path):
    """Times [s] and positions [m] of the set-points that an emulated robot was sent."""
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return np.array([float(row["t"]) for row in rows]), np.array([[float(row[a]) for a in "xyz"] for row in rows])


def stop_after(session, seconds):
    until(lambda: session.rig.state == LIVE)
    time.sleep(seconds)
    sender = Sender(session.box.name)
    sender.stop()
    sender.close()


def test_a_stop_halts_both_and_both_drive_home(facility, tmp_path):
    facility.control.restart()
    session = Session(*found(facility), tmp_path, facility.rig)
    try:
        session.open()
        facility.control.forget()
        facility.control.live(True)
        helper = threading.Thread(target=stop_after, args=(session, 0.6))
        helper.start()
        result = session.go()
        helper.join()
        assert result.fault.name == "requested"
        assert session.rig.state == READY
        with pytest.raises(InputError, match=r"mm and .* rad from the start of the scenario"):
            session.check_start()
        session.home(0.05)
        session.check_start()
    finally:
        session.close()
    for robot in judged(facility).values():
        assert robot["violation_count"] == 0, robot["violations"]
        assert robot["hard_stops"] == 0


@pytest.mark.parametrize("victim", ["target", "robot"])
def test_a_killed_robot_stops_both(facility, tmp_path, victim):
    """The other one stops softly, within the distance stated in docs/safety.md."""
    if victim == "target":
        kill(facility, victim, tmp_path)  # the last test of this facility
    else:
        with running_facility(two_robots(patience=25), [GAP], diary=tmp_path / "log.csv") as another:
            kill(another, victim, tmp_path)


def kill(facility, victim, tmp_path):
    result, killed = kill_while_live(facility, found(facility), victim, tmp_path, after=0.5)
    time.sleep(0.2)
    left = judged(facility)  # it writes its log
    assert result.fault is not None
    assert result.fault.name == ("robot-silent" if victim == "robot" else "other-robot")
    assert list(left) == [{"robot": "target", "target": "robot"}[victim]]
    for robot in left.values():
        assert robot["violation_count"] == 0, robot["violations"]
    t, p = poses_of(facility.diary.with_name(f"log-{'target' if victim == 'robot' else 'servicer'}.csv"))
    after = p[t > killed]
    way = np.linalg.norm(after - after[0], axis=1).max()
    # Each makes half of 20 mm/s. The servicer's goes on until the silence is detected, 25 cycles and two ticks, and stops
    # softly.
    # The target's only has what it was sent before, which is 18 ms, and then waits at rest.
    late = float(result.rows["lateness"].max())
    going = 25 * PERIOD + 2 * PERIOD + late if victim == "target" else 0.018 + 2 * PERIOD
    print(f"killed {victim}: the other went {1e3 * way:.3f} mm further, the loop was late by {1e3 * late:.2f} ms")
    assert way <= 0.01 * going + 0.01**2 / (2 * facility.rig.lab.deceleration) + 1e-5  # 10 µm: rounded in every packet
    assert np.linalg.norm(np.diff(after[-20:], axis=0), axis=1).max() < 1e-6, "it is at rest"


def robots_of_4_and_1_ms(drift):
    """A KUKA robot that is the clock, and a Franka robot for the target whose cycles are longer by the drift."""
    file, franka = two_robots(lab={"missed": 1000}, makes_up=0.02), rigfile.load(rigfile.find("dry-lab-franka"))
    place = {key: file.robots["target"][key] for key in ("X_WR", "X_TB")}
    target = {**franka.robot, **place, "patience": 1000}
    kept = ("dead_time", "natural_frequency", "damping_ratio", "acceleration_limit")
    emulated = {key: getattr(franka.facility, key) for key in kept} | {"clock_drift": drift, "late_limit": 1000}
    robots = {**file.facility.robots, "target": file.facility.robots["target"].model_copy(update=emulated)}
    return file.model_copy(
        update={
            "robots": {**file.robots, "target": target},
            "limits": franka.limits,  # a start at speed within a cycle of 1 ms
            "facility": file.facility.model_copy(update={"robots": robots, "sensor_rate": 250.0}),  # leaves the core to 1 kHz
        }
    )


@pytest.mark.skipif(not ALL, reason="HILT_ROBOTS=all runs it: a minute")
def test_a_minute_with_robots_of_4_and_1_ms_whose_clocks_drift_by_50_ppm(tmp_path):
    """The phase drifts by -3 ms, three of the target's cycles, and stays within 0.1 ms of a straight line. In flight the target
    moves by the same distance in every cycle: none is skipped, none repeated."""
    settings = ["pair.cycle=1 ms", "target_robot.delay=15 ms", "target_robot.pure_delay=5 ms", "target_robot.damping_ratio=1"]
    settings += ["compensate.method=twin"]
    with running_facility(robots_of_4_and_1_ms(5e-5), settings, diary=tmp_path / "log.csv") as facility:
        hurry(facility)
        chosen = job.find("docking", "table1", [*facility.rig.settings("docking"), *settings])
        result = live_run(facility, chosen, tmp_path, forget=True)
        robots = judged(facility)
        with facility.diary.with_name("log-target.csv").open(encoding="utf-8") as file:
            log = np.array([[float(row[key]) for key in ("ipoc", *"xyz")] for row in csv.DictReader(file)])
    assert result.fault is None, (result.fault, result.notes)
    assert len(robots) == 2
    for robot in robots.values():
        assert robot["violation_count"] == 0, robot["violations"]
    cycles = np.diff(log[:, 0])  # a cycle without an answer is not in the log
    steps = np.linalg.norm(np.diff(log[:, 1:], axis=0), axis=1)
    around = np.median(np.lib.stride_tricks.sliding_window_view(steps, 51), axis=1)
    flying = (np.abs(around - 1e-5) < 1e-7) & (cycles[25:-25] == 1)  # half of 20 mm/s
    steps = steps[25:-25][flying]
    least, most = 1e6 * steps.min(), 1e6 * steps.max()
    print(f"{len(steps)} cycles in flight, {np.sum(cycles > 1)} gaps, {least:.2f} to {most:.2f} µm each")
    assert len(steps) > 30_000
    assert steps.min() > 5e-6, "none is skipped"
    assert steps.max() < 1.6e-5, "none is repeated"
    straight(result.rows, 0.001, robots, -5e-5)
