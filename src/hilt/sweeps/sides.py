"""Axes of a sweep as shown, and metrics in words; shared by the pictures of reports and of the cockpit."""

from dataclasses import dataclass

import numpy as np

from hilt.core.system import System
from hilt.sweeps import scales
from hilt.sweeps.space import Axis, Space, unit_of, value_of
from hilt.sweeps.table import base_name

DIVERGED = "diverged"


@dataclass(frozen=True)
class Side:
    """One numeric axis as drawn."""

    key: str
    values: np.ndarray  # in the unit shown
    unit: str
    log: bool
    here: float | None  # the scenario's own value, if it is inside the range
    order: np.ndarray  # sorts the axis's places: a list may be given in any order

    @property
    def label(self) -> str:
        return scales.labelled(self.key, self.unit)

    def text(self, n: int) -> str:
        return f"{self.key} = {self.values[n]:.4g} {self.unit}".rstrip()


def kind(axis: Axis) -> str:
    """What an axis is drawn as: numbers, words, or something to average over."""
    if axis.drawn or axis.keys == ("seed",):
        return "averaged"
    return "number" if axis.column(axis.keys[0]).dtype.kind in "if" else "word"


def of(space: Space, n: int) -> Side:
    axis = space.axes[n]
    (key,) = axis.keys
    values = axis.column(key).astype(float)
    order = np.argsort(values)
    values = values[order]
    factor, unit = scales.readable(float(np.abs(values).max()), unit_of(space.system, key))
    here = value_of(space.base, key)
    inside = isinstance(here, int | float) and values[0] <= here <= values[-1] and len(values) > 1
    return Side(key, factor * values, unit, axis.log, factor * float(here) if inside else None, order)


def title(system: System, name: str) -> str:
    known = system.metric_words
    base = name if name in known else base_name(name)
    words = known.get(base, base)
    if base == name:
        return words
    tail = name.removeprefix(f"{base}_")
    return f"{words}: {'largest error' if tail == 'error' else f'number {tail}'}"


def is_error(system: System, name: str) -> bool:
    """Whether a column is the largest error of a list of ratios."""
    return name not in system.metric_words and name.endswith("_error")


def shown_as(system: System, name: str, largest: float) -> tuple[float, str]:
    """Return the factor and the unit in which a metric is shown: errors in percent, the rest in a readable unit."""
    if is_error(system, name):
        return 100.0, "%"
    if name == DIVERGED:
        return 100.0, "% of runs"
    return scales.readable(largest, scales.unit_of_metric(name))


def colours_of(system: System, axis: Axis) -> list[str | None]:
    """Return the colours that the values of an axis of words have in all pictures of a system; None for one without."""
    known = getattr(system.part("views.choices"), "COLOURS", {}).get(axis.keys[0], {})
    return [known.get(point[0]) for point in axis.points]
