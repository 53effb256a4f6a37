"""Decode incoming messages into numbers; anything else is refused in one sentence."""

import math
import struct

from hilt.core.faults import InputError

HEADER = 4  # bytes: encoding of the rest
LONGEST = 4096  # bytes of a message, including a frame's name
_ENDS = {b"\x00\x00": ">", b"\x00\x01": "<"}


def _order(data: bytes) -> str:
    if not HEADER <= len(data) <= LONGEST or data[:2] not in _ENDS:
        raise InputError(f"a message of {len(data)} bytes is not plain CDR of at most {LONGEST} bytes; send the topic's type")
    return _ENDS[data[:2]]


def _finite(numbers: tuple[float, ...]) -> tuple[float, ...]:
    if not all(map(math.isfinite, numbers)):
        raise InputError(f"a message has the number {next(n for n in numbers if not math.isfinite(n))}; send finite numbers")
    return numbers


def _take(form: str, data: bytes, at: int) -> tuple[tuple[float, ...], int]:
    """Return the numbers at an offset, and where they end."""
    end = at + struct.calcsize(form)
    if end > len(data):
        raise InputError(f"a message of {len(data)} bytes is shorter than its type; send the topic's type")
    return struct.unpack_from(form, data, at), end


def number(data: bytes) -> float:
    """Decode a std_msgs/msg/Float64."""
    order, body = _order(data), data[HEADER:]
    numbers, _ = _take(f"{order}d", body, 0)
    return _finite(numbers)[0]


def wrench(data: bytes) -> tuple[float, ...]:
    """Decode a geometry_msgs/msg/WrenchStamped: three numbers of force [N], three of torque [N·m]."""
    order, body = _order(data), data[HEADER:]
    (_, _, length), at = _take(f"{order}iII", body, 0)
    at += int(length)
    numbers, _ = _take(f"{order}6d", body, at + -at % 8)
    return _finite(numbers)
