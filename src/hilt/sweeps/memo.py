"""A function of a scenario over a whole space: computed once for all scenarios that agree in the keys it reads."""

from collections.abc import Callable
from typing import Any

import numpy as np

from hilt.sweeps.space import Space
from hilt.sweeps.tracing import Trace

MOST = 20_000  # results that are kept from chunk to chunk


class Memo:
    """`values` are the distinct results; `of(places)` says which of them belongs to each scenario.

    Which axes the function reads is found out while it runs: as soon as it reads another one, it is computed again for each
    value of that axis. Keys that it does not read cannot change its result.
    """

    def __init__(self, space: Space, function: Callable[[Any], Any], trace: Trace) -> None:
        self._space, self._function, self._trace = space, function, trace
        self._axis_of = {key: a for a, axis in enumerate(space.axes) for key in axis.keys}
        self.axes: list[int] = []
        self.values: list[Any] = []
        self._known: dict[int, int] = {}
        self.generation = 0  # of `values`: when it changes, earlier indices into them are invalid

    def forget(self) -> None:
        """Drop the results if there are many: those of earlier chunks are hardly needed again."""
        if len(self.values) > MOST:
            self._begin()

    def _begin(self) -> None:
        self.values, self._known = [], {}
        self.generation += 1

    def of(self, places: np.ndarray) -> np.ndarray:
        while True:
            if not self.axes and self._known:
                return np.zeros(len(places), np.int64)
            codes = self._codes(places)
            distinct, first, which = np.unique(codes, return_index=True, return_inverse=True)
            if self._all_known(distinct, places[first]):
                return np.array([self._known[code] for code in distinct.tolist()], np.int64)[which]

    def column(self, places: np.ndarray, dtype: Any) -> np.ndarray:
        """Return the result of each scenario, for a function that returns a number."""
        which = self.of(places)  # first, since it may change `values`
        return np.array(self.values, dtype)[which]

    def _values(self, place: tuple[int, ...]) -> dict[str, Any]:
        axes = zip(self._space.axes, place, strict=True)
        return {key: value for axis, at in axes for key, value in zip(axis.keys, axis.points[at], strict=True)}

    def _codes(self, places: np.ndarray) -> np.ndarray:
        codes = np.zeros(len(places), np.int64)
        for a in self.axes:
            codes = codes * len(self._space.axes[a]) + places[:, a]
        return codes

    def _all_known(self, codes: np.ndarray, places: np.ndarray) -> bool:
        """False if the function turned out to read one more axis."""
        for code, place in zip(codes.tolist(), places.tolist(), strict=True):
            if code in self._known:
                continue
            scenario = self._trace.scenario(tuple(place), self._values)
            self._trace.read.clear()
            value = self._function(scenario)
            read = {self._axis_of[key] for key in self._trace.read | self._trace.inside(value)}
            if not read <= set(self.axes):
                self.axes = sorted(read | set(self.axes))
                self._begin()
                return False
            self._known[code] = len(self.values)
            self.values.append(value)
        return True
