"""Driver of a Net F/T: requests the stream, and at every tick takes the newest sample and discards older ones.

"Newest" means at the robot's cycle, if that is known: a sample that came later belongs to the next tick (`read_until`).
Only `open` waits. A tick that finds no new sample keeps the last one, whose age is known: the kernel stamps packets on
arrival, so a sample that waited in the socket's buffer does not look fresh. The bias is never set automatically.
The socket is connected from the start: the kernel drops everything that does not come from the sensor's address and port.
"""

import contextlib
import math
import socket
import struct
from typing import Any

from hilt.core import clock, faults
from hilt.core.faults import InputError
from hilt.device.netft import codec
from hilt.device.netft.settings import NetFTSettings
from hilt.host import machine

_STEP_MAX = 100_000  # a larger jump of the sequence is rejected: 14 s of the fastest stream
_IN_A_ROW = 5  # consecutive records: no network delivers that many late
_DRAIN_MAX = 4096  # packets in one tick; a flood must not delay the tick
_SIZE_MAX = 64
_PATIENCE = 0.25  # [s] between requests for the stream
_SO_TIMESTAMPNS = 35  # Linux
_SO_RXQ_OVFL = 40  # Linux: packets dropped since the socket was created, for lack of room
_STAMP = struct.Struct("@qq")
_COUNT = struct.Struct("@I")

_OWN_BIAS = 0.5  # [s] within which our own bias command takes effect
LEARNT = 16  # records after which the number of samples per record is known

_Packet = tuple[bytes, int, float]  # a record; packets dropped before it; when it arrived [s]


class Jump:
    """A change between records that no contact can cause: something else has zeroed the sensor.

    A contact of stiffness k and damping d, met at speed v, changes the force by at most

        ΔF = (k T_s + d) v + noise        T_s time between two records

    in one record. A bias command removes the whole load at once. Missing records in between widen the bound; the sensor's own
    sample counter says how many there were, even if a box sends only every seventh sample.

    `force` and `torque` are the bounds on the change in a record; 0 for none.
    """

    def __init__(self, force: float, torque: float) -> None:
        self._force, self._torque = force, torque
        self._stride, self._seen = _STEP_MAX, 0  # samples per record, fewest so far
        self._expected = -math.inf  # [s], time until which a jump is our own

    def expect(self) -> None:
        """Expect a jump: our own bias."""
        self._expected = clock.now() + _OWN_BIAS

    def beyond(self, before: codec.Record, after: codec.Record, records: int) -> bool:
        """Whether `after`, a number of records later than `before`, differs by more than a contact can cause."""
        passed = max(records, self._records(after.ft_sequence - before.ft_sequence & 0xFFFFFFFF, records))
        jumped = 0.0 < self._force * passed < math.dist(before.f, after.f)
        jumped = jumped or 0.0 < self._torque * passed < math.dist(before.tau, after.tau)
        if jumped and clock.now() < self._expected:
            self._expected = -math.inf
            return False
        return jumped

    def _records(self, samples: int, records: int) -> float:
        """Return how many records the sensor could have sent in a number of samples."""
        if not 0 < samples <= _STEP_MAX:
            return 0.0
        self._stride = min(self._stride, max(samples // records, 1))
        self._seen += 1
        return samples / (self._stride if self._seen > LEARNT else 1)


class NetFT:
    """One sensor. `stop` may be called at any time, also after a failed `open`."""

    def __init__(self, settings: NetFTSettings) -> None:
        self.settings = settings
        self.received = 0  # packets
        self.used = 0  # samples returned by `read`
        self.gaps = 0  # records that never arrived, according to the sequence numbers
        self.late = 0  # duplicates, and records older than the newest
        self.rejected = 0  # not a record, or an impossible sequence number
        self.jumps = 0  # records that no contact can explain
        self.status = 0  # status word of the newest record
        self._calibration = codec.Calibration(settings.counts_per_force, settings.counts_per_torque)
        self._dialect = codec.DIALECTS[settings.dialect]
        self._newest, self._next = codec.Record(), codec.Record()
        self._arrived = self._changed = -math.inf
        self._jump = Jump(settings.jump_force, settings.jump_torque)
        self._moved = False
        self._missing = 0  # largest number of consecutive records lost in transit in this tick
        self._overflowed = 0
        self._behind, self._last_behind = 0, -1  # consecutive records that look old, and the last of them
        self._early: _Packet | None = None  # arrived after the requested time: the next call begins with it
        self._stamped = False  # whether the kernel stamps packets on arrival: if not, none counts as early
        self._socket: Any = None

    def open(self, address: str, port: int, time_limit: float) -> None:
        """Request the stream and wait for its first record; an InputError if none arrives."""
        peer = f"{address}:{port}"
        advice = "check the address, the cable and the sensor's power"
        try:
            self._socket = machine.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self._socket.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
            self._socket.setsockopt(socket.SOL_SOCKET, _SO_RXQ_OVFL, 1)
            self._socket.connect((address, port))
            deadline = clock.now() + time_limit
            while (left := deadline - clock.now()) > 0.0:
                for request in self._requests():  # repeatedly: a request can be lost, too
                    self._socket.send(request)
                self._socket.settimeout(min(left, _PATIENCE))
                try:
                    data, ancillary, _, _ = self._socket.recvmsg(_SIZE_MAX, 64)
                except TimeoutError:
                    continue
                self.received += 1
                if codec.decode(data, self._calibration, self._newest) == codec.OK:
                    self.status = self._newest.status
                    self._arrived = self._changed = _arrival(ancillary)
                    self._stamped = any(kind == _SO_TIMESTAMPNS for _, kind, _ in ancillary)
                    self._early = None
                    self._socket.setblocking(False)
                    return
                self.rejected += 1
        except (OSError, OverflowError) as error:
            self.stop()
            raise InputError(f"the force sensor at {peer} cannot be reached: {error}; {advice}") from None
        self.stop()
        raise InputError(f"the force sensor at {peer} sent no record within {time_limit:g} s; {advice}")

    def _requests(self) -> list[bytes]:
        """Return the requests that start the stream."""
        settings, found = self.settings, []
        if settings.filter is not None:
            found.append(codec.encode_request(codec.FILTER, codec.FILTERS.index(settings.filter)))
        if settings.rate is not None:
            found.append(codec.encode_request(codec.SPEED, round(1e3 / settings.rate)))
        return [*found, codec.encode_request(codec.START)]

    def read(self, out: Any) -> int:
        """Write the newest wrench to `out` (parts f and tau); 0 or a fault code. Never blocks."""
        return self.read_until(out, math.inf)

    def read_until(self, out: Any, t: float) -> int:
        """Write the newest wrench that arrived by t [s, monotonic]; later ones are left for the next call."""
        self._missing, jumps = 0, self.jumps
        fresh = self._drain(t)
        out["f"][...] = self._newest.f
        out["tau"][...] = self._newest.tau
        self.used += fresh
        now, settings = clock.now(), self.settings
        if now - self._arrived > settings.stale and self._early is None:
            return faults.SENSOR_STALE
        if self._newest.clipped or self._newest.status & self._dialect.saturated:
            return faults.SENSOR_SATURATED
        if self._newest.status & self._dialect.faulty:
            return faults.SENSOR_STATUS
        if 0 < settings.gap < self._missing:
            return faults.SENSOR_GAP
        if self.jumps > jumps:
            return faults.SENSOR_JUMP
        return faults.SENSOR_FROZEN if 0.0 < settings.frozen < self._arrived - self._changed else faults.NONE

    @property
    def samples(self) -> int:
        return self.received

    def counters(self) -> dict[str, int]:
        names = ("received", "used", "gaps", "late", "rejected", "jumps", "status")
        return {name: int(getattr(self, name)) for name in names}

    @property
    def age(self) -> float:
        """Time since the newest sample arrived at this machine [s]."""
        return clock.now() - self._arrived

    def words(self) -> list[str]:
        """Describe the newest status word."""
        return codec.status_words(self.status) if self.settings.dialect == "ati" else [f"status 0x{self.status:08x}"]

    def bias(self) -> None:
        """Zero the sensor at its present load. Only on the user's request."""
        self._jump.expect()
        self._request(codec.BIAS, self._dialect.bias_on)

    def stop(self) -> None:
        """End the stream. Never raises, never waits, safe to call twice."""
        self._request(codec.STOP)
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.close()
        self._socket = None

    def _request(self, command: int, samples: int = 0) -> None:
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.send(codec.encode_request(command, samples))

    def _drain(self, until: float) -> bool:
        """Take the packets that arrived by a time; True if one is newer than the newest."""
        fresh, self._moved = False, False
        for _ in range(_DRAIN_MAX):
            packet, self._early = self._early or self._receive(), None
            if packet is None:
                break
            data, overflowed, came = packet
            if came > until and self._stamped:
                self._early = packet
                break
            if self._take(data, overflowed):
                fresh, self._arrived = True, came
        if fresh and self._moved:
            self._changed = self._arrived
        return fresh

    def _receive(self) -> _Packet | None:
        """Return the next packet, if there is one."""
        if self._socket is None:
            return None
        try:
            data, ancillary, _, _ = self._socket.recvmsg(_SIZE_MAX, 64)
        except OSError:  # empty, or the peer's port is closed: the sample then becomes stale
            return None
        self.received += 1
        return data, _overflows(ancillary), _arrival(ancillary)

    def _take(self, data: bytes, overflowed: int) -> bool:
        """Keep a record if it is newer than the newest."""
        record = self._next
        if codec.decode(data, self._calibration, record) != codec.OK:
            self.rejected += 1
            return False
        step = (record.rdt_sequence - self._newest.rdt_sequence) & 0xFFFFFFFF  # wraps after 2³² records
        if (step == 0 or step > 0xFFFFFFFF - _STEP_MAX) and not self._goes_on_behind(record.rdt_sequence):
            self.late += 1
            return False
        if self._behind == _IN_A_ROW:
            step = 1
        if step > _STEP_MAX:
            self.rejected += 1
            return False
        self._behind = 0
        self.gaps += step - 1
        # Records that arrived but were not fetched in time are not the sensor's fault: lateness is watched elsewhere.
        self._missing = max(self._missing, step - 1 - (overflowed - self._overflowed))
        self._overflowed = overflowed
        self.jumps += self._jump.beyond(self._newest, record, step)
        self._moved = self._moved or record.counts != self._newest.counts
        self.status = record.status
        self._next, self._newest = self._newest, record
        return True

    def _goes_on_behind(self, sequence: int) -> bool:
        """Whether several consecutive records look old, with nothing newer between them: then the newest number was wrong.

        A flipped bit may put it ahead by up to _STEP_MAX; without this no sample would be used until the sensor gets there.
        """
        self._behind = self._behind + 1 if sequence == self._last_behind + 1 & 0xFFFFFFFF else 1
        self._last_behind = sequence
        return self._behind == _IN_A_ROW


def _overflows(ancillary: list[tuple[int, int, bytes]]) -> int:
    """Return the number of packets dropped for lack of room, up to this one."""
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == _SO_RXQ_OVFL and len(data) == _COUNT.size:
            return int(_COUNT.unpack(data)[0])
    return 0


def _arrival(ancillary: list[tuple[int, int, bytes]]) -> float:
    """Return the arrival time of a packet, by our monotonic clock [s]."""
    now, waited = clock.now(), 0.0
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == _SO_TIMESTAMPNS and len(data) == _STAMP.size:
            seconds, nanoseconds = _STAMP.unpack(data)
            waited = max(clock.wall() - seconds - 1e-9 * nanoseconds, 0.0)
    return now - waited
