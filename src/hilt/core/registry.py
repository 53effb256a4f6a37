"""Systems, stages and rigs by name. Ours and those of other packages come in by the same door: entry points.

    [project.entry-points."hilt.systems"]        [project.entry-points."hilt.stages"]        [project.entry-points."hilt.rigs"]
    my-system = "my_package:MY_SYSTEM"           my-stage = "my_package:MY_STAGE"            my-rig = "my_package:MyRig"

A system is a `stage.System`, a stage a `stage.StageKind`, a rig a callable `(system, bench) -> Rig`. Robots and sensors of rig
files come in by `hilt.robots` and `hilt.sensors`: see device/drivers.py.
"""

import functools
from collections.abc import Callable
from importlib.metadata import EntryPoints, entry_points
from typing import Any

from hilt.core.faults import InputError, shortened
from hilt.core.rig import Rig
from hilt.core.stage import StageKind
from hilt.core.system import Bench, System


@functools.cache
def _entries(group: str) -> EntryPoints:
    """Kept: to look for them reads a file of every package there is, 10 ms that each check of a form would pay."""
    return entry_points(group=f"hilt.{group}")


def names(group: str) -> list[str]:
    return sorted({entry.name for entry in _entries(group)})


def load(group: str, name: str) -> Any:
    for entry in _entries(group).select(name=name):
        return entry.load()
    raise InputError(f"{shortened(name)!r} is not one of the {group}; known are {', '.join(names(group))}; choose one")


def system(name: str) -> System:
    found: System = load("systems", name)
    return found


def rig(name: str) -> Callable[[System, Bench], Rig]:
    found: Callable[[System, Bench], Rig] = load("rigs", name)
    return found


def shipped(group: str, name: str) -> bool:
    """Whether hilt itself brings something, so that loading it runs no other code."""
    return any(entry.value.startswith("hilt.") for entry in _entries(group).select(name=name))


def systems() -> dict[str, System]:
    return {name: system(name) for name in names("systems")}


def stages() -> dict[str, StageKind]:
    """Every stage: those the systems are made of and those registered on their own."""
    found: dict[str, StageKind] = {}
    for each in systems().values():
        for block in each.blocks:
            found[block.kind.name] = block.kind
    for name in names("stages"):
        found[name] = load("stages", name)
    return found
