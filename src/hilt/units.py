"""Units at the edge: a scenario may say "20 ms"; behind this file everything is an SI float.

`Second`, `Metre` … are the types of scenario keys. A plain number is taken as SI.
"""

import functools
import math
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, GetJsonSchemaHandler
from pydantic_core import CoreSchema


@functools.cache
def _registry() -> Any:
    import pint  # here and not above: 0.2 s that a program without a scenario does not need

    return pint.UnitRegistry()


def to_si(value: Any, unit: str) -> float:
    """A number, or a text such as "176.275 N/mm", in the given SI unit."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"it must be a number with a unit, such as '1 {unit}'")
    if isinstance(value, int | float):
        return float(value)
    import pint

    try:
        quantity = _registry().Quantity(value.replace("·", "*").replace("²", "**2"))
    except (pint.PintError, ValueError, AssertionError, TypeError, ArithmeticError, SyntaxError) as error:
        raise ValueError(f"it is not a quantity; write a number and a unit, such as '1 {unit}'") from error
    target = _registry().Unit(unit.replace("·", "*").replace("²", "**2") if unit != "1" else "")
    if quantity.dimensionless and not isinstance(quantity.magnitude, str) and quantity.units == _registry().Unit(""):
        return float(quantity.magnitude)
    if not quantity.is_compatible_with(target):
        wanted = "a plain number" if unit == "1" else f"a quantity in {unit}, such as '1 {unit}'"
        raise ValueError(f"its unit does not fit; it must be {wanted}")
    return float(quantity.to(target).magnitude)


@dataclass(frozen=True)
class Unit:
    """The SI unit of a key, for the JSON schema and for messages."""

    symbol: str

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        json = handler(schema)
        json["unit"] = self.symbol
        json["type"] = ["number", "string"]
        return json


def _si(symbol: str) -> Any:
    def convert(value: Any) -> float:
        number = to_si(value, symbol)
        if not math.isfinite(number):
            raise ValueError("it must be a finite number")
        return number

    return Annotated[float, BeforeValidator(convert), Unit(symbol)]


Second = _si("s")
Hertz = _si("Hz")
Metre = _si("m")
Kilogram = _si("kg")
KilogramSquareMetre = _si("kg·m²")
Newton = _si("N")
NewtonMetre = _si("N·m")
NewtonPerMetre = _si("N/m")
NewtonSecondPerMetre = _si("N·s/m")
MetrePerSecond = _si("m/s")
MetrePerSecond2 = _si("m/s²")
RadianPerSecond = _si("rad/s")
Joule = _si("J")
Number = _si("1")

Metre3 = tuple[Metre, Metre, Metre]
MetrePerSecond3 = tuple[MetrePerSecond, MetrePerSecond, MetrePerSecond]
RadianPerSecond3 = tuple[RadianPerSecond, RadianPerSecond, RadianPerSecond]
Newton3 = tuple[Newton, Newton, Newton]
NewtonMetre3 = tuple[NewtonMetre, NewtonMetre, NewtonMetre]


def _unit_length(q: tuple[float, ...]) -> tuple[float, ...]:
    length = math.sqrt(sum(part * part for part in q))
    if not 0.99 < length < 1.01:
        raise ValueError(f"its length is {length:g}; a quaternion w, x, y, z of length 1 is needed; scale it")
    return tuple(part / length for part in q)


Quaternion = Annotated[tuple[Number, Number, Number, Number], AfterValidator(_unit_length)]
_InertiaRow = tuple[KilogramSquareMetre, KilogramSquareMetre, KilogramSquareMetre]
Inertia = tuple[_InertiaRow, _InertiaRow, _InertiaRow]
