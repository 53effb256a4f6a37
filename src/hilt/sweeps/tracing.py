"""Finds which keys of a scenario a piece of code reads: its result is the same for all scenarios that agree in those.

The sections that hold the watched keys get a class that notes every access. Code that copies a section, hashes it or looks at
all its values has read all of them; a value that replaced a watched one in a copy is no longer watched.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from threading import get_ident
from typing import Any

import numpy as np
from pydantic import BaseModel

Keys = Mapping[str, Any]
Place = tuple[int, ...]  # on each axis
PLAIN = frozenset({float, int, bool, str, type(None), np.ndarray})  # types of most values; they hold no section


def _child(node: Any, name: str) -> Any:
    if isinstance(node, tuple | list):
        return node[int(name)]
    return node.get(name, {}) if isinstance(node, dict) else getattr(node, name)


class Trace:
    """Makes scenarios from one that has all the keys, and notes which of the keys are read from them."""

    def __init__(self, base: BaseModel, keys: Iterable[str]) -> None:
        self._base, self._keys = base, tuple(keys)
        self._classes: dict[tuple[type, tuple[tuple[str, str], ...]], type] = {}
        self.read: set[str] = set()
        self._made_before: dict[Place, Any] = {}
        self._thread = get_ident()  # what other threads read later was inside a value that they were given

    def scenario(self, place: Place, values_at: Callable[[Place], Keys]) -> Any:
        """Return a scenario with other values for the watched keys; the values are not checked."""
        if place not in self._made_before:
            values = values_at(place)
            self._made_before[place] = self._placed(self._base, [(key.split("."), key, values[key]) for key in self._keys])
        return self._made_before[place]

    def forget(self) -> None:
        """Drop the scenarios made so far; within a chunk most functions use the same few."""
        self._made_before.clear()

    def _placed(self, node: Any, changes: list[tuple[list[str], str, Any]]) -> Any:
        """Return a copy of a section, list or table with the new values in it, watched."""
        children: dict[str, list[tuple[list[str], str, Any]]] = {}
        whole: dict[str, tuple[str, Any]] = {}
        for path, key, value in changes:
            if len(path) == 1:
                whole[path[0]] = key, value
            else:
                children.setdefault(path[0], []).append((path[1:], key, value))
        found: dict[str, Any] = {name: value for name, (_, value) in whole.items()}
        watched: dict[str, str] = {name: key for name, (key, _) in whole.items()}
        for name, inner in children.items():
            child = _child(node, name)
            found[name] = self._placed(child, inner)
            if not isinstance(found[name], BaseModel):  # reading inside it cannot be watched
                watched[name] = inner[0][1]
                for _, key, _ in inner[1:]:
                    watched[f"{name} {key}"] = key
        if isinstance(node, tuple | list):
            entries = list(node)
            for name, value in found.items():
                entries[int(name)] = value
            return type(node)(entries)
        if isinstance(node, dict):
            return {**node, **found}
        return self._watched(node.model_copy(update=found), watched)

    def _watched(self, section: BaseModel, watched: Mapping[str, str]) -> BaseModel:
        if watched:
            object.__setattr__(section, "__class__", self._class(type(section), tuple(sorted(watched.items()))))
        return section

    def _class(self, kind: type, watched: tuple[tuple[str, str], ...]) -> type:
        plain = getattr(kind, "__watched_kind__", kind)
        if (plain, watched) not in self._classes:
            self._classes[plain, watched] = self._made(plain, watched)
        return self._classes[plain, watched]

    def _made(self, plain: type, watched: tuple[tuple[str, str], ...]) -> type:
        noted: dict[str, list[str]] = {}
        for name, key in watched:
            noted.setdefault(name.partition(" ")[0], []).append(key)
        every, read, trace, tracing = [key for _, key in watched], self.read, self, self._thread

        def __getattribute__(self: Any, name: str) -> Any:
            if name in noted:
                if get_ident() == tracing:
                    read.update(noted[name])
            elif name == "__dict__" and get_ident() == tracing:
                read.update(every)
            return object.__getattribute__(self, name)

        def model_copy(self: Any, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Any:
            made: Any = object.__new__(plain)
            for slot, value in (
                ("__dict__", {**object.__getattribute__(self, "__dict__"), **(update or {})}),
                ("__pydantic_fields_set__", {*object.__getattribute__(self, "__pydantic_fields_set__"), *(update or {})}),
                ("__pydantic_extra__", None),
                ("__pydantic_private__", None),
            ):
                object.__setattr__(made, slot, value)
            return trace._watched(made, {name: key for name, key in watched if name.partition(" ")[0] not in (update or {})})

        # type.__new__ itself: pydantic's metaclass would build a schema that this class never needs.
        body = {
            "__slots__": (),
            "__getattribute__": __getattribute__,
            "model_copy": model_copy,
            "__watched_kind__": plain,
            "__module__": plain.__module__,
        }
        make: Any = type.__new__
        made: type = make(type(plain), plain.__name__, (plain,), body)
        return made

    def inside(self, value: Any) -> set[str]:
        """The watched keys of the sections that a value holds: code that keeps it may read them later."""
        watched = {made: [key for _, key in keys] for (_, keys), made in self._classes.items()}
        found: set[str] = set()
        seen: set[int] = set()
        todo = [value]
        while todo:
            each = todo.pop()
            kind = type(each)
            if kind in PLAIN or id(each) in seen:
                continue
            seen.add(id(each))
            found.update(watched.get(kind, ()))
            todo.extend(_parts(each, kind))
        return found


def _parts(value: Any, kind: Any) -> Iterable[Any]:
    if issubclass(kind, dict):
        return value.values()
    if issubclass(kind, tuple | list):
        return value
    if issubclass(kind, BaseModel):
        return object.__getattribute__(value, "__dict__").values()
    return [getattr(value, name) for name in _fields(kind)]


@cache
def _fields(kind: Any) -> tuple[str, ...]:
    """Return the names of a dataclass's fields; none for other types."""
    return tuple(field.name for field in fields(kind)) if is_dataclass(kind) else ()
