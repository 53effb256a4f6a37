"""While functions are compiled, progress reports which, and how many of the reachable ones have code."""

import contextlib
import importlib.util
import io
import sys
import uuid

import pytest
from numba.core.dispatcher import Dispatcher
from rich.console import Console

from hilt import job
from hilt.compiled import progress
from hilt.compiled.progress import Step
from hilt.core import registry
from hilt.maths import vec
from hilt.report import compiling, terminal

SOURCE = """
from hilt.compiled import jit
from hilt.maths import vec

NUMBER = {number}

@jit
def lowest(a): return a + NUMBER

@jit
def middle(a): return lowest(a) * 2.0

@jit
def apart(a): return a - 1.0

@jit
def called(a): return middle(a) + apart(a) + vec.dot((a, a, a), (a, a, a))
"""


def module(folder, number):
    """A new file with functions that call each other; code of the same file is found in the cache."""
    path = folder / f"own_{number}.py"
    path.write_text(SOURCE.format(number=number))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    made = sys.modules[path.stem] = importlib.util.module_from_spec(spec)  # code of a module without a name is not kept
    spec.loader.exec_module(made)
    return made


@pytest.fixture
def fresh(tmp_path):
    return module(tmp_path, uuid.uuid4().int % 10**9)


def reported_by(call):
    told = []
    with progress.watched(told.append):
        call()
    return told


def test_each_function_is_reported_once_and_then_the_end(fresh):
    vec.dot((1.0, 1.0, 1.0), (1.0, 1.0, 1.0))
    steps = reported_by(lambda: fresh.called(1.0))
    assert steps.pop() is None
    assert {step.function for step in steps} >= {"called", "middle", "lowest", "apart"}
    assert (steps[0].what, steps[0].function) == ("called", "called")
    assert {step.total for step in steps} == {len(progress.reachable([fresh.called]))}
    assert [step.done for step in steps] == sorted(step.done for step in steps)
    kept = 1  # of hilt itself, vec.dot has been compiled before
    assert (steps[0].done, steps[-1].done, steps[0].total) == (kept, kept + 2, 5)  # `called` is the last to end


def test_what_can_be_reached_is_what_is_called(fresh):
    names = {each.py_func.__name__ for each in progress.reachable([fresh.middle])}
    assert names == {"middle", "lowest"}


def test_nothing_is_reported_for_what_is_in_the_cache(tmp_path):
    number = uuid.uuid4().int % 10**9
    assert reported_by(lambda: module(tmp_path, number).called(1.0))
    assert reported_by(lambda: module(tmp_path, number).called(1.0)) == []


@pytest.mark.parametrize("name", registry.names("systems"))
def test_every_block_of_a_diagram_is_counted(name):
    system = registry.system(name)
    values = job.find(name, None, [])[1]
    bench = system.set_up(values)
    counted = {each.py_func for each in progress.reachable([bench.code.tick])}
    blocks = [block for block in system.tick if block.when(values)]
    steps = [block.kind.step for block in blocks if isinstance(block.kind.step, Dispatcher)]
    assert {step.py_func for step in steps} <= counted
    assert bench.code.tick.py_func.__globals__[progress.DIAGRAM] == name


STEP = Step("docking", 41, 118, "contact_step")


def test_a_terminal_has_one_line_that_disappears():
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    line = compiling._Line(console)
    line.tell(STEP)
    line.tell(None)
    said = console.file.getvalue()
    assert "compiling docking, once: 41 of 118 functions (contact_step)" in said
    assert said.endswith("\x1b[2K") or "\x1b[2K" in said.rpartition("contact_step")[2]  # erased


@pytest.mark.parametrize("kind", ["file", "dumb terminal", "file with a bar"])
def test_where_no_line_can_be_erased_it_is_printed_once_and_stays_true(monkeypatch, kind):
    now = [100.0]
    monkeypatch.setattr(compiling.clock, "now", lambda: now[0])
    console = Console(file=io.StringIO(), force_terminal=kind == "dumb terminal", _environ={"TERM": "dumb"})
    line = compiling._Line(console)
    with contextlib.ExitStack() as shown:
        if kind == "file with a bar":
            shown.enter_context(compiling.in_bar(lambda step: None))
        for now[0] in (101.0, 103.0, 106.0, 108.0, 112.0):
            line.tell(STEP)
        line.tell(None)
        line.tell(STEP)
    line.end()
    assert console.file.getvalue() == "compiling docking, once: this takes up to a minute\n"


def test_nothing_is_printed_for_a_short_wait(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(compiling.clock, "now", lambda: now[0])
    console = Console(file=io.StringIO(), force_terminal=False)
    line = compiling._Line(console)
    for now[0] in (101.0, 102.0):
        line.tell(STEP)
    line.tell(None)
    assert console.file.getvalue() == ""


def test_a_bar_that_is_shown_reports_it_itself():
    console = Console(file=io.StringIO(), force_terminal=True, width=120)
    with terminal.progress(console, 1.0, 0.001):
        compiling._Line(console).tell(STEP)
    assert "41 of 118" in console.file.getvalue()
