"""Units at the boundary: a scenario may say "20 ms"; behind this file everything is an SI float.

`Second`, `Metre` … are the types of scenario keys. A plain number is in SI units. Every unit has bounds far beyond any machine
or satellite: they keep powers and quotients of allowed values finite, so no formula has to handle 1e300 kg.
"""

import functools
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import AfterValidator, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, PydanticKnownError
from pydantic_core.core_schema import no_info_before_validator_function

LONGEST = 100  # characters of a quantity: the unit parser never sees more
NIL = 1e-30  # a magnitude below this is 0: its powers would vanish anyway


@functools.cache
def _registry() -> Any:
    import pint  # imported here: it takes 0.2 s, which a program without a scenario can save

    return pint.UnitRegistry()


# A number and products of units with small powers: "176.275 N/mm", "98 kg*m^2", "98 kg m²". Nothing else reaches the unit
# parser.
_FACTOR = r"[A-Za-zµΩ°%]{1,24}(?:(?:\^|\*\*)?-?[0-9]|²|³)?"
_TIMES = r"(?:\s*[*/·⋅]\s*|\s+)"
_QUANTITY = re.compile(
    rf"\s*([-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[-+]?nan|[-+]?inf)\s*"
    rf"({_FACTOR}(?:{_TIMES}{_FACTOR}){{0,5}})?\s*"
)

# The units that most scenarios are written in, with their factors: a scenario without rarer ones starts without the registry,
# which takes a third of the time from a command to its first tick. tests/core/test_units.py compares each with the registry.
COMMON = {
    "s": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "min": 60.0},
    "Hz": {"Hz": 1.0, "kHz": 1e3},
    "m": {"m": 1.0, "mm": 1e-3, "cm": 1e-2, "um": 1e-6, "µm": 1e-6},
    "kg": {"kg": 1.0, "g": 1e-3, "t": 1e3},
    "kg·m²": {"kg*m^2": 1.0},
    "N": {"N": 1.0, "mN": 1e-3, "kN": 1e3, "MN": 1e6},
    "N·m": {"N*m": 1.0, "kN*m": 1e3, "MN*m": 1e6},
    "N/m": {"N/m": 1.0, "kN/m": 1e3, "N/mm": 1e3, "N/um": 1e6, "N/µm": 1e6},
    "N·s/m": {"N*s/m": 1.0, "N*s/mm": 1e3},
    "N·m/rad": {"N*m/rad": 1.0, "kN*m/rad": 1e3},
    "N·m·s/rad": {"N*m*s/rad": 1.0},
    "m/s": {"m/s": 1.0, "mm/s": 1e-3, "km/s": 1e3},
    "m/s²": {"m/s^2": 1.0},
    "m/s³": {"m/s^3": 1.0},
    "rad": {"rad": 1.0, "mrad": 1e-3, "deg": math.pi / 180.0},
    "rad/s": {"rad/s": 1.0, "deg/s": math.pi / 180.0},
    "rad/s²": {"rad/s^2": 1.0},
    "J": {"J": 1.0, "mJ": 1e-3, "kJ": 1e3, "MJ": 1e6},
}


@functools.lru_cache(maxsize=512)  # parsing one takes a fifth of a millisecond, and a scenario has forty
def _unit(symbol: str) -> Any:
    """A unit in any common spelling: kg·m², kg*m^2, kg m^2 and kg m2 are the same."""
    plain = symbol.translate({ord("·"): "*", ord("⋅"): "*", ord("²"): "2", ord("³"): "3"}).replace("**", "").replace("^", "")
    powers = re.sub(r"(?<=[A-Za-zµΩ°%])(-?[0-9])", r"**\1", plain.strip())
    return _registry().Unit(re.sub(r"\s+", "*", re.sub(r"\s*([*/])\s*", r"\1", powers)))


def to_si(value: Any, unit: str) -> float:
    """A number, or a text such as "176.275 N/mm", in the given SI unit; `unit` is "1" for plain numbers."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _float(value)
    example = "'1'" if unit == "1" else f"'1 {unit}'"
    if isinstance(value, str) and len(value) > LONGEST:
        raise ValueError(f"it has {len(value)} characters, and a quantity has at most {LONGEST}; write it like {example}")
    found = _QUANTITY.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise ValueError(f"it is not a quantity; write a number and a unit, such as {example}")
    number, symbol = float(found[1]), found[2]
    if symbol is None:
        return number
    if symbol == "%" and unit == "1":
        return number / 100.0
    if (factor := COMMON.get(unit, {}).get(symbol)) is not None:
        return number * factor
    given = _known_unit(symbol)
    if given is None:
        raise ValueError(f"its unit {symbol!r} is unknown; write it in {unit}, for example {example}")
    if unit == "1" or not given.is_compatible_with(_unit(unit)):
        wanted = "a plain number" if unit == "1" else f"a quantity in {unit}"
        raise ValueError(f"its unit does not fit; it must be {wanted}, such as {example}")
    return float(_registry().Quantity(number, given).to(_unit(unit)).magnitude)


def _float(value: int | float) -> float:
    try:
        return float(value)
    except OverflowError:  # an integer of more than 308 digits
        return math.inf if value > 0 else -math.inf


@functools.lru_cache(maxsize=512)
def _known_unit(symbol: str) -> Any:
    """The unit of a text, or None if the parser raises anything at all: for "mm^0" it is a KeyError."""
    try:
        given = _unit(symbol)
        # A unit with an offset, such as degrees Celsius, cannot be part of a product, and fails only when converted.
        _registry().Quantity(1.0, given).to_base_units()
        return given
    except Exception:
        return None


@dataclass(frozen=True)
class Unit:
    """The SI unit of a key: converts and bounds the scenario's value, and appears in the JSON schema.

    `most` bounds the magnitude of every key, `least` that of a key that must be greater than 0; a key may narrow them.
    """

    symbol: str
    least: float = 1e-15
    most: float = 1e15

    def convert(self, value: Any) -> float:
        number = to_si(value, self.symbol)
        if not math.isfinite(number):
            raise ValueError("it must be a finite number; change it")
        return 0.0 if abs(number) < NIL else number

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        inner: Any = handler(source)
        positive = inner.get("gt") == 0
        above, below = "le" in inner or "lt" in inner, "ge" in inner or "gt" in inner

        def bounded(value: Any) -> float:
            number = self.convert(value)
            if number > self.most and not above:
                raise PydanticKnownError("less_than_equal", {"le": self.most})
            if number < -self.most and not below:
                raise PydanticKnownError("greater_than_equal", {"ge": -self.most})
            if 0.0 < number < self.least and positive:
                raise PydanticKnownError("greater_than_equal", {"ge": self.least})
            return number

        return no_info_before_validator_function(bounded, inner)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        json = handler(schema)
        json["unit"] = self.symbol
        json["type"] = ["number", "string"]
        if json.get("exclusiveMinimum") == 0:
            del json["exclusiveMinimum"]
            json["minimum"] = self.least
        elif not {"minimum", "exclusiveMinimum"} & json.keys():
            json["minimum"] = -self.most
        if not {"maximum", "exclusiveMaximum"} & json.keys():
            json["maximum"] = self.most
        return json


# All bounds in one place. None of them is a safety limit: those are `limits` of a scenario or rig.
Second = Annotated[float, Unit("s", 1e-9, 1e9)]
Hertz = Annotated[float, Unit("Hz", 1e-6, 1e9)]
Metre = Annotated[float, Unit("m", 1e-12, 1e12)]
Kilogram = Annotated[float, Unit("kg", 1e-9, 1e12)]
KilogramSquareMetre = Annotated[float, Unit("kg·m²", 1e-15, 1e18)]
Newton = Annotated[float, Unit("N", 1e-12, 1e15)]
NewtonMetre = Annotated[float, Unit("N·m", 1e-12, 1e15)]
NewtonPerSecond = Annotated[float, Unit("N/s", 1e-12, 1e15)]
NewtonPerMetre = Annotated[float, Unit("N/m", 1e-9, 1e15)]
NewtonSecondPerMetre = Annotated[float, Unit("N·s/m", 1e-9, 1e15)]
NewtonMetrePerRadian = Annotated[float, Unit("N·m/rad", 1e-9, 1e15)]
NewtonMetreSecond = Annotated[float, Unit("N·m·s/rad", 1e-9, 1e15)]
MetrePerSecond = Annotated[float, Unit("m/s", 1e-12, 1e9)]
MetrePerSecond2 = Annotated[float, Unit("m/s²", 1e-12, 1e15)]
MetrePerSecondCubed = Annotated[float, Unit("m/s³", 1e-12, 1e18)]
Radian = Annotated[float, Unit("rad", 1e-12, 1e9)]
RadianPerSecond = Annotated[float, Unit("rad/s", 1e-9, 1e9)]
RadianPerSecond2 = Annotated[float, Unit("rad/s²", 1e-9, 1e12)]
Joule = Annotated[float, Unit("J", 1e-15, 1e18)]
Number = Annotated[float, Unit("1")]
Share = Annotated[float, Unit("1", 1e-9, 1e3)]  # "1 %" or 0.01

T = TypeVar("T")
if TYPE_CHECKING:
    Positive = Annotated[T, "greater than 0"]
else:

    class Positive:
        """A quantity above 0 inside a union or a list: `Positive[Hertz] | None`.

        A unit sees only a bound that precedes it. It does not see that of `Annotated[Hertz, Field(gt=0)]`, or of a Field for
        the whole union, and its `least` would have no effect.
        """

        def __class_getitem__(cls, quantity: Any) -> Any:
            return Annotated[quantity.__origin__, Field(gt=0), *quantity.__metadata__]


@dataclass(frozen=True)
class AtMost:
    """Upper bound of an integer whose field has none; a Field here would override the field's own bound."""

    most: int

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        inner: Any = handler(source)
        return inner if "le" in inner or "lt" in inner else {**inner, "le": self.most}


# Whole numbers: counts, and the seed.
Count = Annotated[int, AtMost(10**6)]
Seed = Annotated[int, Field(ge=0, lt=2**63)]

Number3 = tuple[Number, Number, Number]
Metre3 = tuple[Metre, Metre, Metre]
MetrePerSecond3 = tuple[MetrePerSecond, MetrePerSecond, MetrePerSecond]
RadianPerSecond3 = tuple[RadianPerSecond, RadianPerSecond, RadianPerSecond]
Newton3 = tuple[Newton, Newton, Newton]
NewtonPerSecond3 = tuple[NewtonPerSecond, NewtonPerSecond, NewtonPerSecond]
NewtonMetre3 = tuple[NewtonMetre, NewtonMetre, NewtonMetre]


def _somewhere(direction: tuple[float, ...]) -> tuple[float, ...]:
    if math.hypot(*direction) < 1e-9:
        raise ValueError("it has no direction; give a non-zero vector")
    return direction


Direction = Annotated[Number3, AfterValidator(_somewhere)]


def _unit_length(q: tuple[float, ...]) -> tuple[float, ...]:
    length = math.sqrt(sum(part * part for part in q))
    if not 0.99 < length < 1.01:
        raise ValueError(f"its length is {length:g}; a quaternion w, x, y, z of length 1 is needed; scale it")
    return tuple(part / length for part in q)


Quaternion = Annotated[tuple[Number, Number, Number, Number], AfterValidator(_unit_length)]
_InertiaRow = tuple[KilogramSquareMetre, KilogramSquareMetre, KilogramSquareMetre]
Inertia = tuple[_InertiaRow, _InertiaRow, _InertiaRow]
