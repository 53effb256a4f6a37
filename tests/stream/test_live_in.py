"""Requests from topics of ROS 2: passed on within the limits, refused outside them, and an operator who falls silent."""

import json
import struct
import threading

import numpy as np
import pytest

from hilt import job
from hilt.core import clock
from hilt.core.faults import InputError
from hilt.live import mailbox
from hilt.live.session import Session
from hilt.record import cdr, recording, rosmsg
from hilt.record.standard import Couple, Frames
from hilt.stream import reading
from hilt.stream.live_in import LOOK, QUIET, STEER, Desk, topic_of
from tests.patience import becomes
from tests.stream.peer import Peer
from tests.stream.streamed import place, streamed, wanted

OPERATED = ("operator.kind=live", "operator.start='0 s'", "loop.duration='60 s'")
HAND, SPEED = "/hilt/payload/operator", "/hilt/payload/set/operator/speed"


class Hand:
    """An operator, in a process of its own, whose messages a desk passes on every 10 ms."""

    def __init__(self, session):
        self.sender, self.said = mailbox.Sender(session.box.name, who="ROS 2, --live-in"), []
        self.desk = Desk(self.sender, 20.0, 2.0, self.said.append)
        while self.sender.front.state != mailbox.LIVE:
            clock.pause(LOOK)

    def send(self, key, data, seconds):
        end = clock.now() + seconds
        while clock.now() < end:
            self.desk.hear({key: data})
            self.desk.look()
            clock.pause(LOOK)

    def push(self, force, torque, seconds):
        self.send(STEER, message("hand", force, torque), seconds)

    def set(self, value, seconds):
        self.send("operator.speed", b"\0\1\0\0" + struct.pack("<d", value), seconds)


def run(machine, folder, do):
    """A run that ends when `do(hand)`, in another process, brings it about."""
    session, hands = Session(*job.find("payload", "two-arms", [*OPERATED]), folder), []

    def operate():
        hands.append(Hand(session))
        do(hands[0])

    session.open()
    machine.begin("operator", operate)
    result = session.go()
    session.close()
    assert job.replay(recording.stored(result.recording)) is None
    return result, hands[0]


@pytest.mark.virtual
def test_a_wrench_steers_a_value_is_set_and_what_is_outside_the_limits_is_refused(machine, tmp_path):
    def do(hand):
        hand.set(0.004, 0.5)  # within its bounds; the same again is no new request
        for value in (0.005, 0.006):
            hand.set(value, 0.02)  # as fast as a person would
        hand.set(0.007, 0.3)
        hand.push((10.0, -5.0, 0.0), (0.0, 0.0, 0.5), 0.5)
        hand.push((0, 0, 0), (0, 0, 0), 0.02)  # lets go: from here on it may be silent
        hand.push((25.0, 0, 0), (0, 0, 0), 1.5 * QUIET)  # more than a full deflection
        hand.set(-1.0, 0.2)
        clock.pause(QUIET)
        hand.set(float("nan"), 0.2)
        hand.sender.stop()

    result, hand = run(machine, tmp_path, do)
    assert result.fault.name == "requested", "letting go is no fault"
    rows = result.rows["joystick"]
    assert np.unique(rows, axis=0).tolist() == [[0.0] * 6, [0.5, -0.25, 0.0, 0.0, 0.0, 0.25]], "of 20 N and 2 N·m"
    changes = result.changes
    assert {each["key"] for each in changes} == {"operator.speed"}
    assert changes[0]["value"] == 0.004
    assert changes[-1]["value"] == 0.007
    assert len(changes) <= 3
    first, again, beyond, nan = hand.said
    assert first == again, "a refusal is said again after a while"
    assert "25 N is more than the 20 N of a full deflection" in first
    assert "operator.speed would be -1 m/s; allowed is" in beyond
    assert "a message has the number nan" in nan
    assert "ROS 2, --live-in" in json.dumps(result.who)


@pytest.mark.virtual
def test_a_topic_that_falls_silent_is_an_operator_who_has_fallen_silent(machine, tmp_path):
    result, hand = run(machine, tmp_path, lambda hand: hand.push((10.0, 0, 0), (0, 0, 0), 0.2))
    assert result.fault.name == "dead-man"
    assert 0.3 < result.fault.value < 0.31
    assert result.fault.limit == 0.3
    assert not hand.said


@pytest.mark.wall
def test_the_messages_of_another_node_are_heard_and_it_hears_what_is_refused(tmp_path):
    here, refusals = place("ros2"), "/hilt/payload/refused"
    topics = {refusals: (rosmsg.STRING, rosmsg.definition(rosmsg.STRING))}
    with (
        streamed(tmp_path, "payload", "two-arms", OPERATED, wanted(live_in=here, force=20.0, torque=2.0)) as (session, said),
        Peer(here, topics) as peer,
    ):

        def help_it():
            becomes(lambda: session.box.front.state == mailbox.LIVE)
            peer.publish(SPEED, rosmsg.FLOAT, data=0.004)
            peer.wrench(HAND, (25.0, 0, 0), (0, 0, 0))
            peer.wait(refusals, 1)
            peer.wrench(HAND, (10.0, -5.0, 0), (0, 0, 0.5))  # and falls silent

        helper = threading.Thread(target=help_it)
        helper.start()
        result = session.go()
        helper.join()
        found = peer.end()
    assert result.fault.name == "dead-man"
    assert np.unique(result.rows["joystick"], axis=0).tolist() == [[0.0] * 6, [0.5, -0.25, 0.0, 0.0, 0.0, 0.25]]
    assert [(each["key"], each["value"]) for each in result.changes] == [("operator.speed", 0.004)]
    (refused,) = found["heard"][refusals]
    assert "25 N is more than the 20 N of a full deflection" in refused["data"]
    assert said[-1].endswith(" requests passed on, 1 refused")


def test_a_live_value_s_topic_is_a_name_that_ros_allows():
    assert topic_of("operator.speed") == "operator/speed"
    assert topic_of("wind.mean.0") == "wind/mean_0"


def message(frame, force, torque):
    """By hilt's own writer, which others read (test_ros2.py)."""
    row = np.zeros(1, [("f", "f8", (3,)), ("tau", "f8", (3,))])
    row["f"], row["tau"] = force, torque
    (topic,) = cdr.standard_topics("x", Frames(wrenches=(Couple("F", frame, "f", "tau"),)))
    (found,) = topic.encode(row, np.zeros(1, np.int64))
    return found.data


@pytest.mark.parametrize("frame", ["", "a", "ab", "hand", "a frame's long name"])
def test_a_wrench_is_read_whatever_the_length_of_its_frame(frame):
    assert reading.wrench(message(frame, (1.0, -2.0, 3.0), (4.0, 5.0, -6.0))) == (1.0, -2.0, 3.0, 4.0, 5.0, -6.0)


def test_the_other_byte_order_is_read_too():
    body = struct.pack(">iII", 1, 2, 2) + b"h\0" + bytes(2) + struct.pack(">6d", 1, 2, 3, 4, 5, 6)
    assert reading.wrench(b"\0\0\0\0" + body) == (1, 2, 3, 4, 5, 6)
    assert reading.number(b"\0\0\0\0" + struct.pack(">d", 1.5)) == 1.5


def test_bytes_that_are_no_message_are_refused_in_one_sentence():
    """Mutated and cut messages: a wrench, or one sentence, and never anything else."""
    rng, whole = np.random.default_rng(18), message("hand", (1.0, 2.0, 3.0), (4.0, 5.0, 6.0))
    for _ in range(20_000):
        data = bytearray(whole[: rng.integers(0, len(whole) + 1)])
        for at in rng.integers(0, max(len(data), 1), rng.integers(0, 4)):
            if data:
                data[at] = rng.integers(256)
        for read in (reading.wrench, reading.number):
            try:
                assert np.isfinite(read(bytes(data))).all()
            except InputError as error:
                assert "\n" not in str(error)
