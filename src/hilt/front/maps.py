"""Where a loop fails, and how far a scenario is from there: `hilt.map` and `hilt.margin`."""

import html
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hilt.core.faults import InputError
from hilt.front import pictures, tables
from hilt.sweeps import asking, edges, map_page, maps, margin_page
from hilt.sweeps import margin as margins
from hilt.sweeps.batch import Batch
from hilt.sweeps.critical import Critical, Found
from hilt.sweeps.margin import Question
from hilt.sweeps.sensitivity import Sensitivity

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hilt.front.door import Found as Chosen


class Map:
    """The boundary beyond which a loop fails, over two of its keys: the result of `hilt.map`. Values are in SI units.

    >>> found = hilt.map("docking", "table1", {"compensate.method": "none"}, x="robot.delay=0.5..4 ms", y="contact.stiffness")
    >>> found.boundary              # an array of points (x, y)
    >>> found.frame()               # the same as a pandas table
    >>> found.plot()                # a figure: the region beyond, closed forms, the scenario
    """

    def __init__(self, batch: Batch, found: maps.Map) -> None:
        self._batch, self._found = batch, found

    @property
    def keys(self) -> tuple[str, str]:
        return self._found.x.key, self._found.y.key

    @property
    def boundary(self) -> np.ndarray:
        """Points (x, y) of all lines of the boundary."""
        return self._found.points

    @property
    def lines(self) -> tuple[np.ndarray, ...]:
        """The boundary: one array per line."""
        return self._found.lines

    @property
    def closed_forms(self) -> dict[str, tuple[np.ndarray, ...]]:
        """Lines of each closed form, by name."""
        return {curve.form.name: curve.lines for curve in self._found.curves}

    @property
    def grid(self) -> np.ndarray:
        """Whether each point of the coarse grid, x by y, is beyond."""
        return self._found.grid

    @property
    def here(self) -> tuple[float, float]:
        """The scenario's point (x, y)."""
        return self._found.here

    @property
    def at_scenario(self) -> tuple[list[float], list[float]]:
        """Where the boundary crosses the lines through the scenario: values of x, and values of y."""
        return self._found.crossings()

    @property
    def sentences(self) -> list[str]:
        return list(map_page.sentences(self._found))

    @property
    def runs(self) -> int:
        return self._found.runs

    def as_json(self) -> dict[str, Any]:
        """Return what `hilt map --json` prints."""
        return _as_json(self._batch, self._found)

    def frame(self) -> Any:
        """Return a pandas table with one row per point of the boundary; `attrs["units"]` has the units."""
        pandas = tables.library("pandas", "frame()")
        number = np.concatenate([np.full(len(line), n) for n, line in enumerate(self.lines)] or [np.zeros(0, int)])
        found = pandas.DataFrame({"line": number, **dict(zip(self.keys, self.boundary.T, strict=True))})
        found.attrs["units"] = {side.key: side.unit for side in (self._found.x, self._found.y)}
        return found

    def plot(self) -> "Figure":
        return map_page.picture(self._found).figure

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write the page as an HTML file."""
        return _write(path, map_page.render(self._found, self._title, self._batch.base.summary))

    @property
    def _title(self) -> str:
        return map_page.title(self._batch, self._found)

    def __repr__(self) -> str:
        return f"<Map {self._title}; {self.runs} runs>"

    def _repr_html_(self) -> str:
        return f"<b>{html.escape(self._title)}</b>" + pictures.block(map_page.picture(self._found))


class Margin:
    """How far a scenario is from its edges: the result of `hilt.margin`. Values are in SI units.

    >>> found = hilt.margin("docking", "table1", {"compensate.method": "none", "robot.delay": "1 ms"})
    >>> found.critical["robot.delay"].value, found.critical["robot.delay"].margin
    >>> found.frame()               # one row per key
    >>> found.advice
    """

    def __init__(self, batch: Batch, found: margins.Margin) -> None:
        self._batch, self._found = batch, found

    @property
    def critical(self) -> dict[str, Critical]:
        """For each key its value now, the critical one and the distance: `.now`, `.value`, `.margin`, `.unit`, `.searched`."""
        return _by_key(self._found.edge)

    @property
    def goal(self) -> dict[str, Critical] | None:
        """The same for the scenario's goal; None if it has no goal or if limits were given."""
        return None if self._found.goal is None else _by_key(self._found.goal)

    @property
    def beyond(self) -> bool:
        """Whether the scenario is already beyond its edge."""
        return self._found.edge.beyond

    @property
    def advice(self) -> str:
        return self._found.advice

    @property
    def sobol(self) -> Sensitivity | None:
        return self._found.sobol

    @property
    def sentences(self) -> list[str]:
        return list(margin_page.verdict(self._found))

    @property
    def runs(self) -> int:
        return self._found.runs

    def as_json(self) -> dict[str, Any]:
        """Return what `hilt margin --json` prints."""
        return _as_json(self._batch, self._found)

    def frame(self) -> Any:
        """Return a pandas table with one row per key. NaN: no critical value within the searched range."""
        pandas = tables.library("pandas", "frame()")
        return pandas.DataFrame(list(self._lines())).set_index("key")

    def _lines(self) -> Iterator[dict[str, Any]]:
        for key, each in self.critical.items():
            line = {"key": key, "unit": each.unit, "now": each.now, "critical": each.value, "margin": each.margin}
            if self.goal is not None:
                line |= {"goal": self.goal[key].value, "goal_margin": self.goal[key].margin}
            numbers = {name: np.nan if value is None else value for name, value in line.items()}
            yield {**numbers, "searched_from": each.searched[0], "searched_to": each.searched[1]}

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write the page as an HTML file."""
        return _write(path, margin_page.render(self._found, self._title, self._batch.base.summary))

    @property
    def _title(self) -> str:
        return margin_page.title(self._batch)

    def __repr__(self) -> str:
        return f"<Margin {self._title}; {self.sentences[0]}>"

    def _repr_html_(self) -> str:
        text = "".join(f"<p>{html.escape(each)}</p>" for each in self.sentences)
        table = pictures.cells([margin_page.head(self._found), *margin_page.rows(self._found)])
        return f"<b>{html.escape(self._title)}</b>{text}{table}"


def draw(chosen: "Chosen", x: str, y: str, limits: Sequence[str], seeds: int, engine: str) -> Map:
    batch = asking.batch(chosen, seeds, engine)
    sides = asking.side(batch, "x", x), asking.side(batch, "y", y)
    return Map(batch, maps.draw(batch, *sides, asking.limits(batch, limits) or edges.limits(batch.system, batch.base)))


def find(
    chosen: "Chosen",
    limits: Sequence[str],
    keys: Sequence[str],
    uncertain: Mapping[str, str],
    metrics: Sequence[str],
    samples: int,
    seeds: int,
    engine: str,
) -> Margin:
    batch = asking.batch(chosen, seeds, engine)
    question = Question(
        limits=asking.limits(batch, limits),
        keys=tuple(keys),
        uncertain=dict(asking.uncertain(batch, f"{key}={text}") for key, text in uncertain.items()) or None,
        metrics=asking.metrics(batch.system, ",".join(metrics)),
        samples=samples,
    )
    return Margin(batch, margins.find(batch, question))


def _by_key(found: Found) -> dict[str, Critical]:
    return {each.key: each for each in found.keys}


def _as_json(batch: Batch, found: maps.Map | margins.Margin) -> dict[str, Any]:
    return {"system": batch.system.name, "scenario": batch.name, **found.as_json()}


def _write(path: str | os.PathLike[str], text: str) -> Path:
    found = Path(path)
    try:
        found.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"the page {found} cannot be written: {error.strerror}; choose another path") from None
    return found
