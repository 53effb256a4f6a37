"""Limits the connections behind the door: at most MOST at once, and those without a key are closed first."""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from hilt.cockpit.gate import Log

MOST = 256
STRANGER_LIFE = 20.0  # [s] for a connection without a key: enough for the page's files over a slow line
Peer = tuple[str, int]


class Crowd:
    """The open connections, oldest first; those that have shown a key stay."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._strangers: dict[Peer, asyncio.Transport] = {}
        self._known: dict[Peer, asyncio.Transport] = {}

    def admit(self, transport: asyncio.Transport) -> bool:
        """Whether there is room; if necessary the oldest connection without a key is closed."""
        for group in (self._strangers, self._known):
            for peer in [peer for peer, each in group.items() if each.is_closing()]:
                del group[peer]
        if len(self._strangers) + len(self._known) >= MOST:
            self._log.once(f"closed a connection: {MOST} are open already; those without a key go first")
            if not self._strangers:
                transport.abort()
                return False
            self._strangers.pop(next(iter(self._strangers))).abort()
        peer = transport.get_extra_info("peername")[:2]
        self._strangers[peer] = transport
        asyncio.get_running_loop().call_later(STRANGER_LIFE, self._end_if_stranger, peer, transport)
        return True

    def trust(self, scope: Any) -> None:
        """Note that the peer of this request has a key."""
        peer = tuple(scope["client"])
        if peer in self._strangers:
            self._known[peer] = self._strangers.pop(peer)

    def _end_if_stranger(self, peer: Peer, transport: asyncio.Transport) -> None:
        if self._strangers.get(peer) is transport:
            del self._strangers[peer]
            if not transport.is_closing():
                self._log.once(f"closed a connection that showed no key within {STRANGER_LIFE:g} s")
                transport.abort()


class Connections(H11Protocol):
    """uvicorn's HTTP on a connection that the door has handed over with the bytes it had read."""

    crowd: Crowd
    begun: bytes = b""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if self.crowd.admit(transport):
            self.data_received(self.begun)  # before anything else is read from the connection
