"""Requests from topics of ROS 2: passed on within the limits, refused outside them, and an operator who falls silent."""

import json
import struct
import threading
import time
import traceback

import numpy as np
import pytest

from hilt import job
from hilt.core.faults import InputError
from hilt.live import mailbox
from hilt.live.ring import RingReader
from hilt.record import cdr, recording, rosmsg
from hilt.record.standard import Couple, Frames
from hilt.stream import reading
from hilt.stream.live_in import QUIET, topic_of
from tests.e2e.lab import until
from tests.stream.peer import Peer
from tests.stream.streamed import place, streamed, wanted

pytestmark = pytest.mark.lab

OPERATED = ("operator.kind=live", "operator.start='0 s'", "loop.duration='60 s'")
HAND, SPEED = "/hilt/payload/operator", "/hilt/payload/set/operator/speed"


def run(folder, do):
    """A run that ends when `do(peer, session)`, in another thread, brings it about; returns what the peer received."""
    here = place("ros2")
    asked = wanted(live_in=here, force=20.0, torque=2.0)
    refused = {"/hilt/payload/refused": (rosmsg.STRING, rosmsg.definition(rosmsg.STRING))}
    with streamed(folder, "payload", "two-arms", OPERATED, asked) as (session, said), Peer(here, refused) as peer:
        trouble = []

        def helper():
            try:
                until(lambda: session.box.front.state == mailbox.LIVE)
                do(peer, session)
            except BaseException:
                trouble.append(traceback.format_exc())
                stop(session)

        thread = threading.Thread(target=helper)
        thread.start()
        result = session.go()
        thread.join()
        found = peer.end()
    assert not trouble, trouble[0]
    return result, [each["data"] for each in found["heard"].get("/hilt/payload/refused", ())], said


def stop(session):
    sender = mailbox.Sender(session.box.name)
    sender.wait(sender.stop(), 20.0)
    sender.close()


def newest(session):
    """The newest row of a live run."""
    ring = RingReader(session.box.front.ring)
    ring.next = max(0, ring.count - 1)
    rows, _ = ring.read(1)
    ring.close()
    return rows[-1] if len(rows) else None


def test_a_wrench_steers_a_value_is_set_and_what_is_outside_the_limits_is_refused(tmp_path):
    steered = []

    def do(peer, session):
        peer.publish(SPEED, rosmsg.FLOAT, data=0.004)  # within its bounds
        peer.publish(SPEED, rosmsg.FLOAT, data=0.004)  # the same again is no new request
        until(lambda: session.box.front.state != mailbox.LIVE or len(steered) > 3 or steer(peer, session))
        peer.wrench(HAND, (0, 0, 0), (0, 0, 0))  # lets go: from here on it may be silent
        until(lambda: not newest(session)["joystick"].any())
        bad = (
            lambda: peer.wrench(HAND, (25.0, 0, 0), (0, 0, 0)),  # more than a full deflection
            lambda: peer.publish(SPEED, rosmsg.FLOAT, data=-1.0),
            lambda: peer.publish(SPEED, rosmsg.FLOAT, data=float("nan")),
        )
        for count, send in enumerate(bad, 1):
            send()
            peer.wait("/hilt/payload/refused", count)
            time.sleep(QUIET)  # a refusal is not said again sooner; and longer than the patience of the dead man's switch
        stop(session)

    def steer(peer, session):
        peer.wrench(HAND, (10.0, -5.0, 0.0), (0.0, 0.0, 0.5))
        row = newest(session)
        if row is not None and row["joystick"].any():
            steered.append(row["joystick"].tolist())

    result, refused, said = run(tmp_path, do)
    assert result.fault.name == "requested", "letting go is no fault"
    assert np.unique(steered, axis=0).tolist() == [[0.5, -0.25, 0.0, 0.0, 0.0, 0.25]], "of 20 N and 2 N·m"
    assert [(each["key"], each["value"]) for each in result.changes] == [("operator.speed", 0.004)]
    assert any("25 N is more than the 20 N of a full deflection" in each for each in refused)
    assert any("operator.speed would be -1 m/s; allowed is" in each for each in refused)
    assert said[-1].endswith(" requests passed on, 3 refused")
    assert "ROS 2, --live-in" in json.dumps(result.who)
    assert job.replay(recording.stored(result.recording)) is None


def test_a_topic_that_falls_silent_is_an_operator_who_has_fallen_silent(tmp_path):
    def do(peer, session):
        until(lambda: peer.wrench(HAND, (10.0, 0, 0), (0, 0, 0)) or newest(session)["joystick"].any())

    result, refused, _ = run(tmp_path, do)
    assert result.fault.name == "dead-man"
    assert result.fault.value > result.fault.limit == 0.3
    assert not refused


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
