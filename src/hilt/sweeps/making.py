"""Makes a space of scenarios from a scenario, found as `hilt run` finds it, and the texts of its axes."""

import copy
import difflib
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hilt import job
from hilt.core import scenario
from hilt.core.faults import InputError, shortened
from hilt.core.scenario import Scenario, Setting
from hilt.core.system import System
from hilt.job import Source
from hilt.report import words
from hilt.sweeps import limits, sampling, spec
from hilt.sweeps.space import Axis, Space, key_of, unit_of
from hilt.sweeps.spec import Drawn, Range, Spec, Words

CHECKED = 100  # numbers of an axis that are checked one by one
DRAW_SEED = 1
_FIXED = ("system", "summary")  # they name a scenario and do not change what it does
MOST_CHOICES = 100  # of a comparison
Over = tuple[str, Any]  # a key with its text, or with a list of values
Found = tuple[System, Scenario, str]


@dataclass(frozen=True)
class Request:
    """Which axes: keys with their texts, how many joint draws of the distributions without a count, and how many seeds."""

    over: tuple[Over, ...] = ()
    seeds: int | None = None
    draws: int | None = None
    sampler: str = "random"
    draw_seed: int = DRAW_SEED


def over_of(texts: Iterable[str]) -> tuple[Over, ...]:
    """Read texts of the form `KEY=SPEC`, as given to `--over`."""
    found = []
    for text in texts:
        key, equals, values = text.partition("=")
        if not equals or not all(key.strip().split(".")) or not values.strip():
            raise InputError(f"--over {shortened(text)!r} is not KEY=VALUES; write it like --over robot.delay='2..40 ms:39'")
        found.append((key.strip(), values.strip()))
    return tuple(found)


def find(target: str, scenario_name: str | None, settings: Sequence[Setting], request: Request) -> Space:
    """Return the space of a system's scenario, or of a scenario file, with settings applied as in `hilt run`."""
    return make(job.source(target, scenario_name, settings), request)


def choices(target: str, scenario_name: str | None, settings: Sequence[Setting], over: str) -> dict[str, Found]:
    """Return the scenarios of a sweep over one axis, to be run one by one, by their values as written."""
    key, text = over_of([over])[0]
    (each,) = _specs([(key, text)]).values()
    if not 2 <= (each.count or 0) <= MOST_CHOICES:
        raise InputError(
            f"--over is {shortened(over)!r}; it must be a key and at least two values (and at most {MOST_CHOICES}), "
            "such as robot.delay='10 ms,20 ms'"
        )
    space = find(target, scenario_name, settings, Request(((key, text),)))
    (axis,) = space.axes
    labels = each.labels if isinstance(each, Words) else _written(space.system, axis)
    return {label: (space.system, space.scenario(n), space.name) for n, label in enumerate(labels)}


def _written(system: System, axis: Axis) -> list[str]:
    """Return the numbers of a range as people write them."""
    (key,) = axis.keys
    unit = unit_of(system, key)
    plain = unit in ("", "1")
    return [f"{value:.6g}" if plain else words.si(value, unit, 6) for value in axis.column(key).tolist()]


def make(source: Source, request: Request) -> Space:
    """Read and check all axes; a space that is far too large is refused before its values are made."""
    specs = _specs(request.over)
    for key in specs:
        _check_known(source.system, key)
    count = _count(specs, request)
    whole = _completed(source, specs)
    base = whole.checked()
    limits.check(limits.estimate(source.system, base, count, len(specs)))
    axes = [*_axes(whole, specs, request), *_seeds(base, request, specs)]
    for axis in axes:
        _check(whole, axis, specs)
    space = Space(source.system, source.name, source.tree, base, tuple(axes))
    for number in _corners(space):  # values of different axes may not go together
        space.scenario(number)
    return space


def _corners(space: Space) -> Iterator[int]:
    """Yield scenarios with every axis at one of its ends, or at each of its words."""
    ends = []
    for axis in space.axes:
        column = axis.column(axis.keys[0])
        numbers = column.dtype.kind in "if"
        ends.append(sorted({int(column.argmin()), int(column.argmax())}) if numbers else range(len(column)))
    for places in itertools.islice(itertools.product(*ends), CHECKED):
        yield int(np.ravel_multi_index(places, space.shape)) if places else 0


def _specs(over: Iterable[Over]) -> dict[str, Spec]:
    found: dict[str, Spec] = {}
    for key, values in over:
        if key in found:
            raise InputError(f"{key} is given twice as an axis; give all its values in one", key=key)
        found[key] = spec.read(key, values) if isinstance(values, str) else spec.listed(key, values)
    return found


def _completed(source: Source, specs: Mapping[str, Spec]) -> Source:
    """If a scenario is valid only with values of its axes, return it with the first of each; otherwise unchanged."""
    try:
        source.checked()
        return source
    except InputError:
        first = [
            (key, replace(each, count=1) if isinstance(each, Range) else each)
            for key, each in specs.items()
            if not isinstance(each, Drawn)
        ]
        tree = copy.deepcopy(source.tree)
        scenario.apply_settings(tree, [(key, each.values(key, unit_of(source.system, key))[0]) for key, each in first])
        return replace(source, tree=tree)


def _check_known(system: System, key: str) -> None:
    known = {name: unit for name, unit in scenario.keys(system.scenario) if name not in _FIXED}
    plain = key_of(key)
    if plain in known or any(plain.startswith(f"{name}.") for name in known):
        return
    inside = [name for name in known if name.startswith(f"{plain}.")]
    if inside:
        raise InputError(f"{shortened(key)} is a table; vary one of its keys, such as {inside[0]}", key=key)
    near = difflib.get_close_matches(plain, known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"its keys are {', '.join(list(known)[:8])} …"
    raise InputError(f"{shortened(key)} is not a key of this scenario; {hint}", key=key)


def _count(specs: Mapping[str, Spec], request: Request) -> int:
    jointly = [key for key, each in specs.items() if each.count is None]
    if jointly and request.draws is None:
        text = specs[jointly[0]].text
        raise InputError(
            f"{jointly[0]}={shortened(text)!r} does not say how many draws; add a count, such as '{text}:500', "
            "or draw all such keys together with --draws 500",
            key=jointly[0],
        )
    if request.draws is not None and not jointly:
        raise InputError(
            f"--draws is {request.draws}, and no key is drawn; give one a distribution without a count, "
            "such as --over robot.delay='normal(20,2) ms'"
        )
    for name, number in (("--draws", request.draws), ("--seeds", request.seeds)):
        if number is not None and number < 1:
            raise InputError(f"{name} is {number}; it must be at least 1; give a whole number")
    counts = [each.count for each in specs.values() if each.count is not None]
    return math.prod(counts) * (request.draws or 1) * (request.seeds or 1)


def _axes(source: Source, specs: Mapping[str, Spec], request: Request) -> list[Axis]:
    """Return one axis for each key with a count, then one for all keys that are drawn jointly."""
    axes, jointly = [], {}
    for number, (key, each) in enumerate(specs.items()):
        unit = unit_of(source.system, key)
        if not isinstance(each, Drawn):
            values = _alike(key, _whole(source, key, each.values(key, unit)))
            axes.append(Axis((key,), tuple((value,) for value in values), log=each.log))
        elif each.count is None:
            jointly[key] = each
        else:
            points = sampling.draw({key: each}, {key: unit}, each.count, request.sampler, request.draw_seed + number)
            axes.append(Axis((key,), points, log=each.log, drawn=True))
    if jointly:
        units = {key: unit_of(source.system, key) for key in jointly}
        assert request.draws is not None
        points = sampling.draw(jointly, units, request.draws, request.sampler, request.draw_seed)
        axes.append(Axis(tuple(jointly), points, drawn=True))
    return axes


def _seeds(base: Scenario, request: Request, specs: Mapping[str, Any]) -> list[Axis]:
    if request.seeds is None:
        return []
    if "seed" in specs:
        raise InputError("seed is given twice, as an axis and by --seeds; leave out one of them", key="seed")
    if base.seed + request.seeds > 2**63:
        raise InputError(f"seed is {base.seed}; {request.seeds} seeds from there exceed 2^63; give a smaller one", key="seed")
    return [Axis(("seed",), tuple((seed,) for seed in range(base.seed, base.seed + request.seeds)))]


def _whole(source: Source, key: str, values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Turn whole numbers of a key without a unit into integers: they are counts."""
    if unit_of(source.system, key):
        return values
    found = tuple(int(value) if isinstance(value, float) and value.is_integer() else value for value in values)
    broken = next((value for value in found if isinstance(value, float)), None)
    if broken is not None:
        _check_value(source, key, broken, "")
    return found


def _alike(key: str, values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Check that all values are of one kind (numbers, words, or yes and no) and that none appears twice."""
    kinds = {"yes or no" if isinstance(each, bool) else "word" if isinstance(each, str) else "number" for each in values}
    if len(kinds) > 1:
        raise InputError(f"{key} has a {' and a '.join(sorted(kinds))} on one axis; give values of one kind", key=key)
    seen: set[Any] = set()
    for value in values:
        if value in seen:
            raise InputError(f"{key} has the value {value!r} twice on its axis; give each value once", key=key)
        seen.add(value)
    return values


def _check(source: Source, axis: Axis, specs: Mapping[str, Spec]) -> None:
    """Check each value, with everything else unchanged."""
    for key in axis.keys:
        column, at = axis.column(key), axis.keys.index(key)
        drawn = specs[key].text if axis.drawn else ""
        for n in _to_check(column):
            _check_value(source, key, axis.points[n][at], drawn)


def _to_check(column: np.ndarray) -> Iterable[int]:
    """Return what to check: of many numbers the ends and some between, since the valid ones are one interval; else all."""
    if len(column) <= CHECKED or column.dtype.kind not in "if":
        return range(len(column))
    ends = (int(column.argmin()), int(column.argmax()))
    return dict.fromkeys((*ends, *np.linspace(0, len(column) - 1, CHECKED).astype(int).tolist()))


def _check_value(source: Source, key: str, value: Any, drawn: str) -> None:
    tree = copy.deepcopy(source.tree)
    scenario.apply_settings(tree, [(key, value)])
    try:
        scenario.build(source.system.scenario, tree)
    except InputError as error:
        if not drawn:
            raise
        raise InputError(f"{error} (drawn from {drawn}: narrow it, or use uniform or loguniform)", *error.keys) from None
