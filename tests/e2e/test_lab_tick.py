"""An ordinary tick on the dry lab goes through the files that docs/architecture.md names."""

import collections
import re
import sys
from pathlib import Path

import pytest

import hilt
from hilt import job
from hilt.live.session import Session
from tests.e2e.walls import SHORT

pytestmark = pytest.mark.lab

ROOT = Path(hilt.__file__).parent
PAGE = ROOT.parents[1] / "docs" / "architecture.md"
COMPILED = "core/diagram.py"  # what it builds is compiled: Python does not enter it
TICKS = 300


def files_of_the_page():
    tick = PAGE.read_text(encoding="utf-8").partition("## One tick on the dry lab")[2].partition("\n##")[0]
    table = [line.split("|")[1] for line in tick.splitlines() if line.startswith("| `")]
    return {name for cell in table for name in re.findall(r"`([^`]+)`", cell)}


def test_a_tick_goes_through_the_files_that_the_page_names(facility, tmp_path):
    rig = facility.rig
    session = Session(*job.find("docking", "table1", [*rig.settings("docking"), *SHORT, "loop.duration='3 s'"]), tmp_path, rig)
    ticks, entered = [], set()

    def follow(frame, event, _):
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(str(ROOT)):
            entered.add(Path(name).relative_to(ROOT).as_posix())

    def read(row):
        """Called once per tick. From the hundredth on, the files of the previous tick are those entered since it began."""
        ticks.append(frozenset(entered))
        entered.clear()
        if len(ticks) == 100:
            sys.setprofile(follow)
        elif len(ticks) == 100 + TICKS:
            sys.setprofile(None)
        return rest(row)

    facility.control.live(False)
    facility.control.restart()
    try:
        session.open()
        facility.control.live(True)
        rest, session.rig.read = session.rig.read, read
        result = session.go()
    finally:
        sys.setprofile(None)
        facility.control.live(False)
        session.close()
    assert result.fault is None
    counts = collections.Counter(name for tick in ticks[101 : 100 + TICKS] for name in tick)
    usual = {name for name, count in counts.items() if count > 0.9 * TICKS}
    assert usual | {"loop.py", COMPILED} == files_of_the_page()
