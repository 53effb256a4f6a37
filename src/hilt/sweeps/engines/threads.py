"""All cores of this machine: compiled runs with the GIL released, in memory that every worker reuses."""

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from hilt.core.counter import Counter
from hilt.sweeps import columns, measured
from hilt.sweeps.columns import Columns
from hilt.sweeps.packing import Packed, Packing, packs
from hilt.sweeps.space import Space

Begin = Callable[[ThreadPoolExecutor, np.ndarray], Callable[[], tuple[np.ndarray, Columns]]]
PIECE = 64  # scenarios that a worker takes at a time


class Threads:
    name = "threads"

    def __init__(self, workers: int | None = None) -> None:
        self._workers = workers or len(os.sched_getaffinity(0))

    def run(self, space: Space, chunks: Iterable[np.ndarray]) -> Iterator[tuple[np.ndarray, Columns]]:
        begin = self._counted(space) if packs(space) else self._measured(space)
        with ThreadPoolExecutor(self._workers) as pool:
            before: Callable[[], tuple[np.ndarray, Columns]] | None = None
            for numbers in chunks:
                after = begin(pool, numbers)  # the workers continue with the previous chunk
                if before is not None:
                    yield before()
                before = after
            if before is not None:
                yield before()

    def _counted(self, space: Space) -> Begin:
        """Run packed scenarios, entirely in compiled code."""
        counter = space.system.metrics
        assert isinstance(counter, Counter)
        packing, memories = Packing(space, counter), _Memories(space, counter)

        def begin(pool: ThreadPoolExecutor, numbers: np.ndarray) -> Callable[[], tuple[np.ndarray, Columns]]:
            packed = packing.pack(numbers)
            running = [pool.submit(memories.run, group, *piece) for group in packed for piece in _pieces(len(group.at))]

            def finish() -> tuple[np.ndarray, Columns]:
                for each in running:
                    each.result()
                return numbers, columns.of_counted(space.system, counter, packed, len(numbers))

            return finish

        return begin

    def _measured(self, space: Space) -> Begin:
        """Run scenarios one by one; a meter reads their rows block by block."""

        def begin(pool: ThreadPoolExecutor, numbers: np.ndarray) -> Callable[[], tuple[np.ndarray, Columns]]:
            running = [pool.submit(measured.run, space, int(number)) for number in numbers]
            return lambda: (numbers, columns.of_ends(space.system, [each.result() for each in running]))

        return begin


def _pieces(count: int) -> Iterator[tuple[int, int]]:
    for first in range(0, count, PIECE):
        yield first, min(first + PIECE, count)


class _Memories:
    """The memory of each worker for each choice of blocks."""

    def __init__(self, space: Space, counter: Counter) -> None:
        self._space, self._counter = space, counter
        self._memory: dict[tuple[int, int], list[np.ndarray]] = {}

    def run(self, group: Packed, first: int, last: int) -> None:
        system, made = self._space.system, group.diagram
        owner = (id(made), threading.get_ident())
        if owner not in self._memory:
            self._memory[owner] = [np.zeros(1, kind) for kind in (system.row, made.x, made.w) * 2]
        group.complete(first, last)
        sweep = system.many(group.used, self._counter.step)
        sweep(first, last, *self._memory[owner], group.p, group.ticks, group.m, group.each, group.q, group.ends)
