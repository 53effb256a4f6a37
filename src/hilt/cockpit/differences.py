"""What differs between the scenarios of recordings, whose system may be unknown here: see report/differences.py."""

import functools
from collections.abc import Sequence
from typing import Any

from hilt.core import registry
from hilt.core.faults import InputError
from hilt.core.system import System
from hilt.report import differences
from hilt.report.differences import LETTERS, Tree, leaves

METHODS = ("compensate.method", "integrator.kind", "simulator.kind")  # the first one that a scenario has is shown


def overrides(system: str, name: str, tree: Tree) -> list[dict[str, str]] | None:
    """Return the values changed in a shipped scenario, old and new; None for a scenario that was not shipped."""
    shipped = _shipped(system, name)
    if shipped is None:
        return None
    return [{"key": key, "was": was, "value": value} for key, (was, value) in between(system, [shipped, tree])]


def between(system: str, trees: Sequence[Tree]) -> list[tuple[str, list[str]]]:
    """Return the keys that all scenarios have with differing values, and the value of each, for people."""
    known = _known(system)
    return [] if known is None else differences.between(known, trees)


def method(tree: Tree) -> str:
    """Return the run's method against the delay, as named in the scenario."""
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
