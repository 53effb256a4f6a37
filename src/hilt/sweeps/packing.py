"""Many scenarios as arrays of parameters, gathered from parts that are packed once for all scenarios that share them.

A grid of 100 delays, 100 stiffnesses and 20 seeds has 200 000 scenarios and a few hundred different parts. Which part depends
on which key need not be declared: it follows from what the code that makes the part reads (memo.py).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import BaseModel

from hilt.compiled.records import raw
from hilt.core.counter import Counter, References
from hilt.core.signals import record
from hilt.core.stage import Block, Cycle, nothing
from hilt.core.system import Diagram, Used, ticks_of
from hilt.sweeps.memo import MOST, Memo
from hilt.sweeps.space import Space
from hilt.sweeps.tracing import Trace

ENDS = record(ticks="i8", fault="i8")


@dataclass(frozen=True)
class Packed:
    """Scenarios with the same blocks, ready to run; `m`, `each` and `ends` are filled by an engine."""

    at: np.ndarray  # their places in the chunk
    used: Used
    diagram: Diagram
    p: np.ndarray
    ticks: np.ndarray
    q: np.ndarray
    m: np.ndarray
    each: np.ndarray
    ends: np.ndarray
    references: tuple[References, ...]
    late: tuple["_Late", ...] = ()

    def complete(self, first: int = 0, last: int | None = None) -> None:
        """Fill in the parameters that take long to compute: a worker does so for some scenarios just before it runs them."""
        for late in self.late:
            late.fill(self.p[first:last], slice(first, last))


@dataclass(frozen=True)
class _Late:
    """The parameters of one block that take long to compute."""

    block: Block
    distinct: list[Any]  # what they are computed from
    which: np.ndarray

    def fill(self, p: np.ndarray, own: slice) -> None:
        which, entries = self.which[own], p[self.block.name]
        needed, first = np.unique(which, return_index=True)
        for each, i in zip(needed.tolist(), first.tolist(), strict=True):
            entry = entries[i : i + 1].copy()
            self.block.kind.pack_late(entry[0], self.distinct[each])
            raw(entries)[which == each] = raw(entry)


def packs(space: Space) -> bool:
    """Whether the scenarios of a space can be packed; otherwise each needs its own bench, for its rows or for its own model."""
    found = space.system.used_by(space.scenario(0))
    alone = any(block.kind.one_bench for block in (*found.tick, *found.plant))
    return isinstance(space.system.metrics, Counter) and not alone


class _Noted(Cycle):
    """What a stage knows about the loop; notes which of the values it uses."""

    def __init__(self, period: float, seed: int, read: set[str]) -> None:
        object.__setattr__(self, "_known", (period, seed))
        object.__setattr__(self, "_read", read)

    def __getattribute__(self, name: str) -> Any:
        if name in ("period", "seed"):
            object.__getattribute__(self, "_read").add(name)
            return object.__getattribute__(self, "_known")[name == "seed"]
        return object.__getattribute__(self, name)


class _Part:
    """The packed parameters of one block for the whole space: a table, and which entry belongs to each scenario."""

    def __init__(self, block: Block, config: Memo, loop: dict[str, Memo]) -> None:
        self._block, self._config, self._loop = block, config, loop
        self._read: set[str] = set()
        self._known: dict[tuple[int, ...], int] = {}
        self._table = np.zeros(16, block.kind.params)
        self._generations: list[int] = []

    def of(self, places: np.ndarray) -> np.ndarray:
        """Return the parameters of each scenario, as plain bytes."""
        at = {"config": self._config.of(places), **{name: memo.of(places) for name, memo in self._loop.items()}}
        generations = [self._config.generation, *(memo.generation for memo in self._loop.values())]
        if generations != self._generations or len(self._known) > MOST:
            self._known, self._generations = {}, generations
        while True:
            keys = np.stack([at["config"], *(at[name] for name in sorted(self._read))], axis=1)
            distinct, first, which = _distinct(keys)
            if self._all_known(distinct, first, at):
                found = np.array([self._known[key] for key in distinct], np.int64)
                return raw(self._table)[found[which]]

    def _all_known(self, keys: list[tuple[int, ...]], first: np.ndarray, at: dict[str, np.ndarray]) -> bool:
        for key, i in zip(keys, first.tolist(), strict=True):
            if key in self._known:
                continue
            period, seed = (self._loop[name].values[at[name][i]] for name in ("period", "seed"))
            read: set[str] = set()
            entry = np.zeros(1, self._block.kind.params)
            self._block.kind.pack(entry[0], self._config.values[at["config"][i]], _Noted(period, seed, read))
            if not read <= self._read:
                self._read |= read
                self._known = {}
                return False
            place = self._known[key] = len(self._known)
            if place == len(self._table):
                self._table = np.concatenate([raw(self._table), raw(np.zeros_like(self._table))]).view(self._table.dtype)
            raw(self._table)[place] = raw(entry)[0]
        return True


def _distinct(keys: np.ndarray) -> tuple[list[tuple[int, ...]], np.ndarray, np.ndarray]:
    """Return the distinct rows, where each appears first, and which of them each row is."""
    code = keys[:, 0].copy()
    for column in keys.T[1:]:
        code = code * (int(column.max(initial=0)) + 1) + column
    _, first, which = np.unique(code, return_index=True, return_inverse=True)
    return [tuple(key) for key in keys[first].tolist()], first, which


class Packing:
    """Makes the parameters of any scenarios of a space."""

    def __init__(self, space: Space, counter: Counter) -> None:
        self._space, self._counter = space, counter
        first = space.scenario(0)  # has all the keys; the space's own scenario may lack a section that they are in
        self._trace = Trace(first, space.keys)
        self._memos: list[Memo] = []
        self._checks = [self._memo(check) for check in _checks(first)]
        self._structures: list[Used] = []
        self._structure = self._memo(self._structure_of)
        self._loop = {"period": self._memo(lambda s: s.loop.period), "seed": self._memo(lambda s: s.seed)}
        self._ticks = self._memo(ticks_of)
        self._configs: dict[tuple[Callable[..., Any], bool], Memo] = {}
        self._parts: dict[tuple[str, int], _Part] = {}
        self._constants = self._memo(self._constants_of)
        self._events = self._memo(counter.events)
        self._references = [self._memo(of) for of in counter.references]

    def _memo(self, function: Callable[[Any], Any]) -> Memo:
        self._memos.append(Memo(self._space, function, self._trace))
        return self._memos[-1]

    def _structure_of(self, scenario: Any) -> int:
        """Return a number for the blocks that a scenario uses."""
        found = self._space.system.used_by(scenario)
        if found not in self._structures:
            self._structures.append(found)
        return self._structures.index(found)

    def _constants_of(self, scenario: Any) -> bytes:
        q = np.zeros(1, self._counter.params)
        self._counter.pack(q[0], scenario)
        return q.tobytes()

    def pack(self, numbers: np.ndarray) -> list[Packed]:
        """Pack the scenarios with these numbers, grouped by the blocks that they use."""
        places = self._space.places(numbers)
        self._trace.forget()
        for memo in self._memos:
            memo.forget()
        self._check(numbers, places)
        kinds = self._structure.column(places, np.int64)
        return [self._group(np.flatnonzero(kinds == kind), places, int(kind)) for kind in np.unique(kinds)]

    def _check(self, numbers: np.ndarray, places: np.ndarray) -> None:
        """Refuse values that do not fit together, as `hilt run` does."""
        for check in self._checks:
            fits = check.column(places, bool)
            if not fits.all():
                self._space.scenario(int(numbers[np.flatnonzero(~fits)[0]]))

    def _group(self, at: np.ndarray, places: np.ndarray, kind: int) -> Packed:
        used, places = self._structures[kind], places[at]
        made = self._space.system.diagram(used)
        p = np.zeros(len(at), made.p)
        p["dt"] = self._loop["period"].column(places, np.float64)
        late = []
        for blocks, believes in ((used.believing, True), (used.plant, False)):
            for block in blocks:
                raw(p[block.name])[:] = self._part(block, believes).of(places)
                if block.kind.pack_late is not nothing:
                    found = self._config(block.late, believes)
                    late.append(_Late(block, *_needed(found, found.of(places))))
        events = int(self._events.column(places, np.int64).max())
        references = tuple(References(*_needed(memo, memo.of(places))) for memo in self._references)
        constants, which = _needed(self._constants, self._constants.of(places))
        q = np.frombuffer(b"".join(constants), f"V{self._counter.params.itemsize}")[which].view(self._counter.params)
        ticks = self._ticks.column(places, np.int64)
        m, each = np.zeros(len(at), self._counter.state), np.zeros((len(at), events), self._counter.event)
        return Packed(at, used, made, p, ticks, q, m, each, np.zeros(len(at), ENDS), references, tuple(late))

    def _config(self, section: Callable[[Any], Any], believes: bool) -> Memo:
        if (section, believes) not in self._configs:
            self._configs[section, believes] = self._memo((lambda s: section(s.believed)) if believes else section)
        return self._configs[section, believes]

    def _part(self, block: Block, believes: bool) -> _Part:
        key = (block.name, id(block.kind))
        if key not in self._parts:
            self._parts[key] = _Part(block, self._config(block.section, believes), self._loop)
        return self._parts[key]


def _needed(memo: Memo, which: np.ndarray) -> tuple[list[Any], np.ndarray]:
    """Return the distinct values of these scenarios, and which of them belongs to each."""
    needed, which = np.unique(which, return_inverse=True)
    return [memo.values[i] for i in needed.tolist()], which


def _checks(base: Any, path: tuple[Any, ...] = ()) -> Iterator[Callable[[Any], bool]]:
    """Yield every check across several values of a scenario or of one of its sections, as a function of the scenario."""
    if isinstance(base, tuple):
        for index, each in enumerate(base):
            yield from _checks(each, (*path, index))
    if not isinstance(base, BaseModel):
        return
    for validator in type(base).__pydantic_decorators__.model_validators.values():
        yield _check_of(validator.func, path)
    for name in type(base).model_fields:
        yield from _checks(getattr(base, name), (*path, name))


def _check_of(function: Callable[..., Any], path: tuple[Any, ...]) -> Callable[[Any], bool]:
    def fits(scenario: Any) -> bool:
        section = scenario
        for part in path:
            section = section[part] if isinstance(part, int) else getattr(section, part)
        try:
            function(section)
        except ValueError:
            return False
        return True

    return fits
