"""An axis of a sweep as it is shown, and a metric in words: what the pictures of reports and of the cockpit share."""

from dataclasses import dataclass

import numpy as np

from hilt.core.system import System
from hilt.sweeps import scales
from hilt.sweeps.space import Axis, Space, unit_of, value_of
from hilt.sweeps.table import base_name

DIVERGED = "diverged"


@dataclass(frozen=True)
class Side:
    """One numeric axis as it is drawn."""

    key: str
    values: np.ndarray  # in what people read
    unit: str
    log: bool
    here: float | None  # where the scenario stands, if that lies inside
    order: np.ndarray  # of the axis's places: a list may be given in any

    @property
    def label(self) -> str:
        return scales.labelled(self.key, self.unit)

    def said(self, n: int) -> str:
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
    told = known.get(base, base)
    if base == name:
        return told
    tail = name.removeprefix(f"{base}_")
    return f"{told}: {'largest error' if tail == 'error' else f'number {tail}'}"


def is_error(system: System, name: str) -> bool:
    """Whether a column is the largest error of a list of ratios."""
    return name not in system.metric_words and name.endswith("_error")


def shown_as(system: System, name: str, largest: float) -> tuple[float, str]:
    """By what a metric is multiplied, and its unit then: errors in percent, the rest as people read it."""
    if is_error(system, name):
        return 100.0, "%"
    if name == DIVERGED:
        return 100.0, "% of runs"
    return scales.readable(largest, scales.unit_of_metric(name))


def colours_of(system: System, axis: Axis) -> list[str | None]:
    """The colours that the values of an axis of words have in all pictures of a system; None for one that has none."""
    known = getattr(system.part("views.choices"), "COLOURS", {}).get(axis.keys[0], {})
    return [known.get(point[0]) for point in axis.points]
