"""The bytes of Raw Data Transfer (RDT), big-endian, and nothing else: no socket, no clock.

    request  8 bytes: 0x1234, command, number of samples (0: unlimited)
    record  36 bytes: rdt_sequence, ft_sequence, status, then Fx Fy Fz Tx Ty Tz in counts

Counts are converted here to newtons and newton metres by the sensor's calibration (counts per newton, counts per newton metre).
The status bits are those of the Ethernet sensors that speak RDT; older boxes name the low bits differently, but bit 31 means
any error on all of them, so the driver relies on that bit, and the words only explain it.
Boxes from OnRobot and OptoForce speak a dialect: the sample count of the bias command switches it on or off, two more commands
set speed and filter, and any bit in the status word is an error.
"""

import struct
from dataclasses import dataclass

START, STOP, BIAS = 0x0002, 0x0000, 0x0042
FILTER, SPEED = 0x0081, 0x0082  # OnRobot only
COMMANDS = (START, STOP, BIAS, FILTER, SPEED)
PORT = 49152

OK, BAD_LENGTH, BAD_HEADER, BAD_COMMAND = 0, 1, 2, 3

REQUEST = struct.Struct(">HHI")
RECORD = struct.Struct(">IIIiiiiii")
HEADER = 0x1234

ERROR = 1 << 31
SATURATED = 1 << 30 | 1 << 27
STATUS_WORDS = {
    0: "temperature out of range",
    1: "supply voltage out of range",
    2: "broken gage",
    3: "busy",
    5: "other error",
    7: "calibration not accessible",
    16: "monitor condition latched",
    27: "gage out of range",
    28: "simulated error",
    29: "calibration checksum wrong",
    30: "force or torque out of range",
    31: "error",
}
COUNT_MIN, COUNT_MAX = -(1 << 31), (1 << 31) - 1
FILTERS = (0.0, 500.0, 150.0, 50.0, 15.0, 5.0, 1.5)  # [Hz] cut-off frequency, by the number sent with FILTER; 0 for none
PERIODS = (1, 254)  # [ms] between two records, sent with SPEED


@dataclass(frozen=True)
class Dialect:
    """Where the boxes that speak RDT differ."""

    bias_on: int  # sample count of the bias command that zeroes the sensor
    bias_off: int | None  # and of the one that restores its own zero
    faulty: int  # status bits that mean an error
    saturated: int
    settable: bool  # whether it takes SPEED and FILTER


DIALECTS = {
    "ati": Dialect(bias_on=0, bias_off=None, faulty=ERROR, saturated=SATURATED, settable=False),
    "onrobot": Dialect(bias_on=0xFF, bias_off=0, faulty=0xFFFFFFFF, saturated=0, settable=True),
}


@dataclass(frozen=True)
class Calibration:
    """Calibration of one sensor, from its web page: counts per unit, with newtons and newton metres selected as units there."""

    counts_per_force: float  # [1/N]
    counts_per_torque: float  # [1/(N·m)]


class Record:
    """One sample as received, and in SI."""

    __slots__ = ("counts", "f", "ft_sequence", "rdt_sequence", "status", "tau")

    def __init__(self) -> None:
        self.rdt_sequence = self.ft_sequence = self.status = 0
        self.counts: tuple[int, ...] = (0, 0, 0, 0, 0, 0)
        self.f: tuple[float, float, float] = (0.0, 0.0, 0.0)  # [N]
        self.tau: tuple[float, float, float] = (0.0, 0.0, 0.0)  # [N·m]

    @property
    def clipped(self) -> bool:
        """Whether a count is at the end of its range."""
        return COUNT_MIN in self.counts or COUNT_MAX in self.counts


def decode(data: bytes | bytearray | memoryview, calibration: Calibration, out: Record) -> int:
    """Fill `out` from a record's bytes; OK, or a code with `out` unchanged. Any 36 bytes are a record."""
    if len(data) != RECORD.size:
        return BAD_LENGTH
    out.rdt_sequence, out.ft_sequence, out.status, *counts = RECORD.unpack(data)
    fx, fy, fz, tx, ty, tz = counts
    force, torque = 1.0 / calibration.counts_per_force, 1.0 / calibration.counts_per_torque
    out.counts = (fx, fy, fz, tx, ty, tz)
    out.f = (force * fx, force * fy, force * fz)
    out.tau = (torque * tx, torque * ty, torque * tz)
    return OK


def encode(record: Record) -> bytes:
    """Return the bytes of a record, from its counts."""
    return RECORD.pack(record.rdt_sequence, record.ft_sequence, record.status, *record.counts)


def counts_of(f: tuple[float, ...], tau: tuple[float, ...], calibration: Calibration) -> tuple[int, ...]:
    """Return the sensor's counts under a wrench, clipped to their range."""
    scaled = [calibration.counts_per_force * part for part in f] + [calibration.counts_per_torque * part for part in tau]
    return tuple(round(min(max(part, COUNT_MIN), COUNT_MAX)) for part in scaled)


def encode_request(command: int, samples: int = 0) -> bytes:
    return REQUEST.pack(HEADER, command, samples)


def decode_request(data: bytes) -> tuple[int, int, int]:
    """Return code, command and number of samples."""
    if len(data) != REQUEST.size:
        return BAD_LENGTH, 0, 0
    header, command, samples = REQUEST.unpack(data)
    if header != HEADER:
        return BAD_HEADER, 0, 0
    return (OK, command, samples) if command in COMMANDS else (BAD_COMMAND, 0, 0)


def status_words(status: int) -> list[str]:
    """Describe the status word; empty for a healthy sensor."""
    return [STATUS_WORDS.get(bit, f"bit {bit}") for bit in range(32) if status >> bit & 1]
