"""The ring: what is read is what was written, and what is lost is counted."""

import contextlib
import itertools
import os
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hilt.core import signals
from hilt.core.faults import InputError
from hilt.host import shared
from hilt.live.ring import RingReader, RingWriter, rings

pytestmark = pytest.mark.wall

ROW = signals.row_type(("X_WB_cmd", "F_So_S", "k_hat"))
CAPACITY = 16
PATTERN = np.arange(ROW.itemsize).astype(np.uint8)
_number = itertools.count()


@pytest.fixture
def name():
    return f"test-{os.getpid()}-{next(_number)}"


@pytest.fixture
def writer(name):
    ring = RingWriter(name, ROW, CAPACITY)
    yield ring
    ring.close()


def fill(row, k):
    row.view(np.uint8)[:] = PATTERN + np.uint8(k % 251)
    row["tick"] = k


def written(count, start=0):
    rows = np.zeros(count, ROW)
    for k in range(count):
        fill(rows[k : k + 1], start + k)
    return rows


def append(writer, count):
    row = np.zeros(1, ROW)
    for k in range(writer.count, writer.count + count):
        fill(row, k)
        writer.append(row)


def test_a_copy_does_not_change_when_the_writer_goes_on(writer, name):
    append(writer, 5)
    rows, _ = RingReader(name).read(100)
    before = rows.tobytes()
    append(writer, 3 * CAPACITY)
    assert rows.tobytes() == before


@settings(max_examples=100)
@given(st.lists(st.tuples(st.integers(0, 3 * CAPACITY), st.integers(1, 2 * CAPACITY)), max_size=12))
def test_every_row_is_read_once_in_order_or_counted_as_lost(steps):
    name = f"test-{os.getpid()}-{next(_number)}"
    writer = RingWriter(name, ROW, CAPACITY)
    reader, other = RingReader(name), RingReader(name)
    assert reader.dtype == ROW, "known without the system"
    expected = 0  # number of the next row
    for count, most in steps:
        append(writer, count)
        rows, lost = reader.read(most)
        expected += lost
        assert rows["tick"].tolist() == list(range(expected, expected + len(rows)))
        assert rows.tobytes() == written(len(rows), expected).tobytes()
        expected += len(rows)
        # No more is lost than necessary: one slot is always being written.
        assert lost == 0 or expected - len(rows) == writer.count - CAPACITY + 1
        assert expected == writer.count or len(rows) == most
    assert reader.next == expected
    rows, lost = other.read(10_000)
    assert len(rows) + lost == writer.count, "readers are independent"
    for each in (writer, reader, other):
        each.close()


def test_rows_overwritten_during_the_copy_are_discarded(writer, name):
    """The writer laps the reader between its copy and its second read of the count, as if the reader had been stopped there."""
    reader = RingReader(name)
    append(writer, 12)
    places = reader._places

    class Interrupted:
        def __getitem__(self, index):
            append(writer, 10)  # rows 12 to 21: the places of 0 to 5 are overwritten, and that of 6 may be
            return places[index]

    reader._places = Interrupted()
    rows, lost = reader.read(100)
    assert lost == 22 - CAPACITY + 1
    assert rows.tobytes() == written(12)[7:].tobytes()


def test_appending_allocates_nothing_that_stays(writer):
    row = np.zeros(1, ROW)
    blocks = []
    for count in (10, 10, 10_000):
        for _ in range(count):
            writer.append(row)
        blocks.append(sys.getallocatedblocks())
    assert blocks[2] - blocks[1] < 20  # one block a row would be ten thousand


def test_skipping_goes_to_the_newest_and_is_no_loss(writer, name):
    reader = RingReader(name)
    append(writer, 40)
    reader.skip()
    append(writer, 2)
    rows, lost = reader.read(100)
    assert rows["tick"].tolist() == [40, 41]
    assert lost == reader.lost == 0


def test_a_reader_sees_the_end_and_can_read_up_to_it_afterwards(writer, name):
    reader = RingReader(name)
    append(writer, 3)
    assert not reader.ended
    assert reader.writer_alive
    writer.close()
    assert reader.ended
    assert not reader.writer_alive
    assert len(reader.read(100)[0]) == 3
    with pytest.raises(InputError, match="not running here"):
        RingReader(name)


def test_a_forgotten_reader_closes_its_file(writer, name):
    RingReader(name)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        RingReader(name)
    assert len(os.listdir("/proc/self/fd")) == before


def test_one_name_has_one_writer(writer, name):
    assert name in rings()
    with pytest.raises(InputError, match="already running"):
        RingWriter(name, ROW, CAPACITY)
    append(writer, 1)
    assert len(RingReader(name).read(9)[0]) == 1  # the first one is not disturbed
    writer.close()
    assert name not in rings()


def test_what_a_killed_run_left_behind_blocks_nothing(name):
    with contextlib.closing(RingWriter(name, ROW, CAPACITY)):
        path = shared.find(name + ".ring")
    path.write_bytes(b"\0" * 4096)
    with pytest.raises(InputError, match="not a ring"):
        RingReader(name)
    RingWriter(name, ROW, CAPACITY).close()
    assert not path.exists()


@pytest.mark.parametrize("bad", ["", "../x", "a/b", "a b", "x" * 300])
def test_a_name_cannot_leave_its_folder(bad):
    with pytest.raises(InputError, match="cannot name"):
        RingWriter(bad, ROW, CAPACITY)


def test_too_small_a_ring_is_refused(name):
    with pytest.raises(InputError, match="at least 2"):
        RingWriter(name, ROW, 1)
