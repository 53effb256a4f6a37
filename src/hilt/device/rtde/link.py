"""A connection to an RTDE server: requests wait for their answers, and the data of every cycle are found in one buffer.

TCP delivers every byte in order or none: an impossible header means that this is no RTDE server, or that the connection is out
of step. Nothing after it can be trusted, so the connection is given up and treated as silent.
"""

import contextlib
import socket
from collections.abc import Sequence
from typing import Any

import numpy as np

from hilt.core import clock
from hilt.core.faults import InputError
from hilt.device.rtde import codec
from hilt.host import machine

_ROOM = 1 << 16
_TEXTS = 20  # messages of the controller to keep


class Link:
    """The connection; the data package that `receive` found is in `buffer`, from `at` to `to`."""

    def __init__(self) -> None:
        self.buffer = np.zeros(_ROOM, np.uint8)
        self.at = self.to = 0
        self.texts: list[str] = []  # messages of the controller
        self.broken = False  # closed, or out of step
        self._memory = memoryview(self.buffer).cast("B")  # type: ignore[arg-type]
        self._begin = self._end = 0
        self._socket: Any = None

    @property
    def opened(self) -> bool:
        return self._socket is not None

    def connect(self, address: str, port: int, deadline: float) -> None:
        """Connect and agree on the protocol; raises OSError, or an InputError for another kind of server."""
        self.close()
        self.broken, self._begin, self._end = False, 0, 0
        self._socket = machine.connect(address, port, max(deadline - clock.now(), 0.01))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.ask(codec.version_request(), codec.VERSION_REQUEST, deadline)[:1] != b"\1":
            raise InputError(f"the controller at {address}:{port} does not speak RTDE version 2; update its software")

    def outputs(self, names: Sequence[str], frequency: float, deadline: float) -> tuple[int, codec.Fields]:
        """Request the data that the controller will send; returns the recipe's number and fields."""
        recipe, types = codec.read_recipe(self.ask(codec.output_request(frequency, names), codec.OUTPUTS, deadline))
        missing = [name for name, kind in zip(names, types, strict=False) if kind not in codec.FORMATS]
        if missing or len(types) != len(names):
            raise InputError(f"the controller does not send {', '.join(missing) or 'the requested data'}; update its software")
        return recipe, codec.Fields(types)

    def inputs(self, names: Sequence[str], deadline: float) -> codec.Outgoing:
        """Return the package for writing the controller's registers."""
        recipe, types = codec.read_recipe(self.ask(codec.input_request(names), codec.INPUTS, deadline))
        taken = [name for name, kind in zip(names, types, strict=False) if kind == codec.IN_USE]
        if taken:
            raise InputError(
                f"another client of the controller writes {taken[0]}; end it (or its field bus), or change robot.registers"
            )
        if len(types) != len(names) or not recipe or not set(types) <= set(codec.FORMATS):
            raise InputError(f"the controller does not take {names[0]}; choose another robot.registers or update its software")
        return codec.Outgoing(recipe, types)

    def begin(self, deadline: float) -> None:
        if self.ask(codec.message(codec.START), codec.START, deadline)[:1] != b"\1":
            raise InputError("the controller refuses to send data over RTDE; restart it")

    def ask(self, data: bytes, kind: int, deadline: float) -> bytes:
        """Send a request and wait for the answer of its kind; data packages before it are skipped."""
        assert self._socket is not None
        self._socket.settimeout(max(deadline - clock.now(), 0.01))
        self._socket.sendall(data)
        while True:
            found = self._message(deadline)
            if found == kind:
                return bytes(self._memory[self.at + codec.HEADER.size : self.to])
            if found == 0:
                raise TimeoutError("no answer" if not self.broken else "the connection was closed, or it is not RTDE")

    def receive(self, deadline: float) -> bool:
        """Wait for the next data package; False if none comes in time. A past deadline does not wait."""
        while (kind := self._message(deadline)) != 0:
            if kind == codec.DATA:
                return True
        return False

    def _message(self, deadline: float) -> int:
        """Return the kind of the next message, from `at` to `to`; 0 if none comes in time. Texts are kept and skipped."""
        while not self.broken:
            code, kind, end = codec.whole(self.buffer, self._begin, self._end)
            if code == codec.OK:
                self.at, self.to, self._begin = self._begin, end, end
                if kind != codec.TEXT:
                    return int(kind)
                self._keep_text()
            elif code == codec.BROKEN:
                self.broken = True
            elif not self._more(deadline):
                return 0
        if (left := deadline - clock.now()) > 0.0:  # a loop that waits for a dead robot must not spin
            clock.pause(left)
        return 0

    def _keep_text(self) -> None:
        if len(self.texts) < _TEXTS:
            self.texts.append(codec.read_text(bytes(self._memory[self.at + codec.HEADER.size : self.to])))

    def _more(self, deadline: float) -> bool:
        """Wait for more bytes."""
        if self._socket is None:
            self.broken = True
            return True
        if self._begin == self._end:
            self._begin = self._end = 0
        elif self._end > _ROOM - codec.SIZE_MAX:
            rest = self._end - self._begin
            self.buffer[:rest] = self.buffer[self._begin : self._end].copy()
            self._begin, self._end = 0, rest
        try:
            self._socket.settimeout(max(deadline - clock.now(), 0.0))
            came = self._socket.recv_into(self._memory[self._end :])
        except (TimeoutError, BlockingIOError):
            return False
        except OSError:
            came = 0
        self.broken = came == 0
        self._end += came
        return True

    def send(self, data: bytes | bytearray) -> bool:
        """Send without waiting; False if it could not be sent."""
        if self._socket is None or self.broken:
            return False
        try:
            self._socket.setblocking(False)
            sent = self._socket.send(data)
        except BlockingIOError:  # the controller has not read for a long time
            return False
        except OSError:
            sent = 0
        self.broken = sent != len(data)
        return not self.broken

    def close(self) -> None:
        """Disconnect. Never raises, safe to call twice."""
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.close()
        self._socket = None
