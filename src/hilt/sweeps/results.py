"""Results of many scenarios, as for single runs: metrics, ledger, fault and verdict, but only the first and the last row.

Where a system counts its metrics, scenarios are packed and run as a sweep runs them, one at a time in the memory of a worker,
whose row is then the last one of the run. The others are measured row by row.
"""

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from hilt.core.counter import Counter
from hilt.core.faults import read_fault
from hilt.job import Result
from hilt.metrics import tally
from hilt.sweeps import measured
from hilt.sweeps.packing import ENDS, Packed, Packing, packs
from hilt.sweeps.space import Space

CHUNK = 256  # scenarios started together
Ends = np.ndarray  # the first and the last row of a run
Begin = Callable[[ThreadPoolExecutor, np.ndarray], Callable[[], Iterator[Result]]]


def run(space: Space, workers: int | None = None) -> Iterator[Result]:
    """Run all scenarios of a space; yield their results in the order of their numbers."""
    begin = _counted(space) if packs(space) else _measured(space)
    with ThreadPoolExecutor(workers or len(os.sched_getaffinity(0))) as pool:
        for first in range(0, space.count, CHUNK):
            yield from begin(pool, np.arange(first, min(first + CHUNK, space.count)))()


def _measured(space: Space) -> Begin:
    def one(number: int) -> Result:
        values, found = measured.tallied(space, number)
        return Result(space.system, values, space.name, found.ends, found.metrics(), found.ledger(), found.fault(), None)

    def begin(pool: ThreadPoolExecutor, numbers: np.ndarray) -> Callable[[], Iterator[Result]]:
        running = [pool.submit(one, int(number)) for number in numbers]
        return lambda: (each.result() for each in running)

    return begin


def _counted(space: Space) -> Begin:
    counter = space.system.metrics
    assert isinstance(counter, Counter)
    packing, workers = Packing(space, counter), _Workers(space, counter)

    def begin(pool: ThreadPoolExecutor, numbers: np.ndarray) -> Callable[[], Iterator[Result]]:
        packed = packing.pack(numbers)
        running = [(group, [pool.submit(workers.run, group, i) for i in range(len(group.at))]) for group in packed]

        def finish() -> Iterator[Result]:
            found: dict[int, Result] = {}
            for group, each in running:
                ends = [one.result() for one in each]
                for at, result in zip(group.at.tolist(), _results(space, counter, group, numbers, ends), strict=True):
                    found[at] = result
            return (found[at] for at in range(len(numbers)))

        return finish

    return begin


def _results(space: Space, counter: Counter, group: Packed, numbers: np.ndarray, ends: list[Ends]) -> Iterator[Result]:
    system = space.system
    with np.errstate(all="ignore"):
        columns = counter.result(group.m, group.each, group.q, *group.references)
    for i, (at, rows) in enumerate(zip(group.at.tolist(), ends, strict=True)):
        counted = {name: column.of(i) for name, column in columns.items()}
        metrics = tally.explained({name: value for name, value in counted.items() if value is not None})
        values = space.scenario(int(numbers[at]))
        ledger = tally.ledger_of(system, rows)
        yield Result(system, values, space.name, rows, metrics, ledger, read_fault(rows[-1]), None)


class _Workers:
    """The memory of each worker for each choice of blocks."""

    def __init__(self, space: Space, counter: Counter) -> None:
        self._space, self._counter = space, counter
        self._memory: dict[tuple[int, int], list[np.ndarray]] = {}

    def run(self, group: Packed, i: int) -> Ends:
        system, made = self._space.system, group.diagram
        owner = (id(made), threading.get_ident())
        if owner not in self._memory:
            self._memory[owner] = [np.zeros(1, kind) for kind in (system.row, made.x, made.w) * 2]
        memory, sweep = self._memory[owner], system.many(group.used, self._counter.step)
        own = slice(i, i + 1)
        group.complete(i, i + 1)
        scratch = np.zeros_like(group.m[own]), np.zeros_like(group.each[own])
        sweep(0, 1, *memory, group.p[own], np.ones(1, np.int64), *scratch, group.q[own], np.zeros(1, ENDS))
        first = memory[0].copy()  # a run of one tick
        sweep(0, 1, *memory, group.p[own], group.ticks[own], group.m[own], group.each[own], group.q[own], group.ends[own])
        return np.concatenate([first, memory[0]])
