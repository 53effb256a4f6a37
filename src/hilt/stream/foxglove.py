"""A Foxglove WebSocket server: viewers subscribe to the rows and the standard messages of a session.

It speaks the subprotocol foxglove.sdk.v1, and the same messages under their older name. It only sends: a viewer can neither
steer nor change anything. Each viewer has a queue of limited size; for one that does not read, the oldest messages are dropped
and counted, and it gets a warning when it reads again.
"""

import asyncio
import json
import struct
from collections import deque
from contextlib import suppress
from typing import Any

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

from hilt.core.faults import InputError
from hilt.stream.child import Line
from hilt.stream.places import Place
from hilt.stream.source import ROWS_A_READ, Source

SUBPROTOCOLS = [Subprotocol("foxglove.sdk.v1"), Subprotocol("foxglove.websocket.v1")]
VIEWERS = 16
QUEUE_BYTES = 8 << 20  # per viewer: two seconds of the longest rows at 1 kHz
ASKED_BYTES = 1 << 16  # longest message from a viewer
SUBSCRIPTIONS = 1024  # per viewer
LOOK = 0.01  # s between two checks of the ring
GOODBYE = 2.0  # s for viewers to get what is left in their queues at the end
_DATA = struct.Struct("<BIQ")  # opcode, subscription, time
_MESSAGE_DATA, _WARNING, _ERROR = 1, 1, 2


class Viewer:
    """One connection: its subscriptions, and what waits to be sent."""

    def __init__(self, connection: ServerConnection) -> None:
        self.connection = connection
        self.wanted: dict[int, int] = {}  # subscription -> channel
        self.dropped = 0
        self._reported = 0
        self._waiting: deque[bytes | str] = deque()
        self._bytes = 0
        self._some = asyncio.Event()

    def offer(self, message: bytes | str) -> None:
        """Queue a message without waiting; if the queue is full, the oldest ones are dropped."""
        self._waiting.append(message)
        self._bytes += len(message)
        while self._bytes > QUEUE_BYTES:
            self._bytes -= len(self._waiting.popleft())
            self.dropped += 1
        self._some.set()

    def say(self, level: int, sentence: str) -> None:
        self.offer(json.dumps({"op": "status", "level": level, "message": sentence}))

    async def send(self) -> None:
        """Send queued messages for as long as the connection lasts."""
        while True:
            await self._some.wait()
            while self._waiting:
                message = self._waiting.popleft()
                self._bytes -= len(message)
                await self.connection.send(message)
            self._some.clear()
            if self.dropped > self._reported:
                self._reported = self.dropped
                self.say(_WARNING, f"this viewer reads too slowly: {self.dropped} messages were dropped so far")

    @property
    def done(self) -> bool:
        return not self._waiting

    def obey(self, text: str | bytes, channels: int) -> None:
        """Subscribe and unsubscribe; anything else is refused."""
        try:
            order: dict[str, Any] = json.loads(text)
            if order["op"] == "subscribe":
                asked = {int(each["id"]): int(each["channelId"]) for each in order["subscriptions"]}
                if not all(0 <= number < 1 << 32 and 0 <= channel < channels for number, channel in asked.items()):
                    raise ValueError
                if len(self.wanted | asked) > SUBSCRIPTIONS:
                    self.say(_ERROR, f"a viewer may have {SUBSCRIPTIONS} subscriptions; it has {len(self.wanted)}; drop some")
                    return
                self.wanted.update(asked)
            elif order["op"] == "unsubscribe":
                for number in order["subscriptionIds"]:
                    self.wanted.pop(int(number), None)
            else:
                self.say(
                    _ERROR, f"{str(order['op'])[:40]!r} is not possible here: this server only sends; subscribe to a channel"
                )
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            self.say(_ERROR, "a message was not understood; send subscribe or unsubscribe with ids of advertised channels")


class Studio:
    """The server: viewers come and go, and all of them see the same source."""

    def __init__(self, source: Source) -> None:
        self._source, self._viewers = source, set[Viewer]()
        self._topics = source.topics
        self.sent = self.dropped = 0
        info = {
            "op": "serverInfo",
            "name": f"hilt {source.system}",
            "capabilities": [],
            "supportedEncodings": ["cdr"],
            "metadata": {},
        }
        channels = [
            {
                "id": number,
                "topic": topic.name,
                "encoding": "cdr",
                "schemaName": topic.type,
                "schema": topic.definition,
                "schemaEncoding": "ros2msg",
            }
            for number, topic in enumerate(self._topics)
        ]
        self._greeting = [json.dumps(info), json.dumps({"op": "advertise", "channels": channels})]

    async def open(self, place: Place) -> Server:
        try:
            return await serve(
                self._meet,
                place.host,
                place.port,
                subprotocols=SUBPROTOCOLS,
                compression=None,
                max_size=ASKED_BYTES,
                max_queue=4,
                server_header=None,
                close_timeout=GOODBYE,
            )
        except OSError as error:
            raise InputError(
                f"the Foxglove server cannot listen at {place.address}: {error.strerror}; end the program that uses it, "
                f"or choose another port: --stream foxglove@{place.host}:{place.port + 1}"
            ) from None

    async def _meet(self, connection: ServerConnection) -> None:
        if len(self._viewers) >= VIEWERS:
            await connection.close(1013, f"{VIEWERS} viewers are connected, which is the maximum")
            return
        viewer = Viewer(connection)
        self._viewers.add(viewer)
        for message in self._greeting:
            viewer.offer(message)
        sending = asyncio.create_task(viewer.send())
        try:
            async for text in connection:
                viewer.obey(text, len(self._topics))
        except ConnectionClosed:
            pass
        finally:
            sending.cancel()
            with suppress(asyncio.CancelledError, ConnectionClosed):
                await sending
            self._viewers.discard(viewer)
            self.dropped += viewer.dropped

    def pump(self) -> int:
        """Send new rows to the viewers that subscribed; returns how many rows there were."""
        batch = self._source.read()
        if not len(batch.rows):
            return 0
        some = self._source.thinned(batch)
        asked: dict[int, list[tuple[Viewer, int]]] = {}
        for viewer in self._viewers:
            for subscription, channel in viewer.wanted.items():
                asked.setdefault(channel, []).append((viewer, subscription))
        for channel, takers in asked.items():
            topic = self._topics[channel]
            part = batch if topic is self._source.rows_topic else some
            for message in topic.encode(part.rows, part.stamps):
                at = int(part.stamps[message.row])
                for viewer, subscription in takers:
                    viewer.offer(_DATA.pack(_MESSAGE_DATA, subscription, at) + message.data)
                    self.sent += 1
        return len(batch.rows)

    async def say_goodbye(self) -> None:
        """Wait until the queues are sent, within a time limit."""
        for _ in range(round(GOODBYE / LOOK)):
            if all(viewer.done for viewer in self._viewers):
                break
            await asyncio.sleep(LOOK)

    @property
    def account(self) -> str:
        dropped = self.dropped + sum(viewer.dropped for viewer in self._viewers)
        late = f"; {self._source.lost} rows were lost while this process stalled" if self._source.lost else ""
        return f"Foxglove: {self.sent} messages, {dropped} of them dropped for slow viewers{late}"


async def _serve(line: Line, source: Source, place: Place) -> None:
    studio = Studio(source)
    server = await studio.open(place)
    line.tell(ready=f"Foxglove: ws://{place.address}")
    try:
        over = False
        while not over:
            over = line.over or source.over  # checked before reading: rows from before the end are still sent
            while studio.pump() == ROWS_A_READ:
                await asyncio.sleep(0.0)
            await asyncio.sleep(LOOK)
        await studio.say_goodbye()
    finally:
        line.tell(account=studio.account)
        server.close()
        with suppress(TimeoutError):
            await asyncio.wait_for(server.wait_closed(), GOODBYE)


def main() -> None:
    with Line.open() as line:
        source = Source(line.config["session"])
        asyncio.run(_serve(line, source, Place(**line.config["place"])))


if __name__ == "__main__":
    main()
