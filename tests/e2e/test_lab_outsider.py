"""Without privileges and without a writable home: hilt works, or reports in one sentence what is missing."""

import http.client
import json
import os
import re
import signal
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

from hilt.cockpit import PAGE
from tests.another_user import US
from tests.contract.test_neighbours import clear
from tests.e2e.outsider import outsider
from tests.e2e.test_lab_wall import check_ended, rig_file
from tests.patience import HUNG

pytestmark = pytest.mark.lab

NO_CACHE = re.compile(r"hilt: compiled code is not kept, .*; set XDG_CACHE_HOME to a folder that only you can write to\n")


@pytest.fixture(scope="module")
def user():
    """A user with compiled code, so that no test waits for the compiler."""
    with outsider(keeps=True) as found:
        yield found
    clear(US)


@pytest.fixture
def nobody():
    """A user with nothing at all: HOME is not set, and there is no entry in the user database."""
    with outsider(keeps=False) as found:
        yield found
    clear(US)


def test_without_anything_what_needs_no_compiler_works(nobody):
    code, said, complained = nobody.hilt("sessions", "--json")
    assert (code, json.loads(said)) == (0, [])
    assert NO_CACHE.fullmatch(complained)
    nobody.environment["HOME"] = "/nonexistent"
    code, _, complained = nobody.hilt("run", "freefloat", "--set", "robot.delay=long")
    assert code == 2
    cache, sentence = complained.splitlines()
    assert NO_CACHE.fullmatch(cache + "\n")
    assert sentence.startswith("hilt: robot.delay")
    assert not list(nobody.folder.iterdir())


def test_a_run_works_and_one_that_cannot_be_written_is_refused(user):
    code, said, complained = user.hilt("run", "freefloat", "--json")
    assert (code, complained) == (0, "")
    assert json.loads(said)["system"] == "freefloat"
    assert [path.suffix for path in (user.folder / "runs").iterdir()] == [".mcap"]
    with tempfile.TemporaryDirectory() as closed:  # a folder that they cannot enter
        for folder, out in (("/", "runs"), (user.folder, f"{closed}/runs")):
            code, _, complained = user.hilt("run", "freefloat", "--json", "--out", out, folder=folder)
            assert code == 2
            assert len(complained.splitlines()) == 1
            assert complained.startswith("hilt: ")


@pytest.mark.skipif(not PAGE.is_file(), reason="the page is not built: sh tools/build_page.sh")
def test_the_cockpit_answers(user):
    child = user.start("cockpit", "--no-browser", "--port", "0")
    try:
        host, port = re.search(r"http://([\d.]+):(\d+)/", child.stdout.readline()).groups()
        with closing(http.client.HTTPConnection(host, int(port), timeout=30)) as connection:
            connection.request("GET", "/")
            assert connection.getresponse().status == 200
    finally:
        child.send_signal(signal.SIGINT)
        _, complained = child.communicate(timeout=30)
    assert "Traceback" not in complained


def test_the_dry_lab_works(user):
    """Without privileges there is no priority, which the run reports; nothing is left behind."""
    rig_file(user.folder, "dry-lab")
    emulated = user.start("emulate", "dry-lab.toml")
    try:
        assert "the robot sends to port" in emulated.stdout.readline()
        code, said, complained = user.hilt("run", "docking", "--rig", "dry-lab.toml", "--set", "loop.duration=2 s", "--json")
        if found := check_ended(said, complained, code, user.folder):
            assert found["timing"]["rights"]["refused"], "it has none, and reports it"
        assert json.loads(user.hilt("sessions", "--json")[1]) == []
    finally:
        emulated.send_signal(signal.SIGINT)
        _, complained = emulated.communicate(timeout=HUNG)
    assert complained.startswith("Starting an emulated robot and force sensor")
    assert complained.count("\n") == 1, complained
    assert emulated.returncode == 0
    assert not list(Path(f"/dev/shm/hilt-{US}").iterdir()), "nothing is left behind"
    assert os.stat(f"/dev/shm/hilt-{US}").st_mode & 0o777 == 0o700
