"""The variables of an exported FMU: the signals of the row as outputs, the live values as inputs, the scenario as constants.

A scenario is packed into the loop's parameters by Python, with checks and derived values, so a number in it cannot be changed
afterwards without contradicting the rest: it is shown as a constant. Live values are made to be changed, and stay inputs.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from pydantic import BaseModel

from hilt.core import scenario as scenarios
from hilt.core.scenario import Scenario
from hilt.core.signals import TABLE, leaves, unit_of, whole
from hilt.core.system import Bench, System
from hilt.core.tuning import knobs
from hilt.fmi import units
from hilt.plant.joystick import JOYSTICK

OF_THE_HOST = ("lateness", "tick_time")  # of a run in wall time
AXES = ("speed[1]", "speed[2]", "speed[3]", "turn[1]", "turn[2]", "turn[3]")


class Kind(IntEnum):
    """As in native/loop.h."""

    ROW_REAL, ROW_INTEGER, LIVE, STICK, CONSTANT = range(5)


@dataclass(frozen=True)
class Variable:
    """A number, with its place: bytes into the row, or its number among the live values, axes or constants."""

    name: str
    kind: Kind
    offset: int
    unit: str
    meaning: str
    start: float | None = None
    low: float = -math.inf
    high: float = math.inf


@dataclass(frozen=True)
class LiveValue:
    """A live value, its places in bytes into the parameters, and the ticks of its ramp."""

    name: str
    low: float
    high: float
    start: float
    ramp: int
    places: tuple[int, ...]


@dataclass(frozen=True)
class Shown:
    """All variables of an FMU; the place of a variable in the table is its value reference."""

    variables: tuple[Variable, ...]
    lives: tuple[LiveValue, ...]
    constants: tuple[float, ...]

    @property
    def counts(self) -> dict[str, int]:
        inputs = sum(each.kind in (Kind.LIVE, Kind.STICK) for each in self.variables)
        return {
            "outputs": len(self.variables) - inputs - len(self.constants),
            "inputs": inputs,
            "constants": len(self.constants),
        }


def of(system: System, values: Scenario, bench: Bench) -> Shown:
    lives = tuple(_lives(system, values, bench))
    inputs = [*_live_inputs(system, values, bench), *_axes(system, values, bench)]
    taken = {each.name for each in inputs}
    constants = [(key, number, unit) for key, number, unit in _numbers(values) if key not in taken]
    fixed = [
        Variable(key, Kind.CONSTANT, index, unit, "value of the scenario, fixed at export", number)
        for index, (key, number, unit) in enumerate(constants)
    ]
    return Shown((*_outputs(system), *inputs, *fixed), lives, tuple(number for _, number, _ in constants))


def _outputs(system: System) -> Iterator[Variable]:
    for dotted, (offset, number, shape) in leaves(system.row).items():
        if dotted in OF_THE_HOST:
            continue
        count = math.prod(shape)
        signal = TABLE[whole(dotted)]
        meaning = f"{signal.meaning} (in {signal.frame})" if signal.frame else signal.meaning
        kind = Kind.ROW_INTEGER if number.kind in "iu" else Kind.ROW_REAL
        for index, unit in enumerate(units.of_parts(unit_of(dotted), count)):
            name = f"{dotted}[{index + 1}]" if shape else dotted
            yield Variable(name, kind, offset + 8 * index, unit, meaning)


def _lives(system: System, values: Scenario, bench: Bench) -> Iterator[LiveValue]:
    first = bench.p.ctypes.data
    for knob in knobs(system, values, bench).values():
        places = tuple(place.ctypes.data - first for place in knob.places)
        ramp = max(1, round(knob.ramp / values.loop.period))
        yield LiveValue(_indexed(knob.key), knob.low, knob.high, knob.value, ramp, places)


def _live_inputs(system: System, values: Scenario, bench: Bench) -> Iterator[Variable]:
    for index, knob in enumerate(knobs(system, values, bench).values()):
        (unit,) = units.of_parts(knob.unit, 1)
        ramp = f"; a change takes {knob.ramp:g} s" if knob.ramp else ""
        yield Variable(_indexed(knob.key), Kind.LIVE, index, unit, f"{knob.meaning}{ramp}", knob.value, knob.low, knob.high)


def _axes(system: System, values: Scenario, bench: Bench) -> Iterator[Variable]:
    if stick(system, values, bench) >= 0:
        for index, name in enumerate(AXES):
            yield Variable(f"steer.{name}", Kind.STICK, index, "1", "deflection of the operator's joystick", 0.0, -1.0, 1.0)


def stick(system: System, values: Scenario, bench: Bench) -> int:
    """Return where the address of a joystick is in the parameters, in bytes; -1 if the operator has none."""
    for block in system.used_by(values).plant:
        if block.kind is JOYSTICK and bench.p[block.name]["present"][0]:
            return int(bench.p[block.name]["address"].ctypes.data - bench.p.ctypes.data)
    return -1


def _indexed(key: str) -> str:
    """Return `wind.mean.0` as FMI writes an array's entry: `wind.mean[1]`."""
    named = ""
    for part in key.split("."):
        named += f"[{int(part) + 1}]" if part.isdigit() else f".{part}"
    return named.removeprefix(".")


def _numbers(value: Any, prefix: str = "", unit: str = "", index: tuple[int, ...] = ()) -> Iterator[tuple[str, float, str]]:
    """Yield every number of a scenario with its unit; entries of a matrix are `inertia[1,2]`."""
    name = prefix + (f"[{','.join(map(str, index))}]" if index else "")
    if isinstance(value, BaseModel):
        for key, info in type(value).model_fields.items():
            yield from _numbers(getattr(value, key), f"{name}.{key}" if name else key, scenarios.unit_of(info))
    elif isinstance(value, list | tuple):
        for entry, each in enumerate(value, 1):
            yield from _numbers(each, prefix, unit, (*index, entry))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        (shown,) = units.of_parts(unit, 1)
        yield name, float(value), shown
