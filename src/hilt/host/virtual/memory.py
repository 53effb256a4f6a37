"""Shared memory of a virtual machine: names, owners and claims as in host/shared.py, without files."""

import mmap
from contextlib import suppress
from typing import Any

from hilt.core.faults import InputError
from hilt.host.shared import FOLDER, MEETING, check_name


class VirtualSegment:
    """One process's view of a segment."""

    def __init__(self, store: "Segments", name: str, memory: mmap.mmap, owner: bool, shared: "VirtualSegment | None") -> None:
        self.path, self.memory, self._owner = FOLDER / name, memory, owner
        self._store, self._original = store, shared or self
        self._process = store.machine.process
        self._process.segments.append(self)
        self._opened = True
        self._claims: set[int] = set()

    @property
    def name(self) -> str:
        return self.path.name

    def publish(self) -> None:
        """Give it its name, unless a living process has a segment of that name."""
        found = self._store.names.get(self.name)
        if found is not None and found.owner_alive:
            raise InputError(f"{self.name} is already running in another process; wait until it ends, or choose another name")
        self._store.names[self.name] = self

    @property
    def owner_alive(self) -> bool:
        return self._original._opened

    def claim(self, place: int) -> bool:
        holder = self._store.claims.setdefault((self.name, place), self)
        if holder is self:
            self._claims.add(place)
        return holder is self

    def claimed(self, place: int) -> bool:
        return self._store.claims.get((self.name, place), self) is not self

    def close(self) -> None:
        """Release it; the owner also removes the name. Safe to call twice."""
        if not self._opened:
            return
        if self._owner and self._store.names.get(self.name) is self:
            del self._store.names[self.name]
        self.let_go()
        with suppress(BufferError, ValueError):
            if self._owner:
                self.memory.close()

    def let_go(self) -> None:
        """Release what the kernel releases when a process ends: a killed one leaves its name behind."""
        self._opened = False
        for place in self._claims:
            self._store.claims.pop((self.name, place), None)
        self._claims.clear()
        if self in self._process.segments:
            self._process.segments.remove(self)
        if self.name.endswith(MEETING):
            self._store.leave(self)


class Segments:
    """All segments of a machine."""

    def __init__(self, machine: Any) -> None:
        self.machine = machine
        self.names: dict[str, VirtualSegment] = {}
        self.claims: dict[tuple[str, int], VirtualSegment] = {}
        self._joined: dict[str, list[VirtualSegment]] = {}

    def create(self, name: str, size: int) -> VirtualSegment:
        self.machine.take("create a segment")
        return VirtualSegment(self, name, mmap.mmap(-1, size), True, None)

    def open(self, name: str, size: int) -> VirtualSegment:
        found = self.names.get(name)
        if found is None:
            raise InputError(f"{name} is not running here; start it first")
        if len(found.memory) < size:
            raise InputError(
                f"{found.path} is {len(found.memory)} bytes long, but memory of hilt has {size}; give the name of a run"
            )
        return VirtualSegment(self, name, found.memory, False, found)

    def join(self, name: str, size: int) -> VirtualSegment:
        name += MEETING
        check_name(name)
        members = self._joined.setdefault(name, [])
        memory = members[0].memory if members else mmap.mmap(-1, size)
        members.append(VirtualSegment(self, name, memory, False, None))
        self.names[name] = members[0]
        return members[-1]

    def leave(self, segment: VirtualSegment) -> None:
        members = self._joined.get(segment.name, [])
        if segment in members:
            members.remove(segment)
        if not members:
            self.names.pop(segment.name, None)

    def running(self, suffix: str) -> list[str]:
        return sorted(name for name, found in self.names.items() if name.endswith(suffix) and found.owner_alive)

    def sweep(self) -> None:
        for name in list(self.names):
            self.forget(name)

    def forget(self, name: str) -> None:
        found = self.names.get(name)
        if found is not None and not found.owner_alive and not name.endswith(MEETING):
            del self.names[name]

    def left(self) -> list[str]:
        """Return all names, in use or not."""
        return sorted(self.names)
