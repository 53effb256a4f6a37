"""Shared memory with one writer and readers that never make it wait: a count that is odd while somebody writes.

A reader copies, and looks at the count before and after: what was copied counts only if the count was even and has stayed so.
A writer that was stopped half-way leaves it odd, and its readers keep what they had.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import numpy as np

TRIES = 1000
T = TypeVar("T")


class SeqLock:
    """Around one number of the shared memory, given as an array of length 1."""

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
        """The count and a whole copy; None if the writer was stopped half-way."""
        for _ in range(TRIES):
            before = self.count
            found = copy()
            if before % 2 == 0 and before == self.count:
                return before, found
        return None
