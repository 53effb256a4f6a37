"""A connection to a Franka robot: requests and replies over TCP, states and commands over UDP.

The robot learns our UDP port from the Connect request and sends to it from its own address; only such packets are read. An
impossible reply means that this is no such robot: the connection is given up and treated as silent.
"""

import contextlib
import socket
from typing import Any

from hilt.core import clock
from hilt.core.faults import InputError
from hilt.device.fci import codec
from hilt.device.peer import PeerPort
from hilt.host import machine


class Link:
    """The connection; `states` is the UDP port."""

    def __init__(self) -> None:
        self.broken = False  # closed, or not FCI
        self.states = PeerPort(codec.STATE.itemsize)
        self._socket: Any = None
        self._buffer = bytearray()
        self._number = 0

    def connect(self, address: str, port: int, deadline: float) -> None:
        """Connect and agree on the version; raises OSError, or an InputError for another version."""
        self.close()
        self.broken, self._number = False, 0
        self._buffer.clear()
        self._socket = machine.connect(address, port, max(deadline - clock.now(), 0.01))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.states = PeerPort(
            codec.STATE.itemsize, self._socket.getpeername()[0], lambda data: len(data) == codec.STATE.itemsize
        )
        self.states.bind(self._socket.getsockname()[0], 0)
        number = self.next_number()
        reply = self.ask(codec.connect_request(number, self.states.port), codec.CONNECT, number, deadline)
        status, version = codec.read_connect_reply(reply)
        if status != codec.SUCCESS:
            raise InputError(
                f"the robot at {address}:{port} speaks version {version} of the Franka Control Interface, but hilt speaks "
                f"version {codec.VERSION}; use a robot whose system software has this version"
            )

    def next_number(self) -> int:
        """Return the number of the next request; its reply has the same."""
        self._number += 1
        return self._number

    def ask(self, data: bytes, command: int, number: int, deadline: float) -> bytes:
        """Send a request and wait for its reply."""
        assert self._socket is not None
        self._socket.settimeout(max(deadline - clock.now(), 0.01))
        self._socket.sendall(data)
        while True:
            found = self.reply(deadline)
            if found is None:
                raise TimeoutError("the connection was closed, or it is not FCI" if self.broken else "no answer")
            if found.command == command and found.number == number:
                return found.payload

    def reply(self, deadline: float = 0.0) -> codec.Message | None:
        """Return the next reply; None if none comes in time. A past deadline does not wait."""
        while not self.broken and self._socket is not None:
            code, found = codec.take_message(self._buffer)
            if found is not None:
                return found
            if code != codec.OK:
                self.broken = True
                break
            try:
                self._socket.settimeout(max(deadline - clock.now(), 0.0))
                data = self._socket.recv(1 << 16)
            except (TimeoutError, BlockingIOError):
                break
            except OSError:
                data = b""
            self.broken = not data
            self._buffer += data
        return None

    def send(self, data: bytes) -> bool:
        """Send a request without waiting; False if it could not be sent."""
        if self._socket is None or self.broken:
            return False
        try:
            self._socket.setblocking(False)
            sent = self._socket.send(data)
        except OSError:
            sent = 0
        self.broken = sent != len(data)
        return not self.broken

    def close(self) -> None:
        """Disconnect. Never raises, safe to call twice."""
        self.states.close()
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.close()
        self._socket = None
