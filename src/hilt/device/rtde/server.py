"""The server side of RTDE, for an emulated controller: clients, their recipes, and the registers. It knows nothing of a robot.

Everything happens in the caller's thread: `attend` waits until a time and answers requests meanwhile, `publish` sends the data
packages of a cycle. A client that does not read is not waited for: its package is skipped, as a busy controller does.
"""

import contextlib
import selectors
import socket
import struct
from collections.abc import Callable
from typing import Any

from hilt.core import clock
from hilt.device.line import Line
from hilt.device.rtde import codec, fields
from hilt.host import machine

CONTROLLER = (5, 11, 0, 0)  # software version that it claims to have
_UNSENT_MAX = 1 << 15  # bytes that a client may be behind


def listen(address: str, port: int) -> Any:
    made = machine.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((address, port))
        made.listen()
        made.setblocking(False)
    except OSError:
        made.close()
        raise
    return made


class _Client:
    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self.buffer, self.unsent = bytearray(), bytearray()
        self.names: list[str] = []
        self.packed = struct.Struct("")
        self.every, self.runs = 1, False  # cycles between two packages
        self.inputs: dict[int, tuple[list[str], struct.Struct]] = {}


class RtdeServer:
    """The server; `value(name)` returns an output that is not a register, `started(text)` is called with a complete script."""

    def __init__(
        self,
        address: str,
        port: int,
        script_port: int,
        rate: float,
        value: Callable[[str], Any],
        started: Callable[[str], None],
    ) -> None:
        self.inputs: dict[str, Any] = {}  # registers written by clients, by name
        self.outputs: dict[str, Any] = {}  # output registers, by name
        self.refused = 0  # requests that were not understood
        self.deaf = False  # nothing is received
        self._rate, self._value, self._started = rate, value, started
        self._choice = machine.selector()
        self._clients: dict[Any, _Client] = {}
        self._scripts: dict[Any, bytearray] = {}
        self._rtde = listen(address, port)
        try:
            self._script = listen(address, script_port)
        except OSError:
            self._rtde.close()
            raise
        self.address, self.port = self._rtde.getsockname()
        self.script_port = self._script.getsockname()[1]
        for each in (self._rtde, self._script):
            self._choice.register(each, selectors.EVENT_READ)

    @property
    def clients(self) -> int:
        return len(self._clients)

    def close(self) -> None:
        for each in (*self._clients, *self._scripts, self._rtde, self._script):
            with contextlib.suppress(OSError):
                each.close()
        self._choice.close()

    def say(self, text: str) -> None:
        for client in list(self._clients.values()):
            self._send(client, codec.text_message(text))

    def attend(self, until: float) -> None:
        """Answer requests until a time; those that have already arrived are answered in any case."""
        while True:
            for key, _ in self._choice.select(max(until - clock.now(), 0.0)):
                self._serve(key.fileobj)
            if clock.now() >= until:
                return

    def _serve(self, ready: Any) -> None:
        if ready is self._rtde or ready is self._script:
            with contextlib.suppress(OSError):
                connection, _ = ready.accept()
                connection.setblocking(False)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._choice.register(connection, selectors.EVENT_READ)
                if ready is self._rtde:
                    self._clients[connection] = _Client(connection)
                else:
                    self._scripts[connection] = bytearray()
            return
        try:
            data = ready.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._drop(ready)
        elif ready in self._scripts:
            self._take_script(ready, data)
        elif not self.deaf:
            self._take(self._clients[ready], data)

    def _drop(self, connection: Any) -> None:
        self._choice.unregister(connection)
        self._clients.pop(connection, None)
        self._scripts.pop(connection, None)
        connection.close()

    def _take_script(self, connection: Any, data: bytes) -> None:
        """Collect the text of a script; a program ends with `end` at the beginning of a line."""
        text = self._scripts[connection]
        text += data
        while (found := text.find(b"\nend\n")) >= 0:
            self._started(bytes(text[: found + 5]).decode("utf-8", errors="replace"))
            del text[: found + 5]

    def _take(self, client: _Client, data: bytes) -> None:
        client.buffer += data
        while len(client.buffer) >= codec.HEADER.size:
            size, kind = codec.HEADER.unpack_from(client.buffer)
            if size < codec.HEADER.size or kind not in codec.KINDS:
                self.refused += 1
                self._drop(client.connection)
                return
            if len(client.buffer) < size:
                return
            payload = bytes(client.buffer[codec.HEADER.size : size])
            del client.buffer[:size]
            self._answer(client, kind, payload)

    def _answer(self, client: _Client, kind: int, payload: bytes) -> None:
        if kind == codec.DATA:
            self._write(client, payload)
        elif kind == codec.VERSION_REQUEST:
            self._send(client, codec.accepted_reply(kind, payload == struct.pack(">H", codec.VERSION)))
        elif kind == codec.CONTROLLER_VERSION:
            self._send(client, codec.message(kind, struct.pack(">4I", *CONTROLLER)))
        elif kind == codec.OUTPUTS:
            self._set_outputs(client, *codec.read_output_request(payload))
        elif kind == codec.INPUTS:
            self._set_inputs(client, codec.names_in(payload))
        elif kind in (codec.START, codec.PAUSE):
            client.runs = kind == codec.START and bool(client.names)
            self._send(client, codec.accepted_reply(kind, kind == codec.PAUSE or client.runs))

    def _set_outputs(self, client: _Client, frequency: float, names: list[str]) -> None:
        types = [fields.OUTPUTS.get(name, codec.NOT_FOUND) for name in names]
        good = bool(names) and codec.NOT_FOUND not in types and 0.0 < frequency <= self._rate * (1.0 + 1e-9)
        if good:
            client.names, client.packed = names, codec.Fields(types).packed
            client.every = max(round(self._rate / frequency), 1)
        self._send(client, codec.recipe_reply(codec.OUTPUTS, 1 if good else 0, types))

    def _set_inputs(self, client: _Client, names: list[str]) -> None:
        """Register a recipe of inputs; each register may have only one writer."""
        others = {
            name
            for other in self._clients.values()
            if other is not client
            for written, _ in other.inputs.values()
            for name in written
        }
        types = [codec.IN_USE if name in others else fields.INPUTS.get(name, codec.NOT_FOUND) for name in names]
        recipe = 0
        if names and not {codec.IN_USE, codec.NOT_FOUND} & set(types):
            recipe = len(client.inputs) + 1
            client.inputs[recipe] = names, codec.Fields(types).packed
        self._send(client, codec.recipe_reply(codec.INPUTS, recipe, types))

    def _write(self, client: _Client, payload: bytes) -> None:
        names, packed = client.inputs.get(payload[0] if payload else 0, ([], struct.Struct("")))
        if not names or len(payload) != 1 + packed.size:
            self.refused += 1
            return
        values = iter(packed.unpack_from(payload, 1))
        for name in names:
            count = codec.FORMATS[fields.INPUTS[name]][1]
            found = [next(values) for _ in range(count)]
            self.inputs[name] = found[0] if count == 1 else found

    def publish(self, cycle: int, line: Line) -> None:
        """Send the packages of a cycle, over a line with faults."""
        for client in list(self._clients.values()):
            if client.runs and cycle % client.every == 0:
                data = codec.message(codec.DATA, b"\1" + client.packed.pack(*self._row(client.names)))
                line.send(data, clock.now(), lambda data, to=client: self._send(to, data))  # type: ignore[misc]

    def _row(self, names: list[str]) -> list[Any]:
        row: list[Any] = []
        for name in names:
            count = codec.FORMATS[fields.OUTPUTS[name]][1]
            value = self._of(name)
            row += list(value) if count > 1 else [value]
        return row

    def _of(self, name: str) -> Any:
        if name.startswith("output_"):
            return self.outputs.get(name, 0)
        if name.startswith("input_"):
            return self.inputs.get(name, 0)
        found = self._value(name)
        return found if found is not None else [0] * n if (n := codec.FORMATS[fields.OUTPUTS[name]][1]) > 1 else 0

    def _send(self, client: _Client, data: bytes) -> None:
        if client.connection not in self._clients or len(client.unsent) > _UNSENT_MAX:
            return
        client.unsent += data
        try:
            del client.unsent[: client.connection.send(client.unsent)]
        except BlockingIOError:
            pass
        except OSError:
            self._drop(client.connection)
