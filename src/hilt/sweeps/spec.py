"""Reads an axis as people write it: `2..40 ms:39`, `10..300 N/mm:60 log`, `none,pida,twin`, `normal(176,9) N/mm:500`.

A text is read in two steps: its form, which tells how many values there are, and then the values in SI, for which the unit of
its key must be known. So a grid of 10^12 scenarios is refused before any of its values exists.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hilt.core import scenario
from hilt.core.faults import InputError, shortened
from hilt.core.units import to_si

LONGEST = 20_000  # characters of a text
DIGITS = 12  # of a value on a range, so that 0.3 on an axis is the 0.3 that a user types
FORMS = "2..40 ms:39, '10..300 N/mm:60 log', 1,2,5 ms, none,pida or 'normal(176,9) N/mm:500'"

_NUMBER = r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
_UNIT = r"[A-Za-zµΩ°%][^:,()]*?"
_COUNT = r"(?:\s*:\s*(?P<count>[0-9]+))?"
_RANGE = re.compile(
    rf"\s*(?P<low>{_NUMBER})\s*(?P<low_unit>{_UNIT})?\s*\.\.\s*(?P<high>{_NUMBER})\s*(?P<unit>{_UNIT})?{_COUNT}(?P<log>\s+log)?\s*"
)
_QUANTITY = re.compile(rf"\s*({_NUMBER})\s*({_UNIT})?\s*")
_DRAWN = re.compile(
    rf"\s*(?P<kind>[a-z]+)\s*\(\s*(?P<a>{_NUMBER})\s*(?P<a_unit>{_UNIT})?\s*,\s*(?P<b>{_NUMBER})\s*(?P<b_unit>{_UNIT})?\s*\)"
    rf"\s*(?P<unit>{_UNIT})?{_COUNT}\s*"
)


def read(key: str, text: str) -> "Spec":
    """Read the form of an axis, or refuse it with the reason."""
    if len(text) > LONGEST:
        raise InputError(
            f"{key} has {len(text)} characters of values; at most {LONGEST} are read; give a range such as 2..40 ms:39", key=key
        )
    if found := _RANGE.fullmatch(text):
        return _range(key, text.strip(), found)
    if found := _DRAWN.fullmatch(text):
        return _drawn(key, text.strip(), found)
    if ".." in text or "(" in text:
        raise InputError(f"{key}={shortened(text)!r} is not understood; write it like {FORMS}", key=key)
    return _words(key, text.strip())


@dataclass(frozen=True)
class Range:
    """Evenly spaced values, or values with even ratios, both ends included."""

    text: str
    low: float
    low_unit: str
    high: float
    unit: str
    count: int
    log: bool

    def values(self, key: str, unit: str) -> tuple[float, ...]:
        """Space the values in the unit of the text, then convert: 20 ms on an axis is what `--set` makes of '20 ms'."""
        convert = _converter(key, self.text, self.unit, unit)
        low = self.low
        if self.low_unit != self.unit:
            low = float(_converter(key, self.text, self.low_unit, unit)(np.array([low]))[0] / convert(np.array([1.0]))[0])
        self._check(key, low)
        space = np.geomspace if self.log else np.linspace
        between = np.array([float(f"{value:.{DIGITS}g}") for value in space(low, self.high, self.count)])
        return tuple(convert(between).tolist())

    def _check(self, key: str, low: float) -> None:
        if self.count > 1 and not low < self.high:
            raise InputError(
                f"{key}={self.text!r} is empty: {low:g} is not below {self.high:g} {self.unit}".rstrip()
                + "; write the smaller end first",
                key=key,
            )
        if self.log and not low > 0.0:
            raise InputError(
                f"{key}={self.text!r} goes through zero: a logarithmic range needs both ends above 0, and its lower end is "
                f"{low:g} {self.unit}".rstrip()
                + "; raise it, or leave out log",
                key=key,
            )


def _range(key: str, text: str, found: re.Match[str]) -> Range:
    unit = (found["unit"] or "").strip()
    low_unit = (found["low_unit"] or "").strip() or unit
    if found["count"] is None:
        example = f"{text.removesuffix('log').strip()}:20"
        raise InputError(f"{key}={shortened(text)!r} does not say how many values; add a count, such as {example}", key=key)
    count = int(found["count"])
    if count < 1:
        raise InputError(f"{key}={shortened(text)!r} has no values; give a count of at least 1", key=key)
    return Range(text, float(found["low"]), low_unit, float(found["high"]), unit or low_unit, count, bool(found["log"]))


@dataclass(frozen=True)
class Words:
    """Listed values: words, or numbers; those without a unit take that of the last."""

    text: str
    entries: tuple[Any, ...]
    unit: str
    log: bool = False

    @property
    def count(self) -> int:
        return len(self.entries)

    def values(self, key: str, unit: str) -> tuple[Any, ...]:
        if not unit:
            return self.entries
        return tuple(self._quantity(key, each, unit) for each in self.entries)

    @property
    def labels(self) -> list[str]:
        """As they were written, each with its unit."""
        parts = [part.strip() for part in self.text.split(",")]
        return [f"{part} {self.unit}" if self.unit and _bare(n) else part for part, n in zip(parts, self.entries, strict=True)]

    def _quantity(self, key: str, entry: Any, unit: str) -> Any:
        """Convert an entry to SI; one that is not a quantity is left unchanged, for the scenario to check."""
        bare = _bare(entry)
        if not bare and not _QUANTITY.fullmatch(str(entry)):
            return entry
        quantity = f"{entry!r} {self.unit}" if bare and self.unit else entry
        try:
            return to_si(quantity, unit)
        except ValueError as error:
            raise InputError(f"{key} is {shortened(str(quantity))!r}; {error}", key=key) from None


def _bare(entry: Any) -> bool:
    return isinstance(entry, int | float) and not isinstance(entry, bool)


def _words(key: str, text: str) -> Words:
    parts = [part.strip() for part in text.split(",")]
    if not all(parts):
        raise InputError(f"{key}={shortened(text)!r} has an empty value; write it like {FORMS}", key=key)
    entries = tuple(scenario.value(part) for part in parts)
    if any(isinstance(each, list | dict) or "[" in str(each) or "]" in str(each) for each in entries):
        raise InputError(
            f"{key}={shortened(text)!r} is a list or a table; vary its entries one by one, such as {key}.0=…", key=key
        )
    last = _QUANTITY.fullmatch(parts[-1])
    return Words(text, entries, (last[2] or "").strip() if last else "")


def listed(key: str, values: Iterable[Any]) -> Words:
    """Values as a Python program gives them: numbers in SI, or texts with units, or words."""
    entries = tuple(each.item() if hasattr(each, "item") else each for each in values)
    if not entries or not all(isinstance(each, bool | int | float | str) for each in entries):
        raise InputError(f"the axis {key} must be a text such as '2..40 ms:39', or a list of numbers or of words", key=key)
    return Words(", ".join(map(str, entries[:5])), entries, "")


@dataclass(frozen=True)
class Drawn:
    """A distribution: the normal one with mean and standard deviation, or one between two ends. sampling.py draws from it.

    Without a count it is drawn together with all others that have none.
    """

    text: str
    kind: str
    a: float
    a_unit: str
    b: float
    b_unit: str
    count: int | None
    log: bool = False

    def quantiles(self, key: str, unit: str) -> Callable[[np.ndarray], np.ndarray]:
        """Return the quantile function in SI: the value below which a given share of all draws is."""
        a, b = (
            float(_converter(key, self.text, each, unit)(np.array([number]))[0])
            for number, each in ((self.a, self.a_unit), (self.b, self.b_unit))
        )
        return _DISTRIBUTIONS[self.kind](key, self, a, b)


Spec = Range | Words | Drawn


def _normal(key: str, spec: Drawn, mean: float, deviation: float) -> Callable[[np.ndarray], np.ndarray]:
    if not deviation > 0.0:
        raise InputError(f"{key}={spec.text!r} has no spread; the standard deviation must be greater than 0", key=key)
    from scipy.special import ndtri

    return lambda share: mean + deviation * ndtri(share)


def _uniform(key: str, spec: Drawn, low: float, high: float) -> Callable[[np.ndarray], np.ndarray]:
    if not low < high:
        raise InputError(f"{key}={spec.text!r} is empty; write the smaller end first", key=key)
    return lambda share: low + (high - low) * share


def _loguniform(key: str, spec: Drawn, low: float, high: float) -> Callable[[np.ndarray], np.ndarray]:
    if not 0.0 < low < high:
        raise InputError(f"{key}={spec.text!r} needs two ends above 0, the smaller one first", key=key)
    return lambda share: np.exp(np.log(low) + (np.log(high) - np.log(low)) * share)


_DISTRIBUTIONS = {"normal": _normal, "uniform": _uniform, "loguniform": _loguniform}


def _drawn(key: str, text: str, found: re.Match[str]) -> Drawn:
    kind, unit = found["kind"], (found["unit"] or "").strip()
    if kind not in _DISTRIBUTIONS:
        raise InputError(
            f"{key}={shortened(text)!r}: {kind} is not a distribution; choose one of {', '.join(_DISTRIBUTIONS)}",
            key=key,
        )
    count = None if found["count"] is None else int(found["count"])
    if count == 0:
        raise InputError(f"{key}={shortened(text)!r} has no values; give a count of at least 1", key=key)
    units = [(found[name] or "").strip() or unit for name in ("a_unit", "b_unit")]
    return Drawn(text, kind, float(found["a"]), units[0], float(found["b"]), units[1], count, log=kind == "loguniform")


def _converter(key: str, text: str, given: str, unit: str) -> Callable[[np.ndarray], np.ndarray]:
    """Return the conversion from the unit of a text to the SI unit of its key."""
    if given and not unit:
        raise InputError(f"{key}={shortened(text)!r} has the unit {given}, but {key} has none; leave it out", key=key)
    if not given:
        return lambda numbers: numbers
    try:
        factor = to_si(f"1 {given}", unit)
    except ValueError as error:
        raise InputError(f"{key}={shortened(text)!r}: {error}", key=key) from None
    if given == "%":
        return lambda numbers: numbers / 100.0
    return lambda numbers: numbers * factor
