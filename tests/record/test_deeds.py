"""The run's record lists who did what, by the senders' own names."""

import os

import pytest

from hilt.core import clock
from hilt.live import mailbox
from hilt.record.deeds import MOST, Deeds, read, when
from hilt.record.letters import ARM, SET, START, STEER, STOP, Request

KINDS = {"arm": ARM, "start": START, "stop": STOP, "steer": STEER, "set": SET}


def requested(what, who, key="", value=0.0):
    return Request(KINDS[what], key, value, 0.0, (0.0,) * 6, 0, 0, who)


def test_deeds_are_in_order_with_the_first_and_last_of_each_sender(monkeypatch):
    now, deeds = [10.0], Deeds()
    monkeypatch.setattr(clock, "now", lambda: now[0])
    for each in (requested("arm", "A"), requested("start", "B")):
        deeds.note(each)
    deeds.begin()
    for at, each in enumerate(
        (requested("steer", "A"), requested("steer", "B"), requested("steer", "A"), requested("set", "B", "k", 2.0))
    ):
        now[0] = 11.0 + at
        deeds.note(each)
    deeds.note(requested("stop", "C"))
    found = deeds.take()
    assert [(deed["what"], deed["who"], deed["first"], deed["last"]) for deed in found] == [
        ("arm", "A", None, None),
        ("start", "B", None, None),
        ("steer", "A", 1.0, 3.0),
        ("steer", "B", 2.0, 2.0),
        ("set k = 2", "B", 4.0, 4.0),
        ("stop", "C", 4.0, 4.0),
    ]
    assert [when(deed) for deed in found[1:4]] == ["before the run", "1 to 3 s", "2 s"]
    assert read(found) == found
    assert [deed["who"] for deed in deeds.take()] == ["the command line"]


def test_it_stays_small():
    deeds = Deeds()
    for number in range(10 * MOST):
        deeds.note(requested("set", "A", "k", float(number)))
    assert len(deeds.take()) <= MOST + 1


@pytest.mark.parametrize("who", ["", "guest 1 (page 1, control, 127.0.0.1)", "é" * 200])
def test_a_letter_says_who_sent_it(who):
    box = mailbox.Mailbox(f"deeds-{os.getpid()}")
    sender = mailbox.Sender(box.name, who)
    sender.arm()
    (request,) = box.poll()
    expected = (who or f"process {os.getpid()} of user {os.getuid()}").encode()[:64].decode(errors="ignore")
    assert request.who == expected
    box.answer(request, False, "no")
    assert [deed["what"] for deed in box.deeds.take()] == ["start"]  # what was refused was not done
    sender.arm()
    for request in box.poll():
        box.answer(request, True)
    assert ("arm", expected) in [(deed["what"], deed["who"]) for deed in box.deeds.take()]
    sender.close()
    box.close()


@pytest.mark.parametrize("found", [None, 7, {}, [], [7], [{"what": 1}], [{"what": "a", "who": "b", "first": "c", "last": 1}]])
def test_of_a_strangers_recording_only_deeds_are_read(found):
    assert not read(found)
