"""Imports point one way: a room uses only the rooms before it, and no imports are circular.

What only one system uses is in that system's folder; the rest of hilt does not name any system.
"""

import ast
import functools
import re
from graphlib import CycleError, TopologicalSorter
from itertools import takewhile
from pathlib import Path

import pytest

import hilt

ROOT = Path(hilt.__file__).parent
# fmt: off
ORDER = (
    "compiled", "maths", "core", "host",                     # what everything is built on
    "dynamics", "sense", "command", "plant",                 # blocks of a tick and of the world
    "loop", "metrics", "record", "preflight", "job",         # one run
    "analysis", "report", "reproduce", "scene",              # what views share
    "sweeps", "device", "fmi", "live", "stream", "lab",       # many runs; other tools; runs in wall time
    "systems", "front", "cockpit", "cli",
)
# fmt: on
SYSTEMS = ("aerial", "docking", "freefloat", "payload")
MODULES = {
    ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in ROOT.rglob("*.py")
    if "node_modules" not in path.parts
}


FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


def imports_of(nodes):
    """Modules of hilt that these nodes of a file import."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in MODULES)
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] == "hilt":
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in MODULES else node.module


@functools.cache
def trees():
    """Read once, and not by every process that only collects the tests."""
    return {name: ast.parse(path.read_text()) for name, path in MODULES.items()}


@functools.cache
def imports():
    return {name: set(imports_of(ast.walk(tree))) - {name, "hilt"} for name, tree in trees().items()}


def outside_functions(tree):
    """Nodes that are run when the file itself is imported."""
    inside = {inner for each in ast.walk(tree) if isinstance(each, FUNCTION) for inner in ast.walk(each)}
    return (node for node in ast.walk(tree) if node not in inside)


def room(module):
    return module.split(".")[1]


def test_every_module_is_in_a_room():
    assert {room(name) for name in MODULES if name != "hilt"} == set(ORDER)


@pytest.mark.parametrize("name", ORDER)
def test_a_room_imports_only_the_rooms_before_it(name):
    before = set(takewhile(lambda other: other != name, ORDER)) | {name}
    wrong = [
        f"{module} imports {used}"
        for module, uses in imports().items()
        if module != "hilt" and room(module) == name
        for used in uses
        if room(used) not in before
    ]
    assert not wrong


def test_no_module_is_imported_while_it_imports():
    try:
        found = {name: set(imports_of(outside_functions(tree))) - {name, "hilt"} for name, tree in trees().items()}
        TopologicalSorter(found).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_system_does_not_know_the_others(system):
    others = tuple(f"hilt.systems.{other}." for other in SYSTEMS if other != system)
    for module, uses in imports().items():
        if module.startswith(f"hilt.systems.{system}."):
            assert not [used for used in uses if f"{used}.".startswith(others)], module


# Exceptions: where a system is named, and why.
NAMED = {
    "hilt.core.signals": "the tables of signals stand together, in one order",
    "hilt.device.rtde.fields": "the load of a robot is called payload there, too",
    "hilt.job": "an example in a sentence of what a scenario file has to say",
}
NAMES = re.compile(r"hilt\.systems|\b(docking|freefloat|aerial)\b|^payload$|`payload`")


def words_of(tree):
    """Strings and imports of a file, without its docstrings and comments, which may give examples."""
    said = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, *FUNCTION)) and node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            yield node.value
        elif isinstance(node, ast.ImportFrom):
            yield f"{node.module}"
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_nobody_but_the_systems_names_a_system():
    found = {
        (module, word)
        for module, tree in trees().items()
        if not module.startswith("hilt.systems")
        for word in words_of(tree)
        if NAMES.search(word)
    }
    assert not {pair for pair in found if pair[0] not in NAMED}
    assert {module for module, _ in found} == NAMED.keys()  # exceptions no longer needed are to be removed


def test_what_runs_offline_is_no_part_of_a_device_or_a_loop():
    for module, uses in imports().items():
        if ".analysis." in module:
            assert not {room(used) for used in uses} & {"device", "live", "lab"}, module


def test_the_time_is_read_in_the_clock_only():
    for module, tree in trees().items():
        names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        assert module == "hilt.core.clock" or "time" not in names, module


# What host/machine.py has for whatever runs live; of these modules only constants and these names are used elsewhere.
OF_THE_MACHINE = ("os", "select", "selectors", "signal", "socket", "subprocess", "threading")
HARMLESS = {"getuid", "Signals", "sched_param", "access"}
REAL = ("hilt.lab.doctor",)  # measures the real machine


def test_what_runs_live_asks_the_machine():
    """On a virtual machine nothing may get past it."""
    for module, path in MODULES.items():
        if module in REAL or f"{module}.".split(".")[1] not in ("device", "live", "lab", "plant", "loop", "job"):
            continue
        for node in ast.walk(trees()[module]):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in OF_THE_MACHINE:
                assert node.attr.isupper() or node.attr in HARMLESS, f"{path}:{node.lineno}: {node.value.id}.{node.attr}"
            assert not isinstance(node, ast.ImportFrom) or node.module not in OF_THE_MACHINE, f"{path}:{node.lineno}"
