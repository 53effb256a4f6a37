"""What only a Net F/T has: numbers of records, their age, a queue, a status word, two dialects, several clients.

What holds for every sensor is in test_sensors.py. The line with faults, which all emulators have, is tested here, too.
"""

import socket

import numpy as np
import pytest

from hilt.core import clock, faults
from hilt.core.signals import WRENCH
from hilt.device.line import FAULTS, Line
from hilt.device.netft import codec
from hilt.device.netft.driver import NetFT
from hilt.device.netft.settings import NetFTSettings
from hilt.host import machine
from tests.device.test_sensors import LOAD, sensing

pytestmark = pytest.mark.virtual


def ticks(it, count=10):
    """Codes of some ticks, a record or two each."""
    return [it.read(0.002) for _ in range(count)]


def client_of(it):
    client = machine.socket(socket.AF_INET, socket.SOCK_DGRAM)
    client.connect((it.device.address, it.device.port))
    client.settimeout(1.0)
    return client


def test_the_queue_is_emptied_and_the_newest_record_wins():
    with sensing("netft") as it:
        it.read()
        received, used = it.driver.received, it.driver.used
        clock.pause(0.06)
        it.load.f = (30.0, -20.0, 30.0)
        clock.pause(0.004)
        assert it.driver.read(it.out) == 0
        assert it.driver.used == used + 1
        assert it.driver.received - received in (64, 65)
        it.feels((30.0, -20.0, 30.0))


def test_a_sample_that_lay_in_the_buffer_is_known_to_be_old():
    """The kernel's buffer keeps the oldest records, so after a long pause of the loop even its last one is old."""
    with sensing("netft") as it:
        it.read()
        it.silent(True)
        clock.pause(0.5)
        assert it.driver.read(it.out) == faults.SENSOR_STALE  # read now, but it came half a second ago
        assert it.driver.age == pytest.approx(0.5, abs=0.002)
        it.silent(False)
        assert it.read() == 0
        assert it.driver.age < 0.0011


def test_a_sample_that_came_after_the_robots_cycle_waits_for_the_next_one():
    """The load is the time at which it was measured, and no sample arrives before it was measured."""
    with sensing("netft", jump_force=0.0) as it:
        began = clock.now()
        it.device._wrench = lambda: ((clock.now() - began, 0.0, 0.0), LOAD[1])
        it.read()
        for _ in range(20):
            clock.pause(0.02)
            cycle = clock.now() - 0.01
            assert it.driver.read_until(it.out, cycle) == 0
            then = it.out["f"][0]
            assert cycle - began - 0.0012 < then <= cycle - began + 1e-4, "rounded to a count"
            assert clock.now() - it.driver.age <= cycle + 1e-5  # two clocks are read one after the other
            it.driver.read(it.out)
            assert it.out["f"][0] > then + 0.008, "what came later was kept"
        assert it.driver.gaps == 0


def test_gaps_are_counted_also_when_the_sequence_wraps():
    with sensing("netft") as it:
        it.device.first_sequence = 2**32 - 20
        it.driver._request(codec.START)
        it.driver._newest.rdt_sequence = 2**32 - 21
        it.device.line.next("drop", 7)
        assert set(ticks(it, 30)) == {0}
        assert it.device.line.done["drop"] == it.driver.gaps == 7
        assert (it.driver.late, it.driver.rejected) == (0, 0)
        assert it.driver._newest.rdt_sequence < 100


@pytest.mark.parametrize(("gap", "lost", "times"), [(7, 7, 0), (7, 8, 1), (0, 8, 0)])
def test_records_missing_in_a_row_are_a_fault_from_the_stated_number_on(gap, lost, times):
    with sensing("netft", gap=gap) as it:
        it.read()
        it.device.line.next("drop", lost)
        assert ticks(it, 30).count(faults.SENSOR_GAP) == times, "reported once"
        assert it.driver.gaps == lost
        assert "does not know" not in faults.explain(faults.SENSOR_GAP)


def test_records_that_were_not_fetched_in_time_are_no_gap_of_the_sensor():
    """They arrived but the socket had no room: counted, but no fault."""
    with sensing("netft", gap=2) as it:
        it.read()
        clock.pause(0.4)
        assert it.driver.read(it.out) == faults.SENSOR_STALE, "the newest that had room is old"
        assert set(ticks(it)) == {0}
        assert 100 < it.driver.gaps < 130


def test_duplicates_and_old_records_are_counted_and_not_used():
    with sensing("netft") as it:
        it.read()
        for fault, count, late in (("duplicate", 5, 5), ("reorder", 1, 6), ("delay", 3, 9)):
            it.device.line.next(fault, count)
            assert set(ticks(it, 20)) == {0}
            assert (it.device.line.done[fault], it.driver.late, it.driver.rejected) == (count, late, 0)


def test_packets_that_are_no_records_are_counted_as_such_and_as_missing():
    with sensing("netft") as it:
        it.read()
        it.device.line.next("truncate", 5)
        assert set(ticks(it)) == {0}
        assert (it.driver.rejected, it.driver.gaps) == (5, 5)
        it.feels(LOAD[0])


def test_corrupt_packets_never_stop_the_stream():
    """Corrupt bits in the wrench look like a load; a sequence number that jumps far is rejected."""
    with sensing("netft") as it:
        it.device.line.corrupt = 0.5
        ticks(it, 200)
        assert it.device.line.done["corrupt"] > 100
        it.device.line.clear()
        ticks(it, 30)
        late, rejected = it.driver.late, it.driver.rejected
        assert set(ticks(it, 30)) == {0}
        assert (it.driver.late, it.driver.rejected) == (late, rejected), "each of them is accepted"
        it.feels(LOAD[0])


def test_onrobot_has_its_own_counts_rate_filter_and_bias():
    with sensing("onrobot", rate=250.0, filter=150.0, jump_force=0.0, jump_torque=0.0) as it:
        assert it.read() == 0
        assert (round(it.device.rate), codec.FILTERS[it.device.filter], it.device.refused) == (250, 150.0, 0)
        it.feels(LOAD[0])
        it.driver.bias()
        assert it.read() == 0
        it.feels((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
        it.driver._request(codec.BIAS, 0)  # as an ATI sensor would be biased: here it means the opposite
        assert it.read() == 0
        it.feels(LOAD[0])
        assert it.device.biases == 1


def test_an_ati_sensor_takes_neither_rate_nor_filter():
    given = {"stale": 1.0, "frozen": 0.0}
    with pytest.raises(ValueError, match="on its web page"):
        NetFTSettings(counts_per_force=1e6, counts_per_torque=1e6, rate=500.0, **given)
    with pytest.raises(ValueError, match="filter is 20 Hz; the sensor has 0, 500, 150"):
        NetFTSettings(dialect="onrobot", filter=20.0, **given)
    with pytest.raises(ValueError, match=r"rate is 2 Hz; it must be 3\.94 to 1000 Hz"):
        NetFTSettings(dialect="onrobot", rate=2.0, **given)
    with sensing("netft") as it, client_of(it) as client:
        client.send(codec.encode_request(codec.SPEED, 10))
        it.read()
        assert (it.device.refused, round(it.device.rate)) == (1, 1000)


@pytest.mark.parametrize(
    ("name", "switch", "value", "fault", "words"),
    [
        ("netft", "saturate", True, faults.SENSOR_SATURATED, None),
        ("netft", "status", codec.ERROR | 1 << 2, faults.SENSOR_STATUS, ["broken gage", "error"]),
        ("onrobot", "status", 1 << 4, faults.SENSOR_STATUS, ["status 0x00000010"]),
        ("netft", "freeze", True, faults.SENSOR_FROZEN, None),
        ("netft", "silence", True, faults.SENSOR_STALE, None),
    ],
)
def test_a_fault_of_the_sensor_is_reported_and_goes_away(name, switch, value, fault, words):
    with sensing(name, jump_force=0.0, jump_torque=0.0) as it:
        assert it.read() == 0
        good = getattr(it.device, switch)
        setattr(it.device, switch, value)
        assert it.read(0.21) == fault
        assert "does not know" not in faults.explain(fault)
        assert words is None or it.driver.words() == words
        setattr(it.device, switch, good)
        assert it.read() == 0


def test_each_client_has_its_own_stream():
    with sensing("netft") as it:
        other, out = NetFT(it.section), np.zeros(1, WRENCH)[0]
        other.open(it.device.address, it.device.port, 1.0)
        assert it.read() == other.read(out) == 0
        assert it.device.clients == 2
        other.stop()
        assert it.read() == 0
        assert it.device.clients == 1


def test_a_stream_of_some_samples_ends_by_itself():
    with sensing("netft") as it, client_of(it) as client:
        it.driver.stop()
        it.read(0.002)
        sent = it.device.sent
        client.send(b"nonsense!")
        client.send(codec.encode_request(codec.START, 5))
        assert [int.from_bytes(client.recv(64)[:4], "big") for _ in range(5)] == [1, 2, 3, 4, 5]
        clock.pause(0.05)
        assert (it.device.clients, it.device.sent - sent, it.device.refused) == (0, 5, 1)


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
