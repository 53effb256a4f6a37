"""Live values, which may be changed while the loop runs: each within its bounds, and along a ramp, so that nothing jumps.

A system names its live values (`System.live`); the limits of the guard are always live, but only downwards: a guard never
allows more than the scenario does. Every change is kept with its tick, and a replay repeats it.
"""

import math
import typing
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import BaseModel

from hilt.core.guard import GUARD, Limits
from hilt.core.scenario import Scenario
from hilt.core.system import Bench, Live, System
from hilt.core.units import Unit

LONGEST = 60.0  # s, ramp
HAIR = 1e-9  # distance kept from an open bound
Change = dict[str, Any]  # tick, key, value, ramp


@dataclass(frozen=True)
class Knob:
    """One live value: its place among the parameters and its allowed range."""

    key: str
    unit: str
    meaning: str
    low: float
    high: float
    ramp: float  # least, s
    places: tuple[np.ndarray, ...]

    @property
    def value(self) -> float:
        return float(self.places[0][...])

    def as_json(self) -> dict[str, Any]:
        bounds = {"low": self.low, "high": self.high}
        return {
            **{name: getattr(self, name) for name in ("key", "unit", "meaning", "value", "ramp")},
            **{name: bound if math.isfinite(bound) else None for name, bound in bounds.items()},
        }


def _place(p: np.ndarray, path: str) -> np.ndarray:
    """A view on one number of the parameters: `stage.field`, or `stage.field.0`."""
    found: Any = p
    for part in path.split("."):
        found = found[:, int(part)] if part.isdigit() else found[part]
    return np.asarray(found)[0:1].reshape(())


def _field(model: type[BaseModel], key: str) -> tuple[Any, Any]:
    """The field of a scenario's key and its section."""
    names = [part for part in key.split(".") if not part.isdigit()]
    for name in names[:-1]:
        annotation = model.model_fields[name].annotation
        choices = [annotation, *typing.get_args(annotation)]
        model = next(each for each in choices if isinstance(each, type) and issubclass(each, BaseModel))
    return model.model_fields[names[-1]], model


def _unit(field: Any) -> str:
    choices = [*field.metadata, *(extra for part in typing.get_args(field.annotation) for extra in typing.get_args(part))]
    return next((each.symbol for each in choices if isinstance(each, Unit)), "")


def _given(values: Any, key: str) -> float | None:
    """The scenario's value; None if it has no such key."""
    for part in key.split("."):
        if values is None:
            return None
        values = values[int(part)] if part.isdigit() else getattr(values, part)
    return values if values is None else float(values)


def _bounds(field: Any) -> tuple[float, float]:
    """Lowest and highest allowed value; just inside an open bound."""
    low, high = -math.inf, math.inf
    for rule in field.metadata:
        if hasattr(rule, "gt"):
            low = max(low, rule.gt + HAIR)
        if hasattr(rule, "lt"):
            high = min(high, rule.lt - HAIR)
        low, high = max(low, getattr(rule, "ge", low)), min(high, getattr(rule, "le", high))
    return low, high


def knobs(system: System, values: Scenario, bench: Bench, on_devices: bool = False) -> dict[str, Knob]:
    """The live values of a run. Plant parameters are not live on devices."""
    found: dict[str, Knob] = {}
    guarded = any(block.kind is GUARD for block in system.tick)  # a system that is only simulated may have no guard
    limits = [name for name in Limits.model_fields if guarded and not name.startswith("workspace")]
    for live in (*system.live, *(Live(f"limits.{name}", (f"guard.{name}",)) for name in limits)):
        given = _given(values, live.key)
        stages = {place.split(".")[0] for place in live.places}
        if given is None or (on_devices and not (live.on_devices and stages <= {block.name for block in system.tick})):
            continue
        field, section = _field(system.scenario, live.key)
        low, high = _bounds(field)
        if issubclass(section, Limits):
            high = given
        meaning = field.description or (section.__doc__ or "").partition("\n")[0]
        places = tuple(_place(bench.p, place) for place in live.places)
        found[live.key] = Knob(live.key, _unit(field), meaning, low, high, live.ramp, places)
    return found


class Tuning:
    """Changes in progress; while there are `ramps`, `step` is called before every tick."""

    def __init__(self, found: dict[str, Knob], period: float) -> None:
        self.knobs, self._period = found, period
        self.ramps: dict[str, tuple[int, int, float, float]] = {}  # first tick, ticks, from, to
        self.changes: list[Change] = []

    def ask(self, tick: int, key: str, value: float, ramp: float) -> tuple[bool, str]:
        """Start a change at this tick; returns whether that is allowed, and a sentence."""
        knob = self.knobs.get(key)
        if knob is None:
            return False, f"{key} cannot be changed live; live values are {', '.join(self.knobs)}"[:110]
        unit = f" {knob.unit}" if knob.unit not in ("", "1") else ""
        if not knob.low <= value <= knob.high:
            return (
                False,
                f"{key} would be {value:g}{unit}; allowed is {knob.low:.3g} to {knob.high:.4g}{unit}; stay within it",
            )
        if ramp > LONGEST:
            return False, f"the ramp would take {ramp:g} s; at most {LONGEST:g} s are allowed"
        self._begin(tick, key, value, ramp)
        return True, f"{key} goes to {value:g}{unit} within {max(ramp, knob.ramp):g} s"

    def _begin(self, tick: int, key: str, value: float, ramp: float) -> None:
        knob = self.knobs[key]
        ticks = max(1, round(max(ramp, knob.ramp) / self._period))
        self.ramps[key] = (tick, ticks, knob.value, value)
        self.changes.append({"tick": tick, "key": key, "value": value, "ramp": ramp})

    def step(self, tick: int) -> None:
        """Advance all changes in progress to this tick."""
        for key, (first, ticks, begin, end) in list(self.ramps.items()):
            share = (tick - first + 1) / ticks
            for place in self.knobs[key].places:
                place[...] = end if share >= 1.0 else begin + share * (end - begin)
            if share >= 1.0:
                del self.ramps[key]

    def as_json(self) -> list[dict[str, Any]]:
        return [knob.as_json() for knob in self.knobs.values()]


class RepeatedChanges:
    """An overseer for replays: repeats the changes of a recording."""

    def __init__(self, tuning: Tuning, changes: Iterable[Change]) -> None:
        self._tuning, self._changes = tuning, list(changes)

    def look(self, row: np.ndarray) -> int:
        tick = int(row["tick"][0])
        for change in self._changes:
            if change["tick"] == tick:
                self._tuning.ask(tick, change["key"], change["value"], change["ramp"])
        self._tuning.step(tick)
        return 0
