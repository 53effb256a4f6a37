"""Systems, stages and rigs by name. Built-in ones and those of other packages are found the same way: by entry points.

    [project.entry-points."hilt.systems"]        [project.entry-points."hilt.stages"]        [project.entry-points."hilt.rigs"]
    my-system = "my_package:MY_SYSTEM"           my-stage = "my_package:MY_STAGE"            my-rig = "my_package:MyRig"

A system is a `system.System`, a stage a `stage.StageKind`, a rig a callable `(system, bench) -> Rig`. Robots and sensors of
rig files use `hilt.robots` and `hilt.sensors` (device/drivers.py), methods use `hilt.methods` (methods.py).

A package that cannot be loaded is reported in one sentence: an error if it was named, a warning if all are loaded.
"""

import functools
from collections.abc import Callable
from importlib.metadata import EntryPoints, entry_points
from typing import Any

from hilt.core import plugins
from hilt.core.faults import InputError, shortened
from hilt.core.rig import Rig
from hilt.core.stage import StageKind
from hilt.core.system import Bench, System

_added: dict[str, System] = {}


@functools.cache
def _entries(group: str) -> EntryPoints:
    """Cached: a search reads a file of every installed package, which would add 10 ms to each check of a form."""
    return entry_points(group=f"hilt.{group}")


def add(system: System) -> None:
    """Register a system by its name in this process."""
    if not isinstance(system, System):
        raise InputError(f"a {type(system).__name__} cannot be registered; give a hilt.System; see docs/extending.md")
    if system.name in {entry.name for entry in _entries("systems")}:
        raise InputError(f"there is already a system {system.name}; choose another name")
    _added[system.name] = system


def names(group: str) -> list[str]:
    plugins.run_files()
    return sorted({entry.name for entry in _entries(group)} | (_added.keys() if group == "systems" else set()))


def load(group: str, name: str) -> Any:
    plugins.run_files()
    if group == "systems" and name in _added:
        return _added[name]
    for entry in _entries(group).select(name=name):
        return plugins.load(entry)
    raise InputError(f"{shortened(name)!r} is not one of the {group}; known are {', '.join(names(group))}; choose one")


def system(name: str) -> System:
    found = load("systems", name)
    if not isinstance(found, System):
        raise InputError(f"the system {name} of a plugin is a {type(found).__name__} and not a hilt.System; fix its package")
    return found


def rig(name: str) -> Callable[[System, Bench], Rig]:
    found: Callable[[System, Bench], Rig] = load("rigs", name)
    return found


def shipped(group: str, name: str) -> bool:
    """Whether it is part of hilt itself, so that loading it runs no third-party code."""
    return any(entry.value.startswith("hilt.") for entry in _entries(group).select(name=name))


def systems() -> dict[str, System]:
    """All systems that can be loaded, by name."""
    found = {}
    for name in names("systems"):
        try:
            found[name] = system(name)
        except InputError as error:
            plugins.warn(error)
    return found


def stages() -> dict[str, StageKind]:
    """Every stage: those used by systems and those registered on their own."""
    found: dict[str, StageKind] = {}
    for each in systems().values():
        for block in each.blocks:
            found[block.kind.name] = block.kind
    for name in names("stages"):
        found[name] = load("stages", name)
    return found
