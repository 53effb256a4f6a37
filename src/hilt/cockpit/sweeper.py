"""The sweeps that pages have started: one at a time, each in its own process, which pauses while a robot is in use.

running ── a session on a rig is armed or live ──► waiting (the process is stopped) ── it is over ──► running
running ── cancel, a crash, the server's end ──► unfinished: its chunks are on disk, and it can be continued
"""

import asyncio
import json
import math
import os
import signal
import subprocess
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from hilt.cockpit.hub import sessions
from hilt.cockpit.sweep_order import SweepOrder
from hilt.cockpit.wire import without_paths
from hilt.core import clock
from hilt.core.faults import InputError
from hilt.host import child

LOOK = 0.1  # [s] between two looks at the sessions
STARTING = 30.0  # [s] after which a session that was armed no longer counts as starting
LINE_BYTES = 1 << 16
GRACE = 3.0  # [s] for a cancelled sweep to end by itself
RUN_TIME = 300.0  # [s] for one run, which may have to be compiled first
WINDOW = 50  # chunks over which the rate is taken
REMEMBERED = 100  # ends of sweeps, and runs that were opened
CONTINUE = "Continue computes the rest."


class Robots:
    """Whether a robot is in use: a session on a rig that is armed, starting or live."""

    def __init__(self) -> None:
        self._armed: dict[str, float] = {}  # sessions, and when they were last seen armed

    def in_use(self) -> str:
        """Return the first one in use in words; empty if there is none."""
        return next((f"{each['name']} is {how} on {each['rig']}" for each in sessions() if (how := self._use(each))), "")

    def _use(self, session: dict[str, Any]) -> str:
        """Return how a session uses its rig. While its recorder starts it is no longer armed and not yet live."""
        name, now = session["name"], clock.now()
        if not session["rig"]:
            return ""
        if session["armed"]:
            self._armed[name] = now
            return "armed"
        if session["state"] == "READY" and now - self._armed.get(name, -math.inf) < STARTING:
            return "disarmed, or starting,"
        self._armed.pop(name, None)
        return "live" if session["state"] == "LIVE" else ""


class Aside:
    """A child process that is paused while a robot is in use."""

    def __init__(self, process: asyncio.subprocess.Process, robots: Robots) -> None:
        self._process, self._robots = process, robots
        self.waits_for = ""
        self.paused = 0.0  # [s] in all, without the current pause
        self._since = 0.0
        self._watch = asyncio.create_task(self._make_way())

    @classmethod
    async def start(cls, request: dict[str, Any], robots: Robots) -> "Aside":
        process = await asyncio.create_subprocess_exec(
            *child.command("hilt.cockpit.sweep_process"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            limit=LINE_BYTES,
        )
        assert process.stdin is not None
        process.stdin.write(json.dumps({"server": os.getpid(), **request}).encode() + b"\n")
        with suppress(OSError):
            await process.stdin.drain()
        return cls(process, robots)

    async def _make_way(self) -> None:
        while True:
            waits_for = await asyncio.to_thread(self._robots.in_use)
            if waits_for and not self.waits_for:
                self._since = clock.now()
                self._send(signal.SIGSTOP)
            elif self.waits_for and not waits_for:
                self.paused += clock.now() - self._since
                self._send(signal.SIGCONT)
            self.waits_for = waits_for
            await asyncio.sleep(LOOK)

    def _send(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            self._process.send_signal(number)

    async def message(self) -> dict[str, Any]:
        """Return its next message; empty when it has ended."""
        assert self._process.stdout is not None
        try:
            line = await self._process.stdout.readline()
            found: dict[str, Any] = json.loads(line) if line else {}
        except ValueError:
            return {}
        return found

    def cancel(self) -> None:
        """Ask it to end, and kill it if it does not."""
        self._watch.cancel()
        self._send(signal.SIGTERM)
        self._send(signal.SIGCONT)
        asyncio.get_running_loop().call_later(GRACE, self.kill)

    def kill(self) -> None:
        self._watch.cancel()
        if self._process.returncode is None:
            self._send(signal.SIGKILL)

    async def ended(self) -> None:
        self._watch.cancel()
        await self._process.wait()


class Running:
    """The sweep that is running."""

    def __init__(self, name: str, aside: Aside) -> None:
        self.name, self.aside = name, aside
        self.count = self.done = 0
        self.cancelled = False
        self._new: deque[tuple[float, int]] = deque(maxlen=WINDOW)  # time, and scenarios computed by this process until then

    def update(self, message: dict[str, Any]) -> None:
        self.count = message.get("count", self.count)
        if "done" in message:
            self.done = message["done"]
            if message["new"]:
                self._new.append((clock.now() - self.aside.paused, message["new"]))

    @property
    def rate(self) -> float | None:
        """Scenarios per second, without pauses and without the time before the first chunk, which may be compiling."""
        if len(self._new) < 2 or self._new[-1][0] <= self._new[0][0]:
            return None
        return (self._new[-1][1] - self._new[0][1]) / (self._new[-1][0] - self._new[0][0])

    def as_json(self) -> dict[str, Any]:
        waits_for, rate = self.aside.waits_for, self.rate
        return {
            "state": "waiting" if waits_for else "running",
            "done": self.done,
            "rate": rate,
            "left": (self.count - self.done) / rate if rate and not waits_for else None,
            "sentence": f"Waiting: {waits_for}." if waits_for else "",
        }


class Sweeper:
    """Starts, cancels and continues sweeps, and runs single scenarios of them."""

    def __init__(self, out: Path) -> None:
        self._out, self._robots = out, Robots()
        self._running: Running | None = None
        self._starting = False
        self._following: asyncio.Task[None] | None = None
        self._ends: dict[str, str] = {}  # why sweeps ended early
        self._opening = asyncio.Lock()
        self._opened: dict[tuple[str, int], str] = {}

    def state(self, name: str) -> dict[str, Any] | None:
        """Return the state of the running sweep, if it is this one."""
        return self._running.as_json() if self._running is not None and self._running.name == name else None

    def end_of(self, name: str) -> str:
        return self._ends.get(name, "")

    @property
    def busy_with(self) -> str:
        return self._running.name if self._running is not None else ""

    async def start(self, name: str, order: SweepOrder | None = None) -> None:
        """Start a new sweep by its order, or continue one of the folder."""
        if self._running is not None or self._starting:
            raise InputError(f"{self.busy_with or 'another sweep'} is being computed; wait for its end, or cancel it first")
        request = {"folder": str(self._out / name), **({} if order is None else {"order": order.model_dump()})}
        self._starting = True
        try:
            self._running = Running(name, await Aside.start(request, self._robots))
        finally:
            self._starting = False
        self._ends.pop(name, None)
        self._following = asyncio.create_task(self._follow(self._running))

    async def _follow(self, running: Running) -> None:
        last: dict[str, Any] = {}
        while message := await running.aside.message():
            running.update(message)
            last = message
        await running.aside.ended()
        if "over" not in last:
            _remember(self._ends, running.name, _sentence(running, last))
        self._running = None

    def cancel(self, name: str) -> None:
        if self._running is None or self._running.name != name:
            raise InputError(f"{name} is not being computed; there is nothing to cancel")
        self._running.cancelled = True
        self._running.aside.cancel()

    async def open(self, name: str, number: int, is_there: Callable[[str], bool]) -> str:
        """Return the recording of one scenario of a sweep; a new one, unless it was opened before."""
        known = self._opened.get((name, number))
        if known is not None and is_there(known):
            return known
        if self._opening.locked():
            raise InputError("another run is being opened; wait for it")
        async with self._opening:
            if waits_for := await asyncio.to_thread(self._robots.in_use):
                raise InputError(f"{waits_for}; open this run when that is over")
            request = {"folder": str(self._out / name), "number": number, "out": str(self._out)}
            aside = await Aside.start(request, self._robots)
            try:
                last = await asyncio.wait_for(aside.message(), RUN_TIME)
            except TimeoutError:
                last = {"error": f"the run was not done within {RUN_TIME:g} s; run it with hilt run"}
            finally:
                aside.kill()
            await aside.ended()
        if "recording" not in last:
            raise InputError(without_paths(last.get("error", "the run's process ended without an answer; try again")))
        _remember(self._opened, (name, number), last["recording"])
        return str(last["recording"])

    def close(self) -> None:
        if self._running is not None:
            self._running.aside.kill()


def _sentence(running: Running, last: dict[str, Any]) -> str:
    """Say why a sweep ended early."""
    many = f"{running.done:,} of {running.count:,} scenarios are computed" if running.count else "nothing is computed"
    if "error" in last:
        return f"Stopped: {without_paths(last['error'])}"
    return f"{'Cancelled' if running.cancelled else 'Its process ended unexpectedly'}: {many}. {CONTINUE}"


def _remember(found: dict[Any, str], key: Any, value: str) -> None:
    found[key] = value
    while len(found) > REMEMBERED:
        found.pop(next(iter(found)))
