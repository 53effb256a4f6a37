"""A run as Python has it: figures, signals by name, tables and pictures."""

import html
import warnings
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hilt import job
from hilt.core.faults import Fault, InputError
from hilt.core.scenario import Scenario
from hilt.core.signals import leaves
from hilt.core.system import System
from hilt.core.verdict import Verdict
from hilt.front import pictures, tables
from hilt.front.signal import Signal, column, signal, values_of
from hilt.job import Result
from hilt.record import fitting
from hilt.record.recording import stored
from hilt.report import words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHOWN = 4  # figures in the short form


class FaultWarning(UserWarning):
    """A run ended with a fault: its figures are of the time before it."""


def warn_of_faults(results: Iterable[Result], level: int) -> None:
    """Warn once for all of them, at the line of whoever called the front door."""
    every = list(results)
    bad = [each for each in every if each.fault is not None]
    if not bad:
        return
    first = bad[0].fault
    assert first is not None
    of = "" if len(every) == 1 else f"{len(bad)} of {len(every)} runs ended with a fault; the first "
    warnings.warn(f"{bad[0].system.name} · {bad[0].name}: {of}{first.sentence}", FaultWarning, stacklevel=level + 1)


class Run:
    """A run that has ended: what `hilt.run`, `hilt.load` and `hilt.compare` give.

    >>> run = hilt.run("docking", "table1", {"compensate.method": "twin"})
    >>> run.metrics["cov"]              # plain numbers
    >>> run["F_C_true_W"]               # an array, with .unit and .t; run.signals has all names
    >>> run.plot("F_C_true_W")          # axes of matplotlib
    >>> run.frame("F_C_true_W", "H")    # a pandas table;   run.array(...): an xarray dataset
    """

    def __init__(self, result: Result) -> None:
        self._result = result
        self._whole = True

    @classmethod
    def without_rows(cls, result: Result) -> "Run":
        """A run that keeps its figures only; asked for signals, it is simulated again, which gives the same rows."""
        made = cls(replace(result, rows=result.rows[-1:].copy()))
        made._whole = False
        return made

    @property
    def result(self) -> Result:
        """The run as the rooms behind the front door have it."""
        if not self._whole:
            self._result = job.simulate(self.system, self.scenario, self.name)
            self._whole = True
        return self._result

    @property
    def system(self) -> System:
        return self._result.system

    @property
    def name(self) -> str:
        """The name of its scenario."""
        return self._result.name

    @property
    def scenario(self) -> Scenario:
        """The checked values that the run was made with, in SI units."""
        return self._result.scenario

    @property
    def metrics(self) -> dict[str, Any]:
        """Its figures: plain numbers, or lists of them; SI units, which their names end with."""
        return self._result.metrics

    @property
    def ledger(self) -> dict[str, Any]:
        """Joules by cause: `rows` of ports, and how well they add up."""
        return self._result.ledger

    @property
    def fault(self) -> Fault | None:
        """What ended the run before its time, with a `sentence`; None if nothing did."""
        return self._result.fault

    @property
    def verdict(self) -> Verdict:
        """Whether it met the goal of its scenario: `kind`, a `sentence`, and the `figures` that were judged."""
        return self._result.verdict

    @property
    def recording(self) -> Path | None:
        """The file that it was recorded in."""
        return self._result.recording

    @property
    def signals(self) -> list[str]:
        """Names of its signals."""
        return list(leaves(self.system.row))

    @property
    def t(self) -> np.ndarray:
        """The time of each tick [s]."""
        return self["t"].t

    def __getitem__(self, name: str) -> Signal:
        """The values of a signal, one row for each tick: `run["F_So_S.f"]`, or one of its entries: `run["F_So_S.f.x"]`."""
        return self._columns([name])[name]

    def _columns(self, names: Iterable[str]) -> dict[str, Signal]:
        wanted = {name: column(self.system.row, name) for name in dict.fromkeys(names)}
        result = self.result
        if result.survey is None:
            found = [[values_of(result.rows, *place) for place in (("t", None), *wanted.values())]]
        else:  # a long run: its rows are in its recording, and only what is asked for comes into memory
            assert result.recording is not None
            recorded = fitting.fitted(stored(result.recording), self.system.row)
            found = [[values_of(rows, *place) for place in (("t", None), *wanted.values())] for rows in recorded.chunks()]
        t, *columns = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return {name: signal(name, values, t) for name, values in zip(wanted, columns, strict=True)}

    def frame(self, *signals: str) -> Any:
        """A pandas table of some signals, or of all: the time as index, units in the names of the columns."""
        return tables.frame(self._columns(signals or self.signals))

    def array(self, *signals: str) -> Any:
        """An xarray dataset of some signals, or of all: over `t`, with units as attributes."""
        return tables.dataset(self._columns(signals or self.signals))

    def plot(self, *signals: str, axes: "Axes | None" = None) -> "Axes":
        """Draw signals of one unit over time; returns the axes, with labels and units."""
        if not signals:
            raise InputError("plot() was given no signal; name one, such as run.plot('t'); run.signals has all names")
        return pictures.plot(self._columns(signals).values(), axes)

    def report(self, path: str | Path) -> Path:
        """Write the report of the run, one HTML file that needs nothing else."""
        from hilt.report import page

        text = page.render(self.result)
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        return target

    def __repr__(self) -> str:
        last = self._result.rows[-1]
        ended = f"; ended with a fault: {self.fault.sentence}" if self.fault else ""
        said = self.verdict.sentence.rstrip(".") if self.system.judge else self._figures() or "no metrics"
        return f"<Run {self.system.name} · {self.name}, {last['t']:.4g} s, {last['tick'] + 1} ticks: {said}{ended}>"

    def _figures(self) -> str:
        return ", ".join(f"{name} {words.metric(name, value)}" for name, value in self._headline())

    def _headline(self) -> list[tuple[str, Any]]:
        """The figures that say most: those with an ideal of 1, of lists the worst."""
        names = [name for name in self.system.ratios if name in self.metrics] or list(self.metrics)[:SHOWN]
        return [(name, _worst(self.metrics[name], name in self.system.ratios)) for name in names]

    def _repr_html_(self) -> str:
        """For a notebook: verdict, figure and numbers, as the report begins."""
        from hilt.report import summary

        title = f"<b>{html.escape(f'{self.system.name} · {self.name}')}</b> {html.escape(self.scenario.summary)}"
        return title + summary.notebook(self.result)


def _worst(value: Any, ratio: bool) -> Any:
    """Of a list the entry that is farthest from its ideal, or the largest."""
    if not isinstance(value, list) or not value:
        return value
    return max(value, key=lambda each: abs(each - 1.0) if ratio else each)
