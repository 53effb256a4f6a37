"""Systems: a table of blocks for the tick (which also runs in the lab) and one for the plant (which the lab replaces).

The tables are the block diagram. Rows, states, parameters and compiled code are made from them for each scenario, with the
blocks that it uses.
"""

import importlib
import importlib.util
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from hilt.compiled.interpreted import sparing
from hilt.compiled.records import raw
from hilt.core import diagram, methods, outline, signals
from hilt.core.diagram import Code
from hilt.core.faults import InputError
from hilt.core.meter import NO_METRICS, Meter
from hilt.core.pairing import Pairing
from hilt.core.stage import Block, Blocks, Cycle, StageKind, nothing
from hilt.core.verdict import Verdict

Sections = dict[Callable[[Any], Any], Any]  # of one scenario


@dataclass(frozen=True)
class Live:
    """A value that may be changed while the loop runs: its scenario key, its location (`block.field`), the shortest ramp."""

    key: str
    places: tuple[str, ...]
    ramp: float = 0.0  # s
    on_devices: bool = True  # False: has an effect only in a simulated world


@dataclass(frozen=True)
class Methods:
    """Where a user-defined method plugs in: the key that names it, the block that it replaces, the signals it has to write."""

    key: str
    block: str
    writes: tuple[str, ...]


@dataclass(frozen=True)
class Bench:
    """A row, the states of tick and plant, the parameters and the code: everything one run computes with."""

    row: np.ndarray
    x: np.ndarray
    w: np.ndarray
    p: np.ndarray
    ticks: int
    code: Code


@dataclass(frozen=True)
class Used:
    """The blocks that a scenario uses."""

    tick: Blocks
    plant: Blocks
    observe: Blocks

    @property
    def resets(self) -> tuple[Blocks, Blocks]:
        """The blocks of the tick, and those of the world, in the order in which they start."""
        return _starting(self.tick), _starting((*self.plant, *self.observe))

    @property
    def believing(self) -> Blocks:
        """The blocks packed from beliefs. A block shared by plant and lab belongs to the world in a simulation."""
        world = {block.name for block in self.plant}
        return tuple(block for block in _once((*self.tick, *self.observe)) if block.name not in world)


@dataclass(frozen=True)
class Diagram:
    """Types and code for a given choice of blocks."""

    x: np.dtype
    w: np.dtype
    p: np.dtype
    code: Code
    blocks: Blocks  # kept alive: a diagram is identified by the ids of their stages


def _nothing_stored(rows: np.ndarray) -> np.ndarray:
    return np.zeros(len(rows))


@dataclass(frozen=True)
class System:
    """A block diagram, and what belongs to it: its scenarios, metrics, ledger and views.

    `tick` reads measurements and writes set-points, `plant` the reverse. `observe` is what remains of the plant when a lab
    replaces the rest: energy and events from measurements; a system without it cannot run on devices.

    `package` is the system's package. It contains what is drawn and computed beside a run, imported on demand (`part`);
    each of these modules is optional:

        views.report      headline, numbers, advice, details and pictures of a result (report/page.py says what each is);
                          comparison_sentence(results), comparison_picture(results)
        views.scene       draw(scenario) -> scene.Drawing
        views.frames      frames(scenario) -> record.standard.Frames: frames and joints that the signals do not contain
        views.presets     PRESETS: plots of the cockpit
        views.delays      table(scenario) -> seconds by name: where the loop loses time; measured(result) -> more rows, in words
        views.bound       bound(scenario): the limit that no method can beat, for `hilt bound`
        analysis.edges    limits, keys that matter, closed forms: where the loop fails (sweeps/edges.py)
        analysis.compliance  fit(t, motor, force, …): how a robot bends, from a tap test (lab/compliance.py)
        analysis.beside   beside(result) -> job.Beside: simulations that its report shows beside a run
        paper             PAPERS: modules with reproduce(), by the key of their paper
    """

    name: str
    summary: str
    scenario: type
    tick: Blocks
    plant: Blocks
    metrics: Callable[[Any], Meter] = NO_METRICS  # of a scenario: what measures its runs
    metric_words: dict[str, str] = field(default_factory=dict)
    ratios: tuple[str, ...] = ()  # metrics whose ideal is 1
    ledger_ports: dict[str, str] = field(default_factory=dict)
    stored_energy: Callable[[np.ndarray], np.ndarray] = _nothing_stored
    scenario_folder: Path | None = None  # without one, a scenario's own defaults are its only scenario
    default_scenario: str = ""
    package: str = ""
    tick_time: float = 250e-6  # s per recorded tick: a cautious guess, to announce long runs
    observe: Blocks = ()
    live: tuple[Live, ...] = ()
    methods: Methods | None = None
    watched_ports: dict[str, str] = field(default_factory=dict)  # shown beside the balance, not part of it
    judge: Callable[[Any], Verdict] | None = None  # of a result: whether it met the scenario's goal
    pairing: Callable[[Any], Pairing | None] = nothing  # of a scenario: how two robots make its motion; None for one robot
    row: np.dtype = field(init=False)
    _diagrams: dict[Any, Diagram] = field(init=False, repr=False, compare=False)
    _many: dict[Any, Callable[..., None]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        names = {name for block in self.blocks for name in (*block.kind.reads, *block.kind.writes)}
        object.__setattr__(self, "row", signals.row_type(names))
        object.__setattr__(self, "_diagrams", {})
        object.__setattr__(self, "_many", {})

    def __repr__(self) -> str:
        return f"<System {self.name}: {self.summary}; scenarios {', '.join(self.scenario_files)}>"

    @property
    def blocks(self) -> Blocks:
        return (*self.tick, *self.plant, *self.observe)

    @property
    def scenario_files(self) -> dict[str, Path]:
        """The scenarios that come with the system, by name."""
        return {path.stem: path for path in sorted(self.scenario_folder.glob("*.toml"))} if self.scenario_folder else {}

    @property
    def template(self) -> str:
        """A scenario to start from: template.toml beside the folder of scenarios, the default scenario, or all defaults."""
        if self.scenario_folder is None:
            return outline.commented(self.scenario, self.name)
        own = self.scenario_folder.parent / "template.toml"
        path = own if own.is_file() else self.scenario_files[self.default_scenario]
        return path.read_text(encoding="utf-8")

    def part(self, name: str) -> ModuleType | None:
        """A module of the system's package, such as `views.report`; None if it does not exist."""
        if not self.package:
            return None
        full = f"{self.package}.{name}"
        try:
            known = importlib.util.find_spec(full) is not None
        except ModuleNotFoundError as error:
            if not full.startswith(f"{error.name}."):
                raise
            known = False
        return importlib.import_module(full) if known else None

    @property
    def inputs(self) -> set[str]:
        """Signals that the rig or the simulated world writes: the inputs of a replay. Faults are fed in separately."""
        return {signals.whole(name) for block in self.plant for name in block.kind.writes} - set(signals.FAULT)

    def kinds(self, scenario: Any) -> dict[str, StageKind]:
        """The stages of tick and plant that a scenario uses, by the names of their blocks."""
        found = (*used(self.plant, scenario), *self._tick_of(scenario.believed))
        return {block.name: block.kind for block in found}

    def set_up(self, scenario: Any) -> Bench:
        """Memory and start values for one run of a scenario."""
        found, p = self.packed(scenario)
        made = self.diagram(found)
        row, x, w = (np.zeros(1, dtype) for dtype in (self.row, made.x, made.w))
        sig, params = row[0], p[0]
        sig.fault_axis = -1
        for blocks, state in zip(found.resets, (x, w), strict=True):
            for block in blocks:
                sparing(block.kind.reset)(sig, state[0][block.name], params[block.name])
        return Bench(row, x, w, p, ticks_of(scenario), made.code)

    def packed(self, scenario: Any) -> tuple[Used, np.ndarray]:
        """The blocks of a scenario and their parameters: the plant's from the world, all others from the beliefs."""
        found = self.used_by(scenario)
        p = np.zeros(1, self.diagram(found).p)
        p[0].dt = scenario.loop.period
        pack(found.believing, p, scenario.believed)
        pack(found.plant, p, scenario)
        return found, p

    def used_by(self, scenario: Any) -> Used:
        """The blocks that a scenario uses: the plant's chosen by the world, all others by the beliefs."""
        believed = scenario.believed
        return Used(self._tick_of(believed), used(self.plant, scenario), used(self.observe, believed))

    def _tick_of(self, scenario: Any) -> Blocks:
        """The blocks of the tick that a scenario uses, with the user-defined method if it names one."""
        blocks, place = used(self.tick, scenario), self.methods
        if place is None:
            return blocks
        section, _, field = place.key.rpartition(".")
        kind = methods.find(self.name, getattr(attrgetter(section)(scenario) if section else scenario, field))
        if kind is None:
            return blocks
        self._check_method(kind, place)
        return tuple(replace(each, kind=kind, section=_itself) if each.name == place.block else each for each in blocks)

    def _check_method(self, kind: StageKind, place: Methods) -> None:
        if unknown := {signals.whole(name) for name in (*kind.reads, *kind.writes)} - set(self.row.names or ()):
            raise InputError(
                f"the method {kind.name} uses {', '.join(sorted(unknown))}, which {self.name} does not have; "
                f"use only its signals, or write your own system",
                key=place.key,
            )
        if missing := set(place.writes) - set(kind.writes):
            raise InputError(
                f"the method {kind.name} does not write {', '.join(sorted(missing))}; a method of {self.name} has to",
                key=place.key,
            )

    def diagram(self, found: Used) -> Diagram:
        """Types and code for a choice of blocks."""
        tick, plant, observe = found.tick, found.plant, found.observe
        key = tuple((block.name, id(block.kind)) for block in (*tick, *plant, *observe))
        if key not in self._diagrams:
            every = _once((*tick, *plant, *observe))
            self._diagrams[key] = Diagram(
                x=signals.record(**{block.name: block.kind.state for block in _once(tick)}),
                w=signals.record(**{block.name: block.kind.state for block in _once((*plant, *observe))}),
                p=signals.record(dt="f8", **{block.name: block.kind.params for block in every}),
                code=diagram.build(self.name, tick, plant, observe),
                blocks=every,
            )
        return self._diagrams[key]

    def many(self, found: Used, count_step: Callable[..., None]) -> Callable[..., None]:
        """The compiled loop over many runs, which calls `count_step(sig, m, each, q)` after every tick."""
        made = self.diagram(found)
        key = id(made), id(count_step)
        if key not in self._many:
            self._many[key] = diagram.build_sweep(self.name, made.code, *found.resets, count_step)
        return self._many[key]

    def with_block(
        self, kind: StageKind, after: str, name: str | None = None, section: Callable[[Any], Any] = nothing
    ) -> "System":
        """The same system with one more block in its tick, after the block called `after`."""
        place = self._place(after) + 1
        return replace(self, tick=(*self.tick[:place], Block(name or kind.name, kind, section), *self.tick[place:]))

    def replace_block(self, name: str, kind: StageKind) -> "System":
        """The same system with a block of its tick or plant replaced by another stage."""
        self._place(name, (*self.tick, *self.plant))
        tick, plant = (
            tuple(replace(block, kind=kind) if block.name == name else block for block in blocks)
            for blocks in (self.tick, self.plant)
        )
        return replace(self, tick=tick, plant=plant)

    def _place(self, name: str, blocks: Blocks | None = None) -> int:
        names = [block.name for block in blocks or self.tick]
        if name not in names:
            raise ValueError(f"{self.name} has no block {name!r}; it has {', '.join(dict.fromkeys(names))}")
        return len(names) - 1 - names[::-1].index(name)


class Restarts:
    """The start of a scenario, as often as it is needed, in the same memory: a robot that is held cannot wait until memory and
    start values are made anew. An imported model keeps its state inside, where it cannot be restored: it is made anew."""

    def __init__(self, system: System, scenario: Any) -> None:
        self._make = partial(system.set_up, scenario)
        self._bench = self._make()
        blocks = system.diagram(system.used_by(scenario)).blocks
        self._starts = None if any(block.kind.one_bench for block in blocks) else [part.copy() for part in self._parts]

    @property
    def _parts(self) -> list[np.ndarray]:
        """Its memory as bytes."""
        made = self._bench
        return [raw(part) for part in (made.row, made.x, made.w, made.p) if part.dtype.itemsize]

    def begin(self) -> Bench:
        """The bench at its start; what was made of it before is lost."""
        if self._starts is None:
            self._bench = self._make()
        else:
            for part, start in zip(self._parts, self._starts, strict=True):
                part[...] = start
        return self._bench


def ticks_of(scenario: Any) -> int:
    """Number of ticks of a run that does not end early."""
    return round(scenario.loop.duration / scenario.loop.period) + 1


def _itself(scenario: Any) -> Any:
    return scenario


def sections_of(blocks: Blocks, scenario: Any) -> Sections:
    """The sections that blocks are packed from; a shared section is made once."""
    every = dict.fromkeys(section for block in blocks for section in (block.section, block.late))
    return {section: section(scenario) for section in every}


def fill(blocks: Blocks, p: np.ndarray, given: Sections, loop: Cycle, before: Sections | None = None) -> None:
    """Fill the parameters of blocks, each from its own section; skip those whose section is the same as `before`."""
    (params,) = p
    for block in _once(blocks):
        own = given[block.section]
        if before is None or before[block.section] != own:
            block.kind.pack(params[block.name], own, loop)
            block.kind.pack_late(params[block.name], given[block.late])


def pack(blocks: Blocks, p: np.ndarray, scenario: Any) -> None:
    fill(blocks, p, sections_of(blocks, scenario), Cycle(scenario.loop.period, scenario.seed))


def used(blocks: Blocks, scenario: Any) -> Blocks:
    """The blocks that a scenario uses."""
    return tuple(block for block in blocks if block.when(scenario))


def _starting(blocks: Iterable[Block]) -> Blocks:
    """Return blocks in the order in which they set their start values."""
    return tuple(sorted(_once(blocks), key=lambda block: not block.starts_first))


def _once(blocks: Iterable[Block]) -> Blocks:
    """Return each block once: plant and lab may share blocks, with one state and one set of parameters."""
    return tuple({block.name: block for block in blocks}.values())
