"""One scenario after the other, exactly as `hilt run` would compute it: slow, and the reference for the other engines."""

from collections.abc import Iterable, Iterator

import numpy as np

from hilt import job
from hilt.sweeps import columns
from hilt.sweeps.columns import Columns
from hilt.sweeps.space import Space


class Plain:
    name = "plain"

    def run(self, space: Space, chunks: Iterable[np.ndarray]) -> Iterator[tuple[np.ndarray, Columns]]:
        for numbers in chunks:
            results = [job.simulate(space.system, space.scenario(int(number)), space.name) for number in numbers]
            yield numbers, columns.of_results(space.system, results)
