"""User-defined methods: a stage that replaces a block of a system when a scenario names it.

    DAMPER = StageKind("damper", ...)      registered by hilt.method("docking")(DAMPER), or by a package:

    [project.entry-points."hilt.methods"]
    "docking.damper" = "my_package:DAMPER"

The stage is packed from the whole scenario as the controller believes it to be: `pack(p, scenario, loop)`.
"""

import functools
from importlib.metadata import EntryPoints, entry_points
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, PydanticKnownError
from pydantic_core.core_schema import no_info_before_validator_function

from hilt.core import plugins
from hilt.core.faults import InputError, shortened
from hilt.core.stage import StageKind

_added: dict[tuple[str, str], StageKind] = {}


@functools.cache
def _entries() -> EntryPoints:
    return entry_points(group="hilt.methods")


def add(system: str, kind: StageKind) -> None:
    """Make a stage a method of a system; a later one of the same name replaces it, as when a notebook cell is run twice."""
    if not isinstance(kind, StageKind):
        raise InputError(f"a method is a StageKind or a step function and not a {type(kind).__name__}; see docs/extending.md")
    if not kind.name.replace("-", "_").isidentifier():
        raise InputError(f"{shortened(kind.name)!r} cannot name a method; use letters, digits, - and _")
    _added[system, kind.name] = kind


def names(system: str) -> list[str]:
    """Names of the methods added to a system; listing them loads nothing."""
    plugins.run_files()
    packaged = {entry.name.partition(".")[2] for entry in _entries() if entry.name.partition(".")[0] == system}
    return sorted(packaged | {name for of, name in _added if of == system})


def find(system: str, name: str) -> StageKind | None:
    """The stage of an added method; None if there is no such method."""
    plugins.run_files()
    if (system, name) not in _added:
        for entry in _entries().select(name=f"{system}.{name}"):
            add(system, plugins.load(entry))
    return _added.get((system, name))


class Method:
    """The type of the key that chooses a method: a built-in one of the system, or one that was added."""

    def __init__(self, system: str, *own: str) -> None:
        self._system, self._own = system, own

    @property
    def known(self) -> list[str]:
        return [*self._own, *(name for name in names(self._system) if name not in self._own)]

    def check(self, value: Any) -> Any:
        """A known method; an added one is loaded, so that a bad one is found before a run starts."""
        if value in self._own:
            return value
        if value not in self.known:
            *others, last = (repr(name) for name in self.known)
            raise PydanticKnownError("literal_error", {"expected": f"{', '.join(others)} or {last}"})
        find(self._system, value)
        return value

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return no_info_before_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"type": "string", "enum": self.known}
