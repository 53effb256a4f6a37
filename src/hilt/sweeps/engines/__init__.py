"""Engines run the scenarios of a space and give back columns of results; nothing above them knows which one ran."""

from collections.abc import Iterable, Iterator
from typing import Protocol

import numpy as np

from hilt.sweeps.columns import Columns
from hilt.sweeps.space import Space


class Engine(Protocol):
    name: str

    def run(self, space: Space, chunks: Iterable[np.ndarray]) -> Iterator[tuple[np.ndarray, Columns]]:
        """Each chunk of scenario numbers with its results, as they are ready, in any order."""
        ...
