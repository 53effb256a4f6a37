"""Where the controller's knowledge differs from the world: a tree of the values that differ.

A scenario's sections are the world; `belief` gives other values for some of their keys. Both are merged when a scenario is
read, to check the beliefs as strictly as the world, and again whenever the believed scenario is needed, since the world may
have changed by then.
"""

from typing import Any

from pydantic import BaseModel

from hilt.core.faults import InputError, shortened


def merged(world: Any, belief: Any, key: str = "belief") -> Any:
    """A tree as it was written, with the believed values in it. In a list whole numbers name the entries."""
    if isinstance(belief, dict) and isinstance(world, dict):
        return {**world, **{name: merged(world.get(name), each, f"{key}.{name}") for name, each in belief.items()}}
    if isinstance(belief, dict) and isinstance(world, list | tuple):
        entries = list(world)
        for name, each in belief.items():
            if not (name.isascii() and name.isdigit() and len(name) < 6 and int(name) < len(entries)):
                raise InputError(
                    f"{shortened(f'{key}.{name}')} is not an entry; there are {len(entries)}, counted from 0; choose one",
                    key=f"{key}.{name}",
                )
            entries[int(name)] = merged(entries[int(name)], each, f"{key}.{name}")
        return entries
    return belief


def checked(believed: Any, world: Any, belief: Any) -> Any:
    """The tree of a belief with its checked values, in SI units."""
    if isinstance(belief, dict) and isinstance(believed, BaseModel) and type(believed) is type(world):
        return {name: checked(getattr(believed, name), getattr(world, name), each) for name, each in belief.items()}
    if isinstance(belief, dict) and isinstance(believed, tuple) and isinstance(world, tuple):
        return {str(int(name)): checked(believed[int(name)], world[int(name)], each) for name, each in belief.items()}
    return believed


def applied(world: Any, belief: Any) -> Any:
    """A checked scenario, or part of one, with the checked beliefs applied."""
    if not isinstance(belief, dict):
        return belief
    if isinstance(world, BaseModel):
        return world.model_copy(update={name: applied(getattr(world, name), each) for name, each in belief.items()})
    if isinstance(world, tuple):
        return tuple(applied(each, belief[str(i)]) if str(i) in belief else each for i, each in enumerate(world))
    return world  # the section has been removed from the world since
