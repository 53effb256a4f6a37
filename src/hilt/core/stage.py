"""Stages and systems: data plus functions; nobody subclasses.

A stage is one compiled `step(sig, x, p, dt)`: it may write the signals it declares and its state `x`, never `p`.
A system wires stages into a `tick` (what runs in the lab) and a `plant` (what the lab replaces).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hilt.core import signals
from hilt.core.meter import Meter

EMPTY = signals.record()


def _nothing(*_: Any) -> None:
    """A stage without parameters or without anything to start from."""


@dataclass(frozen=True)
class StageKind:
    """One block. `pack(p, scenario)` fills the parameters once; `reset(sig, x, p)` sets state and first outputs."""

    name: str
    step: Callable[..., None]
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    state: np.dtype = EMPTY
    params: np.dtype = EMPTY
    pack: Callable[..., None] = _nothing
    reset: Callable[..., None] = _nothing


Stages = dict[str, StageKind]


@dataclass(frozen=True)
class Live:
    """A value that may be changed while the loop runs: its scenario key, where it lies (`stage.field`), the shortest ramp."""

    key: str
    places: tuple[str, ...]
    ramp: float = 0.0  # s


@dataclass(frozen=True)
class Bench:
    """A row, the states of tick and plant, and the parameters: everything one run computes with."""

    row: np.ndarray
    x: np.ndarray
    w: np.ndarray
    p: np.ndarray
    ticks: int


@dataclass(frozen=True)
class System:
    """A block diagram: `tick(row, x, p)` reads measurements and writes set-points, `plant(row, w, p)` the other way.

    `observe(row, w, p)` is what remains of the plant when a lab has the rest: books and counts from measured signals.
    `batch(row, x, w, p, log)` is the same pair in a compiled loop; it returns how many rows it wrote.
    """

    name: str
    summary: str
    scenario: type
    tick_stages: Stages
    plant_stages: Stages
    tick: Callable[..., None]
    plant: Callable[..., None]
    batch: Callable[..., int]
    metrics: Callable[[Any], Meter]  # of a scenario: what measures its runs
    metric_words: dict[str, str]
    ratios: tuple[str, ...]  # metrics whose ideal is 1
    ledger_ports: dict[str, str]
    stored_energy: Callable[[np.ndarray], np.ndarray]
    scenario_folder: Path
    default_scenario: str
    report: str
    observe: Callable[..., None] | None = None
    live: tuple[Live, ...] = ()
    watched_ports: dict[str, str] = field(default_factory=dict)  # shown beside the balance, no part of it
    row: np.dtype = field(init=False)
    x: np.dtype = field(init=False)
    w: np.dtype = field(init=False)
    p: np.dtype = field(init=False)

    def __post_init__(self) -> None:
        stages = {**self.plant_stages, **self.tick_stages}
        names = {name for kind in stages.values() for name in (*kind.reads, *kind.writes)}
        derived = {
            "row": signals.row_type(names),
            "x": signals.record(**{key: kind.state for key, kind in self.tick_stages.items()}),
            "w": signals.record(**{key: kind.state for key, kind in self.plant_stages.items()}),
            "p": signals.record(dt="f8", **{key: kind.params for key, kind in stages.items()}),
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    @property
    def scenario_files(self) -> dict[str, Path]:
        """The scenarios that come with the system, by name."""
        return {path.stem: path for path in sorted(self.scenario_folder.glob("*.toml"))}

    @property
    def inputs(self) -> set[str]:
        """Signals that the rig or the simulated world writes: what a replay has to feed in."""
        return {name for kind in self.plant_stages.values() for name in kind.writes}

    def set_up(self, scenario: Any) -> Bench:
        """Memory and start values for one run of a scenario."""
        row, x, w, p = (np.zeros(1, dtype) for dtype in (self.row, self.x, self.w, self.p))
        sig, params = row[0], p[0]
        sig.fault_axis = -1
        params.dt = scenario.loop.period
        stages = {**self.tick_stages, **self.plant_stages}
        for key, kind in stages.items():
            kind.pack(params[key], scenario)
        for key, kind in self.tick_stages.items():
            kind.reset(sig, x[0][key], params[key])
        for key, kind in self.plant_stages.items():
            kind.reset(sig, w[0][key], params[key])
        return Bench(row, x, w, p, round(scenario.loop.duration / scenario.loop.period) + 1)
