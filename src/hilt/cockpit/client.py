"""One socket of the back room: what a page wants to see, and what it is shown. Orders go to the helm (helm.py).

The client reads at its own speed. Frames are made when it can take one, so a slow client gets fewer and holds nobody up; text
messages wait in a short queue, and a client that lets it fill is closed.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect

from hilt.cockpit import wire
from hilt.cockpit.gate import Log, Rate
from hilt.cockpit.hub import Hub, Watched
from hilt.cockpit.player import Player
from hilt.cockpit.wire import without_paths
from hilt.core import clock
from hilt.core.faults import InputError
from hilt.record.reading import rows_of_a_stranger

MESSAGES_A_SECOND, MESSAGES_AT_ONCE = 100.0, 200.0
MOST_WORDS = 256
MOST_BUCKETS = 600  # in a frame: 10 s
LEDGER_EVERY, TIMING_EVERY = 0.2, 0.5  # [s]
KEY_TIME = 5.0  # [s] for the first message
RANGES = 4  # of a recording, computed at once


class TooMuch(Exception):
    """A client that has to be closed: the code and the reason."""

    def __init__(self, code: int, why: str) -> None:
        super().__init__(why)
        self.code = code


class Client:
    """`converse` reads until the socket closes; `_show` sends at the same time."""

    def __init__(self, socket: WebSocket, hub: Hub, log: Log) -> None:
        self._socket, self._hub, self._log = socket, hub, log
        self._rate = Rate(MESSAGES_A_SECOND, MESSAGES_AT_ONCE)
        self._words: deque[dict[str, Any] | bytes] = deque()
        self._watched: Watched | None = None
        self._player: Player | None = None
        self._names: list[str] = []
        self._cursor = 0  # the row that the next bucket of the plots begins with
        self._shown: Any = None  # what the last frame showed
        self._result: dict[str, Any] | None = None
        self._due = dict.fromkeys(("ledger", "timing"), 0.0)
        self._ranges = 0
        self._tasks: set[asyncio.Task[None]] = set()

    def tell(self, message: dict[str, Any] | bytes) -> None:
        """Queue a text message, or a finished frame."""
        if len(self._words) < MOST_WORDS:
            self._words.append(message)

    async def key(self) -> str:
        """Return the key in the first message; empty if that is another message, or does not come in time."""
        try:
            message = await asyncio.wait_for(self._socket.receive(), KEY_TIME)
            hello = wire.understand(message.get("text") or "")
        except (TimeoutError, InputError):
            return ""
        return (hello.key or "") if isinstance(hello, wire.Hello) else ""

    async def converse(self) -> None:
        self.tell({"type": "shown"})
        showing = asyncio.create_task(self._show())
        reading = asyncio.create_task(self._read())
        done, _ = await asyncio.wait((showing, reading), return_when=asyncio.FIRST_COMPLETED)
        for task in (showing, reading, *self._tasks):
            task.cancel()
        await asyncio.gather(showing, reading, *self._tasks, return_exceptions=True)
        self._leave()
        for task in done:
            error = task.exception()
            if isinstance(error, TooMuch):
                self._log.once(f"closed a socket: {error}")
                await self._socket.close(error.code, str(error))
            elif error is not None and not isinstance(error, WebSocketDisconnect | RuntimeError | OSError):
                raise error

    async def _read(self) -> None:
        while True:
            message = await self._socket.receive()
            if message["type"] == "websocket.disconnect":
                raise WebSocketDisconnect
            if not self._rate.allows():
                raise TooMuch(1008, "too many messages")
            if message.get("text") is None:
                raise TooMuch(1003, "binary data where text was expected")
            try:
                await self._obey(wire.understand(message["text"]))
            except InputError as error:
                self.tell({"type": "refused", "text": without_paths(str(error))})

    async def _obey(self, message: wire.Message) -> None:
        match message:
            case wire.Ping():
                self.tell({"type": "pong", "id": message.id})
            case wire.Watch():
                self._leave()
                await self._watch(message)
            case wire.Signals():
                self._know(message.names)
                self._names = message.names
            case wire.RangeWanted():
                self._range(message)
            case wire.Seek() | wire.Play() | wire.Pause():
                self._steer_player(message)

    def _session(self) -> Watched:
        if self._watched is None:
            raise InputError("no session is watched; watch one first")
        return self._watched

    def _know(self, names: list[str]) -> None:
        known: Any = self._player.names if self._player else self._session().feed.history.columns
        unknown = [name for name in names if name not in known]
        if unknown:
            raise InputError(f"{unknown[0]!r} is not a signal here; choose one from the list")

    async def _watch(self, message: wire.Watch) -> None:
        if message.session is not None:
            watched = await self._hub.watch(message.session, self)
            self._watched, self._result = watched, None
            self._cursor = watched.feed.history.count
            self.tell({"type": "watching", "session": message.session, **watched.feed.describe()})
        else:
            names = message.recordings or [str(message.recording)]
            self._player = await asyncio.to_thread(self._open, names, message.align)
            which = {"recordings": names, "align": message.align} if message.recordings else {"recording": names[0]}
            about = self._player.describe()
            if not message.recordings:
                about = {**about, "info": about["info"][0], "result": about["result"][0]}
            self.tell({"type": "watching", **which, **about})
            self.tell(self._player.timing)
        self._names = []

    def _open(self, names: list[str], align: str) -> Player:
        with rows_of_a_stranger(" and ".join(names)):
            return Player([self._hub.library.open(name) for name in names], align)

    def _leave(self) -> None:
        if self._watched is not None:
            self._hub.leave(self._watched, self)
        self._watched = self._player = self._shown = None
        self._due = dict.fromkeys(self._due, 0.0)

    def _steer_player(self, message: wire.Message) -> None:
        if self._player is None:
            raise InputError("no recording is watched; watch one first")
        now = clock.now()
        if isinstance(message, wire.Seek):
            self._player.seek(message.t, now)
        elif isinstance(message, wire.Play):
            self._player.play(message.speed, now)
        else:
            self._player.pause(now)
        self._shown, self._due["ledger"] = None, 0.0

    def _range(self, wanted: wire.RangeWanted) -> None:
        self._know(wanted.names)
        if self._player is None:
            self._tell_range(wanted, self._session().feed.history.range)
            return
        if self._ranges >= RANGES:
            raise InputError(f"{RANGES} ranges are being computed already; wait for them")
        self._ranges += 1
        task = asyncio.create_task(self._range_of_recording(wanted, self._player))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _range_of_recording(self, wanted: wire.RangeWanted, player: Player) -> None:
        try:
            await asyncio.to_thread(self._tell_range, wanted, player.range)
        finally:
            self._ranges -= 1

    def _tell_range(self, wanted: wire.RangeWanted, source: Callable[..., Any]) -> None:
        found = source(wanted.names, wanted.begin, wanted.end, wanted.points)
        t0, parts = wire.range_parts(found)
        header = {"type": "range", "id": wanted.id, "names": wanted.names, "n": len(found.times), "t0": t0, "full": found.full}
        self.tell(wire.frame(header, *parts))

    async def _show(self) -> None:
        """Send what there is, at every beat."""
        while True:
            await self._send_words()
            if self._watched is not None:
                await self._show_session(self._watched)
            elif self._player is not None:
                await self._show_recording(self._player)
            if not self._words:
                await self._hub.beat()

    async def _send_words(self) -> None:
        if len(self._words) >= MOST_WORDS:
            raise TooMuch(1008, "a client that does not read")
        while self._words:
            message = self._words.popleft()
            if isinstance(message, bytes):
                await self._socket.send_bytes(message)
            else:
                await self._socket.send_text(wire.dumps(message))

    def _is_due(self, what: str, every: float) -> bool:
        now = clock.now()
        if now < self._due[what]:
            return False
        self._due[what] = now + every
        return True

    async def _show_session(self, watched: Watched) -> None:
        feed = watched.feed
        if watched.result is not None and watched.result is not self._result and feed.state != "LIVE":
            self._result = watched.result
            self.tell(watched.result)
        shown = (feed.run, feed.history.count, feed.state)
        if shown != self._shown:
            if self._shown is not None and feed.run != self._shown[0]:
                self._cursor = 0
            self._shown = shown
            found, self._cursor = feed.history.buckets(self._names, self._cursor, feed.bucket, MOST_BUCKETS)
            t0, parts = wire.range_parts(found)
            plots = {"names": self._names, "n": len(found.times), "t0": t0}
            await self._socket.send_bytes(wire.frame({**feed.header(), "plots": plots}, feed.pose, *parts))
            if self._is_due("ledger", LEDGER_EVERY):
                self.tell(feed.ledger())
        if self._is_due("timing", TIMING_EVERY):
            self.tell(feed.timing_message())
        await self._send_words()

    async def _show_recording(self, player: Player) -> None:
        player.move(clock.now())
        if self._shown == player.t:
            return
        self._shown = player.t
        header, scene = player.frame()
        await self._socket.send_bytes(wire.frame(header, scene))
        if self._is_due("ledger", LEDGER_EVERY) or not player.speed:
            self.tell(player.ledger())
