"""The lab in wall time, from the command line: real processes, sockets, signals, rights and terminals.

Each test judges one thing and waits for events, never for a time. Rig files and patience are those of users. A host that stalls
may stop a run, as it should: what is judged holds all the same. How each fault ends is tested in virtual time.
"""

import fcntl
import json
import os
import pty
import re
import signal
import socket
import struct
import subprocess
import sys
import termios
from contextlib import closing, contextmanager, nullcontext, suppress
from pathlib import Path

import pytest

from hilt import job
from hilt.core.faults import InputError
from hilt.device import rigfile
from hilt.host import shared
from hilt.host.claims import Claims
from hilt.host.shared import Segment
from hilt.lab.dry.control import FacilityControl
from hilt.live import cores, mailbox, station
from hilt.live.mailbox import LIVE, Sender, Watcher
from hilt.live.recorder import SUFFIX as RECORDER
from hilt.live.recorder import RecorderStatus
from hilt.live.ring import RingReader
from hilt.record import recording
from tests.patience import HUNG
from tests.patience import becomes as until

pytestmark = pytest.mark.lab  # a live loop takes a core of its own, and a host of two has one

KINDS = ("dry-lab", "dry-lab-ur-joints", "dry-lab-franka", "dry-lab-payload")  # every protocol; two robots with two sensors
STALLED = ("lateness", "robot-silent", "robot-gap", "robot-watchdog", "sensor-stale", "sensor-gap", "other-robot")  # by a host


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp, socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tcp:
        udp.bind(("127.0.0.1", 0))
        tcp.bind(("127.0.0.1", udp.getsockname()[1]))
        return udp.getsockname()[1]


def rig_file(folder, name):
    """A shipped rig file on free ports."""
    path = folder / f"{name}.toml"
    text = rigfile.find(name).read_text()
    path.write_text(re.sub(r"(?m)^(\w*port) = \d+", lambda found: f"{found[1]} = {free_port()}", text))
    return path


def start(folder, *words, **more):
    command = [sys.executable, "-m", "hilt.cli.main", *map(str, words)]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


@contextmanager
def emulated(folder, name):
    """`hilt emulate` in another process; its rig file and its control."""
    rig = rig_file(folder, name)
    child = start(folder, "emulate", rig)
    try:
        assert "processes" in child.stdout.readline()
        with closing(FacilityControl(rigfile.load(rig))) as control:
            yield rig, control
            for robot in control.status().values():
                assert not isinstance(robot, dict) or robot.get("violations", []) == [], robot
    finally:
        child.send_signal(signal.SIGTERM)
        child.communicate(timeout=HUNG)
    assert child.returncode == 0


@pytest.fixture(scope="module")
def dry(tmp_path_factory):
    with emulated(tmp_path_factory.mktemp("dry"), "dry-lab") as found:
        yield found


class Live:
    """`hilt run` on it, live, until the end of the test."""

    def __init__(self, folder, dry, seconds):
        rig, self.control = dry
        until(lambda: self.control.status()["robot"]["state"] == "waiting")
        self.control.live(True)
        self.folder = folder
        duration = f"loop.duration={seconds} s"
        self.child = start(folder, "run", "docking", "--rig", rig, "--json", "--out", folder, "--set", duration)
        name = until(lambda: next((each for each in mailbox.sessions() if each.startswith(f"{self.child.pid}-")), None))
        self.watcher = Watcher(name)
        until(lambda: self.watcher.front.state == LIVE)
        self.ring = RingReader(self.watcher.front.ring)
        until(lambda: self.ring.count > 100 or self.watcher.front.state != LIVE)
        self.recorder = RecorderStatus(Segment.open(self.watcher.front.ring + RECORDER)).pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.kill()
        self.child.communicate()

    def end(self):
        """Exit code and what it reports."""
        said, _ = self.child.communicate(timeout=HUNG)
        return self.child.returncode, json.loads(said) if said else None


@contextmanager
def killed(pid):
    """At the end, this process is killed if it still runs."""
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def check_recording(path, rows=None):
    found = recording.load(path)
    assert found.rows["tick"].tolist() == list(range(rows or len(found.rows)))
    assert job.replay(found) is None


def check_ended(said, complained, code, folder):
    """A run that ended by itself, or was stopped or refused on a host that stalls; what it reports."""
    if code == 2:
        assert "the rig is not ready: " in complained, complained
        return None
    found = json.loads(said)
    assert (code, found["fault"]) == (0, None) or (code == 3 and found["fault"]["name"] in STALLED), complained
    check_recording(folder / found["recording"], found["timing"]["rows"])
    return found


@pytest.mark.parametrize("name", KINDS)
def test_a_run_of_each_kind_of_facility(tmp_path, dry, name):
    """It goes live, nothing that is sent is a violation, and the recording can be replayed."""
    system = "payload" if name == "dry-lab-payload" else "docking"
    with nullcontext(dry) if name == "dry-lab" else emulated(tmp_path, name) as (rig, control):
        control.live(True)
        done = start(tmp_path, "run", system, "--rig", rig, "--json", "--set", "loop.duration=1.5 s")
        check_ended(*done.communicate(timeout=HUNG), done.returncode, tmp_path)


def test_ctrl_c_is_a_soft_stop(dry, tmp_path):
    with Live(tmp_path, dry, 60) as run:
        run.child.send_signal(signal.SIGINT)
        code, found = run.end()
        assert code == 3
        assert found["fault"]["name"] in ("requested", *STALLED)
        check_recording(Path(found["recording"]), found["timing"]["rows"])


def test_a_killed_loop_leaves_a_robot_that_stops_a_whole_file_and_no_process(dry, tmp_path):
    with Live(tmp_path, dry, 60) as run:
        stops = run.control.status()["robot"]["stops"]
        run.child.kill()
        run.child.communicate(timeout=HUNG)
        assert "in a row were late" in until(lambda: (s := run.control.status()["robot"])["stops"] > stops and s["last_reason"])
        until(lambda: not Path(f"/proc/{run.recorder}").exists())
        (path,) = tmp_path.glob("*.mcap")
        check_recording(path, run.ring.count)
        shared.sweep()  # as the owner's next command does
        assert shared.left(f"{run.child.pid}-*") == []


class Terminal:
    """A command at its own terminal."""

    def __init__(self, folder, *words):
        self._ours, self._theirs = pty.openpty()
        default = {"preexec_fn": lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL)}  # ours may ignore it
        self.child = start(folder, *words, stdin=self._theirs, **default)

    def type(self, text):
        os.write(self._ours, text)
        until(lambda: struct.unpack("i", fcntl.ioctl(self._theirs, termios.FIONREAD, bytes(4)))[0])  # it lies there

    def type_until_over(self, text):
        """What arrives together with the question is not its answer either."""
        until(lambda: self.child.poll() is not None or (os.write(self._ours, text) and False))

    def close(self):
        self.child.kill()
        self.child.communicate()
        os.close(self._ours)
        os.close(self._theirs)


@pytest.mark.parametrize(
    ("words", "answer"), [(("run", "docking", "--rig"), b"no\n"), (("calibrate", "tool"), signal.SIGHUP)], ids=["no", "SIGHUP"]
)
def test_only_what_is_typed_after_the_question_answers_it(dry, tmp_path, words, answer):
    """Yes before it is no answer, however long the robot is held during the question; nothing is written or left behind."""
    rig, control = tmp_path / "rig.toml", dry[1]
    rig.write_text(dry[0].read_text().replace('arm = "run"', 'arm = "ask"'))
    until(lambda: control.status()["robot"]["state"] == "waiting")
    control.live(False)
    clients = control.status()["sensor"]["clients"]
    here = Terminal(tmp_path, *words, rig)
    try:
        here.type(b"yes\nyes\n")
        assert "Arm it?" in here.child.stderr.readline()
        held = control.status()["robot"]["answers"]
        until(lambda: control.status()["robot"]["answers"] >= held + 100)
        assert here.child.poll() is None, "it waits for an answer"
        if isinstance(answer, bytes):
            here.type_until_over(answer)
        else:
            here.child.send_signal(answer)
        complained = here.child.communicate(timeout=HUNG)[1]
    finally:
        here.close()
    if isinstance(answer, bytes):
        assert here.child.returncode == 2
        assert "the robot was not armed; answer yes to arm it" in complained
    else:
        assert here.child.returncode == 130
        assert complained.splitlines()[-1] == f"hilt: interrupted by {answer.name}; nothing was run"
    until(lambda: control.status()["sensor"]["clients"] == clients)
    assert control.status()["robot"]["violations"] == []
    assert list(tmp_path.iterdir()) == [rig]
    assert shared.left(f"{here.child.pid}-*") == []


def test_a_live_loop_has_its_core_alone_and_what_is_started_beside_it_says_so(dry, tmp_path):
    """A simulated station keeps off that core and has no priority; another run and the doctor are refused in one sentence."""
    with Live(tmp_path, dry, 300) as run:
        (core,) = (core for core, owner in cores.live().items() if owner == f"session {run.watcher.name}")
        other = rig_file(tmp_path, "dry-lab")
        words = f"core {core}: session|cannot be reached|no robot", "measuring would disturb it"
        commands = ("run", "docking", "--rig", other), ("doctor", "--seconds", "1")
        beside = [start(tmp_path, *command) for command in commands]
        settings = ["collisions=1000", "loop.duration=300 s"]
        name = station.launch({"system": "docking", "settings": settings, "out": str(tmp_path / "simulated"), "go": True})
        with closing(Sender(name)) as simulated, closing(Sender(run.watcher.name)) as ours, killed(simulated.pid):
            until(lambda: simulated.front.state == LIVE)
            assert os.sched_getscheduler(simulated.pid) & ~os.SCHED_RESET_ON_FORK not in (os.SCHED_FIFO, os.SCHED_RR)
            assert core not in os.sched_getaffinity(simulated.pid)
            for child, sentence in zip(beside, words, strict=True):
                _, complained = child.communicate(timeout=HUNG)
                assert child.returncode == 2
                assert re.search(sentence, complained), complained
                assert complained.count("\n") == 1
            ours.wait(ours.stop(), HUNG)
            code, found = run.end()
            assert simulated.front.state == LIVE
            simulated.wait(simulated.stop(), HUNG)
            until(lambda: simulated.front.state != LIVE)
            simulated.quit()
        assert code == 3
        assert found["fault"]["name"] in ("requested", *STALLED)


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give another user's process a priority")
def test_a_strangers_real_time_process_keeps_its_core():
    stranger = subprocess.Popen(["/bin/sleep", "600"], user=12345, group=12345, cwd="/")
    try:
        core = cores.usable()[0]
        assert core not in cores.live()
        os.sched_setaffinity(stranger.pid, {core})
        assert core not in cores.live(), "without a priority it takes nothing from a loop"
        os.sched_setscheduler(stranger.pid, os.SCHED_FIFO, os.sched_param(10))
        assert cores.live()[core] == f"process {stranger.pid}"
        assert core not in cores.others()
        with closing(Claims()) as ours:
            try:
                assert cores.take(ours) != core
            except InputError as refused:
                assert f"no core is free for another loop on devices (core {core}: process {stranger.pid}" in str(refused)
    finally:
        stranger.kill()
        stranger.communicate()
    assert core not in cores.live()
