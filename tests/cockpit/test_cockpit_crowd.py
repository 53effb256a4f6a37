"""Too many connections at once, at the door and in the back room behind it: those without a key are dropped, others stay.

Door and back room run in this process; connections are real sockets. What a whole server does is in test_cockpit_gate.py.
"""

import asyncio
import contextlib
import http.client
import logging
import socket
import threading

import pytest

from hilt.cockpit import backroom, connections, door, keys, server
from hilt.cockpit.gate import Log, Plate
from hilt.cockpit.helm import Helm
from hilt.core import clock

pytestmark = pytest.mark.wall

TOKEN = "the-token-of-these-tests"
PATIENCE = 20.0  # [s]
LARGE = 16 << 20  # [B] of a file larger than any buffer


async def _answer(port, count):
    """The newest of `count` silent connections sends a request; return its answer, and which others were closed for it."""
    peers = [await asyncio.open_connection("127.0.0.1", port) for _ in range(count)]
    reader, writer = peers[-1]
    writer.write(b"GET /helm HTTP/1.1\r\nHost: elsewhere\r\n\r\n")
    answer = await reader.read()
    gone = [number for number, (each, _) in enumerate(peers[:-1]) if each.at_eof() or each.exception()]
    for _, each in peers:
        each.close()
    return answer, gone


def test_at_a_full_door_the_oldest_is_dropped_and_the_newest_answered():
    async def main():
        log = Log()
        there = door.Door(Plate("127.0.0.1", 1), Helm(TOKEN, keys.Codes(), log), log)
        listening = await asyncio.get_running_loop().create_server(lambda: door.Visitor(there), "127.0.0.1", 0)
        async with listening:
            return await _answer(listening.sockets[0].getsockname()[1], door.DOORSTEP + 8)

    answer, gone = asyncio.run(main())
    assert answer.startswith(b"HTTP/1.1 403 "), "it gets the reason, so its request was read"
    assert gone == list(range(8))


class Room:
    """The back room, and a sender that hands connections over to it as the door does."""

    def __init__(self, ours):
        self._ours = ours
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]

    def ask(self, path, key=""):
        peer = socket.socket()
        peer.settimeout(PATIENCE)
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)  # hundreds of them must not fill the kernel's memory
        peer.connect(("127.0.0.1", self.port))
        self.hand_over(self._listening.accept()[0], path, key)
        return peer

    def hand_over(self, accepted, path, key):
        shown = f"Authorization: Bearer {key}\r\n" if key else ""
        begun = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n{shown}\r\n".encode()
        with accepted:
            socket.send_fds(self._ours, [begun], [accepted.fileno()])

    def close(self):
        self._listening.close()


@pytest.fixture
def room(tmp_path, monkeypatch):
    (tmp_path / "static").mkdir()
    with (tmp_path / "static" / "cockpit.js").open("wb") as large:
        large.truncate(LARGE)
    monkeypatch.setattr(server, "STATIC", tmp_path / "static")
    loggers = [logging.getLogger(name) for name in ("uvicorn", "uvicorn.error", "asyncio")]
    before = [list(each.filters) for each in loggers]
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with contextlib.ExitStack() as stack:
        made = Room(ours)
        stack.callback(made.close)
        thread = threading.Thread(target=backroom.serve, args=(theirs, "127.0.0.1", made.port, tmp_path, TOKEN))
        stack.callback(theirs.close)
        stack.callback(thread.join)
        stack.callback(ours.close)  # the end of the door is the end of the room
        thread.start()
        ours.settimeout(PATIENCE)
        assert ours.recv(16) == backroom.READY
        yield made
    for each, filters in zip(loggers, before, strict=True):
        each.filters = filters


def strangers(room, stack, count):
    """They request the page's script, and read no more than its first byte."""
    for _ in range(count):
        peer = stack.enter_context(room.ask("/static/cockpit.js"))
        assert peer.recv(1) == b"H"
        yield peer


def is_whole(peer):
    """Whether a client that begins to read now gets the whole script; a closed connection delivers only what is in transit."""
    left = LARGE
    with contextlib.suppress(ConnectionResetError):
        while left > 0 and (data := peer.recv(1 << 16)):
            left -= len(data)
    return left <= 0


def status(peer):
    answer = http.client.HTTPResponse(peer)
    answer.begin()
    answer.read()
    return answer.status


def test_in_a_full_room_the_oldest_stranger_is_dropped_for_a_client_with_a_key(room):
    with contextlib.ExitStack() as stack:
        others = list(strangers(room, stack, connections.MOST))
        with room.ask("/api/sessions", TOKEN) as known:
            assert status(known) == 200
        assert not is_whole(others[0])
        assert is_whole(others[1])


def test_a_stranger_who_does_not_read_is_closed_in_time_and_a_client_with_a_key_is_not(room, monkeypatch, capsys):
    monkeypatch.setattr(connections, "STRANGER_LIFE", 0.5)
    with contextlib.ExitStack() as stack:
        known = stack.enter_context(room.ask("/api/sessions", TOKEN))
        assert status(known) == 200
        (other,) = strangers(room, stack, 1)
        said, until = "", clock.now() + PATIENCE
        while "closed a connection that showed no key within 0.5 s" not in said:
            assert clock.now() < until
            clock.pause(0.02)
            said += capsys.readouterr().err
        assert not is_whole(other)
        known.sendall(f"GET /nothing HTTP/1.1\r\nHost: 127.0.0.1:{room.port}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode())
        assert status(known) == 404
