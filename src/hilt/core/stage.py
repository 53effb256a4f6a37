"""Stages: data plus functions, no subclassing.

A stage is one compiled `step(sig, x, p, dt)`: it may write the signals it declares and its state `x`, never `p`. Systems
combine stages (system.py).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hilt.core import signals
from hilt.maths import noise

EMPTY = signals.record()


def nothing(*_: Any) -> None:
    """Do nothing: the pack or reset of a stage that needs none."""


@dataclass(frozen=True)
class Cycle:
    """What every stage may know about the loop: its period and the source of its random numbers."""

    period: float  # s
    seed: int = 1

    def noise_key(self, name: str) -> int:
        """Key of the generator for the noise called `name`."""
        return noise.key_of(self.seed, name)


@dataclass(frozen=True)
class StageKind:
    """One block. `pack(p, config, loop)` fills the parameters once; `reset(sig, x, p)` sets state and first outputs.

    `writes` may name a part of a signal: `X_WBcm.q`.

    `config` is what the stage needs from a scenario and nothing else: a section, or a small dataclass defined beside the stage.
    The system says where it comes from (`Block.section`). `loop` is a Cycle. Parameters that take long to compute are left to
    `pack_late(p, late)`, which a sweep calls in its workers with what `Block.late` took from the scenario.
    """

    name: str
    step: Callable[..., None]
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    state: np.dtype = EMPTY
    params: np.dtype = EMPTY
    pack: Callable[..., None] = nothing
    pack_late: Callable[..., None] = nothing
    reset: Callable[..., None] = nothing
    looks_back: Callable[[np.ndarray], np.ndarray] | None = None  # of packed parameters: delay-line samples in use
    one_bench: bool = False  # its parameters belong to the bench that they were packed for: runs cannot share them


def always(_: Any) -> bool:
    return True


@dataclass(frozen=True)
class Block:
    """A stage at its place in a diagram. Its name is that of its state and its parameters."""

    name: str
    kind: StageKind
    section: Callable[[Any], Any] = nothing  # of a scenario: what the stage is packed from
    when: Callable[[Any], bool] = always  # of a scenario: whether it has this block
    starts_first: bool = False  # the other blocks start from its start values
    late: Callable[[Any], Any] = nothing  # of a scenario: the input of pack_late

    def __post_init__(self) -> None:
        if not self.name.isidentifier():
            raise ValueError(f"{self.name!r} cannot name a block; use letters, digits and _")


Blocks = tuple[Block, ...]
