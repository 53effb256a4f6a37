"""The door: the only process that listens. It reads the first request of a connection and decides where it belongs.

    /helm        stays here: STOP, the dead man's switch and all orders (helm.py), each a short message
    the rest     is handed over, socket and all, to the back room (backroom.py), which may be busy

A connection has HEADER_TIME to send its request, and at the helm to show its key; if too many are waiting, the oldest is
closed.
"""

import asyncio
import gc
import json
import socket
import subprocess
from collections.abc import Callable
from typing import Any

from websockets.frames import Frame, Opcode
from websockets.http11 import Request
from websockets.server import ServerProtocol

from hilt.cockpit import wire
from hilt.cockpit.gate import Log, Plate, Rate, Refusal
from hilt.cockpit.helm import Helm, Page
from hilt.core import clock
from hilt.core.faults import InputError
from hilt.host import child

BEAT = 0.02  # [s]
HEADER_TIME = 5.0  # [s]
HEADER_BYTES, BEGUN_BYTES = 16 << 10, 128 << 10  # of a header, and of it with the part of a body that came along
MESSAGE_BYTES = 4096
DOORSTEP = 128  # connections that have not sent a request, or not shown a key
ACCEPTED_AT_ONCE = 32
UNSENT_BYTES = 256 << 10  # a page that does not read is closed
MESSAGES_A_SECOND, MESSAGES_AT_ONCE = 100.0, 200.0
CLOSING_TIME = 1.0  # [s]
RESTART = 1.0  # [s] after which a back room that has ended is started again
STATUS = {400: "Bad Request", 403: "Forbidden", 431: "Request Header Fields Too Large", 503: "Service Unavailable"}


class Door:
    """State shared by all connections."""

    def __init__(self, plate: Plate, helm: Helm, log: Log) -> None:
        self.plate, self.helm, self.log = plate, helm, log
        self._doorstep: dict[Any, None] = {}  # in order of arrival
        self._back: socket.socket | None = None

    def arrives(self, visitor: "Visitor") -> None:
        self._doorstep[visitor] = None
        if len(self._doorstep) > DOORSTEP:
            self.log.once(f"closed a connection: {DOORSTEP} are waiting, and the oldest is closed first")
            next(iter(self._doorstep)).abort()

    def leaves(self, visitor: "Visitor") -> None:
        self._doorstep.pop(visitor, None)

    def behind(self, back: socket.socket | None) -> None:
        """Set the socket of the back room; None if there is none."""
        self._back = back

    def hand_over(self, peer: Any, begun: bytes) -> bool:
        """Hand a connection over to the back room; False if that is not possible."""
        if self._back is None:
            return False
        try:
            socket.send_fds(self._back, [begun], [peer.fileno()])
        except OSError:
            self.log.once("the back room accepts no connections")
            return False
        return True


class Visitor(asyncio.Protocol):
    """A connection that has not sent its request yet."""

    def __init__(self, door: Door) -> None:
        self._door, self._begun = door, b""

    def connection_made(self, transport: Any) -> None:
        self._transport: asyncio.Transport = transport
        self._door.arrives(self)
        self._timer = asyncio.get_running_loop().call_later(HEADER_TIME, self._late)

    def connection_lost(self, _: Exception | None) -> None:
        self._timer.cancel()
        self._door.leaves(self)

    def abort(self) -> None:
        self._door.leaves(self)
        self._transport.abort()

    def _late(self) -> None:
        self._door.log.once(f"closed a connection that sent no request, or showed no key, within {HEADER_TIME:g} s")
        self.abort()

    def data_received(self, data: bytes) -> None:
        self._begun += data
        head, end, _ = self._begun.partition(b"\r\n\r\n")
        if len(head) > HEADER_BYTES or len(self._begun) > BEGUN_BYTES:
            self._answer(431, "The request is too long.")
        elif end:
            self._decide(head.decode("latin-1").split("\r\n"))

    def _decide(self, lines: list[str]) -> None:
        path = [*lines[0].split(" "), ""][1].partition("?")[0]
        if path == "/helm":
            self._go_to_helm(lines[1:])
            return
        self._transport.pause_reading()
        if self._door.hand_over(self._transport.get_extra_info("socket"), self._begun):
            self.abort()  # our end of it; the connection lives on
        else:
            self._answer(503, "The server is busy; try again.")

    def _go_to_helm(self, headers: list[str]) -> None:
        given = [(name.strip().lower(), value.strip()) for name, _, value in (line.partition(":") for line in headers)]
        hosts, origins = ([value for name, value in given if name == wanted] for wanted in ("host", "origin"))
        try:
            self._door.plate.check(hosts, origins)
        except Refusal as refusal:
            self._door.log.once(f"refused a request at the helm: {refusal.kind}")
            self._answer(refusal.status, refusal.sentence)
            return
        socket_here = HelmSocket(self._door, self, self._transport)
        self._transport.set_protocol(socket_here)
        socket_here.data_received(self._begun)

    def admitted(self) -> None:
        """It has shown a key and may stay."""
        self._timer.cancel()
        self._door.leaves(self)

    def _answer(self, status: int, sentence: str) -> None:
        body = sentence.encode()
        head = (
            f"HTTP/1.1 {status} {STATUS[status]}",
            "Content-Type: text/plain; charset=utf-8",
            f"Content-Length: {len(body)}",
            "Connection: close",
        )
        self._transport.write("\r\n".join((*head, "", "")).encode() + body)
        self._transport.close()


class HelmSocket(asyncio.Protocol):
    """A web socket at the helm; the first message has to be the key."""

    def __init__(self, door: Door, visitor: Visitor, transport: asyncio.Transport) -> None:
        self._door, self._visitor, self._transport = door, visitor, transport
        self._socket = ServerProtocol(max_size=MESSAGE_BYTES)
        self._rate = Rate(MESSAGES_A_SECOND, MESSAGES_AT_ONCE)
        self._page: Page | None = None
        self.address: str = transport.get_extra_info("peername")[0]

    def data_received(self, data: bytes) -> None:
        self._socket.receive_data(data)
        for event in self._socket.events_received():
            if isinstance(event, Request):
                self._socket.send_response(self._socket.accept(event))
            elif isinstance(event, Frame):
                self._receive(event)
        self._flush()

    def eof_received(self) -> None:
        self._socket.receive_eof()
        self._flush()

    def connection_lost(self, _: Exception | None) -> None:
        self._visitor.admitted()
        if self._page is not None:
            self._door.helm.gone(self._page)
            self._page = None

    def _receive(self, frame: Frame) -> None:
        if frame.opcode.value >= 8:  # the library handles pings and closing
            return
        if not self._rate.allows():
            self._door.log.once("closed a page at the helm: too many messages")
            self.close(1008, "too many messages")
        elif frame.opcode is not Opcode.TEXT or not frame.fin:
            self.close(1003, "text is expected, in one frame")
        else:
            self._obey(frame.data)

    def _obey(self, data: Any) -> None:
        helm = self._door.helm
        if self._page is not None:
            self._page.last_heard = clock.now()
        try:
            order = wire.understand_order(bytes(data).decode(errors="replace"))
            if self._page is None:
                self._page = helm.greet(self, order)
                if self._page is not None:
                    self._visitor.admitted()
                return
            helm.obey(self._page, order)
        except InputError as error:
            self.send({"type": "refused", "text": wire.without_paths(str(error))})

    def send(self, message: dict[str, Any]) -> None:
        if self._transport.is_closing() or self._socket.state.name != "OPEN":
            return
        if self._transport.get_write_buffer_size() > UNSENT_BYTES:
            self._door.log.once("closed a page at the helm that does not read")
            self._transport.abort()
            return
        self._socket.send_text(wire.dumps(message).encode())
        self._flush()

    def close(self, code: int, why: str) -> None:
        if self._socket.state.name == "OPEN":
            self._socket.fail(code, why)
        self._flush()

    def _flush(self) -> None:
        for data in self._socket.data_to_send():
            if data:
                self._transport.write(data)
            elif self._transport.can_write_eof() and not self._transport.is_closing():
                self._transport.write_eof()  # what the peer still sends is discarded: it must see why it is closed
        if self._socket.close_expected() and not self._transport.is_closing():
            asyncio.get_running_loop().call_later(CLOSING_TIME, self._transport.abort)


async def _keep_back_room(door: Door, config: dict[str, Any], ready: Callable[[], None]) -> None:
    """Start the back room, and again whenever it ends."""
    loop, once = asyncio.get_running_loop(), True
    while True:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ours:
            ours.setblocking(False)
            with theirs:
                process = subprocess.Popen(
                    child.command("hilt.cockpit.backroom", str(theirs.fileno())),
                    stdin=subprocess.PIPE,
                    pass_fds=(theirs.fileno(),),
                )
            assert process.stdin is not None
            with process.stdin:
                process.stdin.write(json.dumps(config).encode() + b"\n")
            try:
                while await loop.sock_recv(ours, 16):
                    door.behind(ours)
                    if once:
                        ready()
                    once = False
            except OSError:
                pass
            finally:
                door.behind(None)
        await asyncio.to_thread(process.wait)
        door.log.once("the back room has ended and is started again; STOP keeps working")
        await asyncio.sleep(RESTART)


async def _beat(helm: Helm) -> None:
    while True:
        helm.beat()
        await asyncio.sleep(BEAT)


async def run(bound: socket.socket, config: dict[str, Any], helm: Helm, log: Log, ready: Callable[[], None]) -> None:
    """Serve until cancelled; `config` is passed to the back room."""
    door = Door(Plate(config["host"], config["port"]), helm, log)
    server = await asyncio.get_running_loop().create_server(lambda: Visitor(door), sock=bound, backlog=ACCEPTED_AT_ONCE)
    gc.freeze()  # existing objects stay: no garbage collection over them while someone wants to stop
    async with server:
        await asyncio.gather(_keep_back_room(door, config, ready), _beat(helm))
