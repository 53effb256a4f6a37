"""The emulated facility: separate processes, the real drivers against them, with the patience of the shipped rig file."""

import csv
import itertools
import os
import signal
from pathlib import Path

import numpy as np
import pytest

from hilt import job
from hilt.core import clock
from hilt.core.faults import InputError
from hilt.core.signals import TWIST, WRENCH
from hilt.device import frames, rigfile
from hilt.device.placed import Place
from hilt.device.rsi.response import Response
from hilt.device.rsi.settings import RsiSettings
from hilt.host import machine as host
from hilt.host import shared
from hilt.lab.dry import facility as dry
from hilt.lab.dry import world
from hilt.lab.dry.control import FacilityControl
from hilt.lab.dry.facility import Facility, running_facility
from hilt.lab.dry.motion import FollowedResponse, MockUp, PublishedResponse
from hilt.lab.dry.robot import free_port
from tests.device.cells import Cell

DRY_LAB = rigfile.load(Path(__file__).parents[2] / "rigs" / "dry-lab.toml")
RIG = DRY_LAB.model_copy(update={"scenario": {**DRY_LAB.scenario, "docking": {}}})  # the gap of table1
STIFFNESS = 176.275e3  # of docking's table1

pytestmark = pytest.mark.virtual


@pytest.fixture
def facility():
    """Healthy, live, and waiting for hilt."""
    with running_facility(RIG, live=True) as found:
        yield found


class Hilt(Cell):
    """Both drivers, as a rig file's sections open them."""

    def __init__(self, rig):
        super().__init__(rig.robot_section, None, rig.robot_section.connect())
        self.sensor, self.F = rig.sensor_section.connect(), np.zeros(1, WRENCH)[0]
        self.ticks(1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.driver.close()
        self.sensor.stop()

    def ticks(self, count):
        """Hold; returns the codes of the sensor, and the forces."""
        found = [(self.hold(), self.sensor.read(self.F), self.F["f"].copy()) for _ in range(count)]
        assert not any(code for code, _, _ in found)
        return [code for _, code, _ in found], np.array([f for _, _, f in found])

    def go_to(self, x):
        """Move along x at about 20 mm/s with no jerk at the ends."""
        left = x - float(self.X["p"][0])
        self.move((left, 0.0, 0.0), cycles=max(10, round(abs(left) / (0.02 * self.cycle))))
        self.ticks(40)
        assert float(self.X["p"][0]) == pytest.approx(x, abs=2e-6)


def test_the_robot_stands_at_the_start_of_the_scenario_and_the_sensor_feels_nothing(facility):
    with Hilt(facility.rig) as hilt:
        answers = facility.control.status()["robot"]["answers"]
        forces = hilt.ticks(100)[1]
        assert hilt.driver.state["X_act"]["p"] == pytest.approx((1.0, 0.0, 1.0), abs=1e-6)  # X_WR is -1, 0, -1 m
        assert hilt.X["p"] == pytest.approx((0.0, 0.0, 0.0), abs=1e-6)  # docking starts in the middle of the frames
        assert np.std(forces) == pytest.approx(0.05, rel=0.3)  # the facility's noise
        assert abs(np.mean(forces)) < 0.02  # and no force
        status = facility.control.status()
        assert (status["robot"]["state"], status["robot"]["answers"] - answers) == ("running", 100)
        assert status["robot"]["late"] == status["robot"]["violation_count"] == 0
        assert (status["sensor"]["clients"], status["trouble"]) == (1, [])


def test_when_hilt_has_gone_the_robot_drives_back_and_waits_for_the_next_run(facility):
    control = facility.control
    with Hilt(facility.rig) as hilt:
        hilt.go_to(0.002)
    stopped = control.wait_for(lambda status: status["robot"]["stops"])
    assert "late" in stopped["robot"]["last_reason"]
    control.wait_for(lambda status: status["robot"]["state"] == "waiting")
    with Hilt(facility.rig) as hilt:
        assert hilt.goal["p"] == pytest.approx((0.0, 0.0, 0.0), abs=1e-6)
        hilt.go_to(0.001)


def test_faults_come_on_demand_and_go(facility):
    control = facility.control
    with Hilt(facility.rig) as hilt:
        control.next("robot.drop", 3)
        hilt.ticks(5)
        assert hilt.driver.counters()["lost"] == 3
        control.set("sensor.jump", (50.0, 0.0, 0.0, 0.0, 0.0, 2.0))
        hilt.ticks(2)
        assert hilt.F["f"][0] == pytest.approx(50.0, abs=0.3)
        assert hilt.F["tau"][2] == pytest.approx(2.0, abs=1e-3)
        control.set("sensor.status", "0x80000000")
        assert hilt.ticks(3)[0][-1] != 0
        control.clear()
        assert hilt.ticks(3)[0][-1] == 0
        assert abs(hilt.F["f"][0]) < 0.3
        for line, words in (("robot.dorp=0.1", "drop"), ("robot.drop=2", "from 0 to 1"), ("nonsense", r"robot\.SWITCH")):
            with pytest.raises(InputError, match=words):
                control.send(line)


def test_the_emulated_robot_reports_a_set_point_while_not_live(facility):
    facility.control.live(False)
    with Hilt(facility.rig) as hilt:
        hilt.tick((1e-6, 0.0, 0.0))
        hilt.ticks(2)
    (violation,) = facility.control.status()["robot"]["violations"]
    assert "while not live" in violation


def test_a_stopped_process_is_reported_and_its_late_answers_confuse_nobody(facility):
    host.kill(facility.pids["sensor"], signal.SIGSTOP)
    assert "does not answer" in facility.control.status()["sensor"]["silent"]
    host.kill(facility.pids["sensor"], signal.SIGCONT)
    status = facility.control.status()
    assert "clients" in status["sensor"]
    assert "cycles" in status["robot"]


def test_two_facilities_at_once_do_not_affect_each_other(facility, tmp_path):
    """The second one's sensor is killed, which is reported; the first goes on. Its log is complete."""
    path = tmp_path / "diary.csv"
    with running_facility(RIG, diary=path, live=True) as second:
        assert second.rig.robot["port"] != facility.rig.robot["port"]
        with Hilt(facility.rig) as here:
            with Hilt(second.rig) as there:
                there.go_to(0.001)
            here.hold()
            assert here.X["p"][0] == pytest.approx(0.0, abs=1e-6)
        host.kill(second.pids["sensor"], signal.SIGKILL)
        status = second.control.wait_for(lambda status: status["robot"]["stops"])
        assert status["trouble"] == ["the sensor's process has ended by signal 9; start the facility again"]
        answers = status["robot"]["answers"]
        with pytest.raises(InputError, match="already running"):
            Facility(second.rig, [])
    assert facility.control.status()["trouble"] == []
    lines = list(csv.DictReader(path.read_text().splitlines()))
    assert len(lines) == answers
    assert all(int(a["ipoc"]) < int(b["ipoc"]) for a, b in itertools.pairwise(lines))
    assert float(lines[-1]["x"]) == pytest.approx(1.001, abs=1e-5)  # in the robot's base
    assert {line["live"] for line in lines} == {"1"}


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_ends_all_processes(end, machine):
    """An interrupt with exit code 0; and even a killed parent leaves no child, and no memory. The real kernel agrees:
    test_children.py."""
    tables = {name: {**getattr(RIG, name), "port": free_port()} for name in ("robot", "sensor")}
    rig, lines = RIG.model_copy(update=tables), []

    def emulate():
        raise SystemExit(dry.serve(rig, [], lines.append))

    parent = machine.begin("emulate", emulate)
    while len(lines) < 2:
        clock.pause(0.1)
    assert str(tables["robot"]["port"]) in lines[0]
    assert lines[1].startswith("robot waiting")
    assert "0 clients" in lines[1]
    parent.send_signal(end)
    assert parent.wait(10.0)
    assert parent.poll() == (-9 if end == signal.SIGKILL else 0)
    clock.pause(1.0)
    assert not [*machine.named("robot"), *machine.named("sensor")]
    with pytest.raises(InputError, match="not running"):
        FacilityControl(rig)
    shared.sweep()  # as its owner's next command does
    assert shared.left("*") == []


def test_what_cannot_be_emulated_is_refused():
    with pytest.raises(InputError, match=r"no \[facility\]"), running_facility(RIG.model_copy(update={"facility": None})):
        pass
    slow = RIG.facility.model_copy(update={"dead_time": 5.0})
    with pytest.raises(InputError, match="dead_time"), running_facility(RIG.model_copy(update={"facility": slow})):
        pass


def test_the_motion_in_shared_memory_is_the_motion():
    """Exactly, at any moment: the follower has the same closed form, not samples of it."""
    rng = np.random.default_rng(1)
    X, name = frames.identity(), f"motion-{os.getpid()}"
    plain = Response(X, 0.0, 0.02, 60.0, 0.7)
    shown = PublishedResponse(name, X, 0.0, 0.02, 60.0, 0.7)
    followed = FollowedResponse(name)
    assert followed.alive
    try:
        for k in range(50):
            X["p"] += rng.normal(size=3) * 1e-3
            for response in (plain, shown):
                response.settle(k * 0.004)
                response.command(X, (k + 1) * 0.004, (k + 2) * 0.004)
            for t in k * 0.004 + rng.uniform(0.0, 0.04, 3):
                for a, b in zip(plain.at(t), followed.at(t), strict=True):
                    assert np.array_equal(a, b)
    finally:
        shown.close()
    assert not followed.alive


def test_the_twist_of_the_mock_up_is_the_rate_of_its_pose():
    """With a tool that is turned and a mock-up off its origin: central differences over 20 µs, of second order."""
    place = {"p": (0.3, -0.2, 0.1), "q": (0.8, 0.0, 0.6, 0.0)}
    settings = RsiSettings(
        correction="relative",
        X_WR=Place(**place),
        X_TB=Place(p=(0.1, 0.2, -0.4), q=(0.6, 0.8, 0.0, 0.0)),
        step_limit=1.0,
        turn_limit=1.0,
        patience=1,
    )
    X = frames.identity()
    response = Response(X, 0.0, 0.0, 30.0, 0.9)
    X["p"], X["q"] = (0.1, -0.1, 0.2), (0.96, 0.0, 0.0, 0.28)
    response.command(X, 0.0, 0.1)
    mock_up, h, poses, rate = MockUp(settings, response), 1e-5, [], np.zeros(1, TWIST)[0]
    for t in (0.07 - h, 0.07 + h):
        mock_up.move_to(t)
        poses.append(mock_up.X_WB.copy())
    frames.twist_between(*poses, 2.0 * h, rate)
    mock_up.move_to(0.07)
    assert mock_up.V_WB["v"] == pytest.approx(rate["v"], rel=1e-6, abs=1e-7)
    assert mock_up.V_WB["w"] == pytest.approx(rate["w"], rel=1e-6, abs=1e-7)


@pytest.mark.parametrize(
    ("system", "scenario", "stages", "away", "force"),
    [
        ("docking", "table1", ["contact", "sensor"], 0.0115, 1.5e-3 * STIFFNESS),  # on the target
        ("freefloat", "wall", ["push", "wall", "sensor"], 0.0115, None),
        ("payload", "hils-2", ["arm", "grip", "hindrance", "sensor"], 0.001, -0.001 * 20e3),  # the grip holds it back
    ],
)
def test_the_sensor_feels_the_contact_of_each_system(system, scenario, stages, away, force):
    """A spring at rest, pushed in: k δ, to the noise of a mean of 400 samples (four sigmas: 0.01 N)."""
    facility = RIG.facility.model_copy(update={"system": system, "scenario": scenario})
    rig = RIG.model_copy(update={"facility": facility})
    plant, _ = world.bench_of(rig, [])
    assert [block.name for block in world.needed(plant, "F_So_S")] == stages
    if force is None:
        wall = job.find(system, scenario, [])[1].wall
        away, force = wall.gap + 0.001, -0.001 * wall.stiffness
    felt, X_WB, V_WB = world.World(rig, []), world.start_of(rig, []), np.zeros(1, TWIST)[0]
    rest = np.mean([felt.feel(1e-3 * k, (X_WB, V_WB))[0] for k in range(400)], axis=0)
    assert np.abs(rest).max() < 0.01
    X_WB["p"][0] += away
    felt.feel(0.5, (X_WB, V_WB))
    pushed = np.mean([felt.feel(0.5 + 1e-3 * k, (X_WB, V_WB))[0] for k in range(1, 401)], axis=0)
    assert pushed == pytest.approx((force, 0.0, 0.0), abs=0.01)


def test_a_robot_that_bends_swings_on_through_a_stall_of_the_sensor():
    """Pressed against the frame in a smooth move: samples a millisecond apart and one after 120 ms measure the same force, to
    the noise."""
    bends = ["robot.stiffness=0.5 N/um", "robot.mode_frequency=12 Hz", "frames.gap=15 mm"]
    X_WB, V_WB = world.start_of(RIG, bends), np.zeros(1, TWIST)[0]
    start, end, forces = X_WB["p"].copy(), 0.12, []
    for times in ([1e-3 * k for k in range(1, 121)], [end]):
        felt = world.World(RIG, bends)
        X_WB["p"], V_WB["v"] = start + np.array([0.0098, 0.0, 0.0]), 0.0
        felt.feel(0.0, (X_WB, V_WB))
        for t in times:
            share = t / end
            X_WB["p"][0] = start[0] + 0.0098 + 0.0008 * share**2 * (3.0 - 2.0 * share)
            V_WB["v"][0] = 0.0008 * 6.0 * share * (1.0 - share) / end
            force = felt.feel(t, (X_WB, V_WB))[0]
        forces.append(force[0])
    assert forces[0] > 50.0
    assert forces[1] == pytest.approx(forces[0], abs=0.5)
