"""The Foxglove server by itself: a ring that a test fills, and clients that behave badly."""

import json
import os
import signal
import struct
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from hilt.core import clock
from hilt.core.faults import InputError
from hilt.live import station
from hilt.live.mailbox import LIVE, OFF, Mailbox, Sender
from hilt.live.ring import RingWriter
from hilt.record.layout import describe
from hilt.record.standard import Frames, Standard
from hilt.stream import foxglove
from hilt.stream.child import Child
from hilt.stream.source import ROWS_A_READ
from tests.stream.streamed import place

pytestmark = pytest.mark.wall

ROW = np.dtype([("t", "f8"), ("tick", "i8"), ("wide", "f8", (510,))])  # 4 kB
BODY = struct.Struct("<BIQ")
PROTOCOL = ["foxglove.sdk.v1"]
LONG = 60.0


class Session:
    """A session whose rows a test writes."""

    def __init__(self, name, capacity):
        info = {
            "system": "made",
            "period": 0.001,
            "row": describe(ROW),
            "standard": Standard(1, Frames()).as_json(),
            "live": [],
        }
        self.box, self.ring = Mailbox(name, info), RingWriter(name, ROW, capacity)
        self._row = np.zeros(1, ROW)
        self.box.show(state=LIVE, ring=name)
        self.ring.begin()

    def write(self, count):
        for _ in range(count):
            self._row["tick"] = self.ring.count
            self.ring.append(self._row)

    def close(self):
        self.ring.close()
        self.box.show(state=OFF)
        self.box.close()


@contextmanager
def served(name, capacity=20_000):
    name = f"{name}-{os.getpid()}"  # others of this user may run the same test
    session, here = Session(name, capacity), place("foxglove")
    child = Child("hilt.stream.foxglove", {"session": name, "place": asdict(here)})
    try:
        assert child.ready() == f"Foxglove: ws://{here.address}"
        yield session, child, f"ws://{here.address}"
    finally:
        session.close()
        child.end()


@contextmanager
def subscribed(address, **rest):
    with connect(address, subprotocols=PROTOCOL, max_size=None, compression=None, close_timeout=1.0, **rest) as client:
        assert client.subprotocol == PROTOCOL[0]
        assert json.loads(client.recv(LONG))["op"] == "serverInfo"
        (channel,) = json.loads(client.recv(LONG))["channels"]
        assert channel["topic"] == "/hilt/made"
        client.send(json.dumps({"op": "subscribe", "subscriptions": [{"id": 7, "channelId": channel["id"]}]}))
        yield client


def ticks_and_warnings(client, last):
    """Until a tick has come."""
    ticks, warnings = [], []
    while not ticks or ticks[-1] != last:
        message = client.recv(LONG)
        if isinstance(message, str):
            warnings.append(json.loads(message))
        else:
            assert BODY.unpack_from(message)[:2] == (1, 7)
            ticks.append(int(np.frombuffer(message[BODY.size + 4 :], ROW)["tick"][0]))
    return ticks, warnings


def reads_along(client, session):
    """Subscribing takes a moment: from the first row that arrives on, none is missing."""
    until = clock.now() + LONG
    while clock.now() < until:
        session.write(1)
        try:
            client.recv(0.05)
        except TimeoutError:
            continue
        return
    raise AssertionError("nothing came")


def own_memory(pid):
    """Bytes, without what is shared: the ring itself is."""
    (line,) = (line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("RssAnon"))
    return 1024 * int(line.split()[1])


def test_a_viewer_that_does_not_read_loses_the_oldest_and_is_warned_and_memory_is_bounded():
    """40 MB of rows, a queue of 8 MB and the buffers of the kernel: every lost row was counted, and the newest came."""
    with served("slow-viewer") as (session, child, address), subscribed(address, max_queue=1) as client:
        reads_along(client, session)
        taken = [own_memory(child.pid)]
        for _ in range(100):
            session.write(100)
            clock.pause(0.02)
            taken.append(own_memory(child.pid))
        last = session.ring.count - 1
        ticks, warnings = ticks_and_warnings(client, last)
        assert ticks == sorted(ticks)
        while not warnings:
            warnings.append(json.loads(client.recv(LONG)))
        dropped = int(warnings[-1]["message"].split(": ")[1].split()[0])
        missing = last - ticks[0] + 1 - len(ticks)
        assert dropped == missing > 0
        assert warnings[-1]["level"] == 1
        # The queue, and a batch of rows on its way into it: as rows, as messages, with a head for this viewer, in it.
        assert max(taken) - taken[0] < foxglove.QUEUE_BYTES + 4 * ROWS_A_READ * ROW.itemsize


def test_two_viewers_one_of_which_never_reads_the_other_gets_every_row():
    with served("two-viewers") as (session, _, address), subscribed(address, max_queue=1), subscribed(address) as client:
        reads_along(client, session)
        begin, came = session.ring.count, []
        for _ in range(100):
            session.write(50)
            ticks, warnings = ticks_and_warnings(client, session.ring.count - 1)
            assert not warnings
            came += ticks
        assert came[came.index(begin) :] == list(range(begin, session.ring.count))


def test_nonsense_is_answered_and_forgotten():
    with served("nonsense") as (session, _, address), subscribed(address) as client:
        for bad in (
            "",
            "[]",
            "{",
            "null",
            '{"op": 3}',
            '{"op": "advertise", "channels": []}',
            '{"op": "subscribe"}',
            '{"op": "subscribe", "subscriptions": [{"id": -1, "channelId": 0}]}',
            '{"op": "subscribe", "subscriptions": [{"id": 1, "channelId": 99}]}',
            '{"op": "subscribe", "subscriptions": [{"id": 1e99, "channelId": 0}]}',
            "[" * 20_000,
            b"\x01\x00\x00\x00\x00",
        ):
            client.send(bad)
            answer = json.loads(client.recv(LONG))
            assert (answer["op"], answer["level"]) == ("status", 2), bad
        client.send(json.dumps({"op": "subscribe", "subscriptions": [{"id": i, "channelId": 0} for i in range(2000)]}))
        assert "1024" in json.loads(client.recv(LONG))["message"]
        client.send("x" * (foxglove.ASKED_BYTES + 1))
        with pytest.raises(ConnectionClosed):
            client.recv(LONG)
        with subscribed(address) as other:
            reads_along(other, session)


def test_a_client_of_another_protocol_is_refused():
    with (
        served("other-protocol") as (_, _, address),
        pytest.raises(InvalidStatus),
        connect(address, subprotocols=["chat"]),
    ):
        pass


def test_a_port_that_is_taken_is_one_sentence():
    session, here = Session("port-taken", 16), place("foxglove")
    config = {"session": "port-taken", "place": asdict(here)}
    first, second = Child("hilt.stream.foxglove", config), None
    try:
        first.ready()
        second = Child("hilt.stream.foxglove", config)
        with pytest.raises(InputError, match=f"cannot listen at {here.address}"):
            second.ready()
    finally:
        session.close()
        first.end()


def test_a_killed_or_stopped_stream_is_one_sentence_at_the_end():
    with served("killed") as (_, child, _):
        os.kill(child.pid, signal.SIGKILL)
        assert "not affected" in child.end()
    with served("stopped") as (_, child, _):
        os.kill(child.pid, signal.SIGSTOP)
        assert "hung and was killed" in child.end()


def test_a_session_that_runs_already_can_be_joined_and_left(tmp_path):
    """A station, as the cockpit starts one; Ctrl-C leaves it as it is."""
    name, here = station.launch({"system": "freefloat", "out": str(tmp_path)}), place("foxglove")
    sender = Sender(name)
    command = [sys.executable, "-m", "hilt.cli.main", "stream", name, f"foxglove@{here.address}"]
    joined = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert joined.stderr.readline() == f"Foxglove: ws://{here.address}\n"
        with connect(f"ws://{here.address}", subprotocols=PROTOCOL) as client:
            assert json.loads(client.recv(LONG))["name"] == "hilt freefloat"
        joined.send_signal(signal.SIGINT)
        _, said = joined.communicate(timeout=LONG)
        assert said.startswith("Foxglove: 0 messages")
        assert joined.returncode == 0
        assert sender.alive
    finally:
        joined.kill()
        sender.wait(sender.quit(), LONG)
        sender.close()
