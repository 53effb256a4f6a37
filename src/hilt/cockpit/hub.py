"""The hub: the running sessions, a feed for each that is watched, and the beat that all clients follow.

Everything here runs in the server's single loop, in short steps; slow work (opening a session, reading a recording) is done
in a separate thread.
"""

import asyncio
from typing import Any

from hilt.cockpit.feed import Feed
from hilt.cockpit.gate import Log
from hilt.cockpit.library import Library
from hilt.cockpit.wire import without_paths
from hilt.core import clock
from hilt.core.faults import InputError
from hilt.live import mailbox

BEAT = 0.025  # [s]: 40 frames a second
KEPT = 60.0  # [s] that a feed is kept after its last client has left
STATIONS = 16  # shown at most


class Watched:
    """A session that is watched, or was a moment ago."""

    def __init__(self, feed: Feed) -> None:
        self.feed = feed
        self.clients: set[Any] = set()
        self.left = clock.now()
        self.result: dict[str, Any] | None = None
        self._result_of = ""

    def new_recording(self) -> str:
        """Return the path of a recording whose result has not been reported yet; empty if there is none."""
        path = self.feed.front.recording
        if path == self._result_of:
            return ""
        self._result_of, self.result = path, None
        return path

    def close(self) -> None:
        self.feed.close()


class Hub:
    def __init__(self, library: Library, log: Log) -> None:
        self.library, self._log = library, log
        self._watched: dict[str, Watched] = {}
        self._opening: dict[str, asyncio.Task[None]] = {}
        self._reporting: set[asyncio.Task[None]] = set()
        self._beat = asyncio.Event()

    async def run(self) -> None:
        """Look at everything, many times a second, until cancelled."""
        loop = asyncio.get_running_loop()
        due = loop.time()
        try:
            while True:
                for name, watched in list(self._watched.items()):
                    self._look(name, watched)
                self._beat.set()
                self._beat = asyncio.Event()
                due = max(due + BEAT, loop.time())  # a late beat is not caught up
                await asyncio.sleep(due - loop.time())
        finally:
            for watched in self._watched.values():
                watched.close()

    def _look(self, name: str, watched: Watched) -> None:
        try:
            watched.feed.look()
        except Exception as error:  # one broken session must not affect the others
            self._log.once(f"session {name} cannot be shown: {type(error).__name__}: {error}")
        if path := watched.new_recording():
            task = asyncio.create_task(self._tell_result(watched, path))
            self._reporting.add(task)
            task.add_done_callback(self._reporting.discard)
        if not watched.clients and (clock.now() - watched.left > KEPT or not watched.feed.alive):
            watched.close()
            del self._watched[name]

    async def _tell_result(self, watched: Watched, path: str) -> None:
        try:
            watched.result = await asyncio.to_thread(self.library.result_message, watched.feed.system, path)
        except (InputError, OSError) as error:
            self._log.once(f"no result of a run: {error}")

    async def beat(self) -> None:
        """Wait until everything has been looked at again."""
        await self._beat.wait()

    async def watch(self, name: str, client: Any) -> Watched:
        """Return the session for a client; opened if it is not watched yet."""
        if name not in self._watched:
            if name not in mailbox.sessions():
                raise InputError(f"{name} is not running; choose one from the list")
            if name not in self._opening:
                self._opening[name] = asyncio.create_task(self._open(name))
            await asyncio.shield(self._opening[name])  # others may be waiting for it, too
        self._watched[name].clients.add(client)
        return self._watched[name]

    async def _open(self, name: str) -> None:
        try:
            watched = Watched(await asyncio.to_thread(Feed, name))
            watched.feed.look()
            self._watched[name] = watched
        except (KeyError, ValueError, TypeError) as error:
            raise InputError(f"the description of {name} cannot be read; it may be of another version") from error
        finally:
            del self._opening[name]

    def leave(self, watched: Watched, client: Any) -> None:
        watched.clients.discard(client)
        watched.left = clock.now()


def sessions() -> list[dict[str, Any]]:
    """List all running stations; a run outside a station has no description and is left out."""
    found = []
    for name in mailbox.sessions()[:STATIONS]:
        try:
            watcher = mailbox.Watcher(name)
        except (InputError, ValueError):  # ended meanwhile, or of another version
            continue
        info, front = watcher.info, watcher.front
        watcher.close()
        if "system" in info:
            found.append(
                {
                    "name": name,
                    "system": info["system"],
                    "scenario": info.get("scenario", ""),
                    "state": mailbox.STATES[front.state],
                    "armed": front.armed,
                    "rig": without_paths(info.get("rig")),
                }
            )
    return found
