"""A lock for shared memory with one writer, which never waits for its readers: a counter that is odd during a write.

A reader copies, and reads the counter before and after: the copy is valid only if the counter was even and unchanged.
A writer stopped half-way leaves it odd, and the readers keep their last copy.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import numpy as np

TRIES = 1000
T = TypeVar("T")


class SeqLock:
    """The lock; its counter is in the shared memory, given as an array of length 1."""

    def __init__(self, count: np.ndarray) -> None:
        self._count = count

    @property
    def count(self) -> int:
        return int(self._count[0])

    @contextmanager
    def writing(self) -> Iterator[None]:
        self._count[0] += 1
        yield
        self._count[0] += 1

    def read(self, copy: Callable[[], T]) -> tuple[int, T] | None:
        """Return the counter and a consistent copy; None if the writer was stopped half-way."""
        for _ in range(TRIES):
            before = self.count
            found = copy()
            if before % 2 == 0 and before == self.count:
                return before, found
        return None
