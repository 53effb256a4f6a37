"""The bytes of RTDE: golden ones from the public description, round trips, and mutated ones against Python's struct."""

import math
import os
import random
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hilt.device.rtde import codec, fields, script

FUZZ = int(os.environ.get("HILT_FUZZ", "20000"))
TYPES = ("DOUBLE", "VECTOR6D", "UINT32", "INT32", "BOOL", "UINT8", "UINT64", "VECTOR6INT32", "VECTOR3D", "VECTOR6UINT32")
NUMBER = st.floats(allow_nan=False, allow_infinity=False)
VALUES = {
    "d": NUMBER,
    "i": st.integers(-(2**31), 2**31 - 1),
    "I": st.integers(0, 2**32 - 1),
    "?": st.booleans(),
    "B": st.integers(0, 255),
    "Q": st.integers(0, 2**53),
}


def buffer_of(data):
    return np.frombuffer(bytes(data) or b"\0", np.uint8).copy()


def test_requests_are_the_published_bytes():
    assert codec.version_request() == bytes.fromhex("0005 56 0002")
    assert codec.message(codec.START) == bytes.fromhex("0003 53")
    assert codec.output_request(500.0, ["timestamp", "actual_q"]) == (
        bytes.fromhex("001d 4f 407f400000000000") + b"timestamp,actual_q"
    )
    assert codec.input_request(["input_int_register_24"]) == b"\x00\x18Iinput_int_register_24"
    assert codec.accepted_reply(codec.PAUSE, True) == bytes.fromhex("0004 50 01")


def test_a_golden_package():
    """Timestamp 1.5 s and runtime_state 2 under recipe 1."""
    data = bytes.fromhex("0010 55 01 3ff8000000000000 00000002")
    read = codec.Fields(["DOUBLE", "UINT32"])
    assert codec.whole(buffer_of(data), 0, len(data)) == (codec.OK, codec.DATA, len(data))
    assert read.read(buffer_of(data), 0, len(data), 1) == codec.OK
    assert read.values.tolist() == [1.5, 2.0]


def test_a_recipe_that_ends_with_a_comma_is_the_same_recipe():
    frequency, names = codec.read_output_request(codec.output_request(125.0, ["timestamp", "actual_q", ""])[3:])
    assert (frequency, names) == (125.0, ["timestamp", "actual_q"])
    assert codec.names_in(b"timestamp,actual_q,") == names
    assert codec.read_output_request(b"short") == (0.0, [])


def test_texts_are_read_and_never_beyond_their_end():
    assert codec.read_text(codec.text_message("a protective stop", "safety", 3)[3:]) == "a protective stop"
    for payload in (b"", b"\xff", b"\x05abc"):
        assert codec.read_text(payload) == ""


@st.composite
def packages(draw):
    types = draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=6))
    letters = [letter for name in types for letter in codec.FORMATS[name][0] * codec.FORMATS[name][1]]
    return types, [draw(VALUES[letter]) for letter in letters]


@given(packages(), st.integers(0, 255), st.integers(0, 9))
def test_a_package_survives_the_round_trip_wherever_it_lies(package, recipe, before):
    types, values = package
    out = codec.Outgoing(recipe, types)
    data = bytes(before) + bytes(out.write(*values)) + b"rest"
    read, end = codec.Fields(types), len(data) - 4
    assert codec.whole(buffer_of(data), before, len(data)) == (codec.OK, codec.DATA, end)
    assert read.read(buffer_of(data), before, end, recipe) == codec.OK
    assert read.values.tolist() == [float(value) for value in values]
    assert read.read(buffer_of(data), before, end, recipe ^ 1) == codec.WRONG_RECIPE
    assert read.read(buffer_of(data), before, end - 1, recipe) == codec.WRONG_SIZE


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_refused_and_changes_nothing(wrong):
    out, read = codec.Outgoing(1, ["DOUBLE", "VECTOR3D"]), codec.Fields(["DOUBLE", "VECTOR3D"])
    good = buffer_of(out.write(1.0, 2.0, 3.0, 4.0))
    assert read.read(good, 0, len(good), 1) == codec.OK
    bad = buffer_of(out.write(5.0, 6.0, 7.0, wrong))
    assert read.read(bad, 0, len(bad), 1) == codec.NOT_A_NUMBER
    assert read.values.tolist() == [1.0, 2.0, 3.0, 4.0]


def test_the_cycle_allocates_no_new_memory_for_values():
    read = codec.Fields(["DOUBLE", "VECTOR6D", "INT32"])
    out = codec.Outgoing(1, ["DOUBLE", "VECTOR6D", "INT32"])
    values, data = read.values, out.data
    for k in range(3):
        assert out.write(float(k), *[0.0] * 6, k) is data
        assert read.read(buffer_of(data), 0, len(data), 1) == codec.OK
        assert read.values is values
        assert values[0] == k


def reference(data, types, recipe):
    """The same by Python's struct: code and values of a buffer that begins with a message."""
    if len(data) < 3:
        return codec.INCOMPLETE, None
    size, kind = struct.unpack_from(">HB", data)
    if not 3 <= size <= codec.SIZE_MAX or chr(kind) not in "VvMOISPU":
        return codec.BROKEN, None
    if len(data) < size:
        return codec.INCOMPLETE, None
    packed = codec.Fields(types).packed
    if size != 4 + packed.size:
        return codec.WRONG_SIZE, None
    if kind != ord("U"):
        return codec.WRONG_KIND, None
    if data[3] != recipe:
        return codec.WRONG_RECIPE, None
    values = [float(value) for value in packed.unpack_from(data, 4)]
    return (codec.OK, values) if all(map(math.isfinite, values)) else (codec.NOT_A_NUMBER, None)


def test_any_bytes_are_refused_or_mean_what_they_say():
    """`HILT_FUZZ=1000000` is the whole."""
    rng = random.Random(1)
    types = ["DOUBLE", "VECTOR6D", "UINT32", "INT32", "INT32"]
    out, read, accepted = codec.Outgoing(1, types), codec.Fields(types), 0
    for _ in range(FUZZ):
        data = bytearray(out.write(rng.uniform(-9, 9), *(rng.gauss(0, 1) for _ in range(6)), rng.randrange(2**32), -5, 7))
        for _ in range(rng.choice((0, 0, 1, 1, 2, 6))):
            data[rng.randrange(len(data))] = rng.randrange(256)
        if rng.random() < 0.2:
            data = data[: rng.randrange(len(data))] + rng.randbytes(rng.randrange(9))
        before = read.values.copy()
        code, _, end = codec.whole(buffer_of(data), 0, len(data))
        if code == codec.OK:
            code = read.read(buffer_of(data), 0, end, 1)
        want, values = reference(bytes(data), types, 1)
        assert code == want, data.hex()
        assert read.values.tolist() == (before.tolist() if values is None else values)
        accepted += code == codec.OK
        codec.read_text(bytes(data[3:]))
        codec.read_recipe(bytes(data[3:]))
        codec.read_output_request(bytes(data[3:]))
    assert 0 < accepted < FUZZ


def test_every_field_has_a_type_that_can_be_packed():
    for kinds in (fields.OUTPUTS, fields.INPUTS):
        assert set(kinds.values()) <= set(codec.FORMATS)


# The script

PROGRAM = script.Program(
    token=1234567,
    register=24,
    cycle=0.002,
    lookahead=0.03,
    gain=300.0,
    watchdog=10,
    step_limit=0.001,
    turn_limit=0.005,
    deceleration=3.0,
)


def test_the_script_says_what_the_run_needs():
    text = script.text_of(PROGRAM)
    assert "$" not in text
    assert text.startswith("def hilt_follow():")
    assert text.endswith("\nend\n")
    assert "servoj(get_inverse_kin(place), t=0.002, lookahead_time=0.03, gain=300.0)" in text
    assert "while read_input_integer_register(25) != 1234567:" in text
    assert max(map(len, text.splitlines())) < 300
    # Blocks are closed: each def, if and while has its end.
    words = [line.split("#")[0].strip().split(" ")[0].rstrip(":") for line in text.splitlines()]
    assert words.count("end") == sum(words.count(word) for word in ("def", "if", "while"))


@given(
    st.integers(1, 2**31 - 2), st.integers(0, 42), st.sampled_from([0.002, 0.008]), st.floats(0.03, 0.2), st.integers(1, 10_000)
)
def test_the_emulated_controller_recognises_the_script_and_no_other(token, register, cycle, lookahead, watchdog):
    program = PROGRAM._replace(token=token, register=register, cycle=cycle, lookahead=lookahead, watchdog=watchdog)
    text = script.text_of(program)
    assert script.read(text) == program
    assert script.read(text.replace("stopj", "stopl")) is None
    assert script.read(text.replace(f"!= {token}", "!= 1", 1)) is None or token == 1


def test_scripts_of_others_are_not_ours():
    assert script.read("") is None
    assert script.read("def program():\n  movej([0,0,0,0,0,0])\nend\n") is None
