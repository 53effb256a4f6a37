"""A UDP port that accepts one peer; other senders are counted, named and ignored.

UDP has no connections: anyone who can reach a port can send to it. `connect` on a UDP socket makes the kernel drop packets of
other senders, but then they would go unnoticed. So the first `COUNTED` are read and counted; after that the socket is
connected, and a flood costs the loop the reading of one full buffer, once.
"""

import contextlib
import ipaddress
import socket
from collections.abc import Callable
from typing import Any

from hilt.core import clock
from hilt.host import machine

COUNTED = 100  # packets of unknown senders, before the kernel drops them
NAMED = 3  # unknown senders whose addresses are reported
_QUEUE_MAX = 4096  # packets; more than a socket's buffer holds by default

Sender = tuple[str, int]


def parse(text: str) -> tuple[str, int]:
    """Address and port of "address" or "address:port"; port 0 for any. Numeric only: a name would need a lookup."""
    address, colon, port = text.partition(":")
    try:
        found = ipaddress.IPv4Address(address)
        number = int(port) if colon else 0
    except ValueError:
        number, found = -1, ipaddress.IPv4Address(0)
    if found.is_unspecified or found.is_multicast or not (1 if colon else 0) <= number <= 65535:
        raise ValueError('it must be an IPv4 address, or one with a port, such as "192.168.1.10" or "192.168.1.10:49152"')
    return str(found), number


def named(sender: Sender) -> str:
    return f"{sender[0]}:{sender[1]}"


class PeerPort:
    """A socket and its peer. Until `settled`, any sender at the allowed address may be the peer."""

    def __init__(self, size_max: int, allowed: str = "", claims: Callable[[bytes], bool] = lambda _: False) -> None:
        """`claims` says whether a packet looks like the device's: another sender of such packets is a rival."""
        self.peer: Sender | None = None
        self.settled = False
        self.strangers = 0  # packets
        self.rival: Sender | None = None  # once settled: another sender at the allowed address with the device's packets
        self.address: Sender = ("", 0)  # our own
        self._allowed = parse(allowed) if allowed else ("", 0)
        self._claims = claims
        self._names: list[str] = []
        self._shut = False  # whether the kernel drops other senders
        self._size_max = size_max
        self._socket: Any = None

    @property
    def port(self) -> int:
        return self.address[1]

    @property
    def opened(self) -> bool:
        return self._socket is not None

    def bind(self, address: str, port: int) -> None:
        """Take a port exclusively, without any option that shares it. Raises the kernel's error."""
        self._socket = machine.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((address, port))
        self.address = self._socket.getsockname()

    def settle(self) -> None:
        """Fix the peer, by address and port, until the port is closed."""
        self.settled = True

    def forget(self) -> None:
        """Discard all unread packets, and forget the peer."""
        self.peer, self.settled, self.rival = None, False, None
        for _ in range(_QUEUE_MAX):
            data, _ = self._next(0.0)
            if data is None:
                return

    def receive(self, deadline: float) -> tuple[bytes, Sender | None]:
        """The next datagram of the peer, and its sender; no sender if none arrived in time. A past deadline does not wait."""
        for _ in range(_QUEUE_MAX):
            data, sender = self._next(deadline)
            if data is None or sender is None:
                break
            if self._welcome(sender):
                return data, sender
            self._count(data, sender)
        return b"", None

    def _next(self, deadline: float) -> tuple[bytes | None, Sender | None]:
        while self._socket is not None:
            try:
                self._socket.settimeout(max(deadline - clock.now(), 0.0))
                return self._socket.recvfrom(self._size_max + 1)
            except (TimeoutError, BlockingIOError):
                break
            except OSError:  # the peer's port is closed: it may reopen
                if clock.now() > deadline:
                    break
        return None, None

    def _welcome(self, sender: Sender) -> bool:
        return sender == self.peer if self.settled else self._allows(sender)

    def _allows(self, sender: Sender) -> bool:
        address, port = self._allowed
        return address in ("", sender[0]) and port in (0, sender[1])

    def _count(self, data: bytes, sender: Sender) -> None:
        self.strangers += 1
        if self.settled and self.rival is None and self._allows(sender) and self._claims(data):
            self.rival = sender
        if len(self._names) < NAMED and named(sender) not in self._names:
            self._names.append(named(sender))
        if self.settled and self.peer is not None and not self._shut and self.strangers >= COUNTED and self._socket is not None:
            self._shut = True
            with contextlib.suppress(OSError):  # if this fails they are read and counted as before
                self._socket.connect(self.peer)

    def send(self, data: bytes | bytearray) -> bool:
        """Send to the peer without waiting; returns whether it was sent."""
        if self._socket is None or self.peer is None:
            return False
        try:
            self._socket.setblocking(False)
            self._socket.sendto(data, self.peer)
        except OSError:
            return False
        return True

    def describe_strangers(self) -> str:
        """Describe what unknown senders have sent, in words; empty if nothing."""
        if not self.strangers:
            return ""
        more = f"; after {COUNTED} the kernel drops them uncounted" if self._shut else ""
        count = "1 packet" if self.strangers == 1 else f"{self.strangers} packets"
        return f"{count} from unknown senders ({', '.join(self._names)}){more}"

    def close(self) -> None:
        """Release the port. Never raises, safe to call twice."""
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.close()
        self._socket, self._shut = None, False
