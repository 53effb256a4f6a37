"""The numbers of a report: the ten that matter most, and all of them, folded."""

import html
import itertools
import math
from collections.abc import Iterable
from typing import Any

from hilt.core.missing import Missing
from hilt.core.system import System
from hilt.job import Result
from hilt.report import words
from hilt.report.table import table

MOST = 10
Numbers = Iterable[tuple[str, str]]  # name and value


def ten(result: Result) -> list[tuple[str, str]]:
    """Return the system's choice, or else its first metrics."""
    own: Any = result.system.part("views.report")
    found = own.numbers(result) if hasattr(own, "numbers") and result.survey is None else plain(result)
    return list(itertools.islice(found, MOST))


def section(result: Result) -> str:
    """Return the ten as HTML."""
    rows = [(html.escape(what), html.escape(value)) for what, value in ten(result)]
    return table(("", ""), rows, titled=False) if rows else ""


def plain(result: Result) -> Numbers:
    """Yield the metrics of a system that does not choose, in their order, without empty ones."""
    for name, value in result.metrics.items():
        if not _empty(value):
            yield result.system.metric_words.get(name, name), shown(result.system, name, value, 3)


def named(result: Result, *names: str) -> Numbers:
    """Yield the metrics with these names, without empty ones."""
    for name in names:
        value = result.metrics.get(name)
        if not _empty(value):
            yield result.system.metric_words.get(name, name), shown(result.system, name, value, 3)


def _empty(value: Any) -> bool:
    if isinstance(value, list):
        return all(map(_empty, value))
    return (
        value is None or value is False or isinstance(value, Missing) or (isinstance(value, float) and not math.isfinite(value))
    )


def every(result: Result) -> str:
    """Return all metrics as HTML."""
    rows = [
        (html.escape(result.system.metric_words.get(name, name)), html.escape(shown(result.system, name, value)))
        for name, value in result.metrics.items()
    ]
    return table(("", ""), rows, titled=False)


def shown(system: System, name: str, value: Any, digits: int = 4) -> str:
    """Return a readable metric; a ratio whose ideal is 1 as its deviation."""
    if name in system.ratios:
        return words.off_one(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list) and len(value) > 1 and len({text := words.metric(name, each, digits) for each in value}) == 1:
        return f"{text}, all {len(value)}"
    return words.metric(name, value, digits)
