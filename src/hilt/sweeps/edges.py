"""What a system knows about its own edges: keys that matter, limits that count, closed forms, and advice.

A system defines it in `analysis.edges`; each of these functions may be missing:

    limits(scenario)        -> tuple[Limit, ...]     limits to use if the user gives none
    goals(scenario)         -> tuple[Limit, ...]     the goal of the scenario as limits, if they differ
    vital(scenario)         -> list[Vital]           the keys whose critical values matter
    forms(scenario, limit)  -> list[Form]            closed forms of that limit, if any
    metrics(scenario)       -> list[str]             the columns of the sensitivity analysis
    advice(scenario)        -> str                   the method advised, and why
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hilt.core.faults import InputError
from hilt.core.system import System
from hilt.sweeps.beyond import Limit


@dataclass(frozen=True)
class Form:
    """A closed form of an edge: a scenario is beyond it if its `height` is above 0."""

    name: str
    formula: str
    leaves_out: str
    height: Callable[[Any], float]
    bound: bool = False  # not where this loop crosses the limit, but beyond which no method can keep it


@dataclass(frozen=True)
class Vital:
    """A key that matters, and the range in which its critical value is searched for [SI]."""

    key: str
    low: float
    high: float
    chosen: bool = False  # set by the user and known exactly; the others have to be measured


def around(key: str, value: float, span: float = 20.0, most: float = 0.0, chosen: bool = False) -> Vital:
    """Return a key to search from a fraction to a multiple of its value, or from 0 to `most` if it is 0."""
    return Vital(key, value / span, value * span, chosen) if value > 0.0 else Vital(key, 0.0, most, chosen)


def _part(system: System, name: str) -> Any:
    return getattr(system.part("analysis.edges"), name, None)


def limits(system: System, scenario: Any) -> tuple[Limit, ...]:
    own = _part(system, "limits")
    if own is not None:
        found: tuple[Limit, ...] = own(scenario)
        return found
    if "diverged" in system.metric_words:
        return (Limit("diverged"),)
    raise InputError(
        f"{system.name} has no limit of its own; give one with --limit METRIC=VALUE; "
        f"its metrics are {', '.join(system.metric_words)}"
    )


def goals(system: System, scenario: Any) -> tuple[Limit, ...]:
    own = _part(system, "goals")
    return () if own is None else tuple(own(scenario))


def vital(system: System, scenario: Any) -> list[Vital]:
    own = _part(system, "vital")
    return [] if own is None else list(own(scenario))


def forms(system: System, scenario: Any, limits: tuple[Limit, ...]) -> list[Form]:
    own = _part(system, "forms")
    return [] if own is None else [form for limit in limits for form in own(scenario, limit)]


def metrics(system: System, scenario: Any) -> list[str]:
    own = _part(system, "metrics")
    return [] if own is None else list(own(scenario))


def advice(system: System, scenario: Any) -> str:
    own = _part(system, "advice")
    return "" if own is None else str(own(scenario))
