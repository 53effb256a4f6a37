"""Differences between scenarios, key by key, with readable values.

The trees may come from a stranger's recording: nothing in them is trusted, and what is shown is bounded.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from hilt.core import scenario
from hilt.core.faults import InputError
from hilt.core.system import System
from hilt.report import words

Tree = dict[str, Any]
MOST = 60  # differences listed
LETTERS = 80  # per value
DEEPEST = 6
NOT_COMPARED = ("summary",)


def shipped(system: System, name: str) -> Tree | None:
    """Return a scenario that comes with the system; None if it has none of that name."""
    path = system.scenario_files.get(name)
    if path is None:
        return None
    try:
        return scenario.build(system.scenario, scenario.read_toml(path)).model_dump(mode="json")
    except InputError:
        return None


def between(system: System, trees: Sequence[Tree]) -> list[tuple[str, list[str]]]:
    """Return the keys that all trees have with different values, and those values."""
    flat = [dict(leaves(tree)) for tree in trees]
    units = dict(scenario.keys(system.scenario))
    found = []
    for key in flat[0]:
        if key in NOT_COMPARED or not all(key in each for each in flat):
            continue
        values = [each[key] for each in flat]
        if any(value != values[0] for value in values):
            found.append((key, [shown(value, unit_of(key, units)) for value in values]))
    return found[:MOST]


def leaves(tree: Tree, path: str = "", depth: int = DEEPEST) -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        if isinstance(value, dict) and depth:
            yield from leaves(value, f"{path}{key}.", depth - 1)
        else:
            yield f"{path}{key}", value


def unit_of(key: str, units: dict[str, str]) -> str:
    """Return a key's unit; a belief has that of the value it is about."""
    return units.get(key.removeprefix("belief."), "").removeprefix("1")


def shown(value: Any, unit: str) -> str:
    """Return a value with its unit, as in a scenario file; long ones are cut."""
    if value is None:
        return "none"
    try:
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, int | float):
            return words.si(float(value), unit, 6) if unit else f"{value:.6g}"
        if isinstance(value, list) and all(isinstance(each, int | float) for each in value):
            return f"[{', '.join(f'{each:.6g}' for each in value)}] {unit}".rstrip()[:LETTERS]
        return str(value)[:LETTERS]
    except (OverflowError, ValueError):  # a whole number of thousands of digits
        return "a number too large to print"
