"""Engines run the scenarios of a space and give back columns of results; nothing above them knows which one ran."""

import importlib
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import numpy as np

from hilt.core.faults import InputError, shortened
from hilt.sweeps.columns import Columns
from hilt.sweeps.space import Space

NAMES = {"threads": "Threads", "dask": "Cluster", "cuda": "Cuda", "plain": "Plain"}  # the module and its class
DEFAULT = "threads"


class Engine(Protocol):
    name: str

    def run(self, space: Space, chunks: Iterable[np.ndarray]) -> Iterator[tuple[np.ndarray, Columns]]:
        """Yield each chunk of scenario numbers with its results as soon as they are ready, in any order."""
        ...


def named(name: str, **options: Any) -> Engine:
    """Return an engine by its name; its module is imported only now, since it may need optional packages."""
    if name not in NAMES:
        raise InputError(f"--engine is {shortened(name)!r}; it must be one of {', '.join(NAMES)}; choose one")
    engine: Engine = getattr(importlib.import_module(f"hilt.sweeps.engines.{name}"), NAMES[name])(**options)
    return engine
