"""Every driver against its emulator, on real sockets of this machine.

Nothing here depends on the machine being quick: a stalled process makes counts smaller and waits longer, not results wrong.
"""

import socket
import time
from contextlib import contextmanager

import numpy as np
import pytest

from hilt.core import clock, faults
from hilt.core.faults import InputError
from hilt.core.signals import POSE, TWIST, WRENCH
from hilt.device.line import FAULTS, Line
from hilt.device.netft import codec as ft
from hilt.device.netft.driver import NetFT
from hilt.device.netft.emulator import NetFTBox
from hilt.device.netft.settings import NetFTSettings
from hilt.device.placed import Place
from hilt.device.rsi.driver import RsiRobot
from hilt.device.rsi.emulator import ControllerSettings, RsiController
from hilt.device.rsi.settings import RsiSettings

pytestmark = pytest.mark.wall

CALIBRATION = ft.Calibration(1e6, 1e6)
LONG = 20.0  # [s], only reached if something is broken
LOAD = ((10.0, -20.0, 30.0), (1.0, 2.0, -3.0))


def until(condition, limit=LONG):
    """Wait for something to become true, whatever the load of the machine."""
    pause, end = clock.PeriodicClock(), clock.now() + limit
    while not condition():
        assert clock.now() < end, "not true in time"
        pause.start()
        pause.wait_until(0.002)


def sleep(seconds):
    pause = clock.PeriodicClock()
    pause.start()
    pause.wait_until(seconds)


# The sensor


class Load:
    """A load that always changes by at least one count, so that a frozen sensor can be detected."""

    def __init__(self):
        self.f, self.tau, self._turn = *LOAD, 0

    def __call__(self):
        self._turn += 1
        return (self.f[0] + 1e-6 * (self._turn % 2), *self.f[1:]), self.tau


def sensor(stale=LONG, frozen=0.0, gap=0):
    return NetFT(NetFTSettings(counts_per_force=1e6, counts_per_torque=1e6, stale=stale, frozen=frozen, gap=gap))


@contextmanager
def stream(stale=LONG, frozen=0.0, rate=500.0, first=1, gap=0):
    with NetFTBox(Load(), CALIBRATION, rate) as box:
        box.first_sequence = first
        driver = sensor(stale, frozen, gap)
        driver.open(box.address, box.port, LONG)
        try:
            yield box, driver, np.zeros(1, WRENCH)
        finally:
            driver.stop()


def read_until(driver, out, condition, limit=LONG):
    codes = []

    def read():
        codes.append(driver.read(out))
        return condition()

    until(read, limit)
    return codes


def test_the_sensor_streams_the_newest_wrench_in_si():
    with stream() as (box, driver, out):
        codes = read_until(driver, out, lambda: driver.used > 20)
        assert set(codes) == {faults.NONE}
        assert out["f"][0] == pytest.approx(LOAD[0], abs=2e-6)
        assert out["tau"][0] == pytest.approx(LOAD[1], abs=2e-6)
        assert box.biases == 0  # never by itself
        assert (driver.late, driver.rejected) == (0, 0)


def test_the_queue_is_emptied_and_the_newest_record_wins():
    with stream(rate=200.0) as (box, driver, out):  # slow: the kernel's buffer of some 250 packets must not run over
        load = box._wrench
        until(lambda: box.sent > 60)
        load.f = (50.0, 0.0, 0.0)
        marked = box.sent
        until(lambda: box.sent > marked + 5)
        box.silence = True
        sleep(0.1)  # packets in transit have arrived
        used = driver.used
        assert driver.read(out) == faults.NONE
        assert driver.used == used + 1
        assert driver.received > 60
        assert out["f"][0, 0] == pytest.approx(50.0, abs=2e-6)


def test_a_sample_that_lay_in_the_buffer_is_known_to_be_old():
    """The kernel's buffer keeps the oldest records, so after a long pause of the loop even its last one is old."""
    with stream(stale=0.2) as (box, driver, out):
        read_until(driver, out, lambda: driver.used > 3)
        box.silence = True
        sleep(0.5)
        assert driver.read(out) == faults.SENSOR_STALE  # read now, but it came half a second ago
        assert driver.age > 0.45
        box.silence = False
        codes = read_until(driver, out, lambda: driver.age < 0.1)
        assert codes[-1] == faults.NONE, "what is that young now was younger when it was read"


def test_a_sample_that_came_after_the_robots_cycle_waits_for_the_next_one():
    """The load is the time at which it was measured, and no sample arrives before it was measured."""
    with stream() as (box, driver, out):
        began = clock.now()
        box._wrench = lambda: ((clock.now() - began, 0.0, 0.0), LOAD[1])
        read_until(driver, out, lambda: out["f"][0, 0] < LOAD[0][0])
        seen = 0
        for _ in range(20):
            sleep(0.02)
            cycle = clock.now() - 0.01
            assert driver.read_until(out, cycle) == faults.NONE
            then = out["f"][0, 0]
            assert then <= cycle - began + 1e-6
            assert clock.now() - driver.age <= cycle + 1e-4  # two clocks are read one after the other
            driver.read(out)
            seen += out["f"][0, 0] > then
        assert seen > 0, "what came later was kept"
        assert driver.gaps == 0


def test_gaps_are_counted_also_when_the_sequence_wraps():
    with stream(first=2**32 - 20) as (box, driver, out):
        read_until(driver, out, lambda: driver.used > 2)
        box.line.next("drop", 7)
        read_until(driver, out, lambda: driver.received > 60)
        assert box.line.done["drop"] == 7
        assert driver.gaps == 7
        assert (driver.late, driver.rejected) == (0, 0)


@pytest.mark.parametrize(("gap", "lost", "fault"), [(7, 7, False), (7, 8, True), (0, 60, False)])
def test_records_missing_in_a_row_are_a_fault_from_the_stated_number_on(gap, lost, fault):
    with stream(gap=gap) as (box, driver, out):
        read_until(driver, out, lambda: driver.used > 2)
        box.line.next("drop", lost)
        codes = read_until(driver, out, lambda: driver.gaps >= lost)
        assert driver.gaps == lost
        assert (codes[-1] == faults.SENSOR_GAP) == fault
        assert codes.count(faults.SENSOR_GAP) == fault  # reported once
        assert driver.read(out) == faults.NONE
        assert "does not know" not in faults.explain(faults.SENSOR_GAP)


def test_records_that_were_not_fetched_in_time_are_no_gap_of_the_sensor():
    """They arrived but the socket had no room: counted, but no fault."""
    with stream(gap=2) as (box, driver, out):
        read_until(driver, out, lambda: driver.used > 2)
        driver._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)  # the smallest buffer possible: a few records
        sent = box.sent
        until(lambda: box.sent > sent + 60)
        codes = read_until(driver, out, lambda: driver.gaps > 0)
        assert driver.gaps > 20
        assert set(codes) == {faults.NONE}


def test_duplicates_and_old_records_are_counted_and_not_used():
    with stream() as (box, driver, out):
        read_until(driver, out, lambda: driver.used > 2)
        box.line.next("duplicate", 5)
        until(lambda: box.line.done["duplicate"] == 5)
        box.line.next("reorder", 1)
        until(lambda: box.line.done["reorder"] == 1)
        box.line.delay_time = 0.05
        box.line.next("delay", 3)
        until(lambda: box.line.done["delay"] == 3)
        read_until(driver, out, lambda: driver.late >= 9)
        assert driver.late == 9
        assert driver.rejected == 0


def test_packets_that_are_no_records_are_counted_and_not_used():
    with stream() as (box, driver, out):
        read_until(driver, out, lambda: driver.used > 2)
        box.line.next("truncate", 10)
        read_until(driver, out, lambda: driver.rejected >= 10)
        received = driver.received
        read_until(driver, out, lambda: driver.received > received + 5)
        assert driver.rejected == 10
        assert driver.gaps == 10  # they also count as missing
        assert out["f"][0] == pytest.approx(LOAD[0], abs=2e-6)


def test_corrupt_packets_never_stop_the_stream():
    """Corrupt bits in the wrench look like a load; a sequence number that jumps far is rejected."""
    with stream() as (box, driver, out):
        box.line.corrupt = 0.5
        read_until(driver, out, lambda: box.line.done["corrupt"] > 100)
        box.line.clear()
        received = driver.received
        read_until(driver, out, lambda: driver.received > received + 50)
        used, late, rejected = driver.used, driver.late, driver.rejected
        read_until(driver, out, lambda: driver.received > received + 100)
        assert driver.used > used, "new samples are delivered again"
        assert (driver.late, driver.rejected) == (late, rejected), "and each of them is accepted"
        assert out["f"][0] == pytest.approx(LOAD[0], abs=2e-6)


def test_bias_is_set_only_on_the_users_request():
    with stream() as (box, driver, out):
        read_until(driver, out, lambda: driver.used > 5)
        assert box.biases == 0
        driver.bias()
        read_until(driver, out, lambda: abs(out["f"][0, 2]) < 1e-5)
        assert box.biases == 1
        box.jump = (0.0, 0.0, 4.0, 0.0, 0.0, 0.0)
        read_until(driver, out, lambda: abs(out["f"][0, 2] - 4.0) < 1e-5)


@contextmanager
def onrobot(**keys):
    settings = NetFTSettings(dialect="onrobot", stale=LONG, frozen=0.0, **keys)
    calibration = ft.Calibration(settings.counts_per_force, settings.counts_per_torque)
    with NetFTBox(Load(), calibration, 200.0, dialect="onrobot") as box:
        driver = NetFT(settings)
        driver.open(box.address, box.port, LONG)
        try:
            yield box, driver, np.zeros(1, WRENCH)
        finally:
            driver.stop()


def test_onrobot_has_its_own_counts_rate_filter_and_bias():
    with onrobot(rate=500.0, filter=150.0) as (box, driver, out):
        read_until(driver, out, lambda: driver.used > 5)
        assert (round(box.rate), ft.FILTERS[box.filter], box.refused) == (500, 150.0, 0)
        assert out["f"][0] == pytest.approx(LOAD[0], abs=1e-4)
        assert out["tau"][0] == pytest.approx(LOAD[1], abs=1e-5)
        driver.bias()
        read_until(driver, out, lambda: abs(out["f"][0, 2]) < 1e-3)
        assert box.biases == 1
        driver._request(ft.BIAS, 0)  # as an ATI sensor would be biased: here it means the opposite
        read_until(driver, out, lambda: abs(out["f"][0, 2] - LOAD[0][2]) < 1e-3)
        assert box.biases == 1


def test_onrobot_any_status_bit_is_an_error():
    with onrobot() as (box, driver, out):
        read_until(driver, out, lambda: driver.used > 5)
        box.status = 1 << 4
        until(lambda: driver.read(out) == faults.SENSOR_STATUS)
        assert driver.words() == ["status 0x00000010"]
        box.status = 0
        until(lambda: driver.read(out) == faults.NONE)


def test_an_ati_sensor_takes_neither_rate_nor_filter():
    with pytest.raises(ValueError, match="on its web page"):
        NetFTSettings(counts_per_force=1e6, counts_per_torque=1e6, stale=LONG, frozen=0.0, rate=500.0)
    with pytest.raises(ValueError, match="filter is 20 Hz; the sensor has 0, 500, 150"):
        NetFTSettings(dialect="onrobot", stale=LONG, frozen=0.0, filter=20.0)
    with pytest.raises(ValueError, match=r"rate is 2 Hz; it must be 3\.94 to 1000 Hz"):
        NetFTSettings(dialect="onrobot", stale=LONG, frozen=0.0, rate=2.0)
    with NetFTBox(Load(), CALIBRATION, 500.0) as box, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.connect((box.address, box.port))
        client.send(ft.encode_request(ft.SPEED, 10))
        until(lambda: box.refused == 1)
        assert round(box.rate) == 500


@pytest.mark.parametrize(
    ("switch", "value", "fault"),
    [
        ("saturate", True, faults.SENSOR_SATURATED),
        ("status", ft.ERROR | 1 << 2, faults.SENSOR_STATUS),
        ("silence", True, faults.SENSOR_STALE),
        ("freeze", True, faults.SENSOR_FROZEN),
    ],
)
def test_a_fault_of_the_sensor_is_reported_and_goes_away(switch, value, fault):
    with stream(stale=0.3, frozen=0.1) as (box, driver, out):
        read_until(driver, out, lambda: driver.used > 5)
        good = getattr(box, switch)
        setattr(box, switch, value)
        until(lambda: driver.read(out) == fault)
        assert "does not know" not in faults.explain(fault)
        if switch == "status":
            assert driver.words() == ["broken gage", "error"]
        setattr(box, switch, good)
        until(lambda: driver.read(out) == faults.NONE)


def test_each_client_has_its_own_stream():
    with stream() as (box, driver, out):
        other, mirror = sensor(), np.zeros(1, WRENCH)
        other.open(box.address, box.port, LONG)
        read_until(driver, out, lambda: driver.used > 10)
        read_until(other, mirror, lambda: other.used > 10)
        assert box.clients == 2
        other.stop()
        until(lambda: box.clients == 1)
        used = driver.used
        read_until(driver, out, lambda: driver.used > used + 5)


def test_a_stream_of_some_samples_ends_by_itself():
    with NetFTBox(Load(), CALIBRATION, 500.0) as box, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(LONG)
        client.connect((box.address, box.port))
        client.send(b"nonsense!")
        client.send(ft.encode_request(ft.START, 5))
        sequences = [int.from_bytes(client.recv(64)[:4], "big") for _ in range(5)]
        assert sequences == [1, 2, 3, 4, 5]
        until(lambda: box.clients == 0 and box.sent == 5)
        sleep(0.05)
        assert box.sent == 5
        assert box.refused == 1


def test_a_sensor_that_is_not_there_is_one_sentence():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mute:
        mute.bind(("127.0.0.1", 0))
        port = mute.getsockname()[1]
        driver = sensor()
        with pytest.raises(InputError, match=rf"127.0.0.1:{port} sent no record within 0.3 s; check the"):
            driver.open("127.0.0.1", port, 0.3)
    driver.stop()
    with pytest.raises(InputError, match="cannot be reached"):
        sensor().open("127.0.0.1", port, LONG)  # closed now: the machine itself refuses
    with pytest.raises(InputError, match="cannot be reached"):
        sensor().open("no.such.host.invalid", 49152, 1.0)
    with pytest.raises(InputError, match="cannot be reached"):
        sensor().open("127.0.0.1", 99999, 1.0)


def test_stop_never_raises_and_reading_a_stopped_sensor_is_stale():
    driver = sensor(stale=0.01)
    driver.stop()
    with stream() as (box, driver, out):
        driver.stop()
        driver.stop()
        until(lambda: box.clients == 0)
        driver.settings = driver.settings.model_copy(update={"stale": 0.01})
        sleep(0.02)
        assert driver.read(out) == faults.SENSOR_STALE


def test_the_line_makes_the_requested_faults():
    line, got = Line(), []
    for number, fault in enumerate(FAULTS):
        line.next(fault)
        line.send(bytes([number] * 4), 0.0, got.append)
        line.send(b"next", 0.0, got.append)
        line.release(line.delay_time)
    expected = [b"next", bytes([1] * 4), bytes([1] * 4), b"next", b"next", bytes([2] * 4)]
    assert got[:6] == expected
    assert got[6] != bytes([3] * 4)
    assert len(got[6]) == 4
    assert got[7:10] == [b"next", b"next", bytes([4] * 4)]
    assert bytes([5] * 4).startswith(got[10])
    assert len(got[10]) < 4


# The robot

HERE = Place(p=(0.0, 0.0, 0.0), q=(1.0, 0.0, 0.0, 0.0))
AWAY = Place(p=(0.5, -0.25, 0.1), q=(0.5, 0.5, 0.5, 0.5))
HAND = Place(p=(0.0, 0.0, 0.2), q=(0.0, 1.0, 0.0, 0.0))


def robot(correction="relative", base=HERE, tool=HERE, patience=500, step_limit=0.001):
    return RsiRobot(
        RsiSettings(correction=correction, X_WR=base, X_TB=tool, step_limit=step_limit, turn_limit=0.01, patience=patience)
    )


@contextmanager
def cell(cycle=0.004, base=HERE, tool=HERE, patience=500, step_limit=0.001, **settings):
    """A driver and a controller that have met. `late_limit` is large: a stalled machine is not the subject."""
    kind = settings.get("correction", "relative")
    driver = robot(kind, base, tool, patience, step_limit)
    driver.listen("127.0.0.1", 0)
    with RsiController("127.0.0.1", driver.port, ControllerSettings(**{"cycle": cycle, "late_limit": 5000, **settings})) as arm:
        try:
            driver.open("127.0.0.1", driver.port, cycle, LONG)
            yield driver, arm, np.zeros(1, POSE), np.zeros(1, TWIST)
        finally:
            driver.close()


def smooth(k, count, distance):
    """Position at tick k of a move of `count` ticks, slow at both ends."""
    s = min(k / count, 1.0)
    return distance * s * s * (3.0 - 2.0 * s)


@pytest.mark.parametrize("kind", ["relative", "absolute"])
@pytest.mark.parametrize(("cycle", "count"), [(0.004, 200), (0.012, 60)])
def test_a_loop_of_many_cycles_echoes_every_ipoc_and_goes_where_it_is_sent(kind, cycle, count):
    # 30 mm in 0.7 s: at most 0.37 m/s² by the cubic, far from the limit, also where a cycle is lost to the machine.
    with cell(cycle, AWAY, HAND, correction=kind, step_limit=0.002) as (driver, arm, X, V):
        for _ in range(5):  # discard what was queued before they connected
            assert driver.wait(X, V).code == faults.NONE
            driver.hold()
        late, start = arm.late, np.zeros(1, POSE)
        driver.sent(start)
        arm.live = True
        goal = start.copy()
        for k in range(count):
            assert driver.wait(X, V).code == faults.NONE
            goal["p"][0] = start["p"][0] + [smooth(k + 1, count, 0.03), 0.0, smooth(k + 1, count, -0.01)]
            assert driver.send(goal) == faults.NONE
        sent = np.zeros(1, POSE)
        driver.sent(sent)
        assert sent["p"][0] == pytest.approx(start["p"][0] + [0.03, 0.0, -0.01], abs=1e-8)
        assert sent["q"][0] == pytest.approx(start["q"][0], abs=1e-7)
        for _ in range(5):
            assert driver.wait(X, V).code == faults.NONE
            driver.hold()
        diary = list(arm.diary)
        stamps = [entry.stamp for entry in diary]
        assert stamps == sorted(set(stamps))
        assert not [step for step in np.diff(stamps) if step % (1000 * cycle)]
        moved = np.subtract(diary[-1].pose[:3], arm.settings.start_p)
        if kind == "relative":  # the controller's own sum, even if a busy machine lost some
            assert moved == pytest.approx(np.sum([entry.correction[:3] for entry in diary], axis=0), abs=1e-12)
        if kind == "absolute" or arm.late == late:  # absolute set-points do not drift when some are lost
            assert np.linalg.norm(moved) == pytest.approx(np.hypot(0.03, 0.01), abs=1e-8)
            until(lambda: np.linalg.norm(arm.true_twist()["v"]) < 1e-5)
            assert arm.true_pose()["p"] == pytest.approx(diary[-1].pose[:3], abs=1e-5)
        if arm.late == late:
            assert len([entry for entry in diary if entry.live]) >= count
            assert arm.violations == []


@pytest.mark.parametrize("kind", ["relative", "absolute"])
def test_an_answer_that_came_too_late_is_made_up_for(kind):
    """Every tenth answer is too late for its cycle: the controller does not make that step, and says so in its next packet."""
    with cell(0.012, AWAY, HAND, correction=kind, step_limit=0.002) as (driver, arm, X, V):
        start, sent = np.zeros(1, POSE), np.zeros(1, POSE)
        driver.sent(start)
        arm.live, late, goal = True, arm.late, start.copy()
        for k in range(60):
            assert driver.wait(X, V).code == faults.NONE
            goal["p"][0, 0] = start["p"][0, 0] + smooth(k + 1, 50, 0.01)
            if k % 10 == 5:
                time.sleep(0.018)
            assert driver.send(goal) == faults.NONE
        assert arm.late >= late + 3, "of six; a robot that was stalled itself takes an answer that is there"
        driver.wait(X, V)
        driver.sent(sent)
        driver.hold()
        assert sent["p"][0] == pytest.approx(goal["p"][0], abs=1e-8)
        moved = np.subtract(arm.diary[-1].pose[:3], arm.settings.start_p)
        assert np.linalg.norm(moved) == pytest.approx(0.01, abs=1e-8), "the controller is where the driver believes it is"


def test_measured_pose_and_twist_are_those_of_the_robot():
    with cell(natural_frequency=200.0, dead_time=0.0, base=AWAY, tool=HAND) as (driver, arm, X, V):
        assert driver.wait(X, V).code == faults.NONE
        driver.hold()
        arm.live = True
        goal = np.zeros(1, POSE)
        driver.sent(goal)
        moved, begin = np.zeros(3), X["p"][0].copy()
        for k in range(150):
            before = int(driver.state["ipoc"])
            assert driver.wait(X, V).code == faults.NONE
            moved += V["v"][0] * (int(driver.state["ipoc"]) - before) / 1000
            goal["p"][0, 1] += 0.0001 if k < 100 else 0.0
            assert driver.send(goal) == faults.NONE
        assert moved == pytest.approx(X["p"][0] - begin, abs=1e-12)  # the twist matches the motion, lost cycles or not
        assert V["w"][0] == pytest.approx([0.0, 0.0, 0.0], abs=1e-6)
        # The base is turned so that y of the world is x of the robot.
        moved = np.subtract(arm.diary[-1].pose[:3], arm.settings.start_p)
        assert 0.001 < moved[0] < 0.01 + 1e-9
        assert moved[1:] == pytest.approx([0.0, 0.0], abs=1e-9)

        def at_rest():
            driver.wait(X, V)
            driver.hold()
            return np.abs(V["v"]).max() < 1e-6

        until(at_rest)
        assert X["p"][0] - begin == pytest.approx([0.0, arm.true_pose()["p"][0] - arm.settings.start_p[0], 0.0], abs=1e-7)


def test_holding_moves_nothing_and_is_no_set_point():
    for kind in ("relative", "absolute"):
        with cell(correction=kind) as (driver, arm, X, V):
            for _ in range(30):
                assert driver.wait(X, V).code == faults.NONE
                assert driver.hold() == faults.NONE
            assert arm.violations == []
            assert X["p"][0] == pytest.approx(arm.settings.start_p, abs=1e-8)
            assert len(arm.diary) > 10


def test_the_controller_reports_a_set_point_that_comes_while_not_live():
    with cell() as (driver, arm, X, V):
        goal = np.zeros(1, POSE)
        driver.sent(goal)
        for _ in range(50):
            driver.wait(X, V)
            goal["p"][0, 0] += 1e-5
            driver.send(goal)
        until(lambda: arm.violations)
        assert "while not live" in arm.violations[0]


def test_the_controller_reports_too_much_acceleration():
    with cell(acceleration_limit=1.0) as (driver, arm, X, V):
        arm.live = True
        goal = np.zeros(1, POSE)
        driver.sent(goal)
        for k in range(50):
            driver.wait(X, V)
            goal["p"][0, 0] += 4e-4 if k % 2 else 0.0  # 0.1 m/s in every other cycle: 25 m/s²
            driver.send(goal)
        until(lambda: arm.violations)
        assert "m/s²" in arm.violations[0]
        assert arm.hard_stops > 0


def test_a_step_is_shortened_to_the_limit_of_a_cycle_and_reported():
    with cell(step_limit=0.0005) as (driver, arm, X, V):
        arm.live = True
        goal, sent = np.zeros(1, POSE), np.zeros(1, POSE)
        driver.sent(goal)
        goal["p"][0, 0] += 0.0012
        codes = []
        for _ in range(4):
            assert driver.wait(X, V).code == faults.NONE
            codes.append(driver.send(goal))
        assert codes == [faults.ROBOT_LIMITED, faults.ROBOT_LIMITED, faults.NONE, faults.NONE]
        assert driver.limited == 2
        driver.sent(sent)
        assert sent["p"][0] == pytest.approx(goal["p"][0], abs=1e-9)
        assert max(np.linalg.norm(entry.correction[:3]) for entry in arm.diary) <= 0.0005 + 1e-9


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e9])
def test_a_set_point_that_is_no_pose_is_not_sent(bad):
    with cell(step_limit=1e12 if bad == 1e9 else 0.001) as (driver, arm, X, V):
        goal, sent = np.zeros(1, POSE), np.zeros(1, POSE)
        driver.sent(goal)
        before = goal["p"][0].copy()
        goal["p"][0, 1] = bad
        assert driver.wait(X, V).code == faults.NONE
        assert driver.send(goal) == faults.ROBOT_NOT_SENDABLE
        driver.sent(sent)
        assert sent["p"][0].tolist() == before.tolist()
        driver.wait(X, V)
        driver.hold()
        assert arm.violations == []


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        ({"step_limit": 0.0003}, "beyond the limit"),
        ({"workspace": ((0.0, -1.0, 0.0), (1.003, 1.0, 2.0))}, "outside the workspace"),
        ({"speed_limit": 0.02, "natural_frequency": 200.0}, "tool speed"),
    ],
)
def test_the_robots_own_limits_stop_it_and_it_falls_silent(limits, reason):
    driver = robot(patience=100)
    driver.listen("127.0.0.1", 0)
    with RsiController("127.0.0.1", driver.port, ControllerSettings(late_limit=5000, **limits)) as arm:
        driver.open("127.0.0.1", driver.port, 0.004, LONG)
        arm.live = True
        X, V, goal = np.zeros(1, POSE), np.zeros(1, TWIST), np.zeros(1, POSE)
        driver.sent(goal)
        end = clock.now() + LONG
        while not arm.reason:
            if driver.wait(X, V).code == faults.NONE:
                goal["p"][0, 0] += 0.0004
                driver.send(goal)
            assert clock.now() < end
        assert reason in arm.reason
        until(lambda: driver.wait(X, V).code == faults.ROBOT_SILENT)
        arm.restart()
        # It continues without restarting hilt, from the position in its packet.
        until(lambda: driver.wait(X, V).code == faults.ROBOT_RESTARTED)
        driver.sent(goal)
        assert np.abs(goal["p"] - X["p"]).max() < 1e-9
        assert driver.hold() == faults.NONE
        until(lambda: driver.wait(X, V).code == faults.NONE)
        assert driver.hold() == faults.NONE
        driver.close()


def step_to(driver, X, V, goal, distance, count):
    """Answer `count` packets while moving along x; the driver's set-point is at the end of the move."""
    for k in range(1, count + 1):
        until(lambda: driver.wait(X, V).code == faults.NONE)
        driver.sent(goal)
        goal["p"][0, 0] += smooth(k, count, distance) - smooth(k - 1, count, distance)
        driver.send(goal)


def stop_and_move(arm, place):
    """End the robot's program and move the robot elsewhere."""
    arm._halt("somebody stopped it")
    clock.pause(0.1)
    arm._set["p"] = place
    arm._response.settle(clock.now())
    arm._response.command(arm._set, clock.now(), clock.now() + 0.05)
    clock.pause(0.5)


@pytest.mark.parametrize("rebooted", [False, True], ids=["program", "controller"])
def test_a_program_that_is_started_again_begins_where_the_robot_stands(rebooted):
    """The robot was moved while hilt stayed connected: nothing sent before the restart is used."""
    with cell(patience=50) as (driver, arm, X, V):
        arm.live = True
        goal = np.zeros(1, POSE)
        step_to(driver, X, V, goal, 0.02, 50)
        stop_and_move(arm, (1.1, 0.2, 0.9))
        until(lambda: driver.wait(X, V).code == faults.ROBOT_SILENT)
        if rebooted:
            arm._ipoc = 1000
        arm.restart()
        lost = driver.lost
        until(lambda: driver.wait(X, V).code == faults.ROBOT_RESTARTED)
        assert X["p"][0] == pytest.approx((1.1, 0.2, 0.9), abs=1e-6)
        assert np.abs(np.concatenate([V["v"][0], V["w"][0]])).max() == 0.0
        driver.sent(goal)
        assert goal["p"][0] == pytest.approx((1.1, 0.2, 0.9), abs=1e-6)
        driver.hold()
        step_to(driver, X, V, goal, 0.02, 50)
        until(lambda: driver.wait(X, V).code == faults.NONE)
        driver.sent(goal)
        assert 1.1 + 1e-3 < goal["p"][0, 0] < 1.12 + 1e-6  # less any steps lost to a stalled machine
        assert goal["p"][0, 1:] == pytest.approx((0.2, 0.9), abs=1e-6)
        assert arm._set["p"] == pytest.approx(goal["p"][0], abs=1e-8)
        assert driver.restarts == 1
        assert driver.lost - lost < 50
        assert arm.violations == []


def test_absolute_corrections_are_not_made_to_a_program_that_was_started_again():
    """They would start from the wrong place, in one step: no packet is answered, and the robot stops by itself."""
    with cell(correction="absolute", patience=50, late_limit=100) as (driver, arm, X, V):
        arm.live = True
        goal = np.zeros(1, POSE)
        step_to(driver, X, V, goal, 0.02, 50)
        stop_and_move(arm, (1.1, 0.2, 0.9))
        arm.restart()
        until(lambda: driver.wait(X, V).code == faults.ROBOT_RESTARTED)
        answers = len(arm.diary)
        for _ in range(20):
            assert driver.wait(X, V).code in (faults.ROBOT_RESTARTED, faults.ROBOT_SILENT)
            assert driver.send(goal) == faults.ROBOT_LINE
            assert driver.hold() == faults.ROBOT_LINE
        driver.stop()
        assert len(arm.diary) == answers
        assert arm._set["p"] == pytest.approx((1.1, 0.2, 0.9))
        driver.close()
        driver.open("127.0.0.1", driver.port, 0.004, LONG)
        until(lambda: driver.wait(X, V).code == faults.NONE)
        driver.sent(goal)
        assert goal["p"][0] == pytest.approx((1.1, 0.2, 0.9), abs=1e-6)
        assert arm.violations == []


def test_a_silence_of_the_line_is_no_new_program():
    """The robot's set-point stayed where it was and is known; cut off in motion, the robot is behind it."""
    with cell(patience=50, dead_time=0.5) as (driver, arm, X, V):
        arm.live = True
        goal = np.zeros(1, POSE)
        step_to(driver, X, V, goal, 0.02, 50)
        arm.disconnect = True
        until(lambda: driver.wait(X, V).code == faults.ROBOT_SILENT)
        arm.disconnect = False
        until(lambda: driver.wait(X, V).code == faults.NONE)
        driver.sent(goal)
        assert arm._set["p"] == pytest.approx(goal["p"][0], abs=1e-8)
        assert np.abs(X["p"] - goal["p"]).max() > 1e-3
        assert driver.restarts == 0


def test_answers_that_do_not_come_stop_the_robot():
    with cell(late_limit=25, patience=200) as (driver, arm, X, V):
        for _ in range(20):
            assert driver.wait(X, V).code == faults.NONE
            driver.hold()
        late = driver.delay
        until(lambda: arm.reason)
        assert "answers in a row were late" in arm.reason
        codes = [driver.wait(X, V).code for _ in range(2)]
        assert codes[0] == faults.NONE  # what it sent before
        assert driver.delay >= late + 20  # it says so
        assert driver.late >= 20  # and these packets were read too late
        assert codes[1] == faults.ROBOT_SILENT
        driver.stop()
        driver.stop()


def test_faults_of_the_line_are_counted_and_survived():
    with cell() as (driver, arm, X, V):

        def cycles(count):
            for _ in range(count):
                assert driver.wait(X, V).code == faults.NONE
                driver.hold()

        cycles(10)
        arm.line.next("drop", 3)
        cycles(20)
        assert driver.lost >= 3
        arm.line.next("duplicate", 3)
        cycles(20)
        assert driver.duplicates == 3
        rejected = driver.rejected
        arm.line.next("truncate", 3)
        cycles(20)
        assert driver.rejected == rejected + 3
        late = driver.late
        arm.line.next("reorder", 1)
        cycles(20)
        assert driver.late > late
        late = driver.late
        arm.line.next("delay", 2)
        cycles(30)
        assert driver.late >= late + 2
        assert arm.violations == []
        assert X["p"][0] == pytest.approx(arm.settings.start_p, abs=1e-8)


def test_corrupt_packets_never_stop_the_robot_for_long():
    with cell(patience=50) as (driver, arm, X, V):
        arm.line.corrupt = 0.5

        def answered():
            driver.wait(X, V)
            driver.hold()
            return arm.line.done["corrupt"] > 60

        until(answered)
        assert driver.rejected > 10
        arm.line.clear()
        until(lambda: driver.wait(X, V).code == faults.NONE and np.abs(X["p"][0] - arm.settings.start_p).max() < 1e-8)
        assert arm.violations == []


@pytest.mark.parametrize("switch", ["disconnect", "wrong_ipoc"])
def test_a_robot_that_is_cut_off_is_silent_and_comes_back(switch):
    with cell(patience=50) as (driver, arm, X, V):
        setattr(arm, switch, True)
        end = clock.now() + LONG
        while driver.wait(X, V).code == faults.NONE:
            driver.hold()
            assert clock.now() < end
        setattr(arm, switch, False)
        while driver.wait(X, V).code != faults.NONE:
            assert clock.now() < end
        assert driver.hold() == faults.NONE
        assert driver.lost + driver.rejected > 0


def test_a_cycle_that_differs_is_one_sentence_and_nothing_moved():
    driver = robot()
    driver.listen("127.0.0.1", 0)
    with RsiController("127.0.0.1", driver.port, ControllerSettings(cycle=0.004)) as arm:
        with pytest.raises(InputError, match=r"robot.cycle is 12 ms but .* sends every 4 ms; set robot.cycle = '4 ms'"):
            driver.open("127.0.0.1", driver.port, 0.012, LONG)
        assert arm.violations == []
    with pytest.raises(InputError, match=r"robot.cycle is 5 ms but RSI sends every 4 ms or 12 ms"):
        robot().open("127.0.0.1", 0, 0.005, 1.0)


def test_no_robot_and_a_port_in_use_are_one_sentence_each():
    first = robot()
    first.listen("127.0.0.1", 0)
    with pytest.raises(InputError, match=rf"cannot listen for the robot on 127.0.0.1:{first.port}: .*; end the other program"):
        robot().open("127.0.0.1", first.port, 0.004, 1.0)
    with pytest.raises(InputError, match=rf"no robot sent to port {first.port} within 0.2 s; start its RSI program"):
        first.open("127.0.0.1", first.port, 0.004, 0.2)
    again = robot()
    again.listen("127.0.0.1", first.port)  # the port is free again
    again.close()
    with pytest.raises(InputError, match="cannot listen"):
        robot().open("192.0.2.1", 59152, 0.004, 1.0)


def test_stop_never_raises_and_answers_once():
    robot().stop()
    with cell() as (driver, arm, X, V):

        def answers():
            return len(arm.diary) + arm.refused

        sleep(0.1)
        before = answers()
        assert driver.wait(X, V).code == faults.NONE
        driver.stop()
        driver.stop()
        until(lambda: answers() > before)
        sleep(0.1)
        assert answers() == before + 1
    driver.stop()
    assert driver.wait(X, V).code == faults.ROBOT_SILENT
    assert driver.send(X) == faults.ROBOT_LINE
