"""The bytes of a Net F/T: golden ones from the public description, round trips, and any bytes at all."""

import os
import random
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hilt.device.netft import codec

pytestmark = pytest.mark.bounds

CALIBRATION = codec.Calibration(counts_per_force=1e6, counts_per_torque=2e6)
FUZZ = int(os.environ.get("HILT_FUZZ", "20000"))
WORD = st.integers(0, 2**32 - 1)
COUNT = st.integers(-(2**31), 2**31 - 1)


def test_requests_are_the_published_eight_bytes():
    assert codec.encode_request(codec.START) == bytes.fromhex("1234 0002 00000000")
    assert codec.encode_request(codec.STOP) == bytes.fromhex("1234 0000 00000000")
    assert codec.encode_request(codec.BIAS) == bytes.fromhex("1234 0042 00000000")
    assert codec.encode_request(codec.START, 258) == bytes.fromhex("1234 0002 00000102")


def test_a_golden_record():
    data = bytes.fromhex("00000007 00000123 80000005 000f4240 ffe17b80 00000000 001e8480 ffffffff 00000002")
    record = codec.Record()
    assert codec.decode(data, CALIBRATION, record) == codec.OK
    assert (record.rdt_sequence, record.ft_sequence, record.status) == (7, 0x123, 0x80000005)
    assert record.f == (1.0, -2.0, 0.0)
    assert record.tau == (1.0, -0.5e-6, 1e-6)
    assert codec.encode(record) == data


def test_the_status_word_in_words():
    # The sensor's manual has this example: 80000005 means temperature, broken gage and the sum of errors.
    assert codec.status_words(0x80000005) == ["temperature out of range", "broken gage", "error"]
    assert codec.status_words(0) == []
    assert codec.status_words(1 << 12) == ["bit 12"]


@given(WORD, WORD, WORD, st.tuples(*[COUNT] * 6))
def test_a_record_survives_the_round_trip(rdt, ft, status, counts):
    record, again = codec.Record(), codec.Record()
    record.rdt_sequence, record.ft_sequence, record.status, record.counts = rdt, ft, status, counts
    assert codec.decode(codec.encode(record), CALIBRATION, again) == codec.OK
    assert (again.rdt_sequence, again.ft_sequence, again.status, again.counts) == (rdt, ft, status, counts)
    assert codec.counts_of(again.f, again.tau, CALIBRATION) == counts
    assert again.clipped == bool({-(2**31), 2**31 - 1} & set(counts))


@given(st.sampled_from(codec.COMMANDS), WORD)
def test_a_request_survives_the_round_trip(command, samples):
    assert codec.decode_request(codec.encode_request(command, samples)) == (codec.OK, command, samples)


@given(st.floats(-1e9, 1e9))
def test_a_load_beyond_the_counts_stays_at_the_last_one(force):
    count = codec.counts_of((force, 0.0, 0.0), (0.0, 0.0, 0.0), CALIBRATION)[0]
    assert abs(count - min(max(force * 1e6, -(2**31)), 2**31 - 1)) <= 0.5


def test_a_wrong_length_changes_nothing():
    record = codec.Record()
    for length in (0, 1, 35, 37, 72):
        assert codec.decode(bytes([255]) * length, CALIBRATION, record) == codec.BAD_LENGTH
        assert record.rdt_sequence == 0
        assert record.counts == (0,) * 6


def test_any_bytes_are_refused_or_mean_what_they_say():
    rng, record = random.Random(1), codec.Record()
    good = codec.encode(record)
    accepted = 0
    for _ in range(FUZZ):
        data = bytearray(good)
        for _ in range(rng.randint(0, 6)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        if rng.random() < 0.3:
            data = data[: rng.randrange(37)] + rng.randbytes(rng.randrange(3))
        code = codec.decode(data, CALIBRATION, record)
        assert (code == codec.OK) == (len(data) == 36)
        if code == codec.OK:
            accepted += 1
            assert codec.encode(record) == data
        request_code, command, samples = codec.decode_request(bytes(data[:8]))
        good_request = len(data) >= 8 and struct.unpack(">HH", data[:4]) in {(0x1234, c) for c in codec.COMMANDS}
        assert (request_code == codec.OK) == good_request
        if good_request:
            assert codec.encode_request(command, samples) == data[:8]
    assert 0 < accepted < FUZZ
