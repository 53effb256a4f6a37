"""The emulated facility: separate processes, the real drivers against them.

Nothing here compares wall times: the robot's own time stamps are the time, and tests that a busy machine can spoil are retried.
"""

import csv
import itertools
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hilt import job
from hilt.core import clock
from hilt.core.faults import InputError
from hilt.core.signals import POSE, TWIST, WRENCH
from hilt.device import frames, rigfile
from hilt.device.placed import Place
from hilt.device.rsi.response import Response
from hilt.device.rsi.settings import RsiSettings
from hilt.host import shared
from hilt.lab.dry import world
from hilt.lab.dry.control import FacilityControl
from hilt.lab.dry.facility import Facility, running_facility
from hilt.lab.dry.motion import FollowedResponse, MockUp, PublishedResponse

DRY_LAB = Path(__file__).parents[2] / "rigs" / "dry-lab.toml"
DRY_RIG = rigfile.load(DRY_LAB)
# Longer timeouts for a busy machine: a second, not a tenth.
RIG = DRY_RIG.model_copy(
    update={
        "robot": {**DRY_RIG.robot, "patience": 250},
        "sensor": {**DRY_RIG.sensor, "stale": "60 s"},
        "facility": DRY_RIG.facility.model_copy(update={"late_limit": 250}),
        "scenario": {**DRY_RIG.scenario, "docking": {}},  # the gap of table1
    }
)
STIFFNESS, FREE_WAY = 176.275e3, 0.010  # of docking's table1: gap 15 mm, rod 5 mm
LONG = 60.0  # [s], only reached if something is broken

pytestmark = [pytest.mark.wall, pytest.mark.skipif(sys.platform != "linux", reason="shared memory as Linux has it")]


def until(condition):
    end = clock.now() + LONG
    while not condition():
        assert clock.now() < end, "not true in time"
        clock.pause(0.01)


@pytest.fixture(scope="module")
def diary(tmp_path_factory):
    return tmp_path_factory.mktemp("facility") / "diary.csv"


@pytest.fixture(scope="module")
def running(diary):
    with running_facility(RIG, diary=diary) as found:
        yield found


@pytest.fixture
def facility(running):
    """Healthy, and waiting for hilt."""
    running.control.clear()
    running.control.live(False)
    running.control.restart()
    running.control.wait_for(lambda status: status["robot"]["state"] == "waiting", LONG)
    running.control.forget()
    return running


class Hilt:
    """Both drivers, as a rig file's sections open them."""

    def __init__(self, rig):
        self.robot, self.sensor = rig.robot_section.connect(), rig.sensor_section.connect()
        self.X_WB, self.X_WB_cmd = np.zeros(1, POSE)[0], np.zeros(1, POSE)[0]
        self.V_WB, self.F = np.zeros(1, TWIST)[0], np.zeros(1, WRENCH)[0]
        self.robot.sent(self.X_WB_cmd)
        self.tick()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.robot.close()
        self.sensor.stop()

    @property
    def packet(self):
        return self.robot.state

    def tick(self, move=0.0):
        """Answer a packet: move along x."""
        assert self.robot.wait(self.X_WB, self.V_WB).code == 0
        self.X_WB_cmd["p"][0] += move
        code = self.robot.send(self.X_WB_cmd) if move else self.robot.hold()
        self.sensor.read(self.F)
        return code

    def go_to(self, x, speed=0.02, cycle=0.004):
        """Move along x with no jerk at the ends; repeated to make up for what late answers have lost."""
        for _ in range(20):
            left = x - float(self.X_WB["p"][0])
            if abs(left) < 2e-6:
                return
            t = np.linspace(0.0, 1.0, max(10, int(abs(left) / (speed * cycle))) + 1)
            for step in np.diff(left * t**3 * (10.0 - 15.0 * t + 6.0 * t**2)):
                assert self.tick(step) == 0
            for _ in range(40):
                self.tick()
        raise AssertionError("it never arrived")


def test_the_robot_stands_at_the_start_of_the_scenario_and_the_sensor_feels_nothing(facility):
    with Hilt(facility.rig) as hilt:
        forces = []
        for _ in range(100):
            assert hilt.tick() == 0
            forces.append(hilt.F["f"].copy())
        assert hilt.packet["X_act"]["p"] == pytest.approx((1.0, 0.0, 1.0), abs=1e-6)  # X_WR is -1, 0, -1 m
        assert hilt.X_WB["p"] == pytest.approx((0.0, 0.0, 0.0), abs=1e-6)  # docking starts in the middle of the frames
        assert np.std(forces) == pytest.approx(0.05, rel=0.3)  # the facility's noise
        assert abs(np.mean(forces)) < 0.02  # and no force
        status = facility.control.status()
        assert status["robot"]["state"] == "running"
        assert status["robot"]["answers"] >= 100
        assert status["sensor"]["clients"] == 1
        assert (status["robot"]["violation_count"], status["trouble"]) == (0, [])


def step_response(t, dead_time, ramp, omega, zeta):
    """Of 1/(1 + 2ζ s/ω + s²/ω²) behind a dead time, to a step that takes `ramp` seconds: a difference of ramp responses."""
    damped = omega * np.sqrt(1.0 - zeta**2)

    def ramp_response(t):
        t = np.maximum(t, 0.0)
        decay = np.exp(-zeta * omega * t)
        swing = 2.0 * zeta / omega * np.cos(damped * t) + (2.0 * zeta**2 - 1.0) / damped * np.sin(damped * t)
        return np.where(t > 0.0, t - 2.0 * zeta / omega + decay * swing, 0.0)

    return (ramp_response(t - dead_time) - ramp_response(t - dead_time - ramp)) / ramp


def test_a_step_is_followed_after_the_dead_time_by_a_second_order_response(facility):
    """RSI itself takes a cycle: the answer to a packet is driven in the next one. The packets round to 0.1 µm or finer."""
    section, size, matches = RIG.facility, 0.0015, 0
    with Hilt(facility.rig) as hilt:
        for _ in range(100):
            size = -size
            for _ in range(5):
                hilt.tick()
            x_0, delayed = float(hilt.X_WB["p"][0]), hilt.robot.counters()["delay"]
            hilt.tick(size)
            asked, rows = int(hilt.packet["ipoc"]), []
            for _ in range(40):
                hilt.tick()
                rows.append((int(hilt.packet["ipoc"]), float(hilt.X_WB["p"][0])))
            t, x = 1e-3 * (np.array(rows)[:, 0] - asked), np.array(rows)[:, 1]
            exact = step_response(t - 0.004, section.dead_time, 0.004, section.natural_frequency, section.damping_ratio)
            worst = np.abs((x - x_0) / size - exact).max()
            # A late answer is lost, and a stall of the robot's process shifts its cycles against its time stamps: either can
            # make a good response look wrong, but not a wrong one right.
            matches += worst < 1e-3 and hilt.robot.counters()["delay"] == delayed
            if matches == 3:
                return
    raise AssertionError(f"{matches} of 100 responses are as they should be")


def test_one_millimetre_into_the_frame_gives_its_stiffness_times_the_distance(facility):
    """2 %: 3.5 N of 176 N; the mean of 200 samples has 4 mN of noise, the robot is within 2 µm, which is 0.35 N."""
    facility.control.live(True)
    with Hilt(facility.rig) as hilt:
        hilt.go_to(FREE_WAY + 0.001)
        forces = []
        for _ in range(200):
            hilt.tick()
            forces.append(hilt.F["f"].copy())
        f = np.mean(forces, axis=0)
        depth = float(hilt.X_WB["p"][0]) - FREE_WAY
        assert depth == pytest.approx(0.001, abs=1e-5)
        assert f[0] == pytest.approx(STIFFNESS * depth, rel=0.02)
        assert np.abs(f[1:]).max() < 0.05
        status = facility.control.status()
        assert status["robot"]["violations"] == []
        assert status["robot"]["set_points"] > 100


def test_when_hilt_has_gone_the_robot_drives_back_and_waits_for_the_next_run(facility):
    facility.control.live(True)
    with Hilt(facility.rig) as hilt:
        hilt.go_to(0.002)
    stopped = facility.control.wait_for(lambda status: status["robot"]["stops"], LONG)
    assert "late" in stopped["robot"]["last_reason"]
    facility.control.wait_for(lambda status: status["robot"]["state"] == "waiting", LONG)
    with Hilt(facility.rig) as hilt:
        assert hilt.X_WB_cmd["p"] == pytest.approx((0.0, 0.0, 0.0), abs=1e-6)
        hilt.go_to(0.001)


def test_faults_come_on_demand_and_go(facility):
    control = facility.control
    with Hilt(facility.rig) as hilt:
        lost = hilt.robot.counters()["lost"]
        control.next("robot.drop", 3)
        until(lambda: hilt.tick() == 0 and hilt.robot.counters()["lost"] >= lost + 3)
        control.set("sensor.jump", (50.0, 0.0, 0.0, 0.0, 0.0, 2.0))
        until(lambda: hilt.tick() == 0 and hilt.F["f"][0] > 49.0)
        assert hilt.F["tau"][2] == pytest.approx(2.0, abs=1e-3)
        control.set("sensor.status", "0x80000000")
        until(lambda: hilt.robot.wait(hilt.X_WB, hilt.V_WB).code == hilt.robot.hold() and hilt.sensor.read(hilt.F) != 0)
        control.clear()
        until(lambda: hilt.tick() == 0 and hilt.sensor.read(hilt.F) == 0 and hilt.F["f"][0] < 1.0)
        with pytest.raises(InputError, match="drop"):
            control.set("robot.dorp", 0.1)
        with pytest.raises(InputError, match="from 0 to 1"):
            control.set("robot.drop", 2.0)
        with pytest.raises(InputError, match=r"robot\.SWITCH"):
            control.send("nonsense")


def test_the_emulated_robot_reports_a_set_point_while_not_live(facility):
    with Hilt(facility.rig) as hilt:
        until(lambda: hilt.tick(1e-6) == 0 and facility.control.status()["robot"]["violation_count"])
    assert "while not live" in facility.control.status()["robot"]["violations"][-1]


def test_a_stopped_process_is_reported_and_its_late_answers_confuse_nobody(facility):
    os.kill(facility.pids["sensor"], signal.SIGSTOP)
    try:
        assert "does not answer" in facility.control.status()["sensor"]["silent"]
    finally:
        os.kill(facility.pids["sensor"], signal.SIGCONT)
    facility.control.wait_for(lambda status: "silent" not in status["sensor"], LONG)
    assert "clients" in facility.control.status()["sensor"]
    assert "cycles" in facility.control.status()["robot"]


def test_two_facilities_at_once_do_not_affect_each_other(facility, tmp_path):
    """The second one's sensor is killed, which is reported; the first goes on. Its log is complete."""
    path = tmp_path / "diary.csv"
    with running_facility(RIG, diary=path, live=True) as second:
        assert second.rig.robot["port"] != facility.rig.robot["port"]
        with Hilt(facility.rig) as here, Hilt(second.rig) as there:
            there.go_to(0.001)
            until(lambda: here.tick() == 0 and here.F["f"][0] != 0.0)
            assert here.X_WB["p"][0] == pytest.approx(0.0, abs=1e-6)
        os.kill(second.pids["sensor"], signal.SIGKILL)
        status = second.control.wait_for(lambda status: status["trouble"], LONG)
        assert status["trouble"] == ["the sensor's process has ended by signal 9; start the facility again"]
        assert status["robot"]["answers"] > 0
        answers = second.control.wait_for(lambda status: status["robot"]["stops"] > 0, LONG)["robot"]["answers"]
        with pytest.raises(InputError, match="already running"):
            Facility(second.rig, [])
    assert facility.control.status()["trouble"] == []
    with path.open() as stream:
        lines = list(csv.DictReader(stream))
    assert len(lines) == answers
    assert all(int(a["ipoc"]) < int(b["ipoc"]) for a, b in itertools.pairwise(lines))
    assert float(lines[-1]["x"]) == pytest.approx(1.001, abs=1e-4)  # in the robot's base
    assert {line["live"] for line in lines} == {"1"}


SERVE = """
import sys
from pathlib import Path
from hilt.core import scenario
from hilt.device import rigfile
from hilt.lab.dry.facility import serve
import json
sys.exit(serve(scenario.build(rigfile.RigFile, json.loads(sys.argv[1])), []))
"""


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_a_signal_ends_all_processes(end):
    """SIGTERM, as SIGINT, with exit code 0; and even a killed parent leaves no child, and no memory."""
    ports = []
    for _ in range(2):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as found:
            found.bind(("127.0.0.1", 0))
            ports.append(found.getsockname()[1])
    tables = {"robot": {**RIG.robot, "port": ports[0]}, "sensor": {**RIG.sensor, "port": ports[1]}}
    rig = RIG.model_copy(update=tables)
    parent = subprocess.Popen([sys.executable, "-c", SERVE, rig.model_dump_json()], stdout=subprocess.PIPE, text=True)
    lines = [parent.stdout.readline() for _ in range(2)]
    assert str(ports[0]) in lines[0]
    assert lines[1].startswith("robot waiting")
    assert "0 clients" in lines[1]
    control = FacilityControl(rig)
    pids = [control.status()[name]["pid"] for name in ("robot", "sensor")]
    control.close()
    assert {os.getpgid(pid) for pid in pids}.isdisjoint({os.getpgid(parent.pid)})  # a terminal's interrupt is the parent's
    parent.send_signal(end)
    parent.communicate(timeout=LONG)
    assert parent.returncode == (-9 if end == signal.SIGKILL else 0)
    until(lambda: not any(map(alive, pids)))
    with pytest.raises(InputError, match="not running"):
        FacilityControl(rig)
    shared.sweep()  # as its owner's next command does
    assert not shared.left(f"facility-*-{ports[1]}*")


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
