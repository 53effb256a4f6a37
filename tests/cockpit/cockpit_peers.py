"""Real processes for the cockpit's tests: the server, and a peer that speaks through mailbox and ring as a station does."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import websockets.exceptions
from websockets.sync.client import connect

from hilt.cockpit import keys, wire
from tests.patience import becomes

PATIENCE = 60.0  # [s] before a test gives up waiting
TOKEN = "the-token-of-these-tests"
ORDERS = ("take", "release", "do", "set", "steer")

_SERVER = """
import sys
from pathlib import Path
from hilt import cockpit
token = sys.stdin.readline().strip()
cockpit.serve(sys.argv[1], 0, Path(sys.argv[2]), token=token, ready=lambda links, card: print(links(), flush=True))
"""

_STATION = """
import math, os, sys, time
from hilt import job
from hilt.live.mailbox import ARM, LIVE, QUIT, READY, RESET, SET, START, STEER, STOP, STOPPED, Mailbox
from hilt.live.ring import RingWriter

name, rig = sys.argv[1], sys.argv[2] or None
system, values, scenario = job.find("freefloat", "wall", [])
live = [{"key": "wall.stiffness", "unit": "N/m", "value": 1.0, "low": 0.0, "high": 9.0, "ramp": 0.1, "meaning": "of the wall"}]
info = {"system": "freefloat", "scenario": scenario, "values": values.model_dump(mode="json"), "period": values.loop.period,
        "duration": values.loop.duration, "rig": rig, "live": live, "pid": os.getpid()}
box, ring, row, tick, over = Mailbox(name, info), None, system.set_up(values).row, 0, False
box.show(state=READY)
print("ready", flush=True)
while not over:
    for request in box.poll():
        allowed = request.kind != STEER or box.front.state == LIVE
        box.answer(request, allowed, "" if allowed else "the loop is not live; look into /somewhere/private/file.txt")
        if request.kind == ARM:
            box.show(armed=True)
        elif request.kind == START:
            if ring is not None:
                ring.close()
            runs, tick = box.front.runs + 1, 0
            ring = RingWriter(f"{name}-run{runs}", system.row, 20000)
            box.show(state=LIVE, armed=False, runs=runs, ring=f"{name}-run{runs}", sentence="")
        elif request.kind == STOP:
            box.show(state=STOPPED, sentence="stopped; the file is /somewhere/private/run.mcap")
        elif request.kind == RESET:
            box.show(state=READY, armed=False, sentence="")
        elif request.kind == QUIT:
            over = True
    if box.front.state == LIVE:
        for _ in range(5):
            row["tick"], row["t"], row["F_So_S"]["f"] = tick, tick * values.loop.period, (tick, -tick, math.sin(tick))
            row["lateness"], row["tick_time"] = 2e-5, 1e-4
            ring.append(row)
            tick += 1
    time.sleep(0.005)
box.close()
"""


def wait_for(what, patience=PATIENCE):
    """Not so often that the server counts too many requests."""
    return becomes(what, patience, 0.02)


@contextmanager
def process(program, *arguments, errors=subprocess.DEVNULL, said=""):
    """A child process and its first line of output, once it is ready."""
    child = subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
    )
    try:
        with child.stdin:
            child.stdin.write(said)
        yield child, child.stdout.readline().strip()
    finally:
        child.kill()
        child.wait()
        child.stdout.close()


@contextmanager
def station(name, rig=""):
    with process(_STATION, name, rig) as (child, said):
        assert said == "ready"
        yield child


class Server:
    """A server process, as its clients see it."""

    def __init__(self, child, address, log):
        self.child, self.address, self.log = child, address, log
        self.base, _, self.code = address.partition("/#code=")
        self.port = int(self.base.rpartition(":")[2])

    def link(self, role=keys.CONTROL):
        """A new link, as `hilt cockpit --link` prints it."""
        return keys.Card(self.port).link(role)

    def get(self, path, **options):
        return self.request("GET", path, **options)

    def request(self, method, path, key=TOKEN, headers=(), **options):
        headers = {**dict(headers), **({"Authorization": f"Bearer {key}"} if key else {})}
        with httpx.Client(base_url=self.base, timeout=PATIENCE) as client:
            return client.request(method, path, headers=headers, **options)

    def open(self, path, **options):
        return connect(f"ws://127.0.0.1:{self.port}{path}", max_size=None, close_timeout=1, **options)

    def line(self, path, key=TOKEN, code=None, **options):
        """One socket, after its hello."""
        found = Line(self.open(path, **options))
        with suppress(
            websockets.exceptions.ConnectionClosed
        ):  # a server that is full reports it at once, and does not wait for it
            found.send(type="hello", **({"code": code} if code else {"key": key} if key else {}))
        return found

    def socket(self, key=TOKEN, **options):
        """A page: a socket for control and one for display."""
        return Page(self.line("/helm", key, **options), self.line("/ws", key, **options))

    def said(self):
        return self.log.read_text().splitlines()

    def processes(self):
        """The server's own and those that it has started."""
        return [self.child.pid, *descendants(self.child.pid)]


def descendants(pid):
    children = [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return [*children, *(deeper for child in children for deeper in descendants(child))]


class Line:
    """One socket."""

    def __init__(self, opening):
        self._opening = opening
        self.connection = opening.__enter__()
        self.lines = [self]
        self.session = None  # the session of this page: its commands name it unless they name another

    def __enter__(self):
        return self

    def __exit__(self, *reason):
        self._opening.__exit__(*reason)

    def send(self, **message):
        if message["type"] == "watch":
            self.session = message.get("session")
        elif message["type"] in ORDERS and self.session is not None:
            message = {"session": self.session, **message}
        self.connection.send(json.dumps(message))

    def take(self, patience):
        """The next message: header and numbers, or nothing."""
        with suppress(TimeoutError):
            data = self.connection.recv(timeout=patience)
            return wire.parse(data) if isinstance(data, bytes) else (json.loads(data), None)
        return None, None

    def next(self, kind, where=lambda message: True, patience=PATIENCE):
        """The next message of a kind; for frames the header and the numbers."""
        until = time.monotonic() + patience
        while time.monotonic() < until:
            for line in self.lines:
                header, rest = line.take(0.5 if len(self.lines) == 1 else 0.02)
                if header is not None and header["type"] == kind and where(header):
                    return header if rest is None else (header, rest)
        raise AssertionError(f"no {kind} came within {patience} s")

    def closed(self):
        """The code with which the server closes it."""
        try:
            while True:
                self.connection.recv(timeout=PATIENCE)
        except websockets.exceptions.ConnectionClosed as closed:
            return closed.rcvd.code if closed.rcvd is not None else 1006


class Page(Line):
    """Both sockets of a page: one for commands, one for display requests."""

    def __init__(self, helm, room):
        self.helm, self.room, self.lines = helm, room, [helm, room]

    def __exit__(self, *reason):
        self.helm.__exit__(*reason)
        self.room.__exit__(*reason)

    def send(self, **message):
        if message["type"] == "watch":
            self.helm.send(type="watch", session=message.get("session"))
            self.room.send(**message)
        elif message["type"] in ("signals", "range", "seek", "play", "pause"):
            self.room.send(**message)
        else:
            self.helm.send(**message)


@contextmanager
def server(folder, log, host="127.0.0.1"):
    with log.open("w") as errors, process(_SERVER, host, folder, errors=errors, said=TOKEN) as (child, address):
        assert address.startswith("http://"), log.read_text()
        yield Server(child, address, log)


def kill(child):
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
