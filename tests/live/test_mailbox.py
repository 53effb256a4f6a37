"""The mailbox: every request is taken once and answered, in order; nobody can jam it."""

import itertools
import math
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hilt.core import clock
from hilt.core.faults import InputError
from hilt.live import mailbox
from hilt.live.mailbox import (
    ARM,
    LANES,
    REQUESTS_A_LANE,
    REQUESTS_A_POLL,
    RESET,
    SET,
    START,
    STEER,
    STOP,
    Answer,
    Mailbox,
    Sender,
)
from hilt.record import letters

pytestmark = pytest.mark.wall

_number = itertools.count()


@pytest.fixture
def name():
    return f"test-{os.getpid()}-{next(_number)}"


@pytest.fixture
def box(name):
    made = Mailbox(name)
    yield made
    made.close()


@pytest.fixture
def sender(box, name):
    made = Sender(name)
    yield made
    made.close()


def drain(box):
    found = []
    while requests := box.poll():
        found += requests
    return found


def test_what_is_asked_is_what_arrives(box, sender):
    assert box.poll() == ()
    sender.start()
    sender.arm()
    sender.set("compensate.gain", 2.5, ramp=0.5)
    sender.steer([1, -2, 3, -4, 5, -6])
    sender.reset()
    sender.stop()
    found = drain(box)
    assert [request.kind for request in found] == [START, ARM, SET, STEER, RESET, STOP]
    assert (found[2].key, found[2].value, found[2].ramp) == ("compensate.gain", 2.5, 0.5)
    assert found[3].axes == (1, -2, 3, -4, 5, -6)
    assert box.poll() == ()


def test_an_answer_reaches_the_one_who_asked(box, sender, name):
    other = Sender(name)
    first, second, theirs = sender.arm(), sender.start(), other.arm()
    assert sender.answer(first) is None
    for request in drain(box):
        mine = request.lane == 0
        box.answer(request, not mine, f"lane {request.lane}, {request.number}")
    assert sender.answer(first) == Answer(False, "lane 0, 0")
    assert sender.answer(second) == Answer(False, "lane 0, 1")
    assert other.answer(theirs) == Answer(True, "lane 1, 0")
    assert sender.wait(second, 10.0).text == "lane 0, 1"


def test_a_long_answer_is_cut_between_two_letters(box, sender):
    number = sender.arm()
    (request,) = box.poll()
    box.answer(request, False, "µ" * 200)
    assert set(sender.answer(number).text) == {"µ"}


def test_a_missing_answer_is_a_refusal(box, sender, name):
    number = sender.arm()
    assert sender.wait(number, 0.0) == Answer(False, f"{name} did not answer within 0 s")
    box.close()
    assert sender.wait(number, 100.0) == Answer(False, f"{name} has ended")


def test_a_tick_takes_few_requests_and_every_lane_has_its_turn(box, sender, name):
    flood = [sender.steer([k] * 6) for k in range(REQUESTS_A_LANE)]
    other = Sender(name)
    other.stop()
    found = box.poll()
    assert len(found) == REQUESTS_A_POLL
    assert STOP in [request.kind for request in found]
    rest = drain(box)
    assert [request.number for request in [*found, *rest] if request.kind == STEER] == flood


def test_a_full_lane_refuses_and_goes_on_when_it_is_emptied(box, sender):
    for _ in range(REQUESTS_A_LANE):
        sender.start()
    with pytest.raises(InputError, match="takes no more"):
        sender.start()
    assert len(drain(box)) == REQUESTS_A_LANE
    sender.start()
    assert len(drain(box)) == 1


def test_lanes_run_out_with_a_sentence_and_a_closed_one_is_free_again(box, name):
    senders = [Sender(name) for _ in range(LANES)]
    with pytest.raises(InputError, match="which is the maximum"):
        Sender(name)
    senders[5].close()
    late = Sender(name)
    late.arm()
    (request,) = box.poll()
    assert request.lane == 5


def test_half_a_letter_does_not_count_and_its_place_is_used_again(box, sender, name):
    """As after a kill in the middle of posting: the letter is there, the count is not."""
    sender._lane["requests"][0] = (ARM, clock.nanoseconds(), 0.0, 0.0, (0.0,) * 6, b"half", b"somebody")
    sender._bell[0] = clock.nanoseconds()
    sender.close()
    assert box.poll() == []
    heir = Sender(name)
    number = heir.stop()
    (request,) = box.poll()
    assert (request.kind, request.lane, request.number) == (STOP, 0, number)


def test_a_letter_posted_while_the_loop_looks_is_found_at_the_next_look(box, sender):
    posted = box._posted

    class Meanwhile:
        def __getitem__(self, lane):
            if lane == LANES - 1 and not posted[0]:  # lane 0 has been looked at already
                sender.arm()
            return posted[lane]

    box._posted = Meanwhile()
    sender._bell[0] = clock.nanoseconds()
    assert box.poll() == []
    assert [request.kind for request in box.poll()] == [ARM]


def test_an_old_request_is_refused_but_a_stop_is_not(box, sender, monkeypatch):
    arm, stop = sender.arm(), sender.stop()
    later = clock.nanoseconds() + int(5e9)
    monkeypatch.setattr(mailbox.clock, "nanoseconds", lambda: later)
    assert [request.kind for request in drain(box)] == [STOP]
    assert sender.answer(arm).text.startswith("too old")
    assert sender.answer(stop) is None


@pytest.mark.parametrize(("value", "ramp"), [(math.nan, 0.0), (math.inf, 0.0), (1.0, -1.0), (1.0, math.nan)])
def test_a_non_finite_number_never_reaches_the_loop(box, sender, value, ramp):
    number = sender.set("robot.delay", value, ramp)
    assert drain(box) == []
    assert not sender.answer(number).accepted


@settings(max_examples=200)
@given(st.data())
def test_scribbled_memory_is_bounded_work_and_never_an_exception(data):
    """Other processes can write into it: the loop must survive whatever is in it."""
    name = f"test-{os.getpid()}-{next(_number)}"
    box = Mailbox(name)
    start = letters.BOX.fields["bell"][1]
    size = data.draw(st.integers(1, 2000))
    box._segment.memory[start : start + size] = data.draw(st.binary(min_size=size, max_size=size))
    for _ in range(8):
        requests = box.poll()
        assert len(requests) <= REQUESTS_A_POLL
        for request in requests:
            assert request.kind in mailbox.KINDS
            assert all(map(math.isfinite, (request.value, request.ramp, *request.axes)))
            box.answer(request, True)
    box.close()


def test_bad_requests_are_refused_before_they_are_sent(sender, name):
    with pytest.raises(InputError, match="longer than"):
        sender.set("x" * 65, 1.0)
    with pytest.raises(InputError, match="needs 6"):
        sender.steer([1, 2, 3])
    with pytest.raises(InputError, match="not running here"):
        Sender(name + "-other")
