"""Recordings: readable when cut, damaged or killed, and readable by other programs."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory

from hilt import job
from hilt.core.faults import InputError
from hilt.core.signals import leaves
from hilt.record import recording


def chunk_ends(data):
    """Offsets at which a whole chunk ends (opcode 6), found by walking the records."""
    ends, at = [], 8
    while at + 9 <= len(data) - 8:
        length = int.from_bytes(data[at + 1 : at + 9], "little")
        if data[at] == 0x06:
            ends.append(at + 9 + length)
        at += 9 + length
    return ends


def test_it_is_read_back_as_it_was_written(run):
    found = recording.load(run.recording)
    assert found.rows.tobytes() == run.rows.tobytes()
    assert found.result == run.as_json()
    assert found.origin["hash"] == run.scenario.hash()
    assert {"hilt", "numba", "numpy", "python", "system", "scenario"} <= set(found.origin)


@settings(max_examples=200)
@given(draw=st.data())
def test_cut_at_any_byte_it_opens_up_to_its_last_whole_chunk(run, data, tmp_path, draw):
    cut = draw.draw(st.integers(0, len(data)))
    path = tmp_path / "cut.mcap"
    path.write_bytes(data[:cut])
    whole = sum(end <= cut for end in chunk_ends(data))
    expected = min(whole * recording.ROWS_A_CHUNK, len(run.rows))
    try:
        rows = recording.load(path).rows
    except InputError:
        rows = run.rows[:0]
    assert rows.tobytes() == run.rows[:expected].tobytes()


@settings(max_examples=200)
@given(draw=st.data())
def test_a_damaged_byte_never_gives_a_wrong_row(run, data, tmp_path, draw):
    where, value = draw.draw(st.integers(0, len(data) - 1)), draw.draw(st.integers(1, 255))
    damaged = bytearray(data)
    damaged[where] ^= value
    path = tmp_path / "damaged.mcap"
    path.write_bytes(damaged)
    try:
        rows = recording.load(path).rows
    except InputError:
        return
    inside_chunks = where < chunk_ends(data)[-1]
    if inside_chunks and rows.dtype == run.rows.dtype:
        assert rows.tobytes() == run.rows[: len(rows)].tobytes()


def test_other_readers_see_the_same_numbers(run):
    """The MCAP project's reader with its ROS 2 decoder, which only has the definition in the file."""
    with run.recording.open("rb") as stream:
        reader = make_reader(stream, decoder_factories=[DecoderFactory()])
        messages = [decoded for *_, decoded in reader.iter_decoded_messages(topics=["/hilt/freefloat"])]
    assert len(messages) == len(run.rows)
    for dotted, (_, _, shape) in leaves(run.rows.dtype).items():
        name, _, part = dotted.partition(".")
        theirs = [getattr(getattr(m, name.lower()), part) if part else getattr(m, name.lower()) for m in messages]
        ours = run.rows[name][part] if part else run.rows[name]
        assert np.array_equal(np.array(theirs).reshape(-1, *shape), ours.reshape(-1, *shape), equal_nan=True), dotted


def test_the_file_has_a_schema_made_from_the_table(run):
    with run.recording.open("rb") as stream:
        summary = make_reader(stream).get_summary()
    (schema,) = (schema for schema in summary.schemas.values() if schema.name == "hilt_msgs/msg/Freefloat")
    assert schema.encoding == "ros2msg"
    text = schema.data.decode()
    for name in run.rows.dtype.names:
        assert f" {name.lower()}\n" in text


def test_a_killed_run_leaves_a_readable_file(tmp_path):
    """In wall time, killed in the middle: the rows up to the last flush are there, and their metrics can be computed."""
    arguments = ["run", "freefloat", "--scenario", "oos-sim", "--clock", "periodic", "--json", "--out"]
    process = subprocess.Popen([sys.executable, "-m", "hilt.cli.main", *arguments, tmp_path], stdout=subprocess.DEVNULL)
    for _ in range(600):
        files = list(tmp_path.glob("*.mcap"))
        if files and len(rows_of(files[0])) > 300:
            break
        time.sleep(0.1)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    found = recording.load(files[0])
    assert found.result is None
    whole = job.simulate(*job.find("freefloat", "oos-sim", []))
    recorded = found.rows.copy()
    assert recorded["lateness"].max() > 0
    recorded["lateness"] = recorded["tick_time"] = 0  # the only columns that wall time changes
    assert recorded.tobytes() == whole.rows[: len(recorded)].tobytes()
    assert job.replay(found) is None


def rows_of(path):
    try:
        return recording.load(path).rows
    except InputError:
        return ()


def test_a_replay_names_the_first_difference(run):
    found = recording.load(run.recording)
    rows = found.rows.copy()
    rows["X_WB_cmd"]["p"][123, 1] = 7.0
    rows["H"][130] = 1.0
    difference = job.replay(recording.Recording(found.path, found.origin, rows, None))
    assert (difference.tick, difference.signal) == (123, "X_WB_cmd.p")
    assert difference.recorded[1] == 7.0


def test_a_recording_with_other_signals_is_refused_with_a_sentence(run):
    found = recording.load(run.recording)
    shorter = found.rows[["t", "tick"]]
    with pytest.raises(InputError, match="other signals"):
        job.replay(recording.Recording(found.path, found.origin, shorter, None))
