"""Faults on demand: send lines to a running facility and read its counters, from any process of the same user.

    FacilityControl(rig).set("robot.drop", 0.1)          FacilityControl(rig).status()["robot"]["violations"]

A facility is found by its sensor's address and port, which are unique: a small segment of shared memory under that name says
where its socket is. The socket is in the same private folder, under a name that is used once; a socket left behind by a killed
facility is removed by the next process that finds it (shared.py).
"""

import contextlib
import json
import secrets
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hilt.core import clock
from hilt.core.faults import InputError
from hilt.device.rigfile import RigFile
from hilt.host import machine
from hilt.host.shared import PAGE, SOCKET, Segment
from hilt.lab.dry import world

_SIZE_MAX = 1 << 17
_TIME_LIMIT = 10.0  # [s]
SUFFIX = ".control"


def name_of(rig: RigFile) -> str:
    section = world.netft_of(rig)
    return f"facility-{section.address}-{section.port}"


def _through(folder: Path, call: Callable[[str], None], name: str) -> None:
    """Bind or connect to a socket in a folder."""
    with machine.short(folder) as path:
        call(f"{path}/{name}")


class ControlServer:
    """Server in the facility: `answer(line)` is called for every line, in its own thread."""

    def __init__(self, name: str, answer: Callable[[str], dict[str, Any]]) -> None:
        self._answer = answer
        self._segment = Segment.create(name + SUFFIX, PAGE)
        self._socket = machine.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        where = secrets.token_hex(8) + SOCKET
        self._path = self._segment.path.with_name(where)
        try:
            _through(self._path.parent, self._socket.bind, where)
            self._segment.memory[: len(where)] = where.encode()
            self._segment.publish()
        except (OSError, InputError) as error:
            self._close()
            place = name.removeprefix("facility-").replace("-", ":")
            if isinstance(error, OSError):
                raise InputError(
                    f"the facility's control socket cannot be created in {self._path.parent}: {error.strerror}"
                ) from None
            raise InputError(
                f"a facility with its sensor at {place} is already running; end it or change sensor.port"
            ) from None
        self._thread = machine.thread(self._serve, "control")

    def _serve(self) -> None:
        while True:
            try:
                data, client = self._socket.recvfrom(_SIZE_MAX)
            except OSError:
                return
            if not data and client is None:
                return
            try:
                answer = self._answer(data.decode(errors="replace"))
            except InputError as error:
                answer = {"error": str(error)}
            if client is not None:
                with contextlib.suppress(OSError):  # it may already be gone
                    self._socket.sendto(json.dumps(answer).encode(), client)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes the thread
        self._thread.join()
        self._close()

    def _close(self) -> None:
        self._segment.close()
        self._socket.close()
        with contextlib.suppress(OSError):
            self._path.unlink()


class FacilityControl:
    """Client of a running facility. Every call waits for its answer; a refusal is an InputError."""

    def __init__(self, rig: RigFile | str) -> None:
        self._name = rig if isinstance(rig, str) else name_of(rig)
        self._lock = machine.lock()
        self._socket = machine.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            self._socket.bind("")  # the kernel chooses a name; a connected socket receives only from its peer
            segment = Segment.open(self._name + SUFFIX, PAGE)
            where = bytes(segment.memory[:PAGE]).rstrip(b"\0").decode("ascii", errors="replace")
            segment.close()
            _through(segment.path.parent, self._socket.connect, Path(where).name)
        except (OSError, ValueError, InputError):
            self._socket.close()
            raise InputError(f"{self._name} is not running here; start it with hilt emulate") from None

    def send(self, line: str) -> dict[str, Any]:
        """Send one line, such as `robot.drop=0.1`, `robot.next.drop=3`, `sensor.jump=50,0,0,0,0,0`, `clear`, `status`."""
        with self._lock:
            try:
                self._socket.settimeout(_TIME_LIMIT)
                self._socket.send(line.encode())
                answer: dict[str, Any] = json.loads(self._socket.recv(_SIZE_MAX))
            except OSError as error:
                raise InputError(
                    f"{self._name} does not answer: {error or 'no answer'}; check whether it is still running"
                ) from None
        if "error" in answer:
            raise InputError(answer["error"])
        return answer

    def set(self, key: str, value: Any) -> None:
        """Set a switch of a device, such as `robot.drop`, `sensor.freeze`, `robot.live`."""
        text = ",".join(map(str, value)) if isinstance(value, tuple | list) else str(value)
        self.send(f"{key}={text}")

    def next(self, fault: str, count: int = 1) -> None:
        """Give each of the next packets a fault: `next("robot.drop", 3)`."""
        device, _, kind = fault.partition(".")
        self.send(f"{device}.next.{kind}={count}")

    def clear(self) -> None:
        """Clear all faults of devices and lines."""
        self.send("clear")

    def live(self, live: bool) -> None:
        """Set whether the emulated robots allow set-points."""
        self.set("robots.live", live)

    def forget(self) -> None:
        """Reset the robots' counters: no violations, no set-points, no stops so far."""
        self.send("robots.forget")

    def restart(self) -> None:
        """Make the operators drive stopped robots back and restart their programs at once."""
        self.send("robots.restart")

    def status(self) -> dict[str, Any]:
        """Return the counters of `robot`, `sensor` and a second robot by its name, and `trouble`: a sentence for each process
        that has ended by itself."""
        return self.send("status")

    def wait_for(self, condition: Callable[[dict[str, Any]], bool], seconds: float = 20.0) -> dict[str, Any]:
        """Wait for a status that meets a condition."""
        until = clock.now() + seconds
        while not condition(status := self.status()):
            if clock.now() > until:
                raise InputError(f"{self._name} did not reach the expected status within {seconds:g} s: {status}")
            clock.pause(0.02)
        return status

    def close(self) -> None:
        self._socket.close()
