"""Packets from strangers: senders other than the robot or the sensor are counted, reported and ignored.

Strangers send from other loopback addresses (127.0.0.2 …) or other ports.
"""

import contextlib
import socket

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hilt.core import clock, faults
from hilt.core.faults import InputError
from hilt.device import drivers, frames, peer
from hilt.device.netft import codec as ft
from hilt.device.netft.driver import LEARNT, Jump
from hilt.device.netft.emulator import NetFTBox
from hilt.device.rsi import codec
from hilt.device.rsi.emulator import ControllerSettings, RsiController
from hilt.host import machine as host
from hilt.lab.dry.robot import free_port
from tests.device import cells
from tests.device import test_sensors as sensors
from tests.device.test_netft import ticks
from tests.device.test_sensors import LOAD, sensing

CALIBRATION = ft.Calibration(1e6, 1e6)
HERE = {key: {"p": [0.0, 0.0, 0.0], "q": [1.0, 0.0, 0.0, 0.0]} for key in ("X_WR", "X_TB")}  # the robot is where it says
FAR = (2.0, 0.5, 0.5)  # the robot's position according to strangers
ROBOT = "127.0.0.1"
TIME_LIMIT = 5.0  # [s]

pytestmark = pytest.mark.virtual


def robot(allowed=ROBOT):
    return cells.section("rsi", peer=allowed, patience=25, **HERE).reserve()


def controller(driver, own=("", 0)):
    return RsiController("127.0.0.1", driver.port, ControllerSettings(), own)


def client(address="127.0.0.1"):
    found = host.socket(socket.AF_INET, socket.SOCK_DGRAM)
    found.bind((address, 0))
    found.setblocking(False)
    return found


def packet(ipoc, place=FAR, delay=0):
    rob = np.zeros(1, codec.ROB)[0]
    for pose in (rob["X_act"], rob["X_set"]):
        pose["p"], pose["q"] = place, (1.0, 0.0, 0.0, 0.0)
    rob["ipoc"], rob["delay"] = ipoc, delay
    return codec.encode_rob(rob)


class Poser:
    """Sends what a robot would, from another address or another port, every 4 ms."""

    def __init__(self, port, address="127.0.0.2", ipoc=1000):
        self._to, self._ipoc, self.socket = ("127.0.0.1", port), ipoc, client(address)
        self.name = peer.named(self.socket.getsockname())
        self.sent = self.answers = 0
        self._end = host.event()

    def _serve(self):
        while not self._end.wait(0.004):
            self.sent += 1
            self.socket.sendto(packet(self._ipoc + 4 * self.sent), self._to)
            with contextlib.suppress(BlockingIOError):
                while self.socket.recv(4096):
                    self.answers += 1

    def __enter__(self):
        self._task = host.thread(self._serve, "poser")
        return self

    def __exit__(self, *_):
        self._end.set()
        self._task.join()
        self.socket.close()


def cell(allowed=ROBOT):
    """A driver and its robot that have met."""
    return cells.cell("rsi", peer=allowed, patience=25, **HERE)


def cycles(it, count):
    for _ in range(count):
        assert it.wait().code == it.driver.hold() == faults.NONE


def test_a_poser_that_sends_first_from_another_address_is_not_the_robot(machine):
    driver = robot()
    with Poser(driver.port) as poser, contextlib.closing(driver):
        arm = controller(driver)
        machine.scheduler.at(machine.scheduler.now + 300_000_000, arm.start)  # the robot comes later
        driver.open("127.0.0.1", driver.port, 0.004, TIME_LIMIT)
        cycles(it := cells.Cell(driver.settings, arm, driver), 50)
        stands(it)
        assert len(arm.diary) >= 50, "the robot is answered"
        assert poser.answers == 0
        assert driver.strangers >= peer.COUNTED
        (note,) = driver.notes()
        assert f"{driver.strangers} packets from unknown senders ({poser.name})" in note
        arm.stop()


@pytest.mark.parametrize(("allowed", "address"), [("", "127.0.0.2"), ("", ROBOT), (ROBOT, ROBOT)])
def test_two_senders_are_refused_whoever_was_first(allowed, address):
    """Without robot.peer there is no way to know which is the robot; with only an address, which of its ports."""
    for poser_first in (True, False):
        driver = robot(allowed)
        arm = controller(driver)
        both = [Poser(driver.port, address), arm]
        with contextlib.closing(driver), contextlib.ExitStack() as stack:
            for each in both if poser_first else both[::-1]:
                stack.enter_context(each)
            clock.pause(0.02)
            with pytest.raises(InputError) as refused:
                driver.open("127.0.0.1", driver.port, 0.004, TIME_LIMIT)
            for words in ("two senders claim to be the robot", both[0].name, peer.named(arm.address), "robot.peer"):
                assert words in str(refused.value)
            assert arm.violations == []


def test_with_the_port_in_robot_peer_a_poser_at_the_same_address_is_a_stranger():
    own = (ROBOT, free_port())
    driver = robot(peer.named(own))
    with Poser(driver.port, ROBOT), controller(driver, own) as arm:
        driver.open("127.0.0.1", driver.port, 0.004, TIME_LIMIT)
        assert driver.strangers > 0
        assert driver.state["X_act"]["p"] == pytest.approx(arm.settings.start_p, abs=1e-8)
        driver.close()


def test_two_posers_and_no_robot_are_one_sentence():
    driver = robot()
    with contextlib.closing(driver), Poser(driver.port) as one, Poser(driver.port, "127.0.0.3") as two:
        with pytest.raises(InputError, match="no robot sent to port") as refused:
            driver.open("127.0.0.1", driver.port, 0.004, 0.5)
        assert all(poser.name in str(refused.value) for poser in (one, two))
        assert f"robot.peer is {ROBOT}" in str(refused.value)
        assert one.answers == two.answers == 0


def test_packets_queued_before_the_connection_are_discarded_unread():
    """From the robot's own address, before the connection: from a program that has since ended, or from an attacker."""
    driver = robot()
    with client() as old:
        for k in range(200):
            old.sendto(packet(4_200_000_000 + 4 * k), ("127.0.0.1", driver.port))
    with controller(driver) as arm:
        clock.pause(0.03)
        driver.open("127.0.0.1", driver.port, 0.004, TIME_LIMIT)
        cycles(it := cells.Cell(driver.settings, arm, driver), 10)
        stands(it)
        driver.close()


@pytest.mark.parametrize(("allowed", "address"), [("", "127.0.0.2"), (ROBOT, ROBOT)])
def test_a_robot_that_comes_after_a_poser_is_noticed_before_anything_moves(allowed, address):
    """The poser was alone when hilt connected: arming is refused once a second sender claims to be the robot."""
    driver = robot(allowed)
    with Poser(driver.port, address):
        driver.open("127.0.0.1", driver.port, 0.004, TIME_LIMIT)
        it = cells.Cell(driver.settings, None, driver)
        cycles(it, 5)
        with controller(driver) as arm:
            codes = [(it.wait().code, driver.hold()) for _ in range(20)]
            assert set(codes[2:]) == {(faults.ROBOT_RIVAL, faults.NONE)}, "and it stays so"
            assert "does not know" not in faults.explain(faults.ROBOT_RIVAL)
            assert any(peer.named(arm.address) in note for note in driver.notes())
            assert len(arm.diary) == 0
        driver.close()


def test_without_robot_peer_the_accepted_sender_is_reported():
    with cell("") as it:
        (note,) = it.driver.notes()
        assert f"robot.peer is not set: {peer.named(it.arm.address)} was taken for the robot" in note
    with cell() as it:
        assert it.driver.notes() == []


def stands(it, **counts):
    """The robot is where it was, and nothing but these counts has changed."""
    assert it.X["p"] == pytest.approx(it.arm.settings.start_p, abs=1e-8)
    counted = {"rejected": 0, "duplicates": 0, "restarts": 0, **counts}
    assert {name: it.count(name) for name in counted} == counted


@pytest.mark.parametrize("address", ["127.0.0.2", ROBOT])
def test_a_strangers_packet_is_counted_and_changes_nothing(address):
    """Places, time stamps ahead and behind, a clock that goes back, counts of late answers: all as if nothing had been sent."""
    with cell() as it, client(address) as stranger:
        to = ("127.0.0.1", it.driver.port)
        it.follow()  # from here on it is live
        for k in range(60):
            now = int(it.driver.state["ipoc"])
            for ipoc in (now, now + 4, now + 8, now + 40_000, now - 5_000_000, 1000):
                if k % 6 == 0:
                    stranger.sendto(packet(ipoc, delay=ipoc % 1000), to)
            stranger.sendto(b"<Rob>", to) if k == 0 else None
            assert it.tick() == (faults.NONE, faults.NONE)
            assert np.abs(it.V["v"]).max() < 1e-6
            stands(it)
        stands(it, strangers=61)
        assert it.driver.state["ipoc"] <= it.arm._ipoc
        assert peer.named(stranger.getsockname()) in it.driver.notes()[0]
        with pytest.raises(BlockingIOError):
            stranger.recv(4096)


def test_a_robot_that_falls_silent_is_silent_also_while_a_stranger_talks():
    with cell() as it:
        cycles(it, 5)
        with Poser(it.driver.port, ROBOT) as poser:
            it.arm.disconnect = True
            begin = clock.now()
            it.soon(lambda: it.hold() == faults.ROBOT_SILENT, 0.25)
            assert it.hold() == faults.ROBOT_SILENT
            assert clock.now() - begin < 0.25
            assert poser.sent > 10
            stands(it)


def test_a_flood_of_strangers_does_not_keep_the_robots_packets_away(machine):
    """After the first hundred the kernel drops them, so what the loop reads of a flood is bounded."""

    def flood():
        with client("127.0.0.2") as stranger:
            for _ in range(30):
                clock.pause(0.001)
                for _ in range(500):  # more than a buffer holds
                    stranger.sendto(packet(1000), ("127.0.0.1", it.driver.port))

    with cell() as it:
        cycles(it, 10)
        flooding = machine.begin("flood", flood)
        cycles(it, 50)
        assert flooding.poll() == 0
        assert peer.COUNTED <= it.count("strangers") < 2000
        assert "the kernel drops them" in it.driver.notes()[0]
        stands(it)
        assert it.count("lost") <= 1


def test_the_emulated_robot_takes_corrections_from_its_peer_only():
    with cell() as it:
        cycles(it, 10)
        before = it.arm._set["p"].copy()
        correction = frames.identity()
        correction["p"][0] = 1e-4
        with client() as stranger:
            for _ in range(20):
                assert it.wait().code == faults.NONE
                for ahead in (0, 4):  # a guess at the next one as well
                    stranger.sendto(codec.encode_sen(correction, int(it.driver.state["ipoc"]) + ahead), it.arm.address)
                assert it.driver.hold() == faults.NONE
        cycles(it, 5)
        assert it.arm._set["p"].tolist() == before.tolist()
        assert (it.arm.strangers, it.arm.violations) == (40, [])


@given(st.text(max_size=30))
def test_a_peer_is_an_address_or_refused(text):
    try:
        address, port = peer.parse(text)
    except ValueError:
        return
    assert len(address.split(".")) == 4
    assert 0 <= port <= 65535


@pytest.mark.parametrize(
    "text", ["robot", "1.2.3", "0.0.0.0", "224.0.0.1", "1.2.3.4:", "1.2.3.4:0", "1.2.3.4:65536", "::1", "1.2.3.4:²"]
)
def test_what_cannot_be_a_peer_is_one_sentence(text):
    with pytest.raises(InputError, match=r"^[^\n]*peer[^\n]*it must be an IPv4 address[^\n]*$"):
        cells.section("rsi", peer=text)


# The sensor


def test_records_of_a_stranger_are_not_the_sensors():
    with sensing("netft") as it:
        it.read()
        record = ft.Record()
        record.counts = (1, 2, 3, 4, 5, 6)
        to = it.driver._socket.getsockname()
        for address in ("127.0.0.1", "127.0.0.2"):
            with client(address) as stranger:
                for ahead in range(1, 50):
                    record.rdt_sequence = it.driver._newest.rdt_sequence + ahead
                    stranger.sendto(ft.encode(record), to)
        assert set(ticks(it)) == {faults.NONE}
        it.feels(LOAD[0])
        assert (it.driver.late, it.driver.rejected, it.driver.gaps) == (0, 0, 0)


@pytest.mark.parametrize("key", ["jump_force", "jump_torque"])
def test_a_bias_set_by_somebody_else_under_load_is_a_fault_and_our_own_is_not(key):
    with sensing("netft", **{"jump_force": 0.0, "jump_torque": 0.0, key: 1.0}) as it:
        assert set(ticks(it)) == {faults.NONE}
        it.driver.bias()
        assert set(ticks(it)) == {faults.NONE}
        it.feels((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
        it.device.jump = (5.0, 0.0, 0.0, 0.0, 3.0, 0.0)
        assert ticks(it).count(faults.SENSOR_JUMP) == 1, "reported once"
        with client() as other:
            other.sendto(ft.encode_request(ft.BIAS), (it.device.address, it.device.port))
        assert ticks(it).count(faults.SENSOR_JUMP) == 1
        assert "does not know" not in faults.explain(faults.SENSOR_JUMP)
        assert (it.device.biases, it.driver.jumps) == (2, 2)


def record_of(force, rdt, samples):
    record = ft.Record()
    record.rdt_sequence, record.ft_sequence = rdt & 0xFFFFFFFF, samples & 0xFFFFFFFF
    record.f = (force, 0.0, 0.0)
    return record


@given(
    st.lists(st.floats(-1.0, 1.0), min_size=3, max_size=40),
    st.lists(st.integers(1, 30), min_size=3, max_size=40),
    st.integers(1, 7),
    st.integers(0, 0xFFFFFFFF),
    st.integers(2, 50),
)
def test_a_contact_never_jumps_whatever_is_lost_and_a_step_beyond_its_speed_does(slopes, gaps, stride, first, beyond):
    """Force that changes by at most 1 N from record to record, with any records missing in between."""
    jump, force, rdt = Jump(1.0 + 1e-9, 0.0), 0.0, first
    last = record_of(force, rdt, stride * rdt)
    for _ in range(LEARNT):
        rdt += 1
        after = record_of(force, rdt, stride * rdt)
        assert not jump.beyond(last, after, 1)
        last = after
    for slope, gap in zip(slopes, gaps, strict=False):
        force, rdt = force + slope * gap, rdt + gap
        after = record_of(force, rdt, stride * rdt)
        assert not jump.beyond(last, after, gap)
        assert jump.beyond(last, record_of(last.f[0] + beyond * gap, rdt, stride * rdt), gap)
        last = after


def test_samples_that_the_sensor_has_taken_and_not_sent_widen_the_bound():
    """Its numbers continue while its process is stalled: the load had that time to change."""
    jump = Jump(1.0, 0.0)
    assert not jump.beyond(record_of(0.0, 1, 1), record_of(0.0, 2, 2), 1)
    assert not jump.beyond(record_of(0.0, 2, 2), record_of(99.0, 3, 102), 1)
    assert jump.beyond(record_of(0.0, 2, 2), record_of(101.0, 3, 102), 1)


@given(st.lists(st.floats(1e-4, 0.3), min_size=2, max_size=30))
def test_a_stalled_emulator_sends_what_the_sensor_would_have_measured(pauses):
    """1 N/ms, however late its process runs: consecutive records differ by no more than their samples allow."""
    now, records = 0.0, []
    with contextlib.ExitStack() as stack:
        box = NetFTBox(lambda: ((1000.0 * now, 0.0, 0.0), (0.0, 0.0, 0.0)), CALIBRATION, 1000.0)
        stack.callback(box.stop)
        box.line.send = lambda data, *_: records.append(data)
        box._streams["somebody"] = type("Stream", (), {"sequence": 1, "left": -1})()
        due = box._catch_up(now, 0.0)
        for pause in pauses:
            now += pause
            due = box._catch_up(now, due)
    jump, (before, after) = Jump(1.0 + 1e-5, 0.0), (ft.Record(), ft.Record())
    ft.decode(records[0], CALIBRATION, before)
    for data in records[1:]:
        ft.decode(data, CALIBRATION, after)
        assert not jump.beyond(before, after, 1)
        before, after = after, before


# Two runs on one rig


@contextlib.contextmanager
def box_and_sections():
    """A box that nobody has met, and the sections of a rig with it."""
    with NetFTBox(lambda: LOAD, CALIBRATION) as box:
        yield box, cells.section("rsi"), sensors.section("netft", port=box.port, frozen=0.0)


def test_a_second_run_on_a_rig_is_refused_before_it_contacts_the_sensor():
    """A real box streams to the last client that asked: the first run would lose its forces to a run that is then refused."""
    with box_and_sections() as (box, one, two):
        first = one.reserve()
        refused = rf"cannot listen for the robot on 127.0.0.1:{one.port}: .*; end the other program"
        with pytest.raises(InputError, match=refused):
            drivers.connect(one, two)
        clock.pause(0.1)
        assert (box.starts, box.clients) == (0, 0)
        first.close()
        with RsiController("127.0.0.1", one.port, ControllerSettings()):
            arm, force = drivers.connect(one, two)
            assert box.clients == 1
            arm.close()
            force.stop()


def test_a_sensor_is_one_by_whatever_name_and_free_again_when_its_run_has_ended():
    with box_and_sections() as (box, _, two):
        first = two.connect()
        with pytest.raises(InputError, match=rf"the force sensor at .*:{box.port} is in use by another run"):
            two.model_copy(update={"address": "localhost"}).connect()
        assert box.starts == 1
        first.stop()
        first.stop()
        two.connect().stop()


def test_a_rig_that_is_only_partly_there_releases_everything():
    with box_and_sections() as (box, one, two):
        with pytest.raises(InputError, match="no robot sent"):
            drivers.connect(one.model_copy(update={"time_limit": 0.1}), two)
        clock.pause(0.01)
        assert box.clients == 0
        box.silence = True
        with pytest.raises(InputError, match="sent no record"):
            drivers.connect(one, two.model_copy(update={"time_limit": 0.1}))
        with host.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
            free.bind(("127.0.0.1", one.port))
