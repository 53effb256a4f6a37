"""The packets of RSI: golden ones, round trips, angles against SciPy, and mutated ones against a real XML reader."""

import math
import os
import random
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from hilt.core.signals import POSE
from hilt.device import frames
from hilt.device.rsi import codec, scan
from hilt.device.rsi.response import Response

pytestmark = pytest.mark.bounds

FUZZ = int(os.environ.get("HILT_FUZZ", "20000"))

ROB = b"""<Rob TYPE="KUKA">
  <RIst X="1620.5" Y="-0.25" Z="1910.0" A="90.0" B="0.0" C="-180.0"/>
  <RSol C="1.5e1" Z="3" Y='2' X="1" A="0" B="0"   />
  <AIPos A1="0.0" A2="-90.0" A3="90.0" A4="0.0" A5="90.0" A6="0.0"></AIPos>
  <ASPos A6="6" A1="1" A2="2" A3="3" A4="4" A5="5"/>
  <GearTorque A1="1.5" A2="x"/><ProgStatus R="3"/>
  <Delay D="42" />
  <IPOC>4208163634</IPOC>
</Rob>
"""
SEN = b'<Sen Type="ImFree"><RKorr X="0.5" Y="0" Z="-0.125" A="0.1" B="0" C="0"/><IPOC>4208163634</IPOC></Sen>'

ANGLE = st.floats(-180.0, 180.0)
PLACE = st.tuples(*[st.floats(-5.0, 5.0)] * 3)
TURN = st.tuples(ANGLE, ANGLE, ANGLE)


def rob_record():
    rob = np.zeros(1, codec.ROB)[0]
    rob["X_act"]["q"][0] = rob["X_set"]["q"][0] = 1.0
    return rob


def sen_record():
    return np.zeros(1, codec.SEN)[0]


def pose(p, q):
    out = np.zeros(1, POSE)[0]
    out["p"], out["q"] = p, q
    return out


def same_pose(a, b, metres=1e-9, cosine=1e-13):
    """Packets have six places of mm and degrees: 0.5 nm and 1e-8 rad, of which 1 - cos(half the angle) is far below."""
    assert np.abs(a["p"] - b["p"]).max() <= metres
    assert 1.0 - abs(np.dot(a["q"], b["q"])) <= cosine


def test_a_golden_packet_in_any_order_and_spacing():
    rob = rob_record()
    assert codec.decode_rob(ROB, rob) == codec.OK
    assert rob["X_act"]["p"].tolist() == pytest.approx([1.6205, -0.00025, 1.91], rel=1e-14)
    assert abs(np.dot(rob["X_act"]["q"], [0, math.sqrt(0.5), math.sqrt(0.5), 0])) == pytest.approx(1.0, abs=1e-12)
    assert rob["X_set"]["p"].tolist() == pytest.approx([0.001, 0.002, 0.003], rel=1e-14)
    assert rob["X_set"]["q"][1] == pytest.approx(math.sin(math.radians(7.5)), rel=1e-14)
    assert np.degrees(rob["q_act"]).tolist() == pytest.approx([0, -90, 90, 0, 90, 0])
    assert np.degrees(rob["q_set"]).tolist() == pytest.approx([1, 2, 3, 4, 5, 6])
    assert (int(rob["delay"]), int(rob["ipoc"])) == (42, 4208163634)


def test_the_answer_is_the_published_one():
    correction = pose((0.0005, 0.0, -0.000125), codec.quaternion_of(math.radians(0.1), 0.0, 0.0))
    text = codec.encode_sen(correction, 4208163634).decode().replace("-0.000000", "0.000000")
    assert text == (
        '<Sen Type="ImFree"><RKorr X="0.500000" Y="0.000000" Z="-0.125000" A="0.100000" B="0.000000" C="0.000000"/>'
        "<IPOC>4208163634</IPOC></Sen>"
    )
    sen = sen_record()
    assert codec.decode_sen(SEN, sen) == codec.OK
    same_pose(sen["correction"], correction)
    assert int(sen["ipoc"]) == 4208163634


JOINTS = tuple(f"A{i}" for i in range(1, 7))
TURNS = np.radians([0.5, -0.25, 0.125, 0.0, -179.0, 1e-6])
TURNED = codec.encode_joints(TURNS, 4208163634)


def test_an_answer_corrects_the_pose_or_the_joints():
    assert TURNED.decode() == (
        '<Sen Type="ImFree"><AK A1="0.500000000" A2="-0.250000000" A3="0.125000000" A4="0.000000000" A5="-179.000000000" '
        'A6="0.000001000"/><IPOC>4208163634</IPOC></Sen>'
    )
    sen = sen_record()
    assert codec.decode_sen(TURNED, sen) == codec.OK
    assert codec.takes_joints(sen)
    assert sen["joints"] == pytest.approx(TURNS, abs=1e-14)
    assert codec.decode_sen(SEN, sen) == codec.OK
    assert not codec.takes_joints(sen)
    both = SEN.replace(b"<IPOC>", b'<AK A1="0" A2="0" A3="0" A4="0" A5="0" A6="0"/><IPOC>')
    assert codec.decode_sen(both, sen) == scan.MISSING


@given(ANGLE, ANGLE, ANGLE)
def test_angles_are_scipys(a, b, c):
    q = codec.quaternion_of(*np.radians([a, b, c]))
    x, y, z, w = Rotation.from_euler("ZYX", [a, b, c], degrees=True).as_quat()
    assert abs(np.dot(q, [w, x, y, z])) == pytest.approx(1.0, abs=1e-14)


@given(st.one_of(TURN, st.tuples(ANGLE, st.sampled_from([90.0, -90.0, 89.9999999, -89.99999]), ANGLE)))
def test_angles_come_back_as_the_same_rotation(angles):
    q = codec.quaternion_of(*np.radians(angles))
    again = codec.quaternion_of(*codec.angles_of(q))
    # 3e-8 rad at the worst, next to B = ±90°, where A and C are hard to tell apart
    assert 1.0 - abs(np.dot(q, again)) <= 1e-15


@given(PLACE, TURN, PLACE, TURN, st.integers(0, 10**17), st.integers(0, 10**6))
def test_a_packet_survives_the_round_trip(p, turn, p_set, turn_set, ipoc, delay):
    rob, again = rob_record(), rob_record()
    rob["X_act"]["p"], rob["X_act"]["q"] = p, codec.quaternion_of(*np.radians(turn))
    rob["X_set"]["p"], rob["X_set"]["q"] = p_set, codec.quaternion_of(*np.radians(turn_set))
    rob["q_act"], rob["q_set"] = np.radians([*turn, *turn_set]), np.radians([*turn_set, *turn])
    rob["ipoc"], rob["delay"] = ipoc, delay
    assert codec.decode_rob(codec.encode_rob(rob), again) == codec.OK
    same_pose(rob["X_act"], again["X_act"])
    same_pose(rob["X_set"], again["X_set"])
    assert np.abs(rob["q_act"] - again["q_act"]).max() < 1e-8
    assert np.abs(rob["q_set"] - again["q_set"]).max() < 1e-8
    assert (int(again["ipoc"]), int(again["delay"])) == (ipoc, delay)


@given(st.floats(-1e7, 1e7), st.sampled_from(["{:.6f}", "{:.17g}", "{:e}", "{:+.3E}", "{:.0f}"]))
def test_numbers_are_pythons(value, form):
    text = form.format(value)
    rob = rob_record()
    data = ROB.replace(b'"-0.25"', f'"{text}"'.encode())
    code = codec.decode_rob(data, rob)
    if abs(float(text)) > 1e7 or len(text.split("e")[0].lstrip("-0.").replace(".", "")) > 18:
        return
    if text.count("e-") and int(text.split("e-")[1]) > 200:
        return  # such a number is 0 for everybody
    assert code == codec.OK
    assert rob["X_act"]["p"][1] == pytest.approx(1e-3 * float(text), rel=1e-14, abs=1e-200)


LONG = b"1234567890123456789 9999999999999999999 0.99999999999999999999"  # more than 18 digits, and beyond 2⁶³
NO_NUMBERS = [b"", b"1620.5 ", *b". nan inf 0x12 1,5 1_5 1e 1e999 1e-9999 10000001".split(), *LONG.split()]


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        *((b"1620.5", each, scan.BAD_NUMBER) for each in NO_NUMBERS),
        (b'"1620.5"', b'"&lt;"', scan.BAD_SYNTAX),
        (b"></AIPos>", b">1</AIPos>", scan.BAD_SYNTAX),
        (b'D="42"', b'D="-1"', scan.BAD_NUMBER),
        (b"4208163634<", b"42.5<", scan.BAD_NUMBER),
        (b"4208163634<", b"&a;<", scan.BAD_SYNTAX),
        (b"4208163634<", b"<", scan.BAD_NUMBER),
        (b"4208163634<", b"1234567890123456789<", scan.BAD_NUMBER),
        (b' Y="-0.25"', b"", scan.MISSING),
        (b' Y="-0.25"', b' X="-0.25"', scan.TWICE),
        (b' Y="-0.25"', b' Y="-0.25" W="1"', scan.UNKNOWN_ATTRIBUTE),
        (b"RSol", b"RIst", scan.TWICE),
        (b"RIst", b"Rist", scan.MISSING),
        (b"<Rob", b"<!DOCTYPE Rob><Rob", scan.BAD_ROOT),
        (b"<Rob", b"<?xml version='1.0'?><Rob", scan.BAD_ROOT),
        (b"<Rob", b"<!-- a --><Rob", scan.BAD_ROOT),
        (b"<Rob", b"<Sen", scan.BAD_ROOT),
        (b"</Rob>", b"</Sen>", scan.BAD_SYNTAX),
        (b"</Rob>", b"</Rob>x", scan.BAD_SYNTAX),
        (b"</Rob>", b"", scan.BAD_SYNTAX),
        (b"<Delay", b"<Tech><Delay", scan.BAD_SYNTAX),
        (b'<RIst X="1', b'<RIstX="1', scan.BAD_SYNTAX),
    ],
)
def test_what_is_not_rsi_is_refused_and_changes_nothing(old, new, code):
    rob = rob_record()
    before = rob.tobytes()
    assert codec.decode_rob(ROB.replace(old, new, 1), rob) == code
    assert rob.tobytes() == before


def test_lengths_are_bounded():
    rob = rob_record()
    assert codec.decode_rob(b"", rob) == scan.BAD_LENGTH
    assert codec.decode_rob(ROB + b" " * (codec.SIZE_MAX - len(ROB)), rob) == codec.OK
    assert codec.decode_rob(ROB + b" " * (codec.SIZE_MAX - len(ROB) + 1), rob) == scan.BAD_LENGTH


def mutated(rng, good):
    data = bytearray(good)
    for _ in range(rng.randint(1, 4)):
        kind, i, j = rng.randrange(6), rng.randrange(len(data) + 1), rng.randrange(len(data) + 1)
        if kind == 0 and i < len(data):
            data[i] = rng.randrange(256)
        elif kind == 1 and i < len(data):
            data[i] = rng.choice(b"0123456789.-+eE \"'<>/=&XYZABC\n")
        elif kind == 2:
            del data[i : i + rng.randint(1, 8)]
        elif kind == 3:
            data[i:i] = data[j : j + rng.randint(1, 30)]
        elif kind == 4:
            data[i:i] = rng.choice([b"<", b"&amp;", b"<!--", b"]]>", b"<RIst/>", b"\0", b'"', b"</Rob>", b"9" * 20])
        elif kind == 5 and rng.random() < 0.2:
            del data[i:]
        if not data:
            break
    return bytes(data)


def numbers_by_a_real_reader(data, element, names):
    """What an XML library makes of it; None where it refuses what we let pass: attributes that we do not read, twice."""
    try:
        root = ElementTree.fromstring(data)
    except ElementTree.ParseError as error:
        assert "duplicate attribute" in str(error), data
        return None, None
    return [float(root.find(element).attrib[name]) for name in names], int(root.find("IPOC").text)


def rob_again(rob, read):
    if read is not None:
        expected = codec.quaternion_of(*np.radians(read[3:]))
        assert abs(np.dot(expected, rob["X_act"]["q"])) == pytest.approx(1.0, abs=1e-12)
    again = rob_record()
    if codec.decode_rob(codec.encode_rob(rob), again) == codec.OK:
        same_pose(rob["X_act"], again["X_act"], metres=2e-9)
    else:  # angles turn back into ±180°, so only a place at the very edge of the numbers can round beyond it
        assert np.abs(rob["X_act"]["p"]).max() > 9999.0 or np.abs(rob["X_set"]["p"]).max() > 9999.0


def correction_again(sen, _):
    again = sen_record()
    if np.abs(sen["correction"]["p"]).max() < 9999.0:
        assert codec.decode_sen(codec.encode_sen(sen["correction"], sen["ipoc"]), again) == codec.OK
        same_pose(sen["correction"], again["correction"], metres=2e-9)


def joints_again(sen, _):
    assert codec.takes_joints(sen)
    again = sen_record()
    if np.abs(np.degrees(sen["joints"])).max() < 9e6:
        assert codec.decode_sen(codec.encode_joints(sen["joints"], sen["ipoc"]), again) == codec.OK
        # Nine decimals of a degree, and at most 16 digits.
        assert again["joints"] == pytest.approx(sen["joints"], rel=1e-15, abs=1e-11)


@pytest.mark.parametrize(
    ("good", "decode", "record", "element", "names", "numbers", "again"),
    [
        (ROB, codec.decode_rob, rob_record, "RIst", "XYZABC", lambda rob: 1e3 * rob["X_act"]["p"], rob_again),
        (SEN, codec.decode_sen, sen_record, "RKorr", "XYZABC", lambda sen: 1e3 * sen["correction"]["p"], correction_again),
        (TURNED, codec.decode_sen, sen_record, "AK", JOINTS, lambda sen: np.degrees(sen["joints"]), joints_again),
    ],
    ids=["packet", "correction", "joints"],
)
def test_mutated_packets_are_refused_or_mean_what_an_xml_reader_says(good, decode, record, element, names, numbers, again):
    rng, found, accepted = random.Random(1), record(), 0
    for _ in range(FUZZ):
        data = mutated(rng, good)
        before = found.tobytes()
        if decode(data, found) != codec.OK:
            assert found.tobytes() == before
            continue
        accepted += 1
        read, ipoc = numbers_by_a_real_reader(data, element, names)
        if read is not None:
            assert numbers(found) == pytest.approx(read[: len(numbers(found))], rel=1e-12, abs=1e-30)
            assert int(found["ipoc"]) == ipoc
        again(found, read)
    assert 0.02 * FUZZ < accepted < 0.9 * FUZZ


@given(st.binary(max_size=200))
def test_any_bytes_are_refused(data):
    assert codec.decode_rob(data, rob_record()) != codec.OK
    assert codec.decode_sen(data, sen_record()) != codec.OK


@given(PLACE, TURN, PLACE, TURN, PLACE, TURN)
def test_world_and_robot_are_inverse(p_WR, a_WR, p_TB, a_TB, p, a):
    X_WR, X_TB, X_RT = (pose(q, codec.quaternion_of(*np.radians(r))) for q, r in ((p_WR, a_WR), (p_TB, a_TB), (p, a)))
    X_WB, back = pose((0, 0, 0), (1, 0, 0, 0)), pose((0, 0, 0), (1, 0, 0, 0))
    frames.to_world(X_WR, X_RT, X_TB, X_WB)
    frames.to_robot(X_WR, X_WB, X_TB, back)
    same_pose(X_RT, back, metres=1e-13)
    matrix = np.eye(4)
    for place, turn in ((p_WR, a_WR), (p, a), (p_TB, a_TB)):
        step = np.eye(4)
        step[:3, :3], step[:3, 3] = Rotation.from_euler("ZYX", turn, degrees=True).as_matrix(), place
        matrix = matrix @ step
    assert X_WB["p"] == pytest.approx(matrix[:3, 3], abs=1e-13)


@given(PLACE, st.floats(1e-6, 0.1), st.floats(1e-5, 1.0))
def test_a_correction_is_never_longer_than_its_limit_and_leads_there_when_it_can(step, step_limit, turn_limit):
    sent, wanted = pose((1.0, 2.0, 3.0), (1, 0, 0, 0)), pose(np.add((1.0, 2.0, 3.0), step), codec.quaternion_of(0.5, 0, 0))
    correction, reached = pose((0, 0, 0), (1, 0, 0, 0)), pose((0, 0, 0), (1, 0, 0, 0))
    short = frames.correct(sent, sent, wanted, step_limit, turn_limit, correction)
    assert np.linalg.norm(correction["p"]) <= step_limit * (1 + 1e-9)
    assert 2.0 * math.acos(min(abs(correction["q"][0]), 1.0)) <= turn_limit * (1 + 1e-6) + 1e-7
    assert short == (np.linalg.norm(step) > step_limit * (1 + 1e-12) or turn_limit < 0.5)
    frames.apply(sent, correction, reached)
    if not short:
        same_pose(reached, wanted, metres=1e-14)


@pytest.mark.parametrize("zeta", [0.3, 1.0, 2.5])
def test_the_emulated_robot_solves_its_equation(zeta):
    """Against a fine integration by SciPy: a ramp, a rest and the dead time; and asking often changes nothing."""
    from scipy.integrate import solve_ivp

    omega, dead = 50.0, 0.0105
    target = pose((0.01, -0.02, 0.0), codec.quaternion_of(0.0, 0.0, 0.03))

    def follow(t, x):
        share = min(max((t - dead - 0.004) / 0.004, 0.0), 1.0)
        return [x[1], omega**2 * (0.01 * share - x[0]) - 2 * zeta * omega * x[1]]

    times = np.linspace(0.0, 0.2, 101)
    exact = solve_ivp(follow, (0.0, 0.2), [0.0, 0.0], t_eval=times, max_step=1e-4, rtol=1e-9, atol=1e-12).y
    robot = Response(pose((0, 0, 0), (1, 0, 0, 0)), 0.0, dead, omega, zeta)
    robot.command(target, 0.004, 0.008)
    asked = []
    for k, t in enumerate(times):
        asked.append(robot.at(t))
        if k % 3 == 0:
            robot.settle(t)
    assert [p[0] for p, _, _, _ in asked] == pytest.approx(exact[0], abs=1e-8)
    assert [v[0] for _, _, v, _ in asked] == pytest.approx(exact[1], abs=1e-6)
    assert [p[1] for p, _, _, _ in asked] == pytest.approx(-2.0 * exact[0], abs=2e-8)
    turns = [2.0 * math.atan2(q[1], q[0]) for _, q, _, _ in asked]
    assert turns == pytest.approx(3.0 * exact[0], abs=1e-7)
    rates = [w[0] for _, _, _, w in asked]
    assert rates == pytest.approx(3.0 * exact[1], abs=1e-5)
