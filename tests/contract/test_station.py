"""A station in its own process: its states, its answers, and that it refuses what its state does not allow."""

import signal
from pathlib import Path

import numpy as np
import pytest

from hilt import job
from hilt.core import clock
from hilt.core.faults import InputError
from hilt.host import machine as host
from hilt.host import shared
from hilt.live import mailbox, station
from hilt.live.mailbox import LIVE, READY, STOPPED, Sender
from hilt.live.ring import RingReader
from hilt.record import recording

pytestmark = pytest.mark.virtual


def wait_for(condition, what, seconds=2.0):
    until = clock.now() + seconds
    while not condition():
        assert clock.now() < until, f"no {what} within {seconds} s"
        clock.pause(0.005)


class Seat:
    """An operator at a station."""

    def __init__(self, config):
        self.name = station.launch(config)
        self.sender = Sender(self.name)

    @property
    def front(self):
        return self.sender.front

    def ask(self, what, *values):
        return self.sender.wait(getattr(self.sender, what)(*values), 1.0)

    def go(self):
        assert self.ask("arm").accepted
        assert self.ask("start").accepted
        wait_for(lambda: self.front.state == LIVE, "live loop")

    def rest(self, seconds=2.0):
        wait_for(lambda: self.front.state == STOPPED, "stop", seconds)
        wait_for(lambda: self.front.recording, "recording")
        return recording.load(Path(self.front.recording))

    def hold(self, axes, seconds):
        until = clock.now() + seconds
        while clock.now() < until:
            assert self.ask("steer", axes, True).accepted
            clock.pause(0.02)


@pytest.fixture
def seat(tmp_path):
    def sit(system, scenario=None, settings=(), **more):
        return Seat({"system": system, "scenario": scenario, "settings": list(settings), "out": str(tmp_path), **more})

    return sit


def test_only_what_its_state_allows(seat):
    here = seat("docking", settings=["loop.duration=60 s"])

    def check(accepted, *refused):
        for what in refused:
            assert not here.ask(what, *(("contact.stiffness", 1e5, 0.1) if what == "set" else ())).accepted, what
        for what in accepted.split():
            assert here.ask(what).accepted, what

    assert here.name in mailbox.sessions()
    assert (here.front.state, here.sender.info["system"]) == (READY, "docking")
    check("arm", "start", "home", "set")
    assert here.front.armed
    check("stop")
    assert not here.front.armed, "stop disarms"
    here.go()
    assert not here.front.armed, "each run is armed anew"
    check("stop", "arm", "start", "reset", "home", "quit")
    here.rest()
    assert "a stop was requested" in here.front.sentence
    check("reset", "arm")
    first = here.front.recording
    here.go()
    assert here.front.runs == 2
    check("stop")
    wait_for(lambda: here.front.recording != first, "second recording")
    check("quit")
    wait_for(lambda: here.name not in mailbox.sessions(), "end")


def test_a_live_change_is_recorded_and_replayed_to_the_byte(seat):
    here = seat("docking", settings=["loop.duration=3 s", "collisions=50"])
    here.go()
    ring = RingReader(here.front.ring)
    wait_for(lambda: ring.count > 200, "rows")
    for values, accepted in (
        (("contact.stiffness", 1e5, 0.3), True),
        (("limits.force", 2000.0, 0.0), True),
        (("limits.force", 1e12, 0.0), False),
        (("robot.delay", 0.01, 0.0), False),
    ):
        assert here.ask("set", *values).accepted == accepted, values
    found = here.rest(4.0)
    assert [change["key"] for change in found.result["changes"]] == ["contact.stiffness", "limits.force"]
    assert job.replay(found) is None
    assert found.rows["tick"].tolist() == list(range(len(found.rows)))


LIVE_OPERATOR = ("operator.kind=live", "loop.duration=60 s", "operator.start=0 s")


def test_a_hand_moves_the_virtual_arm_and_lets_go(seat):
    here = seat("payload", "hils-2", LIVE_OPERATOR)
    here.go()
    ring = RingReader(here.front.ring)
    here.hold((1.0, 0.0, 0.0, 0.0, 0.0, 0.0), 1.0)
    assert here.ask("steer", (0.0,) * 6, False).accepted
    wait_for(lambda: any(not row["joystick"].any() for row in ring.read(100_000)[0][-1:]), "hand off the stick")
    clock.pause(0.6)
    assert here.front.state == LIVE, "an announced release is not a fault"
    here.ask("stop")
    found = here.rest()
    assert job.replay(found) is None, "ended by the operator, it replays to the byte"
    rows = found.rows
    assert rows["joystick"][:, 0].max() == 1.0
    moved = rows["x_vir"][-1] - rows["x_vir"][0]
    assert moved[0] > 1e-3
    assert np.allclose(moved[1:], 0.0, atol=1e-9)


def test_a_silent_operator_is_a_fault(seat):
    here = seat("payload", "hils-2", LIVE_OPERATOR)
    here.go()
    here.hold((1.0, 0.0, 0.0, 0.0, 0.0, 0.0), 0.4)
    found = here.rest(1.0)
    assert "dead-man" in here.front.sentence
    assert job.replay(found) is None


def test_nobody_steers_a_scenario_without_a_live_operator(seat):
    here = seat("payload", "hils-2", ["loop.duration=60 s"])
    here.go()
    assert not here.ask("steer", (1.0,) * 6, True).accepted
    clock.pause(0.5)
    assert here.front.state == LIVE, "and it is not a dead-man switch either"


def test_bad_input_is_one_sentence_and_no_station(tmp_path, machine):
    for config, sentence in (
        ({"system": "no-such"}, "known are"),
        ({"system": "docking", "settings": ["servicer.mass=-1"]}, "servicer.mass"),
        ({"system": "docking", "rig": str(tmp_path / "none.toml")}, "does not exist"),
    ):
        with pytest.raises(InputError, match=sentence):
            station.launch({"out": str(tmp_path), **config})
    assert [each.name for each in machine.processes if not each.ended] == ["hilt"]


def test_a_station_whose_starter_has_died_goes_on(seat, machine, tmp_path):
    names = []

    def start():
        names.append(station.launch({"system": "freefloat", "settings": ["loop.duration=60 s"], "out": str(tmp_path)}))

    assert machine.begin("page", start).wait(10.0)
    sender = Sender(names[0])
    assert sender.wait(sender.arm(), 1.0).accepted


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_terminated_station_stops_and_leaves_nothing_behind(seat, number):
    """A real one does, too: test_children.py."""
    here = seat("freefloat", settings=["loop.duration=60 s"], go=True)
    wait_for(lambda: here.front.state == LIVE, "live loop")
    host.kill(here.sender.pid, number)
    found = here.rest()
    assert found.result["fault"]["name"] == "requested"
    assert job.replay(found) is None, "ended by a signal, it replays to the byte"
    host.kill(here.sender.pid, number)
    wait_for(lambda: here.name not in mailbox.sessions(), "end")
    assert shared.left(f"{here.sender.pid}-*") == []


def test_a_station_that_ignores_the_end_of_its_terminal_goes_on(seat):
    """As under nohup: what its starter ignores, it ignores."""
    host.handle(signal.SIGHUP, signal.SIG_IGN)
    here = seat("freefloat", settings=["loop.duration=60 s"], go=True)
    wait_for(lambda: here.front.state == LIVE, "live loop")
    host.kill(here.sender.pid, signal.SIGHUP)
    clock.pause(0.5)
    assert here.front.state == LIVE
