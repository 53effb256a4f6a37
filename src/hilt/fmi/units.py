"""Units as FMI needs them: a name, and the exponents of the base units."""

import re

BASE = {
    "kg": {"kg": 1},
    "m": {"m": 1},
    "s": {"s": 1},
    "rad": {"rad": 1},
    "N": {"kg": 1, "m": 1, "s": -2},
    "J": {"kg": 1, "m": 2, "s": -2},
    "W": {"kg": 1, "m": 2, "s": -3},
    "Hz": {"s": -1},
    "1": {},
}
_POWERS = {"": 1, "²": 2, "³": 3}
_FACTOR = re.compile(r"(1|[A-Za-z]+)([²³]?)")


def exponents(unit: str) -> dict[str, int] | None:
    """Return `N·m/rad` as kg: 1, m: 2, s: -2, rad: -1; None for a unit without whole exponents."""
    total: dict[str, int] = {}
    for position, product in enumerate(unit.split("/")):
        for text in product.strip("()").split("·"):
            found = _FACTOR.fullmatch(text)
            if found is None or found[1] not in BASE:
                return None
            for base, power in BASE[found[1]].items():
                total[base] = total.get(base, 0) + (1 if position == 0 else -1) * power * _POWERS[found[2]]
    return {base: power for base, power in total.items() if power}


def plain(unit: str) -> str:
    """Return a unit as FMI tools write it: `N·m/rad²` is `N.m/rad2`."""
    return unit.replace("·", ".").replace("²", "2").replace("³", "3")


def of_parts(unit: str, count: int) -> list[str]:
    """Return the unit of each number of a signal: `N, N·m` are three of each; empty where the table has no single unit."""
    units = unit.split(", ")
    if len(units) == 1:
        parts = units * count
    elif len(units) == 2 and count == 6:
        parts = [units[0]] * 3 + [units[1]] * 3
    else:
        parts = [""] * count
    return ["" if part in ("", "SI") else part for part in parts]
