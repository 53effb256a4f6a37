"""A run in Python: metrics, signals by name, tables and pictures."""

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

SHOWN = 4  # metrics in the short form


class FaultWarning(UserWarning):
    """A run ended with a fault: its metrics cover the time before it."""


def warn_of_faults(results: Iterable[Result], level: int) -> None:
    """Warn once for all of them, at the caller's line."""
    every = list(results)
    bad = [each for each in every if each.fault is not None]
    if not bad:
        return
    first = bad[0].fault
    assert first is not None
    of = "" if len(every) == 1 else f"{len(bad)} of {len(every)} runs ended with a fault; the first "
    warnings.warn(f"{bad[0].system.name} · {bad[0].name}: {of}{first.sentence}", FaultWarning, stacklevel=level + 1)


class Run:
    """A finished run: what `hilt.run` and `hilt.load` return, and `hilt.compare` for each label.

    >>> run = hilt.run("docking", "table1", {"compensate.method": "twin"})
    >>> run.metrics["cov"]              # plain numbers
    >>> run["F_C_true_W"]               # an array, with .unit and .t; run.signals has all names
    >>> run.plot("F_C_true_W")          # matplotlib axes
    >>> run.frame("F_C_true_W", "H")    # a pandas table;   run.array(...): an xarray dataset
    """

    def __init__(self, result: Result) -> None:
        self._result = result
        self._whole = True

    @classmethod
    def without_rows(cls, result: Result) -> "Run":
        """Make a run that keeps only its metrics; when signals are needed it is simulated again, which gives the same rows."""
        made = cls(replace(result, rows=result.rows[-1:].copy()))
        made._whole = False
        return made

    @property
    def result(self) -> Result:
        """The run as the rooms below use it."""
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
        """The checked values of the run, in SI units."""
        return self._result.scenario

    @property
    def metrics(self) -> dict[str, Any]:
        """Plain numbers or lists of them, in SI units; the name ends with the unit."""
        return self._result.metrics

    @property
    def ledger(self) -> dict[str, Any]:
        """Energy by cause [J]: `rows` of ports, and the residual of their sum."""
        return self._result.ledger

    @property
    def fault(self) -> Fault | None:
        """The fault that ended the run early, with a `sentence`; None if there was none."""
        return self._result.fault

    @property
    def verdict(self) -> Verdict:
        """Whether it met its scenario's goal: `kind`, a `sentence`, and the `figures` that were judged."""
        return self._result.verdict

    @property
    def recording(self) -> Path | None:
        """The file it was recorded in; None if it was not."""
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
        """Return a signal, one row per tick: `run["F_So_S.f"]`, or one of its entries: `run["F_So_S.f.x"]`."""
        return self._columns([name])[name]

    def _columns(self, names: Iterable[str]) -> dict[str, Signal]:
        wanted = {name: column(self.system.row, name) for name in dict.fromkeys(names)}
        result = self.result
        if result.survey is None:
            found = [[values_of(result.rows, *place) for place in (("t", None), *wanted.values())]]
        else:  # a long run: only the requested signals are read from its recording
            assert result.recording is not None
            recorded = fitting.fitted(stored(result.recording), self.system.row)
            found = [[values_of(rows, *place) for place in (("t", None), *wanted.values())] for rows in recorded.chunks()]
        t, *columns = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return {name: signal(name, values, t) for name, values in zip(wanted, columns, strict=True)}

    def frame(self, *signals: str) -> Any:
        """Return a pandas table of some signals, or of all: the time as index, units in the column names."""
        return tables.frame(self._columns(signals or self.signals))

    def array(self, *signals: str) -> Any:
        """Return an xarray dataset of some signals, or of all: over `t`, with units as attributes."""
        return tables.dataset(self._columns(signals or self.signals))

    def plot(self, *signals: str, axes: "Axes | None" = None) -> "Axes":
        """Draw signals of one unit over time; returns the axes, with labels and units."""
        if not signals:
            raise InputError("plot() needs a signal; name one, such as run.plot('t'); run.signals has all names")
        return pictures.plot(self._columns(signals).values(), axes)

    def report(self, path: str | Path) -> Path:
        """Write the report of the run as a single, self-contained HTML file."""
        from hilt.report import page

        text = page.render(self.result)
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        return target

    def __repr__(self) -> str:
        last = self._result.rows[-1]
        ended = f"; ended with a fault: {self.fault.sentence}" if self.fault else ""
        text = self.verdict.sentence.rstrip(".") if self.system.judge else self._metrics() or "no metrics"
        return f"<Run {self.system.name} · {self.name}, {last['t']:.4g} s, {last['tick'] + 1} ticks: {text}{ended}>"

    def _metrics(self) -> str:
        return ", ".join(f"{name} {words.metric(name, value)}" for name, value in self._headline())

    def _headline(self) -> list[tuple[str, Any]]:
        """The most telling metrics: those with an ideal of 1, of lists the worst entry."""
        names = [name for name in self.system.ratios if name in self.metrics] or list(self.metrics)[:SHOWN]
        return [(name, _worst(self.metrics[name], name in self.system.ratios)) for name in names]

    def _repr_html_(self) -> str:
        """For a notebook: verdict, figure and numbers, like the top of the report."""
        from hilt.report import summary

        title = f"<b>{html.escape(f'{self.system.name} · {self.name}')}</b> {html.escape(self.scenario.summary)}"
        return title + summary.notebook(self.result)


def _worst(value: Any, ratio: bool) -> Any:
    """Return a list's entry farthest from its ideal, or the largest; other values as they are."""
    if not isinstance(value, list) or not value:
        return value
    return max(value, key=lambda each: abs(each - 1.0) if ratio else each)
