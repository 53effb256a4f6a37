"""Many scenarios as one table: `hilt.sweep`."""

import html
import os
import shutil
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hilt import job
from hilt.core import registry, scenario
from hilt.core.faults import InputError, shortened
from hilt.core.scenario import Scenario, Setting
from hilt.core.system import System
from hilt.front import pictures
from hilt.front.run import Run
from hilt.job import Source
from hilt.sweeps import engines, making, page, sides, summary
from hilt.sweeps import pictures as drawn
from hilt.sweeps import sweep as sweeps
from hilt.sweeps.making import Request
from hilt.sweeps.sweep import Done
from hilt.sweeps.table import Plan, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LISTED = 6  # metrics shown in a notebook


class Sweep:
    """A table with one row per scenario: the result of `hilt.sweep`.

    >>> sweep = hilt.sweep("docking", "table1", over={"robot.delay": "2..40 ms:20", "compensate.method": "none,pida"})
    >>> sweep.frame()               # pandas, one row per scenario
    >>> sweep.array()               # xarray, one dimension per axis
    >>> sweep.plot("cov")           # a curve over one axis, a map over two
    >>> sweep.run(7)                # one of the scenarios, with its signals
    """

    def __init__(self, done: Done) -> None:
        self._done = done

    @property
    def table(self) -> Table:
        return self._done.table

    @property
    def folder(self) -> Path:
        """The table's folder; temporary unless `record` named one."""
        return self.table.folder

    @property
    def engine(self) -> str:
        return self._done.engine

    @property
    def seconds(self) -> float:
        return self._done.seconds

    @property
    def failed(self) -> int:
        """How many runs ended with a fault."""
        return self._done.failed

    def __len__(self) -> int:
        return self._done.scenarios

    def scenario(self, number: int) -> Scenario:
        """Return the checked values of one scenario."""
        if not 0 <= number < len(self):
            raise InputError(f"there is no scenario {number}; they are numbered 0 to {len(self) - 1}")
        return self.table.space.scenario(number)

    def run(self, number: int) -> Run:
        """Simulate one of the scenarios again, with all its signals."""
        space = self.table.space
        return Run(job.simulate(space.system, self.scenario(number), space.name))

    def frame(self) -> Any:
        """Return a pandas table with one row per scenario, axes and metrics as columns, in SI units."""
        return self.table.frame()

    def array(self) -> Any:
        """Return an xarray dataset with one variable per metric and one dimension per axis."""
        return self.table.array()

    def plot(self, name: str | None = None) -> "Figure":
        """Draw a metric, by default the most telling one: a curve over one axis, a map over two, small multiples over three."""
        return drawn.picture(self.table, self._column(name)).figure

    def map(self, name: str | None = None) -> "Figure":
        """Draw a metric over two axes of numbers; one panel per word or value of a third axis."""
        axes = [axis for axis in self.table.space.axes if sides.kind(axis) == "number"]
        if len(axes) < 2:
            raise InputError(f"a map needs two axes of numbers, and {self._axes()} has {len(axes)}; use plot()")
        return self.plot(name)

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write the report as an HTML file."""
        return page.write(self._done, Path(path))

    def _column(self, name: str | None) -> str:
        """Return a column's name; for a metric that is a list, that of its error or its first entry."""
        names = self.table.names()
        if name is None:
            return next(iter(page.worth(self.table)), names[0])
        for each in (name, f"{name}_error", f"{name}_1"):
            if each in names:
                return each
        raise InputError(f"{shortened(name)!r} is not a column of this sweep; choose one of {', '.join(names)}")

    def _axes(self) -> str:
        return " × ".join(f"{', '.join(axis.keys)} ({len(axis)})" for axis in self.table.space.axes)

    def __repr__(self) -> str:
        space = self.table.space
        return f"<Sweep {space.system.name} · {space.name}: {self._axes()}; {len(self):,} scenarios in {self.seconds:.3g} s>"

    def _repr_html_(self) -> str:
        """For a notebook: what was swept, the metrics, and the picture."""
        lines = [("", "smallest", "median", "largest", "runs"), *list(summary.lines(self.table))[:LISTED]]
        title = f"<b>{html.escape(repr(self)[1:-1])}</b>"
        telling = page.worth(self.table)[:1]
        picture = "".join(pictures.block(drawn.picture(self.table, name)) for name in telling)
        return title + pictures.cells(lines) + picture


@dataclass(frozen=True)
class Asked:
    """What `hilt.sweep` was given besides the scenario."""

    request: Request
    metrics: Sequence[str] | None
    engine: str
    cluster: str | None
    record: str | os.PathLike[str] | None
    resume: bool
    chunk: int | None


def over_of(over: Mapping[str, Any] | None) -> tuple[tuple[str, Any], ...]:
    return tuple((key, values if isinstance(values, str) else list(values)) for key, values in (over or {}).items())


def source_of(target: Any, choice: Any, changes: Sequence[Setting]) -> Source:
    """Return a scenario before it is checked, from anything that `hilt.run` accepts."""
    values = target if isinstance(target, Scenario) else choice if isinstance(choice, Scenario) else None
    if values is not None:
        if target is values and choice is not None:
            raise InputError("a scenario was given twice; give it once, and changes to it as settings")
        named = values.system if target is values else target
        system = named if isinstance(named, System) else registry.system(os.fspath(named))
        tree = values.model_dump(mode="json")
        scenario.apply_settings(tree, changes)
        return Source(system, tree, "scenario", {})
    name = None if choice is None else os.fspath(choice)
    if isinstance(target, System):
        return job.source_of(target, name, changes)
    return job.source(os.fspath(target), name, changes)


def sweep(source: Source, asked: Asked) -> Sweep:
    if not asked.request.over and asked.request.seeds is None:
        raise InputError("over names no key; give one with its values, such as {'robot.delay': '2..40 ms:39'}, or seeds=20")
    space = making.make(source, asked.request)
    engine = engines.named("dask", address=asked.cluster) if asked.cluster else engines.named(asked.engine)
    metrics = sweeps.metrics_of(space.system, asked.metrics or ())
    plan = Plan(space, metrics, sweeps.checked_chunk(asked.chunk, space.count), sweeps.arithmetic(engine))
    if asked.record is not None:
        return Sweep(sweeps.run(plan, engine, Path(asked.record), asked.resume))
    folder = tempfile.mkdtemp(prefix="hilt-sweep-")
    try:
        found = Sweep(sweeps.run(plan, engine, Path(folder) / "sweep"))
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(found, shutil.rmtree, folder, ignore_errors=True)  # when it is garbage-collected, or at exit
    return found
