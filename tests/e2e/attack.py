"""Everything that a second client and another user can do to a cockpit, all at once: forms without a pause, a long recording
opened again and again, thirty sockets that watch everything, unauthenticated connections, and shared folders full of names.

    python -m tests.e2e.attack     in its own process, with its target given on stdin; runs until it is killed
"""

import http.client
import itertools
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
from websockets.sync.client import connect

from hilt import job
from hilt.record import recording
from tests.e2e.cockpit import TOKEN

STRANGER = 12346  # an unused user ID
NAMES = 2000
ROWS_AT_ONCE = 4096
ORDERS = (
    {"loop.period": "1 " + "m" * 1990},
    {"loop.duration": "9" * 1990 + " s"},
    {"robot.delay": f"1 s^{'9' * 1900}"},
    {"approach.direction": [1.0] * 500},
    {f"robot.delay{i}": "3 kg" for i in range(60)},
    {"loop.duration": "10 s"},
)


def long_recording(folder, nbytes):
    """Write a recording with `nbytes` of rows as a recorder does; return its name."""
    system, values, _ = job.find("docking", "table1", [])
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "docking-table1-20000101-000000.mcap"
    rows = np.zeros(ROWS_AT_ONCE, system.row)
    rows[:] = system.set_up(values).row[0]
    chunks = recording.Chunks(path, recording.origin_of(system, values))
    for begin in range(0, nbytes // system.row.itemsize, ROWS_AT_ONCE):
        rows["tick"] = np.arange(begin, begin + ROWS_AT_ONCE)
        rows["t"] = rows["tick"] * values.loop.period
        chunks.write(rows)
    chunks.finish()
    return path.stem


def _for_ever(step):
    def run():
        for number in itertools.count():
            with suppress(Exception):  # whatever the server says to it
                step(number)
            time.sleep(0.001)

    threading.Thread(target=run, daemon=True).start()


def _ask(port, method, path, body=None):
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request(method, path, body, headers)
        return connection.getresponse().read()
    finally:
        connection.close()


def _forms(port, number):
    order = {"system": "docking", "scenario": "table1", "settings": ORDERS[number % len(ORDERS)]}
    _ask(port, "POST", "/api/check", json.dumps(order))


def _listings(port, number):
    _ask(port, "GET", ("/api/recordings", "/api/sessions", "/api/rigs", "/api/systems")[number % 4])


def _watch(port, session, recorded):
    """A page that requests as much as it may; with `recorded` it opens the long recording and seeks in it."""
    with connect(f"ws://127.0.0.1:{port}/helm") as helm, connect(f"ws://127.0.0.1:{port}/ws", max_size=None) as room:
        for line in (helm, room):
            line.send(json.dumps({"type": "hello", "key": TOKEN}))
        helm.send(json.dumps({"type": "watch", "session": session}))
        room.send(json.dumps({"type": "watch", **({"recording": recorded} if recorded else {"session": session})}))
        names = None
        for number in itertools.count():
            with suppress(TimeoutError):
                data = room.recv(timeout=0.1)
                if names is None and isinstance(data, str) and '"signals"' in data:
                    names = [signal["name"] for signal in json.loads(data)["signals"]][:24]
                    room.send(json.dumps({"type": "signals", "names": names}))
            with suppress(TimeoutError):
                helm.recv(timeout=0)
            if names and number % 50 == 0:
                wanted = {"type": "range", "id": number, "names": names, "from": 0, "to": 1e6, "points": 4000}
                room.send(json.dumps(wanted))
            if names and recorded:
                room.send(json.dumps({"type": "seek", "t": float(number % 100)}))
                if number > 500:
                    return  # and open it again


def _knock(port, number):
    """Connections that send a little and stay open."""
    with socket.create_connection(("127.0.0.1", port), 5) as line:
        line.send((b"GET / HTTP/1.1\r\nX: ", b"G", b"GET /helm HTTP/1.1\r\n")[number % 3])
        time.sleep(2.0)


def _fill(number):
    """As another user: create names in every world-writable folder."""
    for folder in ("/dev/shm", "/tmp"):
        path = Path(folder) / f"hilt-{('x.mail', '0', '0-x', 'x.ring')[number % 4]}-attack{number % NAMES}"
        with suppress(OSError):
            (os.mkfifo if number % 2 else os.mkdir)(path)


def _clear():
    for folder in ("/dev/shm", "/tmp"):
        for path in Path(folder).glob("hilt-*-attack*"):
            with suppress(OSError):
                (path.rmdir if path.is_dir() else path.unlink)()


def main():
    target = json.loads(sys.stdin.readline())
    port, session = target["port"], target["session"]
    if os.geteuid() == 0:
        child = os.fork()
        if child == 0:
            os.setresgid(STRANGER, STRANGER, STRANGER)
            os.setresuid(STRANGER, STRANGER, STRANGER)
            parent = os.getppid()
            for number in itertools.count():
                _fill(number)
                time.sleep(0.001)
                if os.getppid() != parent:
                    os._exit(0)
    for _ in range(2):
        _for_ever(lambda number: _forms(port, number))
    _for_ever(lambda number: _listings(port, number))
    for each in range(target["sockets"]):
        _for_ever(lambda _, each=each: _watch(port, session, target["recording"] if each == 0 else None))
    for _ in range(target["strangers"]):
        _for_ever(lambda number: _knock(port, number))
    print("begun", flush=True)
    while True:
        time.sleep(1.0)


@contextmanager
def attack(server, session, recorded, sockets=30, strangers=60):
    """Context in which the attack runs."""
    target = {"port": server.port, "session": session, "recording": recorded, "sockets": sockets, "strangers": strangers}
    with tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(
            [sys.executable, "-m", "tests.e2e.attack"],
            cwd=Path(__file__).parents[2],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        try:
            child.stdin.write(json.dumps(target) + "\n")
            child.stdin.flush()
            assert child.stdout.readline().strip() == "begun"
            yield child
        finally:
            alive = child.poll() is None
            child.kill()
            child.wait()
            child.stdin.close()
            child.stdout.close()
            _clear()
        assert alive, "the attack ended by itself"


if __name__ == "__main__":
    main()
