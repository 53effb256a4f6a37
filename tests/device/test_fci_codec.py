"""The bytes of the Franka Control Interface: golden ones, round trips, and mutated ones against Python's struct."""

import math
import os
import random
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hilt.core.signals import POSE
from hilt.device.fci import codec
from hilt.maths import so3

pytestmark = pytest.mark.bounds

FUZZ = int(os.environ.get("HILT_FUZZ", "5000"))
COMMAND = struct.Struct("<Q7d7d16d6d2d??7d?")
STATE = struct.Struct("<Q320fBB41B41BBf")  # 320 numbers, two modes, errors now and at the last reflex, mode, success rate
ANGLES, POSES = codec.JOINT_POSITION, codec.CARTESIAN_POSITION
ROUND = 2.0**-23  # of 32 bits, for numbers up to 1; the place is at most 2 m here


def pose(p=(0.0, 0.0, 0.0), q=(1.0, 0.0, 0.0, 0.0)):
    X = np.zeros(1, POSE)[0]
    X["p"], X["q"] = p, so3.normalise(tuple(q))
    return X


def state_read():
    return np.zeros(1, codec.READ_STATE)[0]


def command_read():
    return np.zeros(1, codec.READ_COMMAND)[0]


PLACES = st.tuples(*[st.floats(-2.0, 2.0)] * 3)
TURNS = st.tuples(*[st.floats(-1.0, 1.0)] * 4).filter(lambda q: math.hypot(*q) > 0.1)


def test_packets_have_the_sizes_of_version_10():
    assert (codec.STATE.itemsize, codec.COMMAND.itemsize) == (1377, 371)
    assert (STATE.size, COMMAND.size) == (1377, 371)


def test_requests_and_replies_are_the_known_bytes():
    assert codec.connect_request(1, 0xABCD) == bytes.fromhex("00000000 01000000 10000000 0a00 cdab")
    assert codec.connect_reply(1, 0) == bytes.fromhex("00000000 01000000 14000000 0000 0a00 00000000")
    assert codec.status_reply(codec.MOVE, 7, codec.MOTION_STARTED) == bytes.fromhex("01000000 07000000 0d000000 01")
    for generator, number in ((codec.JOINT_POSITION, 0), (codec.CARTESIAN_POSITION, 2)):
        move = codec.move_request(7, codec.CARTESIAN_IMPEDANCE, generator)
        assert struct.unpack("<5I6d", move) == (1, 7, 68, 1, number, *(10.0, 3.12, 2 * math.pi) * 2)
    assert len(codec.collision_request(1, 20.0, 10.0)) == 12 + 52 * 8


def test_what_was_asked_is_read_again_and_never_beyond_its_end():
    for made, read, wanted in (
        (codec.connect_request(3, 5000), codec.read_connect_request, (10, 5000)),
        (codec.connect_reply(3, 1, 9), codec.read_connect_reply, (1, 9)),
        (codec.move_request(3, 0, POSES), codec.read_move_request, (0, 2)),
        (codec.status_reply(1, 3, 8), codec.read_status, 8),
    ):
        buffer = bytearray(made + b"more")
        code, found = codec.take_message(buffer)
        assert (code, found.number, bytes(buffer)) == (codec.OK, 3, b"more")
        assert read(found.payload) == wanted
        read(b"")


def test_a_message_is_taken_only_whole_and_nonsense_is_refused():
    whole = codec.move_request(1, 0, POSES)
    for size in range(len(whole)):
        assert codec.take_message(bytearray(whole[:size])) == (codec.OK, None)
    assert codec.take_message(bytearray(b"HTTP/1.1 400 Bad Request"))[0] == codec.WRONG_SIZE


@given(PLACES, TURNS, st.integers(0, 2**64 - 1), st.booleans())
def test_a_command_survives_the_round_trip(p, q, number, finished):
    X, out = pose(p, q), codec.OutgoingCommand()
    data = bytes(out.write(number, X, finished))
    values = COMMAND.unpack(data)
    assert (values[0], values[39:41], values[27:30]) == (number, (False, finished), tuple(X["p"]))
    read = command_read()
    assert codec.decode_command(data, POSES, read) == codec.OK
    assert (int(read["message_id"]), bool(read["finished"])) == (number, finished)
    assert read["X"]["p"] == pytest.approx(X["p"], abs=1e-15)
    assert math.hypot(*so3.between(tuple(X["q"]), tuple(read["X"]["q"]))) < 1e-12


@given(st.lists(st.floats(-4.0, 4.0), min_size=7, max_size=7), st.integers(0, 2**64 - 1), st.booleans())
def test_a_command_of_angles_survives_the_round_trip(q, number, finished):
    """Bit by bit: angles are sent in 64 bits. The pose in it is empty, as in the vendor's client, and is ignored."""
    data, read = bytes(codec.OutgoingCommand().write_angles(number, q, finished)), command_read()
    values = COMMAND.unpack(data)
    assert (values[0], list(values[1:8]), values[39:41]) == (number, q, (False, finished))
    assert not any(values[8:39])
    assert codec.decode_command(data, ANGLES, read) == codec.OK
    assert (int(read["message_id"]), bool(read["finished"]), read["q"].tolist()) == (number, finished, q)
    assert codec.decode_command(data, POSES, read) == codec.NOT_A_POSE


@given(PLACES, TURNS, PLACES, TURNS, st.integers(0, 2**64 - 1))
def test_a_state_survives_the_round_trip(p, q, p_c, q_c, number):
    out, read = codec.OutgoingState(), state_read()
    out.place("O_T_EE", pose(p, q))
    out.place("O_T_EE_c", pose(p_c, q_c))
    out.fields["message_id"], out.fields["robot_mode"] = number, codec.MOVING
    out.fields["O_F_ext_hat_K"][0], out.fields["K_F_ext_hat_K"][0] = range(6), range(6, 12)
    out.fields["O_dP_EE_c"][0], out.fields["O_ddP_EE_c"][0] = range(12, 18), range(18, 24)
    for k, name in enumerate(("q", "q_d", "dq_d", "ddq_d")):
        out.fields[name][0] = range(24 + 7 * k, 31 + 7 * k)
    out.fields["errors"][0, 3] = out.fields["reflex_reason"][0, 25] = 1
    assert codec.decode_state(bytes(out.data), read) == codec.OK
    assert int(read["message_id"]) == number
    for name, place, turn in (("X_actual", p, q), ("X_commanded", p_c, q_c)):
        assert read[name]["p"] == pytest.approx(place, abs=2 * ROUND)
        assert math.hypot(*so3.between(so3.normalise(turn), tuple(read[name]["q"]))) < 8 * ROUND
    assert read["base"].tolist() + read["stiffness"].tolist() == list(range(12))
    assert read["twist"].tolist() + read["rate"].tolist() == list(range(12, 24))
    assert np.concatenate([read[name] for name in ("q", "q_d", "dq_d", "ddq_d")]).tolist() == list(range(24, 52))
    assert codec.reasons_of(read) == ["joint_velocity_violation", "communication_constraints_violation"]


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("field", ["O_T_EE", "tau_J", "q_d", "accelerometer_bottom"])
def test_what_is_no_number_is_refused_and_changes_nothing(field, wrong):
    out, read = codec.OutgoingState(), state_read()
    before = read.tobytes()
    out.fields[field][0, -1] = wrong
    assert codec.decode_state(bytes(out.data), read) == codec.NOT_A_NUMBER
    assert read.tobytes() == before


def test_what_is_no_pose_or_mode_is_refused():
    for change, code in (
        (lambda f: f["O_T_EE"][0].__setitem__(0, 0.9), codec.NOT_A_POSE),  # not of unit length
        (lambda f: f["O_T_EE_c"][0].__setitem__(10, -1.0), codec.NOT_A_POSE),  # a mirror
        (lambda f: f["O_T_EE_c"][0].__setitem__(15, 0.0), codec.NOT_A_POSE),
        (lambda f: f.__setitem__("robot_mode", 7), codec.UNKNOWN_MODE),
        (lambda f: f.__setitem__("motion_generator_mode", 6), codec.UNKNOWN_MODE),
    ):
        out = codec.OutgoingState()
        change(out.fields)
        assert codec.decode_state(bytes(out.data), state_read()) == code
    assert codec.decode_state(bytes(1376), state_read()) == codec.WRONG_SIZE
    assert codec.decode_command(bytes(371), POSES, command_read()) == codec.NOT_A_POSE


def test_the_cycle_allocates_no_new_packets():
    out = codec.OutgoingCommand()
    assert out.write(1, pose(), False) is out.write(2, pose(), True) is out.data


def rotation(m):
    """The same check by numpy."""
    matrix = np.array(m, float).reshape(4, 4).T
    turn = matrix[:3, :3]
    with np.errstate(over="ignore"):
        square = np.abs(turn.T @ turn - np.eye(3)).max() < 1e-3
        return bool(square and np.linalg.det(turn) > 0 and (matrix[3] == (0, 0, 0, 1)).all())


def reference_state(data):
    if len(data) != STATE.size:
        return codec.WRONG_SIZE, None
    values = STATE.unpack(data)
    numbers = values[1:321]
    if not all(map(math.isfinite, numbers)):
        return codec.NOT_A_NUMBER, None
    if not (rotation(numbers[:16]) and rotation(numbers[242:258])):
        return codec.NOT_A_POSE, None
    if values[321] > 5 or values[322] > 3 or values[405] > 6:
        return codec.UNKNOWN_MODE, None
    read = ((12, 15), (254, 257), (258, 270), (147, 161), (168, 182), (215, 227))
    return codec.OK, (values[0], *(part for at in read for part in numbers[slice(*at)]), *values[321:323], values[405])


def shown(read):
    names = ("twist", "rate", "q", "q_d", "dq_d", "ddq_d", "base", "stiffness")
    parts = (read["X_actual"]["p"], read["X_commanded"]["p"], *(read[name] for name in names))
    return (
        int(read["message_id"]),
        *np.concatenate(parts).tolist(),
        *(int(read[n]) for n in ("generator", "controller", "mode")),
    )


def reference_command(data, generator):
    if len(data) != COMMAND.size:
        return codec.WRONG_SIZE
    numbers = COMMAND.unpack(data)[slice(1, 8) if generator == ANGLES else slice(15, 31)]
    if not all(map(math.isfinite, numbers)):
        return codec.NOT_A_NUMBER
    return codec.OK if generator == ANGLES or rotation(numbers) else codec.NOT_A_POSE


def mutated(data, rng):
    data = bytearray(data)
    for _ in range(rng.choice((0, 0, 1, 1, 2, 6))):
        data[rng.randrange(len(data))] = rng.randrange(256)
    if rng.random() < 0.1:
        data = data[: rng.randrange(len(data))] + rng.randbytes(rng.randrange(9))
    return bytes(data)


def test_any_bytes_are_refused_or_mean_what_they_say():
    """`HILT_FUZZ=1000000` is the whole."""
    rng = random.Random(1)
    state, command, angles = codec.OutgoingState(), codec.OutgoingCommand(), codec.OutgoingCommand()
    read, asked, seen = state_read(), command_read(), set()
    for number in range(FUZZ):
        X = pose([rng.uniform(-2, 2) for _ in range(3)], [rng.gauss(0, 1) for _ in range(4)])
        state.place(rng.choice(("O_T_EE", "O_T_EE_c")), X)
        state.fields["message_id"] = number
        q = [rng.uniform(-3, 3) for _ in range(7)]
        state.fields[rng.choice(("q", "q_d", "dq_d", "ddq_d"))][0] = q
        data, before = mutated(state.data, rng), read.tobytes()
        code, values = reference_state(data)
        assert codec.decode_state(data, read) == code, data.hex()
        assert read.tobytes() == before if values is None else shown(read) == values
        seen.add(code)
        for generator, written in ((POSES, command.write(number, X, False)), (ANGLES, angles.write_angles(number, q, False))):
            data, before = mutated(written, rng), asked.tobytes()
            code = reference_command(data, generator)
            assert codec.decode_command(data, generator, asked) == code, data.hex()
            assert code == codec.OK or asked.tobytes() == before
            if (code, generator) == (codec.OK, ANGLES):
                assert asked["q"].tolist() == list(COMMAND.unpack(data)[1:8])
        message = mutated(codec.move_request(number, 0, POSES), rng)
        found = codec.take_message(rest := bytearray(message))[1]
        assert message == bytes(rest) if found is None else message == codec.message(*found) + bytes(rest)
        for each in (codec.read_connect_request, codec.read_connect_reply, codec.read_move_request, codec.read_status):
            each(data[: rng.randrange(80)])
    assert {codec.OK, codec.WRONG_SIZE} < seen
