"""An ordinary tick on the dry lab goes through the files that docs/architecture.md names."""

import collections
import re
import sys
from pathlib import Path

import pytest

import hilt

ROOT = Path(hilt.__file__).parent
PAGE = ROOT.parents[1] / "docs" / "architecture.md"
COMPILED = "core/diagram.py"  # what it builds is compiled: Python does not enter it
TICKS = 300


def files_of_the_page():
    tick = PAGE.read_text(encoding="utf-8").partition("## One tick on the dry lab")[2].partition("\n##")[0]
    table = [line.split("|")[1] for line in tick.splitlines() if line.startswith("| `")]
    return {name for cell in table for name in re.findall(r"`([^`]+)`", cell)}


@pytest.mark.virtual
def test_a_tick_goes_through_the_files_that_the_page_names(lab, machine):
    run = lab("dry-lab", "loop.duration=2 s")
    loop, ticks, entered = machine.process, [], set()

    def follow(frame, event, _):
        name = frame.f_code.co_filename
        if event == "call" and machine.process is loop and name.startswith(str(ROOT)):
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

    run.open()
    rest, run.rig.read = run.rig.read, read
    try:
        assert run.go().fault is None
    finally:
        sys.setprofile(None)
    counts = collections.Counter(name for tick in ticks[101 : 100 + TICKS] for name in tick)
    usual = {name for name, count in counts.items() if count > 0.9 * TICKS and not name.startswith("host/virtual/")}
    assert usual | {"loop.py", COMPILED} == files_of_the_page()
