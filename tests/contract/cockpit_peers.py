"""Real processes for the cockpit's tests: the server, and a peer that speaks through mailbox and ring as a station does."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress

import httpx
import websockets.exceptions
from websockets.sync.client import connect

from hilt.cockpit import wire

PATIENCE = 60.0  # [s] until something that must happen is given up
TOKEN = "the-token-of-these-tests"

_SERVER = """
import sys
from pathlib import Path
from hilt import cockpit
cockpit.serve(sys.argv[1], 0, Path(sys.argv[2]), token=sys.argv[3], ready=lambda address: print(address, flush=True))
"""

_STATION = """
import math, os, sys, time
from hilt import job
from hilt.mailbox import ARM, LIVE, QUIT, READY, RESET, SET, START, STEER, STOP, STOPPED, Mailbox
from hilt.ring import RingWriter

name = sys.argv[1]
system, values, scenario = job.find("freefloat", "wall", [])
live = [{"key": "wall.stiffness", "unit": "N/m", "value": 1.0, "low": 0.0, "high": 9.0, "ramp": 0.1, "meaning": "of the wall"}]
info = {"system": "freefloat", "scenario": scenario, "values": values.model_dump(mode="json"), "period": values.loop.period,
        "duration": values.loop.duration, "rig": None, "live": live, "pid": os.getpid()}
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
            box.show(state=READY, sentence="")
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
    """Until `what` returns something; what it returned."""
    until = time.monotonic() + patience
    while time.monotonic() < until:
        if found := what():
            return found
        time.sleep(0.02)
    raise AssertionError(f"{what} did not come true within {patience} s")


@contextmanager
def process(program, *arguments, errors=subprocess.DEVNULL):
    """A child; its first line of output when it is ready."""
    child = subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)], stdout=subprocess.PIPE, stderr=errors, text=True
    )
    try:
        yield child, child.stdout.readline().strip()
    finally:
        child.kill()
        child.wait()
        child.stdout.close()


@contextmanager
def station(name):
    with process(_STATION, name) as (child, said):
        assert said == "ready"
        yield child


class Server:
    """A server process, as its clients see it."""

    def __init__(self, child, address, log):
        self.child, self.address, self.log = child, address, log
        self.base, _, _ = address.partition("/?token=")
        self.port = int(self.base.rpartition(":")[2])

    def get(self, path, **options):
        return self.request("GET", path, **options)

    def request(self, method, path, token=TOKEN, **options):
        params = {"token": token} if token else {}
        with httpx.Client(base_url=self.base, timeout=PATIENCE) as client:
            return client.request(method, path, params=params, **options)

    def socket(self, token=TOKEN, **options):
        query = f"?token={token}" if token else ""
        return Socket(connect(f"ws://127.0.0.1:{self.port}/ws{query}", max_size=None, close_timeout=1, **options))

    def said(self):
        return self.log.read_text().splitlines()


class Socket:
    """One client: sends messages, and waits for the kind of answer it wants."""

    def __init__(self, opening):
        self._opening = opening
        self.connection = opening.__enter__()

    def __enter__(self):
        return self

    def __exit__(self, *reason):
        self._opening.__exit__(*reason)

    def send(self, **message):
        self.connection.send(json.dumps(message))

    def next(self, kind, where=lambda message: True, patience=PATIENCE):
        """The next message of a kind; of frames the header and the numbers."""
        until = time.monotonic() + patience
        while time.monotonic() < until:
            with suppress(TimeoutError):
                data = self.connection.recv(timeout=0.5)
                header, rest = wire.parse(data) if isinstance(data, bytes) else (json.loads(data), None)
                if header["type"] == kind and where(header):
                    return header if rest is None else (header, rest)
        raise AssertionError(f"no {kind} came within {patience} s")

    def closed(self):
        """The code with which the server closes it."""
        try:
            while True:
                self.connection.recv(timeout=PATIENCE)
        except websockets.exceptions.ConnectionClosed as closed:
            return closed.rcvd.code if closed.rcvd is not None else 1006


@contextmanager
def server(folder, log, host="127.0.0.1"):
    with log.open("w") as errors, process(_SERVER, host, folder, TOKEN, errors=errors) as (child, address):
        assert address.startswith("http://"), log.read_text()
        yield Server(child, address, log)


def kill(child):
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
