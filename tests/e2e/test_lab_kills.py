"""Whatever dies or stops, at any time: the command line says so in one sentence, the robot is safe, the recording correct.

`hilt run` itself, on the shipped rig file, in virtual time; some of this in wall time: test_lab_cli.py.
"""

import json
import signal
from pathlib import Path

import pytest

from hilt import job
from hilt.core import clock
from hilt.core.faults import InputError
from hilt.device import rigfile
from hilt.host import shared
from hilt.live import mailbox
from hilt.live.mailbox import LIVE, Watcher
from hilt.live.ring import RingReader
from hilt.record import recording
from tests.e2e.command import here
from tests.e2e.lab import until

pytestmark = [pytest.mark.virtual, pytest.mark.long]

WHEN = {"connecting": (0, 0.01), "ready": (0, 0.7), "live": (LIVE, 0.1), "later": (LIVE, 0.8)}  # state, and how long after
PAUSES = {"a short pause": 0.05, "a pause": 0.3, "a long pause": 1.2}  # s: unnoticed, noticed, longer than all patience
RUNS, KILLED = "", "killed"
ASKED, NOT_RUN = "stopped: a stop was requested", "hilt: interrupted by"
DIED = "stopped: the recorder died or fell behind"
SILENT, STALE = "stopped: the robot sent no packet", "stopped: the force sensor sent nothing new"
NO_ROBOT, NO_SENSOR = (
    f"hilt: the rig is not ready: the {who}" for who in ("robot sent no packet", "force sensor sent nothing")
)
# How the command ends, for each time.
CASES = {
    ("hilt", "SIGKILL"): (KILLED, KILLED, KILLED, KILLED),
    ("hilt", "SIGTERM"): (NOT_RUN, NOT_RUN, ASKED, None),  # as SIGINT
    ("hilt", "SIGHUP"): (NOT_RUN, NOT_RUN, ASKED, None),
    ("hilt", "SIGINT"): (NOT_RUN, NOT_RUN, ASKED, ASKED),
    ("hilt", "a short pause"): (RUNS, RUNS, RUNS, RUNS),
    ("hilt", "a pause"): (RUNS, SILENT, "stopped: too many cycles of the robot were missed", "stopped: lateness of a tick"),
    ("hilt", "a long pause"): (
        RUNS,
        "hilt: the rig is not ready: the force sensor",
        "stopped: lateness of a tick",
        "stopped: lateness of a tick",
    ),
    ("recorder", "SIGKILL"): (None, None, DIED, DIED),  # there is none before
    ("recorder", "SIGTERM"): (None, None, DIED, None),
    ("recorder", "SIGHUP"): (None, None, DIED, None),
    ("recorder", "a long pause"): (None, None, RUNS, RUNS),
    ("reader", "SIGKILL"): (None, None, RUNS, RUNS),
    ("reader", "a long pause"): (None, None, RUNS, RUNS),
    ("robot", "SIGKILL"): ("hilt: no robot sent to port 59152 within 10 s", NO_ROBOT, SILENT, SILENT),  # devices get no SIGTERM
    ("robot", "a short pause"): (RUNS, RUNS, RUNS, RUNS),
    ("robot", "a pause"): (RUNS, RUNS, SILENT, SILENT),
    ("robot", "a long pause"): (RUNS, NO_ROBOT, None, SILENT),
    ("sensor", "SIGKILL"): ("hilt: the force sensor at 127.0.0.1:49152 cannot be reached", NO_SENSOR, STALE, STALE),
    ("sensor", "a short pause"): (RUNS, RUNS, RUNS, RUNS),
    ("sensor", "a pause"): (RUNS, RUNS, STALE, STALE),
    ("sensor", "a long pause"): (RUNS, NO_SENSOR, None, STALE),
}


def session_of(child):
    return until(lambda: next((each for each in mailbox.sessions() if each.startswith(f"{child.pid}-")), None))


def read(child):
    """Read the run's rows."""
    ring = RingReader(until(lambda: Watcher(session_of(child)).front.ring))
    while not ring.ended:
        ring.read(64)
        clock.pause(0.01)


def strike(process, what):
    if what in PAUSES:
        process.send_signal(signal.SIGSTOP)
        clock.pause(PAUSES[what])
        process.send_signal(signal.SIGCONT)
    else:
        process.send_signal(signal.Signals[what])


@pytest.mark.parametrize(
    ("who", "what", "when", "end"),
    [
        pytest.param(*case, when, end, id=f"{', '.join(case)}, {when}")
        for case, ends in CASES.items()
        for when, end in zip(WHEN, ends, strict=True)
        if end is not None
    ],
)
def test_kills_and_stops(own_ports, machine, tmp_path, who, what, when, end):
    facility, folder, done = own_ports(rigfile.find("dry-lab")), tmp_path / "runs", []
    words = ("run", "docking", "--rig", "dry-lab", "--json", "--out", str(folder), "--set", "loop.duration=1.5 s")
    child = machine.begin("hilt", lambda: done.append(here(tmp_path, *words)))
    if who == "reader":
        machine.begin("reader", lambda: read(child))
    watcher = Watcher(session_of(child))
    until(lambda: watcher.front.state >= WHEN[when][0])
    clock.pause(WHEN[when][1])
    strike(child.process if who == "hilt" else machine.named(who)[0], what)
    until(lambda: child.poll() is not None)
    clock.pause(1.0)  # the recorder of a killed loop ends by itself
    shared.sweep()  # as the owner's next command does
    assert [each for each in machine.segments.left() if each.startswith(f"{child.pid}-")] == []
    if who != "robot" or what != "SIGKILL":
        robot = facility.control.status()["robot"]
        assert (robot["violations"], robot["hard_stops"]) == ([], 0)
    files = list(folder.glob("*.mcap"))
    for path in files:
        check_recording(path, done)
    if end is KILLED:
        assert child.poll() == -signal.SIGKILL
        return
    (done,) = done
    said = done.stderr.replace(" at t = ", ":: ").partition(":: ")
    assert done.stderr.count("\n") == bool(end), done.stderr
    assert (said[0] + ": " + said[2].partition(" s: ")[2] if said[1] else said[0]).startswith(end)
    assert done.returncode == (0 if end is RUNS else 130 if end is NOT_RUN else 2 if end.startswith("hilt") else 3)
    assert len(files) == (done.returncode in (0, 3)), "what was not armed leaves no file"
    assert folder.exists() == bool(files)
    if files:
        reported = json.loads(done.stdout)
        assert [Path(reported["recording"])] == files
        assert (reported["fault"] is None) == (end is RUNS)


def check_recording(path, done):
    try:
        found = recording.load(path)
    except InputError:
        assert not done, "only a loop killed before its first row leaves an empty file"
        return
    if done:
        reported = json.loads(done[0].stdout)
        assert found.result == reported or reported["timing"]["rows_lost"]
        assert len(found.rows) == reported["timing"]["rows"] - reported["timing"]["rows_lost"]
    assert found.rows["tick"].tolist() == list(range(len(found.rows)))
    if len(found.rows):
        assert job.replay(found) is None
