"""Maps: the boundary of a limit over two keys of a scenario, with closed forms over it and the scenario marked."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from hilt.core.faults import InputError
from hilt.core.scenario import Scenario
from hilt.core.system import System
from hilt.sweeps import boundary, edges
from hilt.sweeps.batch import Batch
from hilt.sweeps.beyond import Limit
from hilt.sweeps.edges import Form
from hilt.sweeps.space import given_value_of, unit_of

POINTS = 25  # along an axis of the coarse grid
FORM_POINTS = 33  # the same for closed forms, which cost no simulation
SPAN = 4.0  # of the default range, up and down
MOST_POINTS = 1000


@dataclass(frozen=True)
class Side:
    """One axis of a map [SI]."""

    key: str
    unit: str
    low: float
    high: float
    points: int = POINTS
    log: bool = False

    def __post_init__(self) -> None:
        if not 2 <= self.points <= MOST_POINTS:
            raise InputError(
                f"{self.key} has {self.points} points; a map needs 2 to {MOST_POINTS} along each axis", key=self.key
            )
        if not self.low < self.high or (self.log and self.low <= 0.0):
            raise InputError(
                f"{self.key} from {self.low:g} to {self.high:g} {self.unit} is empty; write the smaller end first", key=self.key
            )

    def values(self, shares: np.ndarray) -> np.ndarray:
        """From 0..1 to the axis."""
        if self.log:
            return np.asarray(self.low * (self.high / self.low) ** shares)
        return np.asarray(self.low + (self.high - self.low) * shares)

    def shares(self, values: np.ndarray) -> np.ndarray:
        """From the axis to 0..1."""
        if self.log:
            return np.asarray(np.log(np.asarray(values) / self.low) / np.log(self.high / self.low))
        return np.asarray((np.asarray(values) - self.low) / (self.high - self.low))


def shown_unit(system: System, key: str) -> str:
    """The unit of a key, as people read it; a plain number has none."""
    return unit_of(system, key).replace("1", "")


def side(batch: Batch, key: str) -> Side:
    """Return the default range of a key: a quarter to four times the scenario's value, logarithmic."""
    value, unit = number_of(batch.base, key), shown_unit(batch.system, key)
    if not value > 0.0:
        raise InputError(
            f"{key} is {value:g} {unit} here, which gives no range; write one, such as {key}='0..10 {unit}:25'", key=key
        )
    return Side(key, unit, value / SPAN, value * SPAN, POINTS, log=True)


def number_of(base: Scenario, key: str) -> float:
    found = given_value_of(base, key)
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise InputError(f"{key} is {found!r}; an axis of a map needs a key with a number; choose another", key=key)
    return float(found)


@dataclass(frozen=True)
class Curve:
    """A closed form over a map; its lines have the same axes."""

    form: Form
    lines: tuple[np.ndarray, ...]


@dataclass(frozen=True)
class Map:
    """A map in SI units. `lines` are the boundary; `grid[i, j]` tells whether a point of the coarse grid is beyond it."""

    x: Side
    y: Side
    limits: tuple[Limit, ...]
    lines: tuple[np.ndarray, ...]
    patches: tuple[np.ndarray, ...]  # polygons that together cover the region beyond the limits
    grid: np.ndarray
    curves: tuple[Curve, ...]
    here: tuple[float, float]  # the scenario's own values
    engine: str
    runs: int
    title: str = ""

    @property
    def points(self) -> np.ndarray:
        return np.concatenate(self.lines) if self.lines else np.zeros((0, 2))

    @property
    def share_beyond(self) -> float:
        """Share of the map beyond the limits, by area as drawn."""
        return sum(_area(np.column_stack([self.x.shares(p[:, 0]), self.y.shares(p[:, 1])])) for p in self.patches)

    def crossings(self, lines: tuple[np.ndarray, ...] | None = None) -> tuple[list[float], list[float]]:
        """Values of x where the boundary, or other lines, has the scenario's y; and values of y where it has its x."""
        return _crossings(self.lines if lines is None else lines, self.x, self.y, self.here)

    def as_json(self) -> dict[str, Any]:
        across, up = self.crossings()
        return {
            "x": _axis(self.x),
            "y": _axis(self.y),
            "limits": [limit.text for limit in self.limits],
            "boundary": self.points.tolist(),
            "lines": [line.tolist() for line in self.lines],
            "grid": self.grid.astype(int).tolist(),
            "closed_forms": [
                {
                    "name": curve.form.name,
                    "formula": curve.form.formula,
                    "leaves_out": curve.form.leaves_out,
                    "lines": [line.tolist() for line in curve.lines],
                }
                for curve in self.curves
            ],
            "scenario": list(self.here),
            "at_scenario": {"x": across, "y": up},
            "engine": self.engine,
            "runs": self.runs,
        }


def _area(polygon: np.ndarray) -> float:
    x, y = polygon.T
    return float(0.5 * abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1))))


def _crossings(lines: tuple[np.ndarray, ...], x: Side, y: Side, here: tuple[float, float]) -> tuple[list[float], list[float]]:
    """Interpolate between neighbouring points, on the axes as drawn."""
    found: tuple[list[float], list[float]] = ([], [])
    scaled = [np.column_stack([x.shares(line[:, 0]), y.shares(line[:, 1])]) for line in lines]
    with np.errstate(divide="ignore", invalid="ignore"):  # a scenario at 0 on a logarithmic axis is on no line
        at = float(x.shares(np.array(here[0]))), float(y.shares(np.array(here[1])))
    for n, side in enumerate((x, y)):
        other = 1 - n
        for line in scaled:
            height = line[:, other] - at[other]
            for k in np.flatnonzero((height[:-1] <= 0.0) != (height[1:] <= 0.0)):
                share = height[k] / (height[k] - height[k + 1])
                found[n].append(float(side.values(line[k, n] + share * (line[k + 1, n] - line[k, n]))))
        found[n].sort()
    return found


def _axis(one: Side) -> dict[str, Any]:
    return {"key": one.key, "unit": one.unit, "low": one.low, "high": one.high, "points": one.points, "log": one.log}


def draw(batch: Batch, x: Side, y: Side, limits: tuple[Limit, ...], halvings: int = boundary.HALVINGS) -> Map:
    """Run the coarse grid and the bisection, and add the closed forms."""
    if x.key == y.key:
        raise InputError(f"both axes are {x.key}; a map needs two different keys", key=x.key)
    here = number_of(batch.base, x.key), number_of(batch.base, y.key)
    keys = (x.key, y.key)

    def beyond(shares: np.ndarray) -> np.ndarray:
        return batch.beyond(keys, _scaled(shares, x, y).tolist(), limits)

    found = boundary.find(beyond, x.points, y.points, halvings)
    curves = tuple(Curve(form, _form_lines(batch, form, x, y)) for form in edges.forms(batch.system, batch.base, limits))
    lines = tuple(_scaled(line, x, y) for line in found.lines)
    patches = tuple(_scaled(patch, x, y) for patch in found.patches)
    return Map(x, y, limits, lines, patches, found.grid, curves, here, batch.engine.name, batch.runs, title=batch.name)


def _scaled(shares: np.ndarray, x: Side, y: Side) -> np.ndarray:
    return np.column_stack([x.values(shares[:, 0]), y.values(shares[:, 1])])


def _form_lines(batch: Batch, form: Form, x: Side, y: Side) -> tuple[np.ndarray, ...]:
    """The same refinement for a formula; where it has no value, as for an invalid scenario, it counts as not beyond."""

    def beyond(shares: np.ndarray) -> np.ndarray:
        return np.array([_height(batch, form, (x.key, y.key), point) > 0.0 for point in _scaled(shares, x, y)], bool)

    found = boundary.find(beyond, FORM_POINTS, FORM_POINTS)
    return tuple(_scaled(line, x, y) for line in found.lines)


def _height(batch: Batch, form: Form, keys: tuple[str, str], point: np.ndarray) -> float:
    try:
        return form.height(batch.scenario(keys, point.tolist()))
    except InputError:
        return float("nan")
