"""What differs between scenarios of recordings, whose system may not exist here: see report/differences.py."""

import functools
from collections.abc import Sequence
from typing import Any

from hilt.core import registry
from hilt.core.faults import InputError
from hilt.core.system import System
from hilt.report import differences
from hilt.report.differences import LETTERS, Tree, leaves

METHODS = ("compensate.method", "integrator.kind", "simulator.kind")  # the first of them that a scenario has


def overrides(system: str, name: str, tree: Tree) -> list[dict[str, str]] | None:
    """What was changed of a shipped scenario, with what it was; None for a scenario that was not shipped."""
    shipped = _shipped(system, name)
    if shipped is None:
        return None
    return [{"key": key, "was": was, "value": value} for key, (was, value) in between(system, [shipped, tree])]


def between(system: str, trees: Sequence[Tree]) -> list[tuple[str, list[str]]]:
    """Keys that all have and that not all have alike, with the value of each, for people."""
    known = _known(system)
    return [] if known is None else differences.between(known, trees)


def method(tree: Tree) -> str:
    """What a run did about its delay, in the scenario's own word."""
    flat: dict[str, Any] = dict(leaves(tree))
    return next((str(flat[key])[:LETTERS] for key in METHODS if isinstance(flat.get(key), str)), "")


def _known(system: str) -> System | None:
    try:
        return registry.system(system)
    except InputError:
        return None


@functools.cache
def _shipped(system: str, name: str) -> Tree | None:
    known = _known(system)
    return None if known is None else differences.shipped(known, name)
