"""Which variables of an FMU are connected to which numbers of a block."""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

from hilt.core.faults import InputError, shortened
from hilt.fmi.description import NUMBERS, Description
from hilt.fmi.section import Fmu


@dataclass(frozen=True)
class Wires:
    """References of variables in the FMU, and the places of their numbers in the block's vector."""

    references: tuple[int, ...]
    places: tuple[int, ...]


def connect(fmu: Fmu, found: Description, causality: str, wanted: Iterable[tuple[str, int, int]]) -> Wires:
    """Look the variables up: (key of the section, first place, number of entries)."""
    references: list[int] = []
    places: list[int] = []
    for key, first, count in wanted:
        names = getattr(fmu, key)
        if not names:
            continue
        references += [
            _reference(fmu, found, key, name, size, causality) for name, size in _each(found, names, count, fmu, key)
        ]
        places += range(first, first + count)
    return Wires(tuple(references), tuple(places))


def vector(found: Description, name: str, count: int) -> list[int] | None:
    """Return the references of a vector, as an array or entry by entry; None if there is none of this name and size."""
    whole = found.variables.get(name)
    if whole is not None and whole.size == count:
        return [whole.reference]
    entries = [found.variables.get(f"{name}[{number}]") for number in range(1, count + 1)]
    return None if any(each is None or each.size != 1 for each in entries) else [each.reference for each in entries if each]


def _each(found: Description, names: str | tuple[str, ...], count: int, fmu: Fmu, key: str) -> list[tuple[str, int]]:
    """Return the names and sizes of the variables of a vector."""
    if isinstance(names, str):
        whole = found.variables.get(names)
        if whole is not None and (whole.size > 1 or count == 1):
            return [(names, count)]
        if count == 1 and f"{names}[1]" not in found.variables:
            return [(names, 1)]  # missing: `_reference` says so
        return [(f"{names}[{number}]", 1) for number in range(1, count + 1)]
    if len(names) < count:
        full = f"{fmu.KEY}.{key}"
        raise InputError(f"{full} names {len(names)} variables; it must name {count}; add the others", key=full)
    return [(name, 1) for name in names[:count]]


def _reference(fmu: Fmu, found: Description, key: str, name: str, size: int, causality: str) -> int:
    variable, full = found.variables.get(name), f"{fmu.KEY}.{key}"
    if variable is None:
        near = difflib.get_close_matches(name, found.variables, n=1)
        hint = f"did you mean {shortened(near[0])!r}?" if near else f"its {causality}s are {_shown(found, causality)}"
        raise InputError(
            f"the FMU {found.name} has no {NUMBERS[found.version]} variable {shortened(name)!r}; {hint} Set {full}", key=full
        )
    if variable.causality != causality:
        raise InputError(
            f"{shortened(name)!r} of the FMU {found.name} has the causality {shortened(variable.causality)}; "
            f"it must be an {causality}; set {full}",
            key=full,
        )
    if variable.size != size:
        raise InputError(
            f"{shortened(name)!r} of the FMU {found.name} has {variable.size} entries; it must have {size}; set {full}",
            key=full,
        )
    return variable.reference


def _shown(found: Description, causality: str) -> str:
    names = [name for name, each in found.variables.items() if each.causality == causality]
    more = " …" if len(names) > 8 else ""
    return shortened(", ".join(names[:8])) + more + "." if names else "none."
