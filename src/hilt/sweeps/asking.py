"""Reads the options of `hilt map` and `hilt margin`: axes, limits, metrics and uncertainties."""

import re
from collections.abc import Iterable

from hilt.core.faults import InputError, shortened
from hilt.core.system import System
from hilt.sweeps import beyond, engines, maps, sensitivity
from hilt.sweeps import seeds as many
from hilt.sweeps.batch import Batch
from hilt.sweeps.beyond import Limit
from hilt.sweeps.making import Found
from hilt.sweeps.maps import Side
from hilt.sweeps.sensitivity import Uncertain
from hilt.sweeps.space import unit_of
from hilt.sweeps.spec import Drawn, Range, read

_SHARE = re.compile(r"\s*(?:±|\+-)?\s*([0-9.]+)\s*%\s*")


def batch(found: Found, seeds: int, engine: str) -> Batch:
    """Return a batch of a scenario with its seeds and an engine, all checked before anything runs."""
    system, values, name = found
    many.check(system, values, seeds)
    return Batch(system, name, values, engines.named(engine), seeds)


def side(batch: Batch, option: str, text: str) -> Side:
    """Read an axis of a map: a key alone, or with a range as in `hilt sweep`; the number of points may be left out."""
    key, equals, values = (part.strip() for part in text.partition("="))
    if not key or (equals and not values):
        raise InputError(
            f"{option} {shortened(text)!r} is not KEY or KEY=RANGE; write it like {option} robot.delay='2..40 ms:25'"
        )
    if not equals:
        return maps.side(batch, key)
    maps.number_of(batch.base, key)
    spec = read(key, values if ":" in values or ".." not in values else _counted(values))
    if not isinstance(spec, Range):
        raise InputError(
            f"{key}={shortened(values)!r} is not a range; an axis of a map needs one, such as '2..40 ms:25'", key=key
        )
    found = spec.values(key, unit_of(batch.system, key))
    return maps.Side(key, maps.shown_unit(batch.system, key), found[0], found[-1], len(found), spec.log)


def _counted(values: str) -> str:
    plain, log = (values.removesuffix("log").strip(), " log") if values.endswith("log") else (values, "")
    return f"{plain}:{maps.POINTS}{log}"


def limits(batch: Batch, texts: Iterable[str]) -> tuple[Limit, ...]:
    return tuple(beyond.read(batch.system, text) for text in texts)


def metrics(system: System, text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    for name in names:
        beyond.check(system, name)
    return names


def uncertain(batch: Batch, text: str) -> tuple[str, Uncertain]:
    """Read `KEY=5%`, or a distribution as in `hilt sweep`."""
    key, equals, values = (part.strip() for part in text.partition("="))
    example = "--uncertain robot.delay=5% or --uncertain contact.stiffness='normal(176,9) N/mm'"
    if not equals or not key or not values:
        raise InputError(f"--uncertain {shortened(text)!r} is not KEY=SPEC; write it like {example}")
    value = maps.number_of(batch.base, key)
    if found := _SHARE.fullmatch(values):
        if not value > 0.0 or not 0.0 < float(found[1]) < 100.0:
            raise InputError(
                f"--uncertain {shortened(text)!r}: {key} is {value:g}, so this is not a range; write it like {example}"
            )
        return key, sensitivity.within(value, float(found[1]) / 100.0)
    spec = read(key, values)
    if not isinstance(spec, Drawn):
        raise InputError(f"{key}={shortened(values)!r} is not a distribution; write it like {example}", key=key)
    return key, Uncertain(spec.text, spec.quantiles(key, unit_of(batch.system, key)))
