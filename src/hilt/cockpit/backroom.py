"""The process behind the door: page, forms, recordings, pictures of runs. It may be slow; stopping a robot does not need it.

The door (door.py) accepts connections and hands them over with the bytes it has read. When it ends, so does this process.
"""

import asyncio
import json
import logging
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import uvicorn

from hilt.cockpit import server
from hilt.cockpit.connections import Connections, Crowd
from hilt.cockpit.door import BEGUN_BYTES, MESSAGE_BYTES
from hilt.cockpit.gate import Gate, Log, Plate
from hilt.device import own

READY = b"ready"


class _Once(logging.Filter):
    """Reports the libraries' own log lines once as well, and without addresses."""

    def __init__(self, log: Log) -> None:
        super().__init__()
        self._log = log

    def filter(self, record: logging.LogRecord) -> bool:
        self._log.once(f"{record.msg}".strip() + (f": {record.exc_info[1]!r}" if record.exc_info else ""))
        return False


class _Server(uvicorn.Server):
    """A server that does not listen itself: its connections come from the door."""

    def __init__(self, config: uvicorn.Config, connections: type[Connections], door: socket.socket) -> None:
        super().__init__(config)
        self._connections = connections
        self._door, self._taken = door, set[asyncio.Task[Any]]()
        self.servers = []

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave Ctrl-C to the door; when that ends, so do we."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await self.lifespan.startup()
        self._door.setblocking(False)
        asyncio.get_running_loop().add_reader(self._door, self._take)
        self.started = True
        self._door.send(READY)

    def _take(self) -> None:
        """Take the next connection; an empty message means that the door has ended."""
        try:
            begun, descriptors, _, _ = socket.recv_fds(self._door, BEGUN_BYTES, 1)
        except BlockingIOError:
            return
        if not begun:
            self.should_exit = True
            asyncio.get_running_loop().remove_reader(self._door)
        for descriptor in descriptors:
            task = asyncio.create_task(self._speak(begun, socket.socket(fileno=descriptor)))
            self._taken.add(task)
            task.add_done_callback(self._taken.discard)

    async def _speak(self, begun: bytes, peer: socket.socket) -> None:
        def protocol() -> Connections:
            found = self._connections(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)
            found.begun = begun
            return found

        with suppress(OSError):
            await asyncio.get_running_loop().connect_accepted_socket(protocol, peer)


def serve(door: socket.socket, host: str, port: int, out: Path, token: str) -> None:
    """Serve until the door ends."""
    log = Log()
    for name in ("uvicorn", "uvicorn.error", "asyncio"):
        logging.getLogger(name).addFilter(_Once(log))
    crowd = Crowd(log)
    app: Any = server.build(out, token, log, crowd.trust)
    gate: Any = Gate(app, token, Plate(host, port), log, crowd.trust)
    connections = type("_Connections", (Connections,), {"crowd": crowd})
    config = uvicorn.Config(
        gate,
        http=connections,
        ws="websockets-sansio",
        ws_max_size=MESSAGE_BYTES,
        ws_per_message_deflate=False,
        ws_ping_interval=10.0,
        ws_ping_timeout=20.0,
        log_config=None,
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=1,
    )
    _Server(config, connections, door).run()


def main() -> None:
    config = json.loads(sys.stdin.readline())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    own.allow(*config["drivers"])
    serve(socket.socket(fileno=int(sys.argv[1])), config["host"], config["port"], Path(config["out"]), config["token"])


if __name__ == "__main__":
    main()
