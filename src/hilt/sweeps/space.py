"""A space of scenarios: one scenario, and axes along which its keys vary. Every scenario in it has a number."""

import copy
import difflib
import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from hilt.core import scenario
from hilt.core.faults import InputError, shortened
from hilt.core.scenario import Scenario
from hilt.core.system import System


@dataclass(frozen=True)
class Axis:
    """Keys that vary together: one entry of `points` for each place on the axis, with a value for each key."""

    keys: tuple[str, ...]
    points: tuple[tuple[Any, ...], ...]  # checked: numbers in SI units, or words
    log: bool = False  # to be drawn on a logarithmic scale
    drawn: bool = False  # random or low-discrepancy values, not a grid
    _columns: dict[str, np.ndarray] = field(default_factory=dict, init=False, repr=False, compare=False)  # made so far

    def __len__(self) -> int:
        return len(self.points)

    def column(self, key: str) -> np.ndarray:
        if key not in self._columns:
            at = self.keys.index(key)
            self._columns[key] = np.array([point[at] for point in self.points])
        return self._columns[key]


@dataclass(frozen=True)
class Space:
    """The product of its axes; the last one varies fastest."""

    system: System
    name: str
    tree: dict[str, Any]  # the scenario as it was read, with its settings: every point starts from it
    base: Scenario  # the same, checked
    axes: tuple[Axis, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(axis) for axis in self.axes)

    @property
    def count(self) -> int:
        return math.prod(self.shape)

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(key for axis in self.axes for key in axis.keys)

    def places(self, numbers: np.ndarray) -> np.ndarray:
        """Return for each scenario its place on each axis."""
        if not self.axes:
            return np.zeros((len(numbers), 0), np.int64)
        return np.stack(np.unravel_index(numbers, self.shape), axis=1)

    def columns(self, numbers: np.ndarray) -> dict[str, np.ndarray]:
        """Return for each scenario its value of each key."""
        places = self.places(numbers)
        return {key: axis.column(key)[places[:, a]] for a, axis in enumerate(self.axes) for key in axis.keys}

    def part(self, numbers: np.ndarray) -> tuple["Space", np.ndarray]:
        """Return a smaller space that contains these scenarios, and their numbers there: all that another process needs."""
        axes, places = [], []
        for axis, at in zip(self.axes, self.places(numbers).T, strict=True):
            used, there = np.unique(at, return_inverse=True)
            axes.append(replace(axis, points=tuple(axis.points[n] for n in used)))
            places.append(there)
        smaller = replace(self, axes=tuple(axes))
        return smaller, np.ravel_multi_index(tuple(places), smaller.shape) if places else np.zeros(len(numbers), np.int64)

    def settings(self, number: int) -> list[tuple[str, Any]]:
        """Return the settings in which one scenario differs from the space's own."""
        places = np.unravel_index(number, self.shape)
        return [
            pair for axis, at in zip(self.axes, places, strict=True) for pair in zip(axis.keys, axis.points[at], strict=True)
        ]

    def scenario(self, number: int) -> Scenario:
        """Return one scenario, checked as in `hilt run`."""
        tree = copy.deepcopy(self.tree)
        scenario.apply_settings(tree, self.settings(number))
        return scenario.build(self.system.scenario, tree)


def restored(system: System, name: str, tree: dict[str, Any], axes: tuple[Axis, ...]) -> Space:
    """Rebuild a space from its stored parts. A scenario that is valid only with its axes gets their first values."""
    try:
        base: Scenario = scenario.build(system.scenario, tree)
    except InputError:
        whole = copy.deepcopy(tree)
        first = [pair for axis in axes for pair in zip(axis.keys, axis.points[0], strict=True)]
        scenario.apply_settings(whole, first)
        base = scenario.build(system.scenario, whole)
    return Space(system, name, tree, base, axes)


def unit_of(system: System, key: str) -> str:
    """The SI unit of a key; empty for words and whole numbers. Entries of lists and beliefs have its unit."""
    return dict(scenario.keys(system.scenario)).get(key_of(key), "")


def key_of(key: str) -> str:
    """Return a key as in the model of a scenario: without list indices and without the prefix of a belief."""
    return ".".join(part for part in key.removeprefix("belief.").split(".") if not part.isdigit())


_NOTHING = object()


def value_of(base: Scenario, key: str) -> Any:
    """Return the value of a key in a checked scenario, in SI, or None; a belief that is not given is the true value."""
    found = _found(base, key)
    return None if found is _NOTHING else found


def given_value_of(base: Scenario, key: str) -> Any:
    """The same for a key that a user named: one that the scenario does not have is refused."""
    found = _found(base, key)
    if found is _NOTHING:
        near = difflib.get_close_matches(key, dict(scenario.keys(type(base))), n=1)
        hint = f"did you mean {near[0]}?" if near else "see hilt schema SYSTEM --brief --all"
        raise InputError(f"{shortened(key)} is not a key of this scenario, or it has no value there; {hint}", key=key)
    return found


def _found(base: Scenario, key: str) -> Any:
    if key.startswith("belief."):
        return _found(base.believed, key.removeprefix("belief."))
    found: Any = base
    for part in key.split("."):
        if isinstance(found, list | tuple):
            found = found[int(part)] if part.isdigit() and int(part) < len(found) else _NOTHING
        elif isinstance(found, dict):
            found = found.get(part, _NOTHING)
        else:
            known = {**getattr(type(found), "model_fields", {}), **(getattr(found, "model_extra", None) or {})}
            found = getattr(found, part) if part in known else _NOTHING
    return found
