"""Limits of a map or a margin, such as `diverged`, `cof=0.05` or `tank_min_J<0`: a run beyond one of them has failed.

A run that ended with a fault is beyond every limit, because a facility that stops has failed. So is a run without the metric.
"""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from hilt.core.faults import InputError, shortened
from hilt.core.system import System
from hilt.core.units import to_si
from hilt.sweeps.columns import Columns

_FORM = re.compile(r"\s*([A-Za-z]\w*)\s*(?:(=|<|>)\s*(.+?)\s*)?")
_PART = re.compile(r"_(error|[0-9]+)$")  # of a list, as columns.py names its columns
EXAMPLES = "diverged, cof=5% or tank_min_J<0"


@dataclass(frozen=True)
class Limit:
    """A metric and the value beyond which a run has failed; a yes-or-no metric needs no value."""

    metric: str
    value: float = 0.5  # for a yes-or-no metric, which is 0 or 1
    below: bool = False  # whether a value below the limit is beyond it
    words: str = ""  # what being beyond it means

    @property
    def meaning(self) -> str:
        """The limit for people: what it means, and how it is measured."""
        return f"{self.words}: {self.text}" if self.words else self.text

    @property
    def text(self) -> str:
        if self.value == 0.5 and not self.below:
            return self.metric
        return f"{self.metric} {'<' if self.below else '>'} {self.value:g}"

    def beyond(self, system: System, columns: Columns) -> np.ndarray:
        values = worst(system, self.metric, columns, lowest=self.below)
        off = values < self.value if self.below else values > self.value
        found: np.ndarray = off | np.isnan(values) | (columns["fault"] != 0)
        return found


def worst(system: System, metric: str, columns: Columns, lowest: bool = False) -> np.ndarray:
    """Return the values of a metric: for a list its largest or lowest entry, for a ratio the largest distance from 1."""
    name = f"{metric}_error" if metric in system.ratios and f"{metric}_error" in columns else metric
    if name in columns:
        return np.asarray(columns[name], float)
    entries = [values for key, values in columns.items() if _PART.sub("", key) == metric]
    if not entries:
        raise unknown(system, metric, [each for each in columns if each not in ("ticks", "fault")])
    return np.asarray(np.fmin.reduce(entries) if lowest else np.fmax.reduce(entries), float)


def unknown(system: System, name: str, known: Any) -> InputError:
    return InputError(
        f"{shortened(name)!r} is not a metric of {system.name} in this scenario; choose one of {', '.join(known)}"
    )


def read(system: System, text: str) -> Limit:
    """Read a limit as typed; whether its metric exists is checked before anything runs."""
    found = _FORM.fullmatch(text)
    if found is None:
        raise InputError(f"--limit {shortened(text)!r} is not a limit; write it like {EXAMPLES}")
    name, sign, value = found.groups()
    check(system, name)
    if sign is None:
        return Limit(name)
    try:
        number = to_si(value, "1")
    except ValueError as error:
        raise InputError(
            f"--limit {shortened(text)!r}: the value must be a plain SI number, such as {name}=0.05; {error}"
        ) from None
    return Limit(name, number, below=sign == "<")


def check(system: System, name: str) -> None:
    """Refuse a metric that no run of this system can have."""
    if _PART.sub("", name) not in system.metric_words and name not in system.metric_words:
        raise unknown(system, name, system.metric_words)


def beyond(system: System, limits: tuple[Limit, ...], columns: Columns) -> np.ndarray:
    """Return for each run whether it is beyond any of several limits."""
    found: np.ndarray = np.logical_or.reduce([limit.beyond(system, columns) for limit in limits])
    return found
