"""Connections are bounded: so many at once, and one that says nothing is closed."""

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

from hilt.cockpit.gate import Log

MOST = 256
SILENCE = 5.0  # [s] until a new connection has to have asked for something


class Connections(H11Protocol):
    """HTTP as uvicorn speaks it, for a bounded number of peers."""

    log = Log()

    @classmethod
    def limited(cls, log: Log) -> type["Connections"]:
        return type("LimitedConnections", (cls,), {"log": log})

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > MOST:
            self.log.once(f"closed a connection: {MOST} are open already")
            transport.abort()
            return
        self.loop.call_later(SILENCE, self._close_if_silent)

    def _close_if_silent(self) -> None:
        if self.scope is None and not self.transport.is_closing():
            self.log.once(f"closed a connection that asked for nothing in {SILENCE:g} s")
            self.transport.abort()
