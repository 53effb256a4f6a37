"""A sweep: the scenarios of a space, computed by an engine, chunk by chunk into a table on disk."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hilt.core import clock
from hilt.core.faults import InputError, shortened
from hilt.core.system import System
from hilt.host import interrupts
from hilt.host.interrupts import Interrupted
from hilt.sweeps import limits
from hilt.sweeps.engines import Engine
from hilt.sweeps.table import Plan, Table, resume_words

LEAST_CHUNK, MOST_CHUNK = 16, 10_000
MOST_ASKED = 10**6
CHUNKS = 100  # of a sweep of medium size

Watch = Callable[[int], None]  # called with the number of scenarios in each written chunk


@dataclass(frozen=True)
class Done:
    """The outcome of a sweep; `failed` counts the runs of the whole table that ended with a fault."""

    table: Table
    engine: str
    scenarios: int
    seconds: float
    failed: int

    def as_json(self) -> dict[str, Any]:
        return {
            "scenarios": self.scenarios,
            "seconds": round(self.seconds, 3),
            "engine": self.engine,
            "failed": self.failed,
            "table": str(self.table.chunks),
        }


def chunk_size(count: int) -> int:
    """Return the scenarios per chunk: few enough that an interrupted sweep loses little, enough to keep the engine busy."""
    return min(max(-(-count // CHUNKS), LEAST_CHUNK), MOST_CHUNK)


def checked_chunk(asked: int | None, count: int) -> int:
    if asked is None:
        return chunk_size(count)
    if not 1 <= asked <= MOST_ASKED:
        raise InputError(f"--chunk is {asked}; it must be from 1 to {MOST_ASKED}; give a whole number")
    return asked


def arithmetic(engine: Engine) -> str:
    """Return the kind of arithmetic; engines of the same kind give the same bytes."""
    return "gpu" if engine.name == "cuda" else "cpu"


def metrics_of(system: System, names: Iterable[str]) -> tuple[str, ...] | None:
    """Return the requested metrics; None is all of them."""
    asked = tuple(dict.fromkeys(name.strip() for name in names if name.strip()))
    for name in asked:
        if name not in system.metric_words:
            raise InputError(
                f"{shortened(name)!r} is not a metric of {system.name}; choose from {', '.join(system.metric_words)}"
            )
    return asked or None


def run(
    plan: Plan,
    engine: Engine,
    folder: Path,
    resume: bool = False,
    watch: Watch = lambda *_: None,
    say: Callable[[str], None] = lambda _: None,
) -> Done:
    """Compute what is missing in a table; a chunk is on disk before the next one is awaited.

    `watch` is called for each chunk, including those already on disk; `say` with a sentence about damaged ones.
    """
    space = plan.space
    if plan.arithmetic != arithmetic(engine):
        raise InputError(
            f"{folder} was started on a {plan.arithmetic.upper()}, whose last digits differ from --engine {engine.name}; "
            "continue it with the engine that started it"
        )
    limits.check(limits.estimate(space.system, space.base, space.count, len(space.keys), engine.name), folder)
    table, started = Table(folder, plan), clock.now()
    fresh = not table.exists()
    table.begin(resume)
    failed = _failed_before(table, watch, say)
    there = set(table.written())
    try:
        for numbers, results in engine.run(space, (plan.numbers(k) for k in range(plan.count) if k not in there)):
            table.write(numbers, results)
            failed += int(np.count_nonzero(results["fault"]))
            watch(len(numbers))
            interrupts.check()
        table.finish()
    except InputError:
        if fresh and not table.written():
            table.undo()
        raise
    except Interrupted as stop:
        stop.sentence = f"interrupted; {len(table.written())} of {plan.count} chunks are written; {resume_words(folder)}"
        raise
    return Done(table, engine.name, space.count, clock.now() - started, failed)


def _failed_before(table: Table, watch: Watch, say: Callable[[str], None]) -> int:
    """Count the runs with a fault in the chunks already on disk; a damaged chunk is removed, to be computed again."""
    failed = 0
    for k in table.written():
        try:
            failed += int(np.count_nonzero(table.read(k)["fault"].to_numpy()))
            watch(len(table.plan.numbers(k)))
        except InputError:
            table.path(k).unlink()
            say(f"{table.path(k)} was damaged; it is computed again")
    return failed
