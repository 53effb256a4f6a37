"""The bytes of RTDE, version 2, big-endian, and nothing else: no socket, no clock, no exception.

    message   2 bytes size (with this header), 1 byte type, payload
    V v       protocol version, controller version        O I   recipe of outputs, of inputs        S P   start, pause
    U         data: 1 byte recipe, then its fields        M     text

A recipe is a list of field names; the controller answers with their types. Code that runs in every cycle is compiled and works
in preallocated buffers: `whole` finds a message in a buffer, `numbers_of` reads the fields of a data package as numbers.
"""

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from hilt.compiled import jit

PORT, SCRIPT_PORT = 30004, 30002
VERSION = 2
HEADER = struct.Struct(">HB")
SIZE_MAX = 4096  # no message of a controller is longer
VERSION_REQUEST, CONTROLLER_VERSION, TEXT = ord("V"), ord("v"), ord("M")
OUTPUTS, INPUTS, START, PAUSE, DATA = ord("O"), ord("I"), ord("S"), ord("P"), ord("U")
KINDS = (VERSION_REQUEST, CONTROLLER_VERSION, TEXT, OUTPUTS, INPUTS, START, PAUSE, DATA)
NOT_FOUND, IN_USE = "NOT_FOUND", "IN_USE"

# Fields: name of the type, letter of struct, number of values.
FORMATS = {
    "BOOL": ("?", 1),
    "UINT8": ("B", 1),
    "UINT32": ("I", 1),
    "UINT64": ("Q", 1),
    "INT32": ("i", 1),
    "DOUBLE": ("d", 1),
    "VECTOR3D": ("d", 3),
    "VECTOR6D": ("d", 6),
    "VECTOR6INT32": ("i", 6),
    "VECTOR6UINT32": ("I", 6),
}

OK, INCOMPLETE, BROKEN = 0, 1, 2  # of a buffer
WRONG_KIND, WRONG_RECIPE, WRONG_SIZE, NOT_A_NUMBER = 3, 4, 5, 6  # of a package
_BYTE, _U32, _I32, _DOUBLE, _U64 = 0, 1, 2, 3, 4
_LETTERS = {"?": _BYTE, "B": _BYTE, "I": _U32, "i": _I32, "d": _DOUBLE, "Q": _U64}
_SIZES = np.array([1, 4, 4, 8, 8])


def message(kind: int, payload: bytes = b"") -> bytes:
    return HEADER.pack(HEADER.size + len(payload), kind) + payload


# In every cycle


@jit
def whole(b, begin, end):
    """Check whether the bytes from `begin` to `end` start with a whole message; returns a code, its type and its end."""
    if end - begin < 3:
        return INCOMPLETE, 0, begin
    size = int(b[begin]) << 8 | int(b[begin + 1])
    kind = int(b[begin + 2])
    known = kind in (86, 118, 77, 79, 73, 83, 80, 85)
    if size < 3 or size > SIZE_MAX or not known:
        return BROKEN, kind, begin
    if end - begin < size:
        return INCOMPLETE, kind, begin
    return OK, kind, begin + size


@jit
def _unsigned(b, at, size):
    value = np.uint64(0)
    for i in range(size):
        value = value << np.uint64(8) | np.uint64(b[at + i])
    return value


@jit
def numbers_of(b, begin, end, recipe, letters, scratch, out):
    """Read a data package into `out`, one number each; OK, or a code with `out` unchanged. NaN and infinity are refused.

    `letters` are the kinds of the recipe's values in order, `scratch` a 64-bit word to read a double from its bits.
    """
    size = 0
    for letter in letters:
        size += _SIZES[letter]
    if end - begin != 4 + size:
        return WRONG_SIZE
    if b[begin + 2] != 85:
        return WRONG_KIND
    if b[begin + 3] != recipe:
        return WRONG_RECIPE
    for turn in range(2):  # first check that all of them are finite
        at = begin + 4
        for k in range(len(letters)):
            letter = letters[k]
            bits = _unsigned(b, at, _SIZES[letter])
            at += _SIZES[letter]
            if letter == _DOUBLE:
                scratch[0] = bits
                value = scratch.view(np.float64)[0]
                if not abs(value) < np.inf:
                    return NOT_A_NUMBER
            elif letter == _I32 and bits >= np.uint64(1 << 31):
                value = float(bits) - 4294967296.0
            else:
                value = float(bits)
            if turn == 1:
                out[k] = value
    return OK


class Fields:
    """The values of a recipe, as `numbers_of` reads them; created once."""

    def __init__(self, types: Sequence[str]) -> None:
        letters = [letter for name in types for letter in FORMATS[name][0] * FORMATS[name][1]]
        self.letters = np.array([_LETTERS[letter] for letter in letters])
        self.packed = struct.Struct(">" + "".join(letters))
        self.values = np.zeros(len(letters))
        self._scratch = np.zeros(1, np.uint64)

    def read(self, buffer: np.ndarray, begin: int, end: int, recipe: int) -> int:
        """Take the values of a data package; OK, or a code."""
        return int(numbers_of(buffer, begin, end, recipe, self.letters, self._scratch, self.values))


class Outgoing:
    """A data package to send, written in place."""

    def __init__(self, recipe: int, types: Sequence[str]) -> None:
        fields = Fields(types)
        self._packed = fields.packed
        self.data = bytearray(message(DATA, bytes([recipe]) + bytes(fields.packed.size)))

    def write(self, *values: Any) -> bytearray:
        self._packed.pack_into(self.data, 4, *values)
        return self.data


# Once for each connection


def version_request(version: int = VERSION) -> bytes:
    return message(VERSION_REQUEST, struct.pack(">H", version))


def output_request(frequency: float, names: Sequence[str]) -> bytes:
    return message(OUTPUTS, struct.pack(">d", frequency) + ",".join(names).encode())


def input_request(names: Sequence[str]) -> bytes:
    return message(INPUTS, ",".join(names).encode())


def recipe_reply(kind: int, recipe: int, types: Sequence[str]) -> bytes:
    return message(kind, bytes([recipe]) + ",".join(types).encode())


def accepted_reply(kind: int, accepted: bool) -> bytes:
    return message(kind, bytes([accepted]))


def names_in(payload: bytes) -> list[str]:
    """Return the names of a recipe. Some clients end theirs with a comma."""
    text = payload.decode("ascii", errors="replace").strip("\0")
    return [name.strip() for name in text.split(",") if name.strip()]


def read_output_request(payload: bytes) -> tuple[float, list[str]]:
    """Return frequency [Hz] and names; frequency 0 if it cannot be read."""
    if len(payload) < 8:
        return 0.0, []
    return struct.unpack_from(">d", payload)[0], names_in(payload[8:])


def read_recipe(payload: bytes) -> tuple[int, list[str]]:
    """Return the number of a recipe and the types of its fields; 0 if it was refused."""
    return (payload[0], names_in(payload[1:])) if payload else (0, [])


def text_message(text: str, source: str = "hilt", level: int = 1) -> bytes:
    said, by = text.encode()[:255], source.encode()[:255]
    return message(TEXT, bytes([len(said)]) + said + bytes([len(by)]) + by + bytes([level]))


def read_text(payload: bytes) -> str:
    """Return the text of a text message; empty if it cannot be read."""
    if not payload or len(payload) < 1 + payload[0]:
        return ""
    return payload[1 : 1 + payload[0]].decode("utf-8", errors="replace")
