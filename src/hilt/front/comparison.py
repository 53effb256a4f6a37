"""Several runs of one scenario with changed values: `hilt.compare`."""

import html
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from hilt.core import scenario
from hilt.core.faults import InputError, shortened
from hilt.front import pictures, tables
from hilt.front.run import Run
from hilt.report import words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DRAWN = 12  # most runs in one picture
LISTED = 60  # most runs in a table


class Comparison(Mapping[str, Run]):
    """Runs, keyed by their changed values as text; `over` maps each changed key to its values as given.

    >>> runs = hilt.compare("docking", "table1", over={"compensate.method": ["none", "pida", "twin"]})
    >>> runs["twin"].metrics["cov"]
    >>> runs.frame()                    # one row per run
    >>> runs.plot("cov")                # a metric over the changed value;   runs.plot("F_C_true_W.x"): signals over time
    """

    def __init__(self, runs: dict[str, Run], over: dict[str, list[Any]]) -> None:
        self._runs, self.over = runs, over

    def __getitem__(self, label: str) -> Run:
        if label not in self._runs:
            raise KeyError(f"{shortened(label)!r} is not one of the runs {', '.join(list(self._runs)[:LISTED])}")
        return self._runs[label]

    def __iter__(self) -> Iterator[str]:
        return iter(self._runs)

    def __len__(self) -> int:
        return len(self._runs)

    def frame(self) -> Any:
        """Return a pandas table with one row per run: the changed values in SI, then the metrics, one column per entry."""
        pandas = tables.library("pandas", "frame()")
        lines = []
        for run in self.values():
            line: dict[str, Any] = {self._labelled(key): _value(run, key) for key in self.over}
            line["verdict"] = run.verdict.kind
            for name, value in run.metrics.items():
                entries = {f"{name}[{n}]": each for n, each in enumerate(value)} if isinstance(value, list) else {name: value}
                line |= entries
            lines.append(line)
        return pandas.DataFrame(lines, index=pandas.Index(list(self), name="run"))

    def _labelled(self, key: str) -> str:
        unit = dict(scenario.keys(self._first.system.scenario)).get(key, "")
        return f"{key} [{unit}]" if unit and unit != "1" else key

    @property
    def _first(self) -> Run:
        return next(iter(self.values()))

    def plot(self, name: str, axes: "Axes | None" = None) -> "Axes":
        """Draw a metric over the changed value, or a signal of each run over time; returns the axes."""
        if axes is None:
            import matplotlib.pyplot as plt

            axes = plt.subplots(layout="constrained")[1]
        if any(name in run.metrics for run in self.values()):
            return self._plot_metric(name, axes)
        if len(self) > DRAWN:
            raise InputError(f"a signal of {len(self)} runs does not fit in one picture; draw at most {DRAWN} of them")
        for label, run in self.items():
            values = run[name]
            if values.ndim > 1:
                raise InputError(f"{name} has {values.shape[1]} entries; draw one of them, such as {name}.x")
            axes.plot(values.t, values[:], label=label)
            axes.set(xlabel="t [s]", ylabel=f"{name} [{values.unit}]", title=values.meaning)
        axes.legend(title=", ".join(self.over))
        return axes

    def _plot_metric(self, name: str, axes: "Axes") -> "Axes":
        if len(self.over) != 1:
            raise InputError(f"{name} can be drawn over one changed key only, not over {', '.join(self.over)}; use frame()")
        key = next(iter(self.over))
        found = [run.metrics.get(name) for run in self.values()]
        places = [_value(run, key) for run in self.values()]
        length = max(len(each) if isinstance(each, list) else 1 for each in found)
        for n in range(length):
            heights = [(each[n] if n < len(each) else None) if isinstance(each, list) else each for each in found]
            numbers = [float("nan") if height is None else float(height) for height in heights]
            axes.plot(
                places, numbers, "o" if isinstance(places[0], str) else ".-", label=f"{name}[{n}]" if length > 1 else name
            )
        if length > 1:
            axes.legend()
        axes.set(xlabel=self._labelled(key), ylabel=name, title=self._first.system.metric_words.get(name, name))
        return axes

    def __repr__(self) -> str:
        return "\n".join(f"{label:>12s}  {run!r}" for label, run in list(self.items())[:LISTED])

    def _repr_html_(self) -> str:
        """For a notebook: one row per run, and the comparison's picture if the system has one."""
        heads = ["", *(name for name, _ in self._first._headline()), "verdict"]
        lines = [
            [label, *(words.metric(name, value) for name, value in run._headline()), run.verdict.sentence]
            for label, run in list(self.items())[:LISTED]
        ]
        found: Any = self._first.system.part("views.report")
        drawn = ""
        if 1 < len(self) <= DRAWN and hasattr(found, "comparison_picture"):
            from hilt.report import figure

            with figure.styled():
                drawn = pictures.block(found.comparison_picture({label: run.result for label, run in self.items()}))
        title = f"{self._first.system.name} · {self._first.name}"
        return f"<b>{html.escape(title)}</b>{pictures.cells([heads, *lines])}{drawn}"


def _value(run: Run, key: str) -> Any:
    """Return a key's value in a run, in SI."""
    found: Any = run.scenario
    for part in key.split("."):
        found = found[int(part)] if part.isdigit() else found.get(part) if isinstance(found, dict) else getattr(found, part)
    return found
