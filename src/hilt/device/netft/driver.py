"""Driver of a Net F/T: asks for the stream, and at every tick takes the newest sample and throws the older ones away.

Nothing here waits but `open`. A tick that finds no new sample keeps the last one, whose age is known: the kernel stamps
packets on arrival, so a sample that lay in the socket's buffer is not taken for a fresh one. The bias is never set by itself.
The socket is connected from the start: what does not come from the sensor's address and port is dropped by the kernel.
"""

import contextlib
import math
import socket
import struct
from typing import Any

from pydantic import Field

from hilt.core import clock
from hilt.core.faults import InputError
from hilt.core.scenario import Section
from hilt.core.units import Count, Newton, NewtonMetre, Number, Second
from hilt.device.netft import codec
from hilt.device.netft.jump import Jump

OK, STALE, STATUS, SATURATED, FROZEN, GAP, JUMP = 0, 1, 2, 3, 4, 5, 6
SENTENCES = {
    STALE: "the force sensor has sent nothing new for too long; look at its cable and power",
    STATUS: "the force sensor reports an error in its status word; look at the words and at the sensor's web page",
    SATURATED: "the force sensor is saturated; make the contact softer or use a larger sensor",
    FROZEN: "the force sensor repeats the same counts; restart it",
    GAP: "too many records of the force sensor are missing in a row; look at the network",
    JUMP: "the force sensor jumped from one record to the next as no contact can; see who else has set its zero",
}

_STEP_MAX = 100_000  # a sequence that jumps further is not believed: 14 s of the fastest stream
_DRAIN_MAX = 4096  # packets in one tick; a flood must not hold the tick
_SIZE_MAX = 64
_PATIENCE = 0.25  # [s] between requests for the stream
_SO_TIMESTAMPNS = 35  # Linux
_SO_RXQ_OVFL = 40  # the same: packets that the socket had no room for since it was made
_STAMP = struct.Struct("@qq")
_COUNT = struct.Struct("@I")


class NetFTSettings(Section):
    """What the driver must know of the sensor and the run."""

    counts_per_force: Number = Field(gt=0, description="counts per newton, from the sensor's web page")
    counts_per_torque: Number = Field(gt=0, description="counts per newton metre, from the sensor's web page")
    stale: Second = Field(gt=0, description="a newest sample older than this is a fault")
    frozen: Second = Field(ge=0, description="counts that stay the same for this long are a fault; 0 for never")
    gap: Count = Field(default=0, ge=0, description="records that may be lost in a row on the way; 0 for any number")
    jump_force: Newton = Field(default=0.0, ge=0, description="most that a contact changes from record to record; 0 for any")
    jump_torque: NewtonMetre = Field(
        default=0.0, ge=0, description="most that a contact changes from record to record; 0 for any"
    )


class NetFT:
    """One sensor. `stop` may be called at any time, also after an `open` that failed."""

    def __init__(self, settings: NetFTSettings) -> None:
        self.settings = settings
        self.received = 0  # packets
        self.used = 0  # samples that `read` gave out
        self.gaps = 0  # records that never came, by the sequence numbers
        self.late = 0  # duplicates and records older than one we had
        self.rejected = 0  # not a record, or a sequence number that cannot be
        self.jumps = 0  # records that no contact explains
        self.status = 0  # status word of the newest record
        self._calibration = codec.Calibration(settings.counts_per_force, settings.counts_per_torque)
        self._newest, self._next = codec.Record(), codec.Record()
        self._arrived = self._changed = -math.inf
        self._jump = Jump(settings.jump_force, settings.jump_torque)
        self._moved = False
        self._missing = 0  # records lost in a row on the way, the most of this tick
        self._overflowed = 0
        self._socket: socket.socket | None = None

    def open(self, address: str, port: int, time_limit: float) -> None:
        """Ask for the stream and wait for its first record; one sentence if none comes."""
        peer = f"{address}:{port}"
        advice = "look at the address, the cable and the sensor's power"
        try:
            self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self._socket.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
            self._socket.setsockopt(socket.SOL_SOCKET, _SO_RXQ_OVFL, 1)
            self._socket.connect((address, port))
            deadline = clock.now() + time_limit
            while (left := deadline - clock.now()) > 0.0:
                self._socket.send(codec.encode_request(codec.START))  # again and again: a request can be lost, too
                self._socket.settimeout(min(left, _PATIENCE))
                try:
                    data, ancillary, _, _ = self._socket.recvmsg(_SIZE_MAX, 64)
                except TimeoutError:
                    continue
                self.received += 1
                if codec.decode(data, self._calibration, self._newest) == codec.OK:
                    self.status = self._newest.status
                    self._arrived = self._changed = _arrival(ancillary)
                    self._socket.setblocking(False)
                    return
                self.rejected += 1
        except (OSError, OverflowError) as error:
            self.stop()
            raise InputError(f"the force sensor at {peer} cannot be reached: {error}; {advice}") from None
        self.stop()
        raise InputError(f"the force sensor at {peer} sent no record within {time_limit:g} s; {advice}")

    def read(self, out: Any) -> int:
        """Write the newest wrench to `out` (parts f and tau); OK or a fault code. Never blocks."""
        self._missing, jumps = 0, self.jumps
        fresh = self._drain()
        out["f"][...] = self._newest.f
        out["tau"][...] = self._newest.tau
        self.used += fresh
        now, settings = clock.now(), self.settings
        if now - self._arrived > settings.stale:
            return STALE
        if self._newest.saturated:
            return SATURATED
        if self._newest.faulty:
            return STATUS
        if 0 < settings.gap < self._missing:
            return GAP
        if self.jumps > jumps:
            return JUMP
        return FROZEN if 0.0 < settings.frozen < self._arrived - self._changed else OK

    @property
    def age(self) -> float:
        """Seconds since the newest sample arrived at this machine."""
        return clock.now() - self._arrived

    def words(self) -> list[str]:
        """The newest status word in words."""
        return codec.status_words(self.status)

    def bias(self) -> None:
        """Have the sensor take its present load for zero. Only ever on the user's word."""
        self._jump.expect()
        self._request(codec.BIAS)

    def stop(self) -> None:
        """End the stream. Never raises, never waits, safe to call twice."""
        self._request(codec.STOP)
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.close()
        self._socket = None

    def _request(self, command: int) -> None:
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.send(codec.encode_request(command))

    def _drain(self) -> bool:
        """Empty the socket; True if something newer than before was in it."""
        if self._socket is None:
            return False
        fresh, self._moved = None, False
        for _ in range(_DRAIN_MAX):
            try:
                data, ancillary, _, _ = self._socket.recvmsg(_SIZE_MAX, 64)
            except OSError:  # empty, or the peer's port is closed: then the sample grows old
                break
            self.received += 1
            if self._take(data, _overflows(ancillary)):
                fresh = ancillary
        if fresh is None:
            return False
        self._arrived = _arrival(fresh)
        if self._moved:
            self._changed = self._arrived
        return True

    def _take(self, data: bytes, overflowed: int) -> bool:
        """Keep a record if it is newer than the newest."""
        record = self._next
        if codec.decode(data, self._calibration, record) != codec.OK:
            self.rejected += 1
            return False
        step = (record.rdt_sequence - self._newest.rdt_sequence) & 0xFFFFFFFF  # runs over after 2³² records
        if step == 0 or step > 0xFFFFFFFF - _STEP_MAX:
            self.late += 1
            return False
        if step > _STEP_MAX:
            self.rejected += 1
            return False
        self.gaps += step - 1
        # What came and was not fetched in time is no fault of the sensor: the loop's lateness is watched elsewhere.
        self._missing = max(self._missing, step - 1 - (overflowed - self._overflowed))
        self._overflowed = overflowed
        self.jumps += self._jump.beyond(self._newest, record, step)
        self._moved = self._moved or record.counts != self._newest.counts
        self.status = record.status
        self._next, self._newest = self._newest, record
        return True


def _overflows(ancillary: list[tuple[int, int, bytes]]) -> int:
    """Packets that came and found no room, up to this one."""
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == _SO_RXQ_OVFL and len(data) == _COUNT.size:
            return int(_COUNT.unpack(data)[0])
    return 0


def _arrival(ancillary: list[tuple[int, int, bytes]]) -> float:
    """When a packet arrived, by our monotonic clock."""
    now, waited = clock.now(), 0.0
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == _SO_TIMESTAMPNS and len(data) == _STAMP.size:
            seconds, nanoseconds = _STAMP.unpack(data)
            waited = max(clock.wall() - seconds - 1e-9 * nanoseconds, 0.0)
    return now - waited
