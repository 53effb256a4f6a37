"""User-defined methods and stages."""

from collections.abc import Callable, Mapping
from typing import Any

from hilt.compiled import jit
from hilt.core import methods, registry
from hilt.core.faults import InputError
from hilt.core.signals import record
from hilt.core.stage import StageKind


def method(system: str, parts: Mapping[str, Any]) -> Callable[[Any], StageKind]:
    """Return a decorator that registers a stage, or makes one from a step function and registers it."""
    place = registry.system(system).methods
    if place is None:
        able = [name for name, each in registry.systems().items() if each.methods is not None]
        raise InputError(f"{system} has no key that chooses a method; {', '.join(able)} has one; use with_block here")

    def registered(step: Any) -> StageKind:
        kind = step if isinstance(step, StageKind) else stage(step, parts)
        methods.add(system, kind)
        return kind

    return registered


def stage(step: Any, parts: Mapping[str, Any]) -> StageKind:
    """Compile a step function and make a stage from it."""
    if not callable(step):
        raise InputError(f"a stage is a StageKind or a step function, not a {type(step).__name__}; see docs/extending.md")
    given = {key: value for key, value in parts.items() if value is not None}
    for key in ("state", "params"):
        if isinstance(given.get(key), Mapping):
            given[key] = record(**given[key])
    compiled = step if hasattr(step, "py_func") else jit(step)
    return StageKind(given.pop("name", step.__name__), compiled, **given)
