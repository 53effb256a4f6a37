"""ROS 2 by the wire format of rmw_zenoh, checked against an independent implementation: no node of ROS 2 itself is at hand."""

import os
import select
import signal
import subprocess
import sys

import numpy as np
import pytest

from hilt.core import clock
from hilt.record import cdr, rosmsg, standard
from hilt.stream.link import Link
from hilt.stream.rmw import Endpoint
from tests.e2e.lab import stop
from tests.peers import python_with
from tests.stream.peer import Peer
from tests.stream.streamed import place, streamed, wanted

pytestmark = pytest.mark.wall


def xyz(found, order="xyz"):
    return [[each[name] for name in order] for each in found]


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """A run of two jointed arms, and what the peer received of it."""
    python_with("zenoh_ros2_sdk")
    here = place("ros2")
    settings = ["loop.duration='0.5 s'"]  # 2 MB: what lies in buffers is not left out, however slow the peer is
    with streamed(tmp_path_factory.mktemp("ros2"), "payload", "two-arms", settings, wanted(here)) as (session, said):
        name = session.system.name
        frames = standard.of(session.system, session.values).frames
        topics = [cdr.row_topic(name, session.system.row), *cdr.standard_topics(name, frames)]
        with Peer(here, {each.name: (each.type, each.definition) for each in topics}) as peer:
            result = session.go()
            peer.wait("/hilt/payload", len(result.rows))
            for each in ("/tf", "/joint_states", *(f"/hilt/payload/{name}" for name in ("X_WB_cmd", "V_WB_cmd", "F_So_S"))):
                peer.wait(each, len(result.rows[::20]))
            heard = peer.end()
    return result, heard, topics, said


def test_an_independent_subscriber_decodes_every_row(both):
    result, found, _, said = both
    rows, heard = result.rows, found["heard"]["/hilt/payload"]
    assert result.timing["rows_lost"] == 0
    assert [each["tick"] for each in heard] == rows["tick"].tolist(), said
    assert [each["t"] for each in heard] == rows["t"].tolist()
    assert np.array_equal([each["x_vir"] for each in heard], rows["x_vir"])
    assert np.array_equal([each["x_wb_cmd"]["p"] for each in heard], rows["X_WB_cmd"]["p"])


def test_and_the_standard_messages(both):
    result, found, *_ = both
    heard, some = found["heard"], result.rows[::20]  # 50 Hz of 1 kHz
    poses = [each["pose"] for each in heard["/hilt/payload/X_WB_cmd"]]
    assert np.array_equal(xyz([each["position"] for each in poses]), some["X_WB_cmd"]["p"])
    assert np.array_equal(xyz([each["orientation"] for each in poses], "wxyz"), some["X_WB_cmd"]["q"])
    assert np.array_equal(xyz([each["twist"]["linear"] for each in heard["/hilt/payload/V_WB_cmd"]]), some["V_WB_cmd"]["v"])
    wrenches = [each["wrench"] for each in heard["/hilt/payload/F_So_S"]]
    assert np.array_equal(xyz([each["force"] for each in wrenches]), some["F_So_S"]["f"])
    assert np.array_equal(xyz([each["torque"] for each in wrenches]), some["F_So_S"]["tau"])
    joints = heard["/joint_states"]
    assert joints[0]["name"] == [f"slave{arm}_joint{joint}" for arm in (1, 2) for joint in range(1, 8)]
    assert np.array_equal([each["position"] for each in joints], some["q_arm"].reshape(len(some), -1))
    assert {"vir", "s", "B_cmd", "S"} <= {each["child_frame_id"] for each in heard["/tf"][-1]["transforms"]}


def test_it_lists_the_topics_with_their_types_and_agrees_on_their_hashes(both):
    _, found, topics, _ = both
    kinds = {each.type for each in topics}
    assert {rosmsg.POSE_STAMPED, rosmsg.WRENCH_STAMPED, rosmsg.TWIST_STAMPED, rosmsg.TF_MESSAGE, rosmsg.JOINT_STATE} <= kinds
    assert {name: kind for name, (kind,) in found["listed"].items() if name in {each.name for each in topics}} == {
        each.name: each.type for each in topics
    }
    assert found["hashes"] == {each.type: rosmsg.type_hash(each.type, each.types) for each in topics}


SUBSCRIBER = """
import sys, time
from hilt.record import rosmsg
from hilt.stream.link import Link
from hilt.stream.places import Place
from hilt.stream.rmw import Endpoint
heard = []
link = Link(Place("ros2", "127.0.0.1", int(sys.argv[1])), "subscriber")
topic = Endpoint(link.domain, "/x", rosmsg.FLOAT, rosmsg.STANDARD)
link.subscriber(topic, lambda data: heard.append(int.from_bytes(data[:8], "little")))
print("ready", flush=True)
last = int(sys.stdin.readline())
for _ in range(6000):
    if heard[-1:] >= [last]:
        break
    time.sleep(0.01)
print(len(heard), heard[0], heard[-1], flush=True)
link.close()
"""
MESSAGES, BYTES = 600, 1 << 16  # 39 MB: more than the kernel keeps for a connection


def test_a_stopped_subscriber_loses_messages_and_another_one_does_not():
    here = place("ros2")
    link = Link(here, "publisher")
    publisher = link.publisher(Endpoint(link.domain, "/x", rosmsg.FLOAT, rosmsg.STANDARD))
    command = [sys.executable, "-c", SUBSCRIBER, str(here.port)]
    stopped, well = (
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) for _ in range(2)
    )
    try:
        assert [each.stdout.readline() for each in (stopped, well)] == ["ready\n"] * 2
        stop(stopped.pid)
        for number in range(MESSAGES):
            publisher.put(number.to_bytes(8, "little") + bytes(BYTES))
            clock.pause(0.002)
        well.stdin.write(f"{MESSAGES - 1}\n")
        count, first, last = map(int, well.stdout.readline().split())
        assert count == last - first + 1, "every message from the first one on"
        assert last == MESSAGES - 1
        os.kill(stopped.pid, signal.SIGCONT)
        stopped.stdin.write(f"{MESSAGES}\n")
        number = MESSAGES
        while not select.select([stopped.stdout], [], [], 0.01)[0]:  # until one comes that was sent since
            publisher.put(number.to_bytes(8, "little"))
            number += 1
        count, first, last = map(int, stopped.stdout.readline().split())
        assert count < last + 1, "of all that were sent"
        assert last >= MESSAGES, "it goes on where the others are"
    finally:
        for each in (stopped, well):
            each.kill()
            each.communicate()
        link.close()
