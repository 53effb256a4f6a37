"""Random kills and stops on the dry lab: whatever dies, at any time, the robot is safe, and the recording is correct.

Ten of them, or HILT_KILLS of them, drawn with a seed, so that a failure can be reproduced: which process (loop, recorder,
robot, sensor, a reader), what (SIGKILL, a stop for a while, SIGTERM), and when (while it connects, in READY, live).
"""

import json
import os
import random
import select
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path
from subprocess import PIPE

import pytest

from hilt import job
from hilt.core.faults import InputError
from hilt.device import rigfile
from hilt.host import shared
from hilt.host.shared import Segment
from hilt.lab.dry.facility import Facility
from hilt.live import mailbox
from hilt.live.mailbox import LIVE, READY, Watcher
from hilt.live.recorder import SUFFIX as RECORDER
from hilt.live.recorder import RecorderStatus
from hilt.live.ring import RingReader
from hilt.record import recording
from tests.e2e.test_lab_cli import rig_file
from tests.e2e.walls import LONG, until

KILLS = int(os.environ.get("HILT_KILLS", "10"))
SEED = 13
WHO = ("loop", "recorder", "robot", "sensor", "reader")
SIGNALS = {"kill": signal.SIGKILL, "SIGTERM": signal.SIGTERM, "SIGHUP": signal.SIGHUP}
WHEN = ("connecting", "ready", "live", "late")
PAUSES = (0.05, 0.3, 1.2)  # s: unnoticed, noticed, and longer than the timeout of robot and sensor
SHORT = ("--set", "collisions=1000", "--set", "loop.duration=2 s")

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(sys.platform != "linux", reason="shared memory and signals as Linux has them"),
]

# The command line, many commands in one process: starting Python takes longer than a run.
COMMANDS = """
import contextlib, io, json, signal, sys
from hilt.cli import main as cli
for number in (signal.SIGTERM, signal.SIGHUP):  # between two commands
    signal.signal(number, lambda *_: None)
for line in sys.stdin:
    sys.argv, said, complained, code = json.loads(line), io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(complained):
        try:
            cli.main()
        except SystemExit as end:
            code = end.code or 0
    print(json.dumps([code, said.getvalue(), complained.getvalue()]), flush=True)
"""
READER = """
import sys, time
from hilt.live.ring import RingReader
ring = RingReader(sys.argv[1])
print("reading", flush=True)
while True:
    ring.read(64)
    time.sleep(0.001)
"""


def cases():
    draw = random.Random(SEED)
    for number in range(KILLS):
        who, when, pause, after = draw.choice(WHO), draw.choice(WHEN), draw.choice(PAUSES), draw.uniform(0.0, 0.4)
        if who in ("recorder", "reader") and when in WHEN[:2]:
            when = "live"  # there is none before
        # The emulated devices get no SIGTERM: they are hardware.
        what = draw.choice(("kill", "pause", "SIGTERM", "SIGHUP") if who in ("loop", "recorder") else ("kill", "pause"))
        yield pytest.param(who, what, when, pause, after, id=f"{number}-{who}-{what}-{when}")


class Lab:
    """An emulated facility that is restarted when one of its processes has died."""

    def __init__(self, folder):
        self.rig = rig_file(folder)
        self._facility = self._commands = None
        self.ends = Counter()

    def settle(self):
        if self._facility is not None and self._facility.trouble:
            self.close()
        if self._facility is None:
            self._facility = Facility(rigfile.load(self.rig), [], live=True)
        self._facility.control.restart()
        self.violations = self._facility.control.status()["robot"]["violation_count"]

    def start(self, folder):
        """A run on it."""
        self.settle()
        if self._commands is not None and (self._commands.poll() is not None or self._last.waits):
            self._commands.kill()  # a test has given up on it
            self.end()
        if self._commands is None:
            self._commands = subprocess.Popen([sys.executable, "-c", COMMANDS], stdin=PIPE, stdout=PIPE, text=True)
        self._last = Command(self._commands, self.rig, folder)
        return self._last

    def pid(self, who):
        return self._facility.pids[who]

    def check(self):
        """No violation, provided the robot is alive."""
        with suppress(InputError):
            found = self._facility.control.status()["robot"]
            assert found.get("violation_count", self.violations) == self.violations, found["violations"]

    def end(self):
        self._commands.communicate(timeout=LONG)
        self._commands = None

    def close(self):
        self._facility.stop()
        self._facility = None


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    made = Lab(tmp_path_factory.mktemp("rig"))
    yield made
    made.close()
    made.end()
    print(f"\n{KILLS} kills and stops, seed {SEED}; exit codes {dict(sorted(made.ends.items()))}")


class Command:
    """`hilt run`, in a process that runs one command after another."""

    def __init__(self, process, rig, folder):
        self.process = process
        words = ["hilt", "run", "docking", "--rig", str(rig), "--json", "--out", str(folder), *SHORT]
        process.stdin.write(json.dumps(words) + "\n")
        process.stdin.flush()
        self._watcher = self.reader = None
        self.waits = True  # for its end

    @property
    def over(self):
        return bool(select.select([self.process.stdout], [], [], 0.0)[0])

    def front(self):
        if self._watcher is None:
            name = next((each for each in mailbox.sessions() if each.startswith(f"{self.process.pid}-")), None)
            self._watcher = name and Watcher(name)
        return self._watcher and self._watcher.front

    def reach(self, when, after):
        """Wait until that state; the run may be over before."""
        until(lambda: self.over or self.front())
        if when != "connecting":
            until(lambda: self.over or self.front().state >= (READY if when == "ready" else LIVE))
        if when == "late":
            until(lambda: self.over or self._rows() > 200)
        time.sleep(after)

    def _rows(self):
        with suppress(InputError), closing(RingReader(self.front().ring)) as ring:  # it ended just now
            return ring.count
        return 0

    def pid(self, who):
        """PID of loop, recorder or a reader; None if it has already ended."""
        if who == "loop":
            return self.process.pid
        if self.front() is None:
            return None
        try:
            if who == "recorder":
                return RecorderStatus(Segment.open(self.front().ring + RECORDER)).pid
            words = [sys.executable, "-c", READER, self.front().ring]
            self.reader = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL)
            return self.reader.pid if self.reader.stdout.readline() else None
        except InputError:
            return None

    def end(self):
        """Exit code, output and errors."""
        until(lambda: self.over)
        line, self.waits = self.process.stdout.readline(), False
        if self.reader is not None:
            self.reader.kill()
            self.reader.communicate()
        return json.loads(line) if line else (self.process.wait(LONG), "", "")


def strike(pid, what, pause):
    with suppress(ProcessLookupError):
        if what == "pause":
            os.kill(pid, signal.SIGSTOP)
            time.sleep(pause)
            os.kill(pid, signal.SIGCONT)
        else:
            os.kill(pid, SIGNALS[what])


@pytest.mark.parametrize(("who", "what", "when", "pause", "after"), list(cases()))
def test_kills_and_stops(lab, tmp_path, who, what, when, pause, after):
    command = lab.start(tmp_path)
    command.reach(when, after)
    pid = command.pid(who) if who in ("loop", "recorder", "reader") else lab.pid(who)
    if pid:
        strike(pid, what, pause)
    code, said, complained = command.end()
    lab.check()
    lab.ends[code] += 1
    assert code in ((-signal.SIGKILL, 0, 3) if (who, what) == ("loop", "kill") else (0, 2, 3, 130)), complained
    shared.sweep()  # as the owner's next command does
    until(lambda: not shared.left(f"{command.process.pid}-*"))  # the recorder of a killed loop ends by itself
    files = list(tmp_path.glob("*.mcap"))
    if code in (2, 130):
        assert complained.count("\n") == 1, complained
        assert files == [] or "holds the run so far" in complained, "nothing was armed, and nothing is written"
    elif code in (0, 3):
        reported = json.loads(said)
        assert [Path(reported["recording"])] == files
        assert (reported["fault"] is None) == (code == 0)
    for path in files:
        found = recording.load(path)
        if code in (0, 3):
            assert found.result == reported or reported["timing"]["rows_lost"]
            assert len(found.rows) == reported["timing"]["rows"] - reported["timing"]["rows_lost"]
        if len(found.rows):
            assert job.replay(found) is None
