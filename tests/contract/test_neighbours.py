"""Other users of the machine: whatever is in world-writable places, our processes find each other and nobody else."""

import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

from hilt.core.faults import InputError
from hilt.host import runtime, shared
from hilt.live import mailbox, ring
from hilt.live.mailbox import Mailbox, Sender, Watcher
from hilt.live.ring import RingReader
from tests.another_user import STRANGER, US, call
from tests.patience import HUNG, within

pytestmark = pytest.mark.wall

SHM = Path("/dev/shm")
PLAIN = f"hilt-{US}"
KINDS = ("file", "fifo", "folder", "link", "dangling", "socket")


def plant(path, kind):
    """Create something that is not a segment of hilt."""
    if kind == "file":
        path.write_bytes(b"x" * 100)
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "link":
        path.symlink_to("/etc/passwd")
    elif kind == "dangling":
        path.symlink_to(path.parent / "nothing")
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as made:
            made.bind(str(path))
    if not path.is_symlink():
        path.chmod(0o777)


def clear(user):
    """Remove everything that a user has in shared memory."""
    for path in SHM.iterdir():
        if path.lstat().st_uid == user:
            if path.is_dir() and not path.is_symlink():
                for inner in path.iterdir():
                    inner.rmdir() if inner.is_dir() and not inner.is_symlink() else inner.unlink()
                path.rmdir()
            else:
                path.unlink()


@pytest.fixture
def shm():
    yield SHM
    for user in (US, STRANGER):
        clear(user)


def round_trip():
    """A session that one process makes is found and used by another process of the same user, and then gone."""
    with closing(Mailbox("round-trip")) as box:
        found = mailbox.sessions()
        child = os.fork()
        if child == 0:
            sender = Sender("round-trip")
            sender.stop()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        kinds = [request.kind for request in box.poll()]
    return found, kinds, mailbox.sessions()


EXPECTED = (["round-trip"], [mailbox.STOP], [])


@pytest.mark.root
@pytest.mark.parametrize("kind", KINDS)
def test_a_strangers_names_in_shared_memory_disturb_nobody(shm, kind):
    for name in (f"hilt-{US}.mail", f"hilt-{US}-round-trip.mail"):
        call(STRANGER, plant, shm / name, kind)
    assert call(US, round_trip) == EXPECTED


@pytest.mark.root
@pytest.mark.parametrize("kind", KINDS)
def test_a_stranger_who_takes_our_name_locks_nobody_out(shm, kind):
    call(STRANGER, plant, shm / PLAIN, kind)
    assert call(US, round_trip) == EXPECTED
    assert len([path for path in shm.glob(f"{PLAIN}-*") if path.lstat().st_uid == US]) == 1
    assert call(US, round_trip) == EXPECTED  # in the same folder, found again
    assert len([path for path in shm.glob(f"{PLAIN}-*") if path.lstat().st_uid == US]) == 1


@pytest.mark.root
def test_a_link_to_a_folder_of_ours_is_not_our_folder(shm):
    """A stranger must not choose which of our folders is used."""
    ours = shm / f"elsewhere-{US}"  # as good as any: closed, ours, in memory
    ours.mkdir(mode=0o700)
    os.chown(ours, US, US)
    call(STRANGER, os.symlink, ours, shm / PLAIN)
    ((path, _, _),) = call(US, names_and_modes)
    assert Path(path).parent.name.startswith(f"{PLAIN}-")
    assert call(US, round_trip) == EXPECTED


def names_and_modes():
    with closing(Mailbox("private")):
        return [(str(path), path.stat().st_mode, path.parent.stat().st_mode) for path in shared.left("private*")]


@pytest.mark.root
def test_nobody_else_can_look_into_shared_memory(shm):
    ((_, file, folder),) = call(US, names_and_modes)
    assert stat.S_IMODE(file) == 0o600
    assert stat.S_IMODE(folder) == 0o700
    with pytest.raises(AssertionError, match="PermissionError"):
        call(STRANGER, os.listdir, shm / PLAIN)


@pytest.mark.root
@pytest.mark.parametrize("mode", [0o755, 0o770, 0o777])
def test_a_folder_that_others_can_enter_is_not_taken(shm, mode):
    (shm / PLAIN).mkdir()
    (shm / PLAIN).chmod(mode)
    os.chown(shm / PLAIN, US, US)
    ((path, _, folder),) = call(US, names_and_modes)
    assert Path(path).parent != shm / PLAIN
    assert stat.S_IMODE(folder) == 0o700
    assert call(US, round_trip) == EXPECTED


@pytest.mark.root
def test_the_session_folder_comes_first_if_it_is_ours_and_in_memory(shm, tmp_path):
    inside = shm / f"run-user-{US}"
    inside.mkdir(mode=0o700)
    os.chown(inside, US, US)
    ((path, _, _),) = call(US, names_and_modes, XDG_RUNTIME_DIR=str(inside))
    assert path == str(inside / "hilt" / "private.mail")
    for inner in inside.iterdir():
        inner.rmdir()
    os.chmod(tmp_path, 0o700)
    os.chown(tmp_path, US, US)
    inside.chmod(0o755)
    for other in (tmp_path, inside, "relative", "/nonexistent", "/dev/shm", ""):  # on a disk, open, and none at all
        ((path, _, _),) = call(US, names_and_modes, XDG_RUNTIME_DIR=str(other))
        assert Path(path).parent == shm / PLAIN


@pytest.mark.root
def test_the_other_folder_is_used_when_the_session_folder_is_full(shm, tmp_path):
    mount = ["mount", "-t", "tmpfs", "-o", f"size=4k,mode=0700,uid={US}", "tmpfs", str(tmp_path)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a small file system cannot be mounted here")
    try:
        ((path, _, _),) = call(US, names_and_modes, XDG_RUNTIME_DIR=str(tmp_path))
        assert Path(path).parent == shm / PLAIN
        assert call(US, round_trip, XDG_RUNTIME_DIR=str(tmp_path)) == EXPECTED
    finally:
        subprocess.run(["umount", "--lazy", str(tmp_path)], check=True)


@pytest.fixture
def folder():
    with closing(Mailbox(f"test-{os.getpid()}")):
        yield shared.find(f"test-{os.getpid()}.mail").parent


@pytest.mark.parametrize("suffix", [mailbox.SUFFIX, ring.SUFFIX, ".recorder", ".motion", shared.MEETING, shared.SOCKET])
@pytest.mark.parametrize("kind", KINDS)
def test_a_false_segment_in_our_own_folder_blocks_and_deceives_no_process(folder, kind, suffix):
    name = f"odd-{os.getpid()}"
    plant(folder / (name + suffix), kind)
    try:
        with within(), pytest.raises(InputError) as refused:
            {mailbox.SUFFIX: Watcher, ring.SUFFIX: RingReader}.get(suffix, lambda n: shared.Segment.open(n + suffix, 4096))(
                name
            )
        assert len(str(refused.value).splitlines()) == 1
        with within():
            assert name not in [*mailbox.sessions(), *ring.rings()]
            shared.sweep()
        assert (folder / (name + suffix)).is_dir() == os.path.lexists(folder / (name + suffix)), "removed"
        with closing(Mailbox(f"after-{os.getpid()}")):
            assert f"after-{os.getpid()}" in mailbox.sessions()
    finally:
        if kind == "folder":
            (folder / (name + suffix)).rmdir()


def link_to_a_segment(path, whole):
    path.symlink_to(whole)


def large_folder(path, whole):
    """As long as a segment, so that its length alone does not reveal it."""
    path.mkdir()
    for number in range(300):
        (path / str(number)).touch()
    assert path.stat().st_size >= shared.PAGE


def file_of_another_user(path, whole):
    path.write_bytes(bytes(shared.PAGE))
    os.chown(path, STRANGER, STRANGER)


@pytest.mark.root
@pytest.mark.parametrize("writable", [False, True])
@pytest.mark.parametrize("odd", [link_to_a_segment, large_folder, file_of_another_user])
def test_only_a_file_of_our_own_is_opened(shm, odd, writable):
    """Even if it has the name and the length of a segment: no link is followed, and owner and type are checked."""
    whole = shared.Segment.create(f"whole-{os.getpid()}", shared.PAGE)
    whole.publish()
    path = whole.path.with_name(f"odd-{os.getpid()}")
    odd(path, whole.path)
    try:
        with pytest.raises(InputError, match=rf"{path.name} is not running here"):
            shared.Segment.open(path.name, shared.PAGE, writable=writable)
    finally:
        whole.close()
        shutil.rmtree(path) if path.is_dir() else path.unlink()


HOLDER = """
import sys
from hilt.host import shared
from hilt.core import signals
from hilt.lab.dry.control import ControlServer
from hilt.live.mailbox import Mailbox
from hilt.plant.joystick import Joystick
from hilt.live.recorder import RecorderProcess
from hilt.live.ring import RingWriter
name = sys.argv[1]
held = [
    Mailbox(name), RingWriter(name, signals.row_type(("X_WB_cmd",)), 16), ControlServer(name, lambda line: {}), Joystick(name)
]
status = shared.Segment.create(name + ".recorder", 4096)
status.publish()
motion = shared.Segment.create(name + ".motion", 4096)
motion.publish()
print(len(shared.left(f"{name}*")), held[2]._path, flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def session_folder(monkeypatch):
    """The folder of a login session in which nobody else calls hilt: what is removed here was removed by our command."""
    folder = Path(tempfile.mkdtemp(prefix="test-", dir=SHM))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize("end", [signal.SIGKILL, None])
def test_the_next_command_removes_what_a_killed_process_has_left(end, session_folder):
    """Mailbox, ring, status of the recorder, motion, joystick, control and its socket: all, and none of a live process."""
    name = f"held-{os.getpid()}"
    with closing(Mailbox(f"living-{os.getpid()}")):
        child = subprocess.Popen([sys.executable, "-c", HOLDER, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        count, control = child.stdout.readline().split()
        assert int(count) == 6
        assert Path(control).is_socket()
        if end is not None:
            child.send_signal(end)
        child.communicate("\n", timeout=HUNG)
        joystick = shared.left(f"{name}{shared.MEETING}")
        assert bool(joystick) == (end is not None), "the last one to exit cleanly removes the joystick"
        done = subprocess.run([sys.executable, "-m", "hilt.cli.main", "list", "--json"], capture_output=True, text=True)
        assert done.returncode == 0
        assert not shared.left(f"{name}*")
        assert not Path(control).exists()
        assert f"living-{os.getpid()}" in mailbox.sessions()


def test_both_sides_of_a_joystick_meet_in_either_order():
    name = f"stick-{os.getpid()}"
    one, two = shared.Segment.join(name, 64), shared.Segment.join(name, 64)
    one.memory[0] = 7
    assert two.memory[0] == 7
    one.close()
    shared.sweep()
    assert shared.left(f"{name}*"), "one of them is still there"
    two.close()
    assert not shared.left(f"{name}*")
    with pytest.raises(InputError, match="cannot name"):
        shared.Segment.join("../elsewhere", 64)


def test_without_a_folder_a_sentence_says_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setattr(runtime, "SHARED", tmp_path / "nothing")
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    with pytest.raises(InputError, match="set XDG_RUNTIME_DIR"):
        Mailbox("nowhere")
    assert mailbox.sessions() == []
