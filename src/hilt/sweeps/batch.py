"""Runs a scenario at many points in batches, for maps, margins and tuning."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hilt import preflight
from hilt.core.faults import InputError
from hilt.core.scenario import Scenario
from hilt.core.system import System
from hilt.sweeps import beyond as limiting
from hilt.sweeps.beyond import Limit
from hilt.sweeps.columns import Columns
from hilt.sweeps.engines import Engine
from hilt.sweeps.space import Axis, Space

CHUNK = 256  # scenarios given to an engine at once


@dataclass
class Batch:
    """A scenario and an engine: runs it at points, each with every seed, and counts the runs."""

    system: System
    name: str
    base: Scenario
    engine: Engine
    seeds: int = 1
    runs: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._tree = tree_of(self.base)

    def columns(self, keys: Sequence[str], points: Sequence[Sequence[Any]]) -> Columns:
        """Return the results of every point; the seeds of one point are consecutive."""
        values = tuple(tuple(_plain(value) for value in point) for point in points)
        axes = [Axis(tuple(keys), values)]
        if self.seeds > 1:
            axes.append(Axis(("seed",), tuple((self.base.seed + n,) for n in range(self.seeds))))
        space = Space(self.system, self.name, self._tree, self.base, tuple(axes))
        preflight.check(preflight.estimate(self.system, self.base, space.count, recorded=False))
        self.runs += space.count
        chunks = (np.arange(first, min(first + CHUNK, space.count)) for first in range(0, space.count, CHUNK))
        return _joined(list(self.engine.run(space, chunks)), space.count)

    def beyond(self, keys: Sequence[str], points: Sequence[Sequence[Any]], limits: tuple[Limit, ...]) -> np.ndarray:
        """Return for each point whether any of its seeds is beyond a limit."""
        if not len(points):
            return np.zeros(0, bool)
        return self.any_seed(limits, self.columns(keys, points))

    def any_seed(self, limits: tuple[Limit, ...], columns: Columns) -> np.ndarray:
        """The same for results that exist already."""
        return np.asarray(limiting.beyond(self.system, limits, columns).reshape(-1, self.seeds).any(axis=1))

    def scenario(self, keys: Sequence[str], point: Sequence[Any]) -> Scenario:
        """Return the checked scenario of one point, with the scenario's own seed."""
        space = Space(self.system, self.name, self._tree, self.base, (Axis(tuple(keys), (tuple(map(_plain, point)),)),))
        return space.scenario(0)

    def valid(self, keys: Sequence[str], point: Sequence[Any]) -> bool:
        try:
            self.scenario(keys, point)
        except InputError:
            return False
        return True


def tree_of(base: Scenario) -> dict[str, Any]:
    """Return a scenario as its file would have it: keys that were not set stay unset."""
    found: dict[str, Any] = base.model_dump(mode="json", exclude_unset=True)
    return found


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _joined(parts: list[tuple[np.ndarray, Columns]], count: int) -> Columns:
    """Join chunks, in any order; a column that a chunk does not have is NaN there."""
    names = dict.fromkeys(name for _, columns in parts for name in columns)
    found: Columns = {}
    for name in names:
        kinds = {columns[name].dtype for _, columns in parts if name in columns}
        whole = len(kinds) == 1 and all(name in columns for _, columns in parts)
        found[name] = np.full(count, np.nan) if not whole else np.zeros(count, next(iter(kinds)))
        for numbers, columns in parts:
            if name in columns:
                found[name][numbers] = columns[name]
    return found
