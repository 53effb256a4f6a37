"""Units at the edge: a scenario may say "20 ms"; behind this file everything is an SI float.

`Second`, `Metre` … are the types of scenario keys. A plain number is taken as SI.
"""

import functools
import math
import re
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema
from pydantic_core.core_schema import no_info_before_validator_function


@functools.cache
def _registry() -> Any:
    import pint  # here and not above: 0.2 s that a program without a scenario does not need

    return pint.UnitRegistry()


# A number and products of units with small powers: "176.275 N/mm", "98 kg*m^2". Nothing else reaches the unit parser.
_FACTOR = r"[A-Za-zµΩ°%]+(?:(?:\^|\*\*)-?\d|²|³)?"
_QUANTITY = re.compile(
    rf"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?nan|[-+]?inf)\s*({_FACTOR}(?:\s*[*/·]\s*{_FACTOR})*)?\s*"
)


def _unit(symbol: str) -> Any:
    return _registry().Unit(symbol.replace("·", "*").replace("²", "**2").replace("³", "**3").replace("^", "**"))


def to_si(value: Any, unit: str) -> float:
    """A number, or a text such as "176.275 N/mm", in the given SI unit; `unit` is "1" for plain numbers."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    example = "'1'" if unit == "1" else f"'1 {unit}'"
    found = _QUANTITY.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise ValueError(f"it is not a quantity; write a number and a unit, such as {example}")
    number, symbol = float(found[1]), found[2]
    if symbol is None:
        return number
    import pint

    try:
        given = _unit(symbol)
    except pint.PintError:
        raise ValueError(f"its unit {symbol!r} is not known; write it in {unit}, such as {example}") from None
    if unit == "1" or not given.is_compatible_with(_unit(unit)):
        wanted = "a plain number" if unit == "1" else f"a quantity in {unit}"
        raise ValueError(f"its unit does not fit; it must be {wanted}, such as {example}")
    return float(_registry().Quantity(number, given).to(_unit(unit)).magnitude)


@dataclass(frozen=True)
class Unit:
    """The SI unit of a key: converts what a scenario says, and stands in the JSON schema."""

    symbol: str

    def convert(self, value: Any) -> float:
        number = to_si(value, self.symbol)
        if not math.isfinite(number):
            raise ValueError("it must be a finite number; change it")
        return number

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return no_info_before_validator_function(self.convert, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        json = handler(schema)
        json["unit"] = self.symbol
        json["type"] = ["number", "string"]
        return json


Second = Annotated[float, Unit("s")]
Hertz = Annotated[float, Unit("Hz")]
Metre = Annotated[float, Unit("m")]
Kilogram = Annotated[float, Unit("kg")]
KilogramSquareMetre = Annotated[float, Unit("kg·m²")]
Newton = Annotated[float, Unit("N")]
NewtonMetre = Annotated[float, Unit("N·m")]
NewtonPerSecond = Annotated[float, Unit("N/s")]
NewtonPerMetre = Annotated[float, Unit("N/m")]
NewtonSecondPerMetre = Annotated[float, Unit("N·s/m")]
NewtonMetrePerRadian = Annotated[float, Unit("N·m/rad")]
NewtonMetreSecond = Annotated[float, Unit("N·m·s/rad")]
MetrePerSecond = Annotated[float, Unit("m/s")]
MetrePerSecond2 = Annotated[float, Unit("m/s²")]
MetrePerSecondCubed = Annotated[float, Unit("m/s³")]
Radian = Annotated[float, Unit("rad")]
RadianPerSecond = Annotated[float, Unit("rad/s")]
RadianPerSecond2 = Annotated[float, Unit("rad/s²")]
Joule = Annotated[float, Unit("J")]
Number = Annotated[float, Unit("1")]

Number3 = tuple[Number, Number, Number]
Metre3 = tuple[Metre, Metre, Metre]
MetrePerSecond3 = tuple[MetrePerSecond, MetrePerSecond, MetrePerSecond]
RadianPerSecond3 = tuple[RadianPerSecond, RadianPerSecond, RadianPerSecond]
Newton3 = tuple[Newton, Newton, Newton]
NewtonPerSecond3 = tuple[NewtonPerSecond, NewtonPerSecond, NewtonPerSecond]
NewtonMetre3 = tuple[NewtonMetre, NewtonMetre, NewtonMetre]


def _unit_length(q: tuple[float, ...]) -> tuple[float, ...]:
    length = math.sqrt(sum(part * part for part in q))
    if not 0.99 < length < 1.01:
        raise ValueError(f"its length is {length:g}; a quaternion w, x, y, z of length 1 is needed; scale it")
    return tuple(part / length for part in q)


Quaternion = Annotated[tuple[Number, Number, Number, Number], AfterValidator(_unit_length)]
_InertiaRow = tuple[KilogramSquareMetre, KilogramSquareMetre, KilogramSquareMetre]
Inertia = tuple[_InertiaRow, _InertiaRow, _InertiaRow]
