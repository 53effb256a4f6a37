"""An emulated Net F/T: it speaks RDT on a real socket and measures whatever `wrench()` returns.

Like the real box it streams to every client that requests it, numbers the records of each stream from 1, has one sample counter
for all, and zeroes its load on the bias command, in its dialect. `serve` runs in the caller's thread (in its own process),
`start` in a new thread. Faults of the line are set on `line`, faults of the sensor on the attributes below.
"""

import contextlib
import socket
from collections.abc import Callable
from dataclasses import dataclass

from hilt.core import clock
from hilt.device.line import Line
from hilt.device.netft import codec
from hilt.host import machine
from hilt.host.machine import Task

Vector = tuple[float, float, float]
Wrench = Callable[[], tuple[Vector, Vector]]

_BEHIND_MAX = 0.05  # [s] of records sent at once after a stall of this process; more are skipped
_WRAP = 0xFFFFFFFF


@dataclass
class _Stream:
    sequence: int
    left: int  # records still to send, -1: unlimited


class NetFTBox:
    """The emulated box; `wrench()` returns force [N] and torque [N·m] at the sensor's origin, in the sensor's axes."""

    def __init__(
        self,
        wrench: Wrench,
        calibration: codec.Calibration,
        rate: float = 1000.0,
        address: str = "127.0.0.1",
        port: int = 0,
        seed: int = 1,
        dialect: str = "ati",
    ) -> None:
        self.line = Line(seed)
        self.freeze = False  # the gages are stuck, the sequence numbers continue
        self.jump: tuple[float, ...] = (0.0,) * 6  # [N, N·m] added to the load
        self.zero: tuple[float, ...] = (0.0,) * 6  # [N, N·m] subtracted from the load since the last bias command
        self.saturate = False
        self.status = 0  # bits to set in every status word
        self.silence = False
        self.first_sequence = 1  # of a new stream; near 2³² to test the wrap-around
        self.sent = 0
        self.starts = self.biases = 0  # requests
        self.filter = 0  # number of the requested filter
        self.dialect = codec.DIALECTS[dialect]
        self.refused = 0  # invalid requests
        self._wrench, self._calibration = wrench, calibration
        self._set_period(1.0 / rate)
        self._streams: dict[tuple[str, int], _Stream] = {}
        self._seen: tuple[tuple[float, ...], float] | None = None  # last load [N, N·m] and when it was read
        self._load: tuple[float, ...] = (0.0,) * 6  # [N, N·m], of the last sample
        self._samples = 0
        self._record = codec.Record()
        self._end = machine.event()
        self._thread: Task | None = None
        self._socket = machine.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((address, port))
        self._socket.setblocking(False)
        self.address, self.port = self._socket.getsockname()

    def start(self) -> "NetFTBox":
        self._thread = machine.thread(self.serve, "netft")
        return self

    def stop(self) -> None:
        """End the thread, or `serve` in another thread; the port is then free."""
        self._end.set()
        if self._thread is not None:
            self._thread.join()
        self._socket.close()

    def __enter__(self) -> "NetFTBox":
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _set_period(self, period: float) -> None:
        self._period, self._burst = period, max(int(_BEHIND_MAX / period), 1)  # [s], samples

    @property
    def rate(self) -> float:
        return 1.0 / self._period

    @property
    def clients(self) -> int:
        return len(self._streams)

    def serve(self) -> None:
        """Answer and stream until `stop`."""
        due = clock.now()
        while not self._end.wait(max(due - clock.now(), 0.0)):
            self._answer()
            now = clock.now()
            due = self._catch_up(now, due)
            self.line.release(now)

    def _catch_up(self, now: float, due: float) -> float:
        """Take the samples that are due and send the last ones; returns when the next one is due.

        A stall of this process is not a stall of the sensor: its load has changed linearly meanwhile, and it kept counting.
        """
        f, tau = self._wrench()
        load = (*f, *tau)
        before, then = self._seen or (load, now - self._period)
        self._seen = load, now
        skipped = max(int((now - due) / self._period) + 1 - self._burst, 0)
        self._samples += skipped
        due += skipped * self._period
        while due <= now:
            share = min(max((due - then) / (now - then), 0.0), 1.0)
            self._sample(now, tuple(a + (b - a) * share for a, b in zip(before, load, strict=True)))
            due += self._period
        return due

    def _answer(self) -> None:
        while True:
            try:
                data, client = self._socket.recvfrom(64)
            except OSError:
                return
            code, command, samples = codec.decode_request(data)
            if code != codec.OK:
                self.refused += 1
            elif command == codec.START:
                self.starts += 1
                self._streams[client] = _Stream(self.first_sequence, samples or -1)
            elif command == codec.STOP:
                self._streams.pop(client, None)
            elif not self._set(command, samples):
                self.refused += 1

    def _set(self, command: int, samples: int) -> bool:
        """Set zero, speed or filter; False if this dialect has no such command."""
        dialect = self.dialect
        if command == codec.BIAS and samples == dialect.bias_on:
            self.biases += 1
            self.zero = self._load
        elif command == codec.BIAS and samples == dialect.bias_off:
            self.zero = (0.0,) * 6
        elif command == codec.SPEED and dialect.settable and codec.PERIODS[0] <= samples <= codec.PERIODS[1]:
            self._set_period(1e-3 * samples)
        elif command == codec.FILTER and dialect.settable and samples < len(codec.FILTERS):
            self.filter = samples
        else:
            return False
        return True

    def _sample(self, now: float, load: tuple[float, ...]) -> None:
        """Measure once and send the record to all clients."""
        self._samples = self._samples + 1 & _WRAP
        if not self.freeze:
            self._load = tuple(part + more for part, more in zip(load, self.jump, strict=True))
        record = self._record
        record.ft_sequence = self._samples
        record.status = self.status
        felt = tuple(part - zero for part, zero in zip(self._load, self.zero, strict=True))
        record.counts = codec.counts_of(felt[:3], felt[3:], self._calibration)
        if self.saturate:
            record.counts = (codec.COUNT_MAX,) * 6
            record.status |= self.dialect.saturated | codec.ERROR
        for client, stream in list(self._streams.items()):
            record.rdt_sequence = stream.sequence
            stream.sequence = stream.sequence + 1 & _WRAP
            stream.left -= 1 if stream.left > 0 else 0
            if stream.left == 0:
                del self._streams[client]
            if not self.silence:
                self.line.send(codec.encode(record), now, lambda data, to=client: self._deliver(data, to))  # type: ignore[misc]

    def _deliver(self, data: bytes, client: tuple[str, int]) -> None:
        with contextlib.suppress(OSError):
            self._socket.sendto(data, client)
            self.sent += 1
