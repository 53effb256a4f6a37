"""Sockets of a virtual machine: datagrams and streams over IPv4, and datagrams over Unix sockets.

All addresses are those of this one machine: whatever is bound to a port hears what is sent to it. A datagram arrives some tens
of microseconds after it was sent, in order, unless `disturb` says something else. A stream loses nothing, but may be held up.
A socket has the methods and errors of Python's own that hilt uses.
"""

import errno
import os
import random
import selectors
import socket
import struct
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from hilt.host.virtual.scheduler import FIRST, WALL, Waiting

LATENCY = (15_000, 45_000)  # [ns] from sending to arriving
PACKETS_MAX = 277  # unread datagrams, as a default buffer of Linux holds
BYTES_MAX = 1 << 17  # unread bytes of a stream
EPHEMERAL = 40_000  # first port that is chosen for a socket
_STAMPS, _OVERFLOWS = 35, 40  # SO_TIMESTAMPNS, SO_RXQ_OVFL
_ANY = ("", "0.0.0.0")

Address = tuple[str, int]


class Packet(NamedTuple):
    """A datagram on its way, or a piece of a stream."""

    sender: str  # name of the process
    receiver: str
    data: bytes
    stream: bool


Disturb = Callable[[Packet], list[tuple[int, bytes]]]  # what arrives instead: after how long [ns], and what


def _refuse(number: int) -> OSError:
    return OSError(number, os.strerror(number))


class Network:
    """All sockets of a machine."""

    def __init__(self, machine: Any, seed: int) -> None:
        self.machine = machine
        self.bound: dict[tuple[int, int], list[VirtualSocket]] = {}  # by kind and port
        self.names: dict[str, VirtualSocket] = {}  # Unix sockets
        self.disturb: Disturb | None = None
        self.heard: Callable[[Packet], None] | None = None  # is told of every packet that is sent
        self.sent = 0  # packets
        self._random = random.Random(f"{seed} network")
        self._port = EPHEMERAL

    def latency(self) -> int:
        return self._random.randrange(*LATENCY)

    def free_port(self, kind: int) -> int:
        while (kind, self._port) in self.bound:
            self._port += 1
        self._port += 1
        return self._port - 1

    def find(self, kind: int, address: Address) -> "VirtualSocket | None":
        """Return the socket that hears what is sent to an address; an exact address comes before any."""
        found = self.bound.get((kind, address[1]), ())
        exact = [each for each in found if each.address[0] == address[0]]
        return next(iter(exact or (each for each in found if each.address[0] in _ANY)), None)

    def on_the_way(self, packet: Packet) -> list[tuple[int, bytes]]:
        """Return when, and as what, a packet arrives."""
        self.sent += 1
        if self.heard is not None:
            self.heard(packet)
        usual = self.latency()
        if self.disturb is None:
            return [(usual, packet.data)]
        return [(usual + more, data) for more, data in self.disturb(packet)]


class VirtualSocket:
    """A socket, of any of the three kinds."""

    def __init__(self, machine: Any, family: int, kind: int, process: Any = None) -> None:
        self.machine, self.family, self.kind = machine, family, kind
        self.network: Network = machine.network
        self.process = process or machine.process
        self.process.sockets.append(self)
        self.address: Any = ("0.0.0.0", 0)
        self.peer: Any = None
        self.closed = False
        self.readers: Waiting = []
        self.writers: Waiting = []
        self._seconds: float | None = None  # time limit of a call
        self._packets: deque[tuple[bytes, Any, int, int]] = deque()  # data, sender, arrival [ns], dropped before it
        self._options: set[int] = set()
        self._dropped = 0
        self._last: dict[Any, int] = {}  # when the last packet to each receiver arrives [ns]
        self._refused = False
        self._name = ""
        # Streams
        self._listens = False
        self._waiting: deque[VirtualSocket] = deque()  # connections to accept
        self._other: VirtualSocket | None = None
        self._bytes, self._under_way = bytearray(), 0
        self._over = self._finished = False  # no more comes; no more is sent

    # Settings

    def setsockopt(self, level: int, option: int, value: Any) -> None:
        if value:
            self._options.add(option)

    def settimeout(self, seconds: float | None) -> None:
        self._seconds = seconds

    def setblocking(self, blocking: bool) -> None:
        self._seconds = None if blocking else 0.0

    def getsockname(self) -> Any:
        return self._name if self.family == socket.AF_UNIX else self.address

    def getpeername(self) -> Any:
        if self.peer is None:
            raise _refuse(errno.ENOTCONN)
        return self.peer

    def fileno(self) -> int:
        return -1

    def __enter__(self) -> "VirtualSocket":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def bind(self, address: Any) -> None:
        if self.family == socket.AF_UNIX:
            self._name = address or f"\0{self.machine.next_number():05x}"
            if self._name in self.network.names:
                raise _refuse(errno.EADDRINUSE)
            self.network.names[self._name] = self
            return
        host, port = self.machine.resolve(address[0]) if address[0] else "0.0.0.0", int(address[1])
        if not 0 <= port <= 65535:
            raise OverflowError("bind(): port must be 0-65535.")
        port = port or self.network.free_port(self.kind)
        places = self.network.bound.setdefault((self.kind, port), [])
        if any(host in _ANY or each.address[0] in _ANY or each.address[0] == host for each in places):
            raise _refuse(errno.EADDRINUSE)
        places.append(self)
        self.address = (host, port)

    def close(self) -> None:
        if self.closed:
            return
        self.closed = True
        if self in self.process.sockets:
            self.process.sockets.remove(self)
        if self.network.names.get(self._name) is self:
            del self.network.names[self._name]
        places = self.network.bound.get((self.kind, self.address[1] if self.family != socket.AF_UNIX else -1), [])
        if self in places:
            places.remove(self)
            if not places:
                del self.network.bound[(self.kind, self.address[1])]
        if self._other is not None:
            self._send_end()
        for each in self._waiting:
            each.close()
        self._wake()

    def shutdown(self, _: int) -> None:
        self._over = True
        if self._other is not None:
            self._send_end()
        self._wake()

    def _wake(self) -> None:
        self.machine.scheduler.wake(self.readers)
        self.machine.scheduler.wake(self.writers)

    def _await(self, ready: Callable[[], bool], waiting: Waiting) -> None:
        """Wait as long as the time limit says; BlockingIOError or TimeoutError if it is not ready then."""
        scheduler, limit = self.machine.scheduler, self._seconds
        until = None if limit is None else scheduler.now + round(1e9 * limit)
        while not ready():
            if self.closed:
                raise _refuse(errno.EBADF)
            if limit == 0.0:
                raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
            if not scheduler.wait(waiting, until=until) and not ready():
                raise TimeoutError("timed out")

    @property
    def readable(self) -> bool:
        return bool(self._packets or self._waiting or self._bytes or self._over or self._refused)

    # Datagrams

    def connect(self, address: Any) -> None:
        if self.family == socket.AF_UNIX:
            if address not in self.network.names:
                raise _refuse(errno.ECONNREFUSED)
            self.peer = address
        elif self.kind == socket.SOCK_DGRAM:
            self.peer = (self.machine.resolve(address[0]), int(address[1]))
            if not self.address[1]:
                self.bind((self.peer[0], 0))
        else:
            self._connect_stream(address)

    def sendto(self, data: Any, address: Any) -> int:
        if self.closed:
            raise _refuse(errno.EBADF)
        data = bytes(data)
        if self.family == socket.AF_UNIX:
            found = self.network.names.get(address)
            if found is None:
                raise _refuse(errno.ECONNREFUSED)
            found._take(data, self._name or None)
            return len(data)
        if not self.address[1]:
            self.bind(("", 0))
        address = (self.machine.resolve(address[0]), int(address[1]))
        found = self.network.find(self.kind, address)
        if found is None:
            self._refused = self.peer is not None  # an unconnected socket does not hear of it
            return len(data)
        own = (address[0] if self.address[0] in _ANY else self.address[0], self.address[1])
        packet, scheduler = Packet(self.process.name, found.process.name, data, False), self.machine.scheduler
        for after, what in self.network.on_the_way(packet):
            when = scheduler.now + after
            if after < LATENCY[1]:  # what is not held up arrives in order
                when = self._last[found] = max(when, self._last.get(found, 0))
            scheduler.at(when, lambda what=what: found._take(what, own))
        return len(data)

    def _take(self, data: bytes, sender: Any) -> None:
        """Receive a datagram."""
        if self.closed or (self.peer is not None and sender != self.peer):
            return
        if len(self._packets) >= PACKETS_MAX:
            self._dropped += 1
            return
        self._packets.append((data, sender, self.machine.scheduler.now, self._dropped))
        self.machine.scheduler.wake(self.readers)

    def recvmsg(self, size: int, _: int = 0) -> tuple[bytes, list[tuple[int, int, bytes]], int, Any]:
        self._await(lambda: bool(self._packets or self._refused or self._over), self.readers)
        if self._refused:
            self._refused = False
            raise _refuse(errno.ECONNREFUSED)
        if not self._packets:
            return b"", [], 0, None
        data, sender, came, dropped = self._packets.popleft()
        notes = []
        if _STAMPS in self._options:
            wall = WALL + came - FIRST + self.machine.wall_step
            notes.append((socket.SOL_SOCKET, _STAMPS, struct.pack("@qq", *divmod(wall, 1_000_000_000))))
        if _OVERFLOWS in self._options and dropped:
            notes.append((socket.SOL_SOCKET, _OVERFLOWS, struct.pack("@I", dropped)))
        return data[:size], notes, 0, sender

    def recvfrom(self, size: int) -> tuple[bytes, Any]:
        data, _, _, sender = self.recvmsg(size)
        return data, sender

    # Streams

    def listen(self, _: int = 0) -> None:
        self._listens = True

    def _connect_stream(self, address: Address) -> None:
        scheduler = self.machine.scheduler
        scheduler.wait(until=scheduler.now + self.network.latency())
        target = (self.machine.resolve(address[0]), int(address[1]))
        found = self.network.find(self.kind, target)
        if found is None or not found._listens:
            raise _refuse(errno.ECONNREFUSED)
        other = VirtualSocket(self.machine, self.family, self.kind, found.process)
        self.address = (target[0], self.network.free_port(self.kind))
        self.peer, other.peer, other.address = target, self.address, target
        self._other, other._other = other, self
        found._waiting.append(other)
        scheduler.wake(found.readers)

    def accept(self) -> tuple["VirtualSocket", Address]:
        self._await(lambda: bool(self._waiting), self.readers)
        found = self._waiting.popleft()
        return found, found.peer

    def send(self, data: Any) -> int:
        if self.kind == socket.SOCK_DGRAM:
            if self.peer is None:
                raise _refuse(errno.EDESTADDRREQ)
            return self.sendto(data, self.peer)
        self._await(lambda: self._room > 0 or self._gone, self.writers)
        if self._gone:
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))
        data = bytes(data)[: self._room]
        self._deliver(data)
        return len(data)

    def sendall(self, data: Any) -> None:
        rest = bytes(data)
        while rest:
            rest = rest[self.send(rest) :]

    @property
    def _gone(self) -> bool:
        """Whether nobody hears any more."""
        return self.closed or self._finished or self._other is None or self._other.closed

    @property
    def _room(self) -> int:
        return BYTES_MAX - len(self._other._bytes) - self._under_way if self._other is not None else 0

    def _deliver(self, data: bytes, end: bool = False) -> None:
        """Send a piece of the stream, or its end; it arrives after all pieces before it."""
        other, scheduler = self._other, self.machine.scheduler
        assert other is not None
        packet = Packet(self.process.name, other.process.name, data, True)
        after = self.network.latency() if end else max(after for after, _ in self.network.on_the_way(packet))
        when = self._last[other] = max(scheduler.now + after, self._last.get(other, 0))
        self._under_way += len(data)

        def arrive() -> None:
            self._under_way -= len(data)
            other._bytes += data
            other._over = other._over or end
            scheduler.wake(other.readers)

        scheduler.at(when, arrive)

    def _send_end(self) -> None:
        if not self._finished:
            self._finished = True
            self._deliver(b"", end=True)
            assert self._other is not None
            self.machine.scheduler.wake(self._other.writers)

    def recv(self, size: int) -> bytes:
        if self.kind == socket.SOCK_DGRAM:
            return self.recvfrom(size)[0]
        self._await(lambda: bool(self._bytes or self._over), self.readers)
        found = bytes(self._bytes[:size])
        del self._bytes[:size]
        if found and self._other is not None:
            self.machine.scheduler.wake(self._other.writers)
        return found

    def recv_into(self, buffer: Any) -> int:
        found = self.recv(len(buffer))
        buffer[: len(found)] = found
        return len(found)


class VirtualSelector:
    """Waits for several sockets to read from."""

    def __init__(self, machine: Any) -> None:
        self._machine = machine
        self._sockets: dict[VirtualSocket, selectors.SelectorKey] = {}

    def register(self, each: VirtualSocket, events: int, data: Any = None) -> None:
        self._sockets[each] = selectors.SelectorKey(each, -1, events, data)

    def unregister(self, each: VirtualSocket) -> None:
        del self._sockets[each]

    def select(self, seconds: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        scheduler = self._machine.scheduler
        until = None if seconds is None else scheduler.now + round(1e9 * max(seconds, 0.0))
        while not (found := list(self._ready())):
            if until is not None and scheduler.now >= until:
                break
            scheduler.wait(*(each.readers for each in self._sockets), until=until)
        return found

    def _ready(self) -> Iterator[tuple[selectors.SelectorKey, int]]:
        return ((key, selectors.EVENT_READ) for each, key in self._sockets.items() if each.readable)

    def close(self) -> None:
        self._sockets.clear()
