"""Names in our folder of shared memory: looking changes nothing, sweeping removes only what is not in use."""

import os

import numpy as np
import pytest

from hilt.host import runtime, shared
from hilt.host.seqlock import SeqLock
from hilt.plant import joystick
from hilt.plant.joystick import Joystick

pytestmark = pytest.mark.wall


def test_looking_for_what_runs_takes_nothing_away():
    name = f"looked-at-{os.getpid()}.ring"
    path = next(iter(runtime.usable())) / name
    path.touch()
    try:
        assert name not in shared.running(".ring"), "nobody has it"
        assert path.exists()
        shared.sweep()
        assert not path.exists()
    finally:
        path.unlink(missing_ok=True)


def test_what_is_in_use_is_listed_and_stays():
    segment = shared.Segment.create(f"in-use-{os.getpid()}.ring", shared.PAGE)
    segment.publish()
    try:
        shared.sweep()
        assert segment.path.name in shared.running(".ring")
        assert segment.path.exists()
    finally:
        segment.close()
    assert not segment.path.exists()


def test_a_joystick_leaves_no_memory_behind_when_its_session_ends():
    name = f"stick-{os.getpid()}"
    first = Joystick(name)
    first.move((1.0, 0.0, 0.0))
    assert shared.left(f"{name}*")
    joystick.release()
    assert shared.left(f"{name}*") == []
    first.move((0.5, 0.0, 0.0))  # an old run may still point there: it must not crash
    Joystick(name).move((0.0, 1.0, 0.0))
    assert shared.left(f"{name}*")
    joystick.release()


@pytest.mark.parametrize("kind", ["i8", "f8"])
def test_half_of_what_is_written_is_never_read(kind):
    memory = np.zeros(3, kind)
    lock = SeqLock(memory[:1])
    with lock.writing():
        memory[1:] = 1
    assert lock.read(lambda: memory[1:].copy())[1].tolist() == [1, 1]
    torn = iter([True])

    def copy():
        half = memory[1:2].copy()
        if next(torn, False):  # somebody writes while we copy, once
            with lock.writing():
                memory[1:] += 1
        return np.concatenate([half, memory[2:]])

    assert lock.read(copy)[1].tolist() == [2, 2], "never the 1 of before beside the 2 of after"
    memory[0] = 3
    assert lock.read(lambda: memory[1:].copy()) is None, "a writer that was stopped half-way"
