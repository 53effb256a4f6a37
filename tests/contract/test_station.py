"""A station in its own process: its states, its answers, and that it refuses what its state does not allow."""

import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest

from hilt import job
from hilt.core.faults import InputError
from hilt.host import shared
from hilt.live import mailbox, station
from hilt.live.mailbox import LIVE, READY, STOPPED, Sender
from hilt.live.ring import RingReader
from hilt.record import recording

pytestmark = [pytest.mark.long, pytest.mark.wall]

PATIENCE = 20.0  # s, on a busy machine


def wait_for(condition, what):
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until, f"no {what} within {PATIENCE} s"
        time.sleep(0.005)


class Seat:
    """An operator at a station."""

    def __init__(self, config):
        self.name = station.launch(config)
        self.sender = Sender(self.name)

    @property
    def front(self):
        return self.sender.front

    def ask(self, what, *values):
        return self.sender.wait(getattr(self.sender, what)(*values), PATIENCE)

    def go(self):
        assert self.ask("arm").accepted
        assert self.ask("start").accepted
        wait_for(lambda: self.front.state == LIVE, "live loop")

    def rest(self):
        wait_for(lambda: self.front.state == STOPPED, "stop")
        runs = self.front.runs
        wait_for(lambda: self.front.recording, "recording")
        assert self.front.runs == runs

    def hold(self, axes, seconds):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            assert self.ask("steer", axes, True).accepted
            time.sleep(0.02)


@pytest.fixture
def seat(tmp_path):
    made = []

    def sit(system, scenario=None, settings=(), **more):
        config = {"system": system, "scenario": scenario, "settings": list(settings), "out": str(tmp_path), **more}
        made.append(Seat(config))
        return made[-1]

    yield sit
    for each in made:
        if each.sender.alive:
            each.ask("stop")
            wait_for(lambda each=each: each.front.state != LIVE, "stop")
            each.ask("quit")
        each.sender.close()


def test_only_what_its_state_allows(seat):
    here = seat("docking", settings=["loop.duration=60 s"])
    assert here.name in mailbox.sessions()
    assert here.front.state == READY
    assert here.sender.info["system"] == "docking"
    assert not here.ask("start").accepted, "not armed"
    assert not here.ask("home").accepted
    assert not here.ask("set", "contact.stiffness", 1e5, 0.1).accepted, "not live"
    assert here.ask("arm").accepted
    assert here.front.armed
    assert here.ask("stop").accepted
    assert not here.front.armed, "stop disarms"
    here.go()
    assert not here.front.armed, "each run is armed anew"
    for what in ("arm", "start", "reset", "home", "quit"):
        assert not here.ask(what).accepted, what
    assert here.ask("stop").accepted
    here.rest()
    assert "a stop was requested" in here.front.sentence
    assert not here.ask("arm").accepted, "reset first"
    assert here.ask("reset").accepted
    first = here.front.recording
    here.go()
    assert here.front.runs == 2
    here.ask("stop")
    wait_for(lambda: here.front.recording != first, "second recording")


def test_a_live_change_is_recorded_and_replayed_to_the_byte(seat):
    here = seat("docking", settings=["loop.duration=3 s", "collisions=50"])
    here.go()
    ring = RingReader(here.front.ring)
    wait_for(lambda: ring.count > 200, "rows")
    assert here.ask("set", "contact.stiffness", 1e5, 0.3).accepted
    assert here.ask("set", "limits.force", 2000.0, 0.0).accepted
    assert not here.ask("set", "limits.force", 1e12, 0.0).accepted
    assert not here.ask("set", "robot.delay", 0.01, 0.0).accepted
    here.rest()
    found = recording.load(Path(here.front.recording))
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
    time.sleep(0.6)
    assert here.front.state == LIVE, "an announced release is not a fault"
    here.ask("stop")
    here.rest()
    found = recording.load(Path(here.front.recording))
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
    wait_for(lambda: here.front.state == STOPPED, "stop")
    assert "dead-man" in here.front.sentence
    here.rest()
    assert job.replay(recording.load(Path(here.front.recording))) is None


def test_nobody_steers_a_scenario_without_a_live_operator(seat):
    here = seat("payload", "hils-2", ["loop.duration=60 s"])
    here.go()
    assert not here.ask("steer", (1.0,) * 6, True).accepted
    time.sleep(0.5)
    assert here.front.state == LIVE, "and it is not a dead-man switch either"


def children():
    """Processes that this one has started and that have not ended; the sessions of the host may be those of other tests."""
    found = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return {pid for pid in found if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"}


def test_bad_input_is_one_sentence_and_no_station(tmp_path):
    before = children()
    for config, sentence in (
        ({"system": "no-such"}, "known are"),
        ({"system": "docking", "settings": ["servicer.mass=-1"]}, "servicer.mass"),
        ({"system": "docking", "rig": str(tmp_path / "none.toml")}, "does not exist"),
    ):
        with pytest.raises(InputError, match=sentence):
            station.launch({"out": str(tmp_path), **config})
    wait_for(lambda: children() <= before, "end of what was started")


@pytest.mark.usefixtures("hangs_up")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_terminated_station_stops_and_leaves_nothing_behind(seat, number):
    here = seat("freefloat", settings=["loop.duration=60 s"], go=True)
    wait_for(lambda: here.front.state == LIVE, "live loop")
    os.kill(here.sender.pid, number)
    here.rest()
    assert "requested" in here.front.sentence or "interrupt" in here.front.sentence
    found = recording.load(Path(here.front.recording))
    assert found.result["fault"]["name"] == "requested"
    assert job.replay(found) is None, "ended by a signal, it replays to the byte"
    os.kill(here.sender.pid, number)
    wait_for(lambda: here.name not in mailbox.sessions(), "end")
    assert shared.left(f"{here.sender.pid}-*") == []
