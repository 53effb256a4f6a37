"""What differs between scenarios: a recording against the shipped one, or recordings against each other.

Recordings come from anybody, so their scenarios are taken as plain trees and nothing in them is trusted to be right.
"""

import functools
from collections.abc import Iterator, Sequence
from typing import Any

from hilt import job
from hilt.core import registry, scenario
from hilt.core.faults import InputError
from hilt.report import words

Tree = dict[str, Any]
MOST = 60  # differences that are told
LETTERS = 80  # of a value
DEEPEST = 6
UNSAID = ("summary",)
# A prefix belongs to the first unit: 0.02 m is 20 mm, but 3684 kg·m² are not 3.684 kkg·m².
PREFIXED = (
    "m",
    "s",
    "N",
    "J",
    "Hz",
    "rad",
    "m/s",
    "m/s²",
    "m/s³",
    "N/m",
    "N·m",
    "N·s/m",
    "N/s",
    "rad/s",
    "N·m/rad",
    "N·m·s/rad",
)
METHODS = ("compensate.method", "integrator.kind", "simulator.kind")  # the first of them that a scenario has


def overrides(system: str, name: str, tree: Tree) -> list[dict[str, str]] | None:
    """What was changed of a shipped scenario, with what it was; None for a scenario that was not shipped."""
    shipped = _shipped(system, name)
    if shipped is None:
        return None
    return [{"key": key, "was": was, "value": value} for key, (was, value) in between(system, [shipped, tree])]


def between(system: str, trees: Sequence[Tree]) -> list[tuple[str, list[str]]]:
    """Keys that all have and that not all have alike, with the value of each, for people."""
    flat = [dict(_leaves(tree)) for tree in trees]
    units = _units(system)
    found = []
    for key in flat[0]:
        if key in UNSAID or not all(key in each for each in flat):
            continue
        values = [each[key] for each in flat]
        if any(value != values[0] for value in values):
            found.append((key, [_shown(value, units.get(key, "")) for value in values]))
    return found[:MOST]


def method(tree: Tree) -> str:
    """What a run did about its delay, in the scenario's own word."""
    flat = dict(_leaves(tree))
    return next((str(flat[key])[:LETTERS] for key in METHODS if isinstance(flat.get(key), str)), "")


def _leaves(tree: Tree, path: str = "", depth: int = DEEPEST) -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        if isinstance(value, dict) and depth:
            yield from _leaves(value, f"{path}{key}.", depth - 1)
        else:
            yield f"{path}{key}", value


@functools.cache
def _shipped(system: str, name: str) -> Tree | None:
    try:
        known = registry.system(system)
        if name not in known.scenario_files:
            return None
        _, values, _ = job.find(system, name, [])
    except InputError:
        return None
    return values.model_dump(mode="json")


@functools.cache
def _units(system: str) -> dict[str, str]:
    try:
        return dict(scenario.keys(registry.system(system).scenario))
    except InputError:
        return {}


def _shown(value: Any, unit: str) -> str:
    if value is None:
        return "none"
    unit = unit.removeprefix("1")
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return words.si(float(value), unit, 6) if unit in PREFIXED else f"{value:.6g} {unit}".rstrip()
        if isinstance(value, list) and all(isinstance(each, int | float) for each in value):
            return f"[{', '.join(f'{each:.6g}' for each in value)}] {unit}".rstrip()[:LETTERS]
        return str(value)[:LETTERS]
    except (OverflowError, ValueError):  # a whole number of thousands of digits
        return "a number beyond all bounds"
