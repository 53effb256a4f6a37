"""Standard messages beside the rows: the same numbers, thinned by a rule, read by third-party programs."""

import json
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory

from hilt import job
from hilt.record import cdr, recording, rosmsg, standard
from hilt.record.container import Damage, rows_of
from hilt.record.standard import Fixed, Frames, Pose
from tests.peers import python_with


@pytest.fixture(scope="module")
def docking(tmp_path_factory):
    before = time.time()
    found = job.run(*job.find("docking", "table1", ["loop.duration='1 s'"]), tmp_path_factory.mktemp("docking"))
    return found, before, time.time()


def decoded(path):
    """Topic -> log times and messages, by the MCAP project's reader."""
    found = {}
    with path.open("rb") as stream:
        for _, channel, message, content in make_reader(stream, decoder_factories=[DecoderFactory()]).iter_decoded_messages():
            found.setdefault(channel.topic, []).append((message.log_time, content))
    return found


def numbers(message, *names):
    for name in names:
        message = getattr(message, name)
    order = ("x", "y", "z", "w") if hasattr(message, "w") else ("x", "y", "z")
    return [getattr(message, each) for each in order]


def test_poses_and_wrenches_are_columns_of_the_rows_at_every_nth_tick(docking):
    run, *_ = docking
    seen = decoded(run.recording)
    some = run.rows[::20]  # 50 Hz of 1 kHz
    assert standard.every_of(0.001) == 20
    for name in ("X_WB_meas", "X_NA"):
        poses = [content for _, content in seen[f"/hilt/docking/{name}"]]
        assert np.array_equal([numbers(each, "pose", "position") for each in poses], some[name]["p"])
        assert np.array_equal([numbers(each, "pose", "orientation") for each in poses], np.roll(some[name]["q"], -1, axis=1))
        assert {each.header.frame_id for each in poses} == {name[2]}
    wrenches = [content for _, content in seen["/hilt/docking/F_So_S"]]
    assert np.array_equal([numbers(each, "wrench", "force") for each in wrenches], some["F_So_S"]["f"])
    assert np.array_equal([numbers(each, "wrench", "torque") for each in wrenches], some["F_So_S"]["tau"])


def test_a_transform_agrees_with_its_pose(docking):
    run, *_ = docking
    seen = decoded(run.recording)
    for time_of_pose, pose in seen["/hilt/docking/X_WB_cmd"]:
        (transforms,) = (content.transforms for at, content in seen["/tf"] if at == time_of_pose)
        (found,) = (each for each in transforms if each.child_frame_id == "B_cmd")
        assert found.header.frame_id == "W"
        assert numbers(found, "transform", "translation") == numbers(pose, "pose", "position")
        assert numbers(found, "transform", "rotation") == numbers(pose, "pose", "orientation")


def test_times_begin_at_the_wall_time_of_the_run_and_stamps_are_the_same(docking):
    run, before, after = docking
    for topic, messages in decoded(run.recording).items():
        assert before <= messages[0][0] * 1e-9 <= after, topic
        assert messages[-1][0] - messages[0][0] <= 1e9
        for at, content in messages:
            header = getattr(content, "header", None) or (content.transforms[0].header if topic == "/tf" else None)
            assert header is None or header.stamp.sec * 1_000_000_000 + header.stamp.nanosec == at, topic


def test_rosbags_reads_the_same(docking):
    """Another implementation of the format and of CDR, in pure Python."""
    run, *_ = docking
    code = """
import json, sys
from pathlib import Path
from rosbags.highlevel import AnyReader
found = {}
with AnyReader([Path(sys.argv[1])]) as reader:
    for connection, at, raw in reader.messages():
        message = reader.deserialize(raw, connection.msgtype)
        if connection.topic == "/hilt/docking":
            found.setdefault("ticks", []).append(int(message.tick))
        elif connection.topic == "/hilt/docking/X_WB_meas":
            p = message.pose.position
            found.setdefault("poses", []).append([p.x, p.y, p.z])
        elif connection.topic == "/tf":
            found.setdefault("frames", []).append([each.child_frame_id for each in message.transforms])
print(json.dumps(found))
"""
    said = subprocess.run(
        [python_with("rosbags"), "-c", code, run.recording], capture_output=True, text=True, check=True
    ).stdout
    found = json.loads(said)
    assert found["ticks"] == run.rows["tick"].tolist()
    assert found["poses"] == run.rows["X_WB_meas"]["p"][::20].tolist()
    assert {"W", "S", "A", "T", "B_meas", "B_cmd"} <= set(found["frames"][0])


def test_hashes_of_types_are_those_of_another_implementation():
    code = """
import json, sys
from rosbags.typesys import Stores, get_types_from_msg, get_typestore
store = get_typestore(Stores.ROS2_JAZZY)
asked = json.load(sys.stdin)
store.register(get_types_from_msg(asked["row"], "hilt_msgs/msg/Docking"))
print(json.dumps({name: store.hash_rihs01(name) for name in asked["names"]}))
"""
    system, _, _ = job.find("docking", "table1", [])
    topic = cdr.row_topic("docking", system.row)
    names = [*rosmsg.STANDARD, topic.type]
    asked = json.dumps({"row": topic.definition, "names": names})
    said = subprocess.run([python_with("rosbags"), "-c", code], input=asked, capture_output=True, text=True, check=True).stdout
    ours = {name: rosmsg.type_hash(name) for name in rosmsg.STANDARD} | {topic.type: rosmsg.type_hash(topic.type, topic.types)}
    assert json.loads(said) == ours


def test_rerun_shows_transforms_and_poses(docking, tmp_path):
    """With its loader, from its command line."""
    rerun = Path(python_with("rerun")).with_name("rerun")
    run, *_ = docking
    subprocess.run([rerun, "mcap", "convert", run.recording, "-o", tmp_path / "run.rrd"], check=True, capture_output=True)
    said = subprocess.run(
        [rerun, "rrd", "print", "-v", tmp_path / "run.rrd"], check=True, capture_output=True, text=True
    ).stdout
    assert "/tf@Transform3D:translation" in said
    assert "/hilt/docking/X_WB_meas@InstancePoses3D:translations" in said


def test_a_pose_that_is_not_known_yet_is_left_out():
    row = np.dtype([("t", "f8"), ("tick", "i8"), ("p", "f8", (3,)), ("q", "f8", (4,))])
    rows = np.zeros(3, row)
    rows["tick"] = range(3)
    rows["q"] = [[0, 0, 0, 0], [1, 0, 0, 0], [np.nan, 0, 0, 0]]
    frames = Frames(fixed=(Fixed("W", "S"),), poses=(Pose("X", "W", "B", "p", "q"),))
    transforms, pose = (list(topic.encode(rows, np.arange(3))) for topic in cdr.standard_topics("x", frames))
    assert [message.row for message in pose] == [1]
    assert [message.data.count(b"B\0") for message in transforms] == [0, 1, 0]
    assert [message.data[4] for message in transforms] == [1, 2, 1]  # transforms in each


def test_the_rate_is_kept_for_any_period():
    for period in (0.0001, 0.001, 0.002, 0.004, 0.005, 0.012, 0.02, 0.1):
        every = standard.every_of(period)
        assert every == 1 or 1.0 / (every * period) <= standard.RATE * (1 + 1e-9)
        assert every == 1 or 1.0 / ((every - 1) * period) > standard.RATE


def test_a_systems_topics_survive_the_transfer_to_another_process():
    for system, scenario in (("payload", "two-arms"), ("aerial", "push"), ("docking", "twin")):
        found = standard.of(*job.find(system, scenario, [])[:2])
        assert standard.from_json(json.loads(json.dumps(found.as_json()))) == found


def message(channel, data):
    body = channel.to_bytes(2, "little") + bytes(20) + b"\0\1\0\0" + data
    return b"\5" + len(body).to_bytes(8, "little") + body


def test_rows_are_read_in_front_of_other_topics_and_nowhere_else():
    row = np.dtype([("t", "f8"), ("tick", "i8")])
    rows = np.array([(0.1, 1), (0.2, 2)], row)
    ours = b"".join(message(1, each.tobytes()) for each in rows)
    assert (rows_of(ours + message(2, bytes(16)) + message(3, b"short"), row) == rows).all()
    for bad in (
        ours + message(2, b"") + message(1, bytes(16)),  # a row behind others would be lost silently
        message(2, bytes(3)) + ours,
        ours + message(2, bytes(16))[:-1],
        ours + message(2, b"") * 1000,
    ):
        with pytest.raises(Damage):
            rows_of(bad, row)


def test_the_recording_is_still_replayed_byte_by_byte(docking):
    run, *_ = docking
    assert job.replay(recording.stored(run.recording)) is None
