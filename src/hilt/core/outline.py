"""The keys of a scenario as a readable list: key, unit, default and meaning, one line each."""

import typing
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from hilt.core import scenario


@dataclass(frozen=True)
class Line:
    key: str
    unit: str
    default: str  # "needed" if there is no default
    meaning: str


def lines(model: type[BaseModel], prefix: str = "", given: Any = PydanticUndefined) -> Iterator[Line]:
    """All keys in the order of the scenario; `given` is the default of the whole section."""
    for name, info in model.model_fields.items():
        section = scenario.section_of(info.annotation)
        default = getattr(given, name, PydanticUndefined) if isinstance(given, BaseModel) else _default(info)
        if section is not None:
            yield from lines(section, f"{prefix}{name}.", default)
        else:
            yield Line(prefix + name, scenario.unit_of(info).replace("1", ""), _shown(default), _meaning(info))


def _default(info: FieldInfo) -> Any:
    return PydanticUndefined if info.is_required() else info.get_default(call_default_factory=True)


def _shown(value: Any) -> str:
    if value is PydanticUndefined:
        return "needed"
    if value is None or value == "" or value == {} or value == ():
        return "-"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float | int):
        return f"{value:g}"
    if isinstance(value, list | tuple):
        return " ".join(_shown(each) for each in value) if len(value) <= 4 and not isinstance(value[0], tuple) else "…"
    return str(value)


def _meaning(info: FieldInfo) -> str:
    choices = typing.get_args(info.annotation) if typing.get_origin(info.annotation) is typing.Literal else ()
    listed = ", ".join(map(str, choices))
    return "; ".join(part for part in (info.description or "", listed) if part)


def commented(model: type[BaseModel], name: str) -> str:
    """A scenario file that only names the system, with all keys in comments."""
    keys = [f"# {line.key}: {line.default} {line.unit}".rstrip() for line in lines(model) if line.key != "system"]
    return "\n".join([f'system = "{name}"', "", "# keys and their defaults:", *keys, ""])


def columns(shown: Sequence[Line], width: int | None) -> Iterator[str]:
    """A line of text for each key, cut to the width of the screen."""
    rows = [("key", "unit", "default", "meaning"), *((each.key, each.unit, each.default, each.meaning) for each in shown)]
    key, unit, default = (max(len(row[n]) for row in rows) for n in range(3))
    for row in rows:
        text = f"{row[0]:{key}}  {row[1]:{unit}}  {row[2]:{default}}  {row[3]}".rstrip()
        yield text if width is None or len(text) <= width else f"{text[: width - 1]}…"


def chosen(every: Sequence[Line], tree: dict[str, Any]) -> list[Line]:
    """The lines of the keys in a tree, in its order."""
    known = {line.key: line for line in every}
    return [known[key] for key in dict.fromkeys(_keys(tree)) if key in known and key not in ("system", "summary")]


def _keys(tree: dict[str, Any], prefix: str = "") -> Iterator[str]:
    for name, value in tree.items():
        entries = value if isinstance(value, list) and value and isinstance(value[0], dict) else [value]
        for entry in entries:
            if isinstance(entry, dict):
                yield from _keys(entry, f"{prefix}{name}.")
            else:
                yield prefix + name
