"""Scenarios: a frozen tree of checked SI values, read from TOML, changed by `--set a.b=value`, hashed, stored in recordings."""

import difflib
import hashlib
import json
import types
import typing
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo

from hilt.core import belief as beliefs
from hilt.core import places as where
from hilt.core import toml
from hilt.core.faults import InputError, Unfit, shortened
from hilt.core.units import Second, Seed, Unit
from hilt.maths import noise

LONGEST_SETTING = 4000  # characters of key=value
MOST_SETTINGS = 1000
MOST_ERRORS = 20  # listed in a message


class Section(BaseModel):
    """A part of a scenario: frozen, and no unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, str_max_length=1000)


class Loop(Section):
    """Parameters of the loop itself."""

    period: Second = Field(gt=0, le=1, description="sample time T")
    duration: Second = Field(gt=0, description="simulated time after which the run ends")


class Scenario(Section):
    """What every scenario has. Its sections are the world and the settings of the controller; `belief` holds the values that
    the controller assumes where they differ from the world."""

    WORLD: ClassVar[tuple[str, ...]] = ()  # sections that the controller may believe to be different

    system: str
    summary: str = Field(default="", description="one line about the scenario")
    seed: Seed = Field(default=1, description="seed of all random numbers of the run")
    loop: Loop
    belief: dict[str, Any] = Field(
        default={}, description="keys of the world's sections, with the values that the controller assumes instead of the truth"
    )

    @property
    def believed(self) -> Self:
        """The scenario as the controller believes it to be."""
        if not self.belief:
            return self
        believed: Self = beliefs.applied(self, self.belief)
        return believed.model_copy(update={"belief": {}})

    def noise_key(self, name: str) -> int:
        """Key of the generator for the noise called `name`."""
        return noise.key_of(self.seed, name)

    def canonical(self) -> str:
        """The values that decide the run, as one line of JSON."""
        unimportant = {"summary", "goal"}  # the criteria of a run do not affect it
        unimportant |= set() if self.belief else {"belief"}  # scenarios keep the hash they had before beliefs
        return json.dumps(self.model_dump(mode="json", exclude=unimportant), sort_keys=True, separators=(",", ":"))

    def hash(self) -> str:
        return hashlib.sha256(self.canonical().encode()).hexdigest()[:16]


S = TypeVar("S", bound=Scenario)


def read_toml(path: Path) -> dict[str, Any]:
    return toml.read(path)


Setting = str | tuple[str, Any] | list[Any]  # "a.b=value" as --set has it, or a key and its value


def value(text: str) -> Any:
    """The right-hand side of --set: TOML if it parses as TOML, otherwise plain text ("20 ms", pida)."""
    try:
        tree = toml.parse(f"value = {text}")
    except ValueError:
        return text
    return tree["value"] if len(tree) == 1 else text  # more than one key if a second line follows


def apply_settings(tree: dict[str, Any], settings: Iterable[Setting]) -> list[str]:
    """Change a tree in place, one setting after another, and return the keys; a number in a key is a list index."""
    changed = []
    for number, setting in enumerate(settings):
        if number == MOST_SETTINGS:
            raise InputError(f"there are more than {MOST_SETTINGS} settings; write a scenario file instead")
        path, new = _typed(setting) if isinstance(setting, str) else setting
        changed.append(path)
        shown, keys = shortened(setting if isinstance(setting, str) else path), path.split(".")
        if not all(keys):
            raise InputError(f"{shown!r} is not a key; name one of the scenario's keys, such as loop.period", key=path)
        if len(keys) > toml.DEEPEST:
            raise InputError(
                f"--set {shown!r} names a key {len(keys)} levels deep; no scenario is that deep; name one of its keys", key=path
            )
        node: Any = tree
        for key in keys[:-1]:
            node = _child(node, key, shown, path)
        if isinstance(node, list):
            node[_entry(node, keys[-1], shown, path)] = new
        else:
            node[keys[-1]] = new
    return changed


def _typed(setting: str) -> tuple[str, Any]:
    """Key and value of a setting as typed."""
    shown = shortened(setting)
    if len(setting) > LONGEST_SETTING:
        raise InputError(f"--set {shown!r} is too long; at most {LONGEST_SETTING} characters are read; write a scenario file")
    path, equals, text = setting.partition("=")
    if not equals or not all(path.strip().split(".")):
        raise InputError(f"--set {shown!r} is not KEY=VALUE; write for example --set loop.period='10 ms'")
    return path.strip(), value(text.strip())


def _entry(node: list[Any], key: str, shown: str, path: str) -> int:
    # Not isdigit: it accepts '²', which is not a decimal digit.
    if not (key.isascii() and key.isdigit() and len(key) < 6 and int(key) < len(node)):
        raise InputError(
            f"--set {shown!r}: {shortened(key)!r} is not an entry; there are {len(node)}, counted from 0; choose one of them",
            key=path,
        )
    return int(key)


def _child(node: Any, key: str, shown: str, path: str) -> Any:
    child = node[_entry(node, key, shown, path)] if isinstance(node, list) else node.setdefault(key, {})
    if not isinstance(child, dict | list):
        raise InputError(
            f"--set {shown!r}: {shortened(key)} is a value and has no keys below it; leave out what follows it", key=path
        )
    return child


def build(model: type[S], tree: dict[str, Any], places: where.Places | None = None) -> S:
    """Check a tree and its beliefs; every bad value becomes one sentence, with its place in the file."""
    belief = tree.get("belief") if issubclass(model, Scenario) else None
    if not belief:
        return _checked(model, tree, "", places)
    plain = {key: value for key, value in tree.items() if key != "belief"}
    world = _checked(model, plain, "", places)
    _check_names(model, belief)
    believed = _checked(model, beliefs.merged(plain, belief), "belief.", places)
    return world.model_copy(update={"belief": beliefs.checked(believed, world, belief)})


def _checked(model: type[S], tree: dict[str, Any], prefix: str, places: where.Places | None) -> S:
    try:
        return model.model_validate(tree)
    except ValidationError as error:
        # An unknown key explains more than the errors it causes elsewhere, a wrong value more than a missing one.
        weights = {"extra_forbidden": 0, "missing": 2}
        problems = sorted(error.errors(), key=lambda problem: weights.get(problem["type"], 1))
        raise _refusal(model, problems, prefix, places or {}) from None


def _refusal(model: type[BaseModel], problems: list[Any], prefix: str, places: where.Places) -> InputError:
    """An error with one sentence per problem; several sentences become a list."""
    sentences: dict[str, list[str]] = {}
    for problem in problems:
        keys = [prefix + key for key in _keys_of(model, problem) if key]
        found = where.place(keys[0], places) if keys else ""
        sentences.setdefault(_sentence(model, problem, prefix) + (f" ({found})" if found else ""), keys)
    about = dict.fromkeys(key for keys in sentences.values() for key in keys)
    if len(sentences) == 1:
        return InputError(next(iter(sentences)), *about)
    left = [f"and {len(sentences) - MOST_ERRORS} more"] if len(sentences) > MOST_ERRORS else []
    listed = "".join(f"\n  {sentence}" for sentence in [*list(sentences)[:MOST_ERRORS], *left])
    return InputError(f"{len(sentences)} values are wrong or missing:{listed}", *about)


def _check_names(model: type[Scenario], belief: Any) -> None:
    """Check that beliefs are only about the world: how controller and loop work is set by the scenario itself."""
    example = next((f"belief.{key}" for key, _ in keys(model) if key.partition(".")[0] in model.WORLD), "belief.robot.delay")
    if not isinstance(belief, dict):
        raise InputError(f"belief is {shortened(_text(belief))}; it must be a table with keys, such as {example}", key="belief")
    for name in belief:
        if name in model.model_fields and name not in model.WORLD:
            raise InputError(
                f"belief.{name} cannot differ: {name} is a setting and not part of the world; set {name} itself, "
                f"or give beliefs about {', '.join(model.WORLD) or 'nothing: this system has no such section'}",
                key=f"belief.{name}",
            )


def _keys_of(model: type[BaseModel], problem: Any) -> list[str]:
    """The keys of an error. A check of several values names their keys itself, relative to its section or from the top."""
    place, cause = ".".join(map(str, problem["loc"])), problem.get("ctx", {}).get("error")
    if not isinstance(cause, Unfit):
        return [place]
    known = dict(keys(model))
    inside = [f"{place}.{key}" if place else key for key in cause.keys]
    return [one if _plain(one) in known else key for one, key in zip(inside, cause.keys, strict=True)]


def _plain(key: str) -> str:
    """A key without list indices."""
    return ".".join(part for part in key.split(".") if not part.isdigit())


def _sentence(model: type[BaseModel], first: Any, prefix: str = "") -> str:
    key = shortened(prefix + ".".join(str(part) for part in first["loc"]))
    kind, context = first["type"], first.get("ctx", {})
    known = {prefix + name: unit for name, unit in keys(model)}
    unit = known.get(prefix + ".".join(str(part) for part in first["loc"] if not isinstance(part, int)), "").replace("1", "")
    given = first["input"]
    shown = repr(shortened(given)) if isinstance(given, str) else f"{shortened(_text(given))} {unit}".strip()
    if kind == "extra_forbidden":
        near = difflib.get_close_matches(key, known, n=1)
        hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(list(known)[:8])} …"
        return f"{key} is not a key of this scenario; {hint}"
    if kind == "missing":
        return f"{key} is missing; add it" + (f", in {unit}" if unit else "")
    comparisons = {
        "greater_than": "greater than",
        "greater_than_equal": "at least",
        "less_than": "less than",
        "less_than_equal": "at most",
    }
    if kind in comparisons:
        bound = context[{"greater_than": "gt", "greater_than_equal": "ge", "less_than": "lt", "less_than_equal": "le"}[kind]]
        return f"{key} is {shown}; it must be {comparisons[kind]} {bound:g} {unit}".rstrip() + "; change it"
    if kind in ("model_type", "dict_type"):
        example = next((name for name in known if name.startswith(f"{key}.")), key)
        return f"{key} is {shown}; it must be a table with keys, such as {example}"
    if kind == "literal_error":
        return f"{key} is {shown}; it must be one of {context['expected'].replace(' or ', ', ')}; choose one"
    if kind == "value_error":
        text = str(context["error"])
        if (key and text.startswith("it ")) or text.startswith("its "):
            return f"{key} is {shown}; {text}"
        return f"in the controller's beliefs, {text}" if prefix else text
    return f"{key} is {shown}; {first['msg'][0].lower()}{first['msg'][1:]}; change it"


def _text(value: Any) -> str:
    try:
        return str(value)
    except ValueError:  # an integer with more digits than Python converts to text
        return "a number with thousands of digits"


def keys(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, str]]:
    """All keys of a scenario with their units."""
    for name, info in model.model_fields.items():
        section = section_of(info.annotation)
        if section is not None:
            yield from keys(section, f"{prefix}{name}.")
        else:
            yield prefix + name, unit_of(info)


def unit_of(info: FieldInfo) -> str:
    """The unit of a key; for a list, that of its entries."""
    units = [m.symbol for m in info.metadata if isinstance(m, Unit)]
    return units[0] if units else _inner_unit(info.annotation)


def section_of(annotation: Any) -> type[BaseModel] | None:
    """The section that a key holds, also if it is in a list or optional."""
    if isinstance(annotation, type) and not isinstance(annotation, types.GenericAlias):
        return annotation if issubclass(annotation, BaseModel) else None
    for argument in typing.get_args(annotation):
        if (found := section_of(argument)) is not None:
            return found
    return None


def _inner_unit(annotation: Any) -> str:
    for argument in typing.get_args(annotation):
        if typing.get_origin(argument) is Annotated:
            for extra in argument.__metadata__:
                if isinstance(extra, Unit):
                    return extra.symbol
        if inner := _inner_unit(argument):
            return inner
    return ""
