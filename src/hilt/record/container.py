"""The container of a recording, read as untrusted input: no length field is trusted for an allocation.

An MCAP file is a magic number followed by records: an opcode, a length, a body. Only two kinds matter here: metadata (texts by
name) and chunks (packed rows). Every length is compared with the file and with a bound before a byte is read, and a chunk is
unpacked no further than the largest chunk of hilt. An error raises `Damage`: everything before it can still be read.
"""

import os
import stat
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import lz4.frame
import numpy as np
import zstandard

from hilt.core.faults import InputError

MAGIC = b"\x89MCAP0\r\n"
CDR_LITTLE_ENDIAN = b"\x00\x01\x00\x00"
METADATA_BYTES = 16 << 20  # of a text: a scenario has 10 kB, the result of a run with a thousand live changes 100 kB
CHUNK_BYTES = 64 << 20  # of a chunk, unpacked: hilt writes at most 1024 rows of 4 kB
_OTHERS = 128  # consecutive records that are neither chunks nor texts; hilt writes one per topic
_FOOTER, _MESSAGE, _CHUNK, _MESSAGE_INDEX, _METADATA, _DATA_END, _LAST = 2, 5, 6, 7, 12, 15, 15
_HEAD = struct.Struct("<BQ")  # opcode, length
_CHUNK_HEAD = struct.Struct("<QQQII")  # first and last time, unpacked size, CRC, length of the compression's name
_CHANNEL = 2  # bytes of a channel's number
_MESSAGE_BODY = _CHANNEL + 4 + 8 + 8  # channel, sequence, two times
_NAME_BYTES = 64
_WINDOW = CHUNK_BYTES  # of the decompressor: no more history than a chunk has


class Damage(Exception):
    """A part of the file is damaged; the sentence says which."""


@dataclass(frozen=True)
class Packed:
    """Position of a chunk, and what its header claims."""

    offset: int
    length: int
    start_time: int  # ns
    end_time: int
    claimed: int  # bytes, unpacked
    rows: int  # by its index; 0 if it has none


def open_file(path: Path) -> int:
    """A descriptor of a regular file; a pipe, a folder or a device could block forever."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise InputError(f"recording {path} cannot be read: {why}; give the path of an .mcap file") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise InputError(f"recording {path} cannot be read: it is not a regular file; give the path of an .mcap file")
    return descriptor


def _read(descriptor: int, length: int, offset: int) -> bytes:
    parts = []
    while length > 0 and (part := os.pread(descriptor, length, offset)):
        parts.append(part)
        length -= len(part)
        offset += len(part)
    if length > 0:
        raise Damage("the file became shorter while it was read")
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _records(descriptor: int) -> Iterator[tuple[int, int, int]]:
    """Opcode, offset and length of the body of each complete record, up to the end of the data."""
    size = os.fstat(descriptor).st_size
    if size < len(MAGIC) or _read(descriptor, len(MAGIC), 0) != MAGIC:
        raise Damage("it does not begin like an MCAP file")
    at = len(MAGIC)
    while at + _HEAD.size <= size:
        opcode, length = _HEAD.unpack(_read(descriptor, _HEAD.size, at))
        at += _HEAD.size
        if at + length > size:
            return  # cut here
        if not 0 < opcode <= _LAST:
            raise Damage(f"there is a record of unknown kind {opcode} at byte {at - _HEAD.size}")
        yield opcode, at, length
        if opcode in (_DATA_END, _FOOTER):
            return
        at += length


def whole_bytes(path: Path) -> int:
    """Length of the part of a file that consists of complete records, up to the end of its data."""
    with open(open_file(path), "rb") as file:
        return max((at + length for _, at, length in _records(file.fileno())), default=len(MAGIC))


class Contents:
    """Result of a walk over the records: texts by name, and the positions of the chunks. No chunk is unpacked."""

    def __init__(self, descriptor: int, names: tuple[str, ...]) -> None:
        self.texts: dict[str, dict[str, str]] = {}
        self.chunks: list[Packed] = []
        self.whole = False  # True: the end of the data was reached
        self.damage = ""  # where the walk had to stop, and why
        try:
            self._walk(descriptor, names)
        except Damage as damage:
            self.damage = str(damage)

    @property
    def rows(self) -> int:
        """Number of rows, from the indexes of the chunks."""
        return sum(chunk.rows for chunk in self.chunks)

    @property
    def seconds(self) -> float:
        """Time from the first row to the last, from the headers of the chunks; in a damaged file it may be any value ≥ 0."""
        return max(self.chunks[-1].end_time - self.chunks[0].start_time, 0) * 1e-9 if self.chunks else 0.0

    @property
    def claimed(self) -> int:
        return sum(chunk.claimed for chunk in self.chunks)

    def _walk(self, descriptor: int, names: tuple[str, ...]) -> None:
        others = 0
        for opcode, at, length in _records(descriptor):
            others += 1
            if opcode == _METADATA:
                name = metadata_name(_read(descriptor, min(length, 4 + _NAME_BYTES), at))
                if name in names and name not in self.texts:
                    if length > METADATA_BYTES:
                        raise Damage(f"its text {name!r} takes {length} bytes; at most {METADATA_BYTES} are read")
                    self.texts[name] = metadata_texts(_read(descriptor, length, at))
                    others = 0
            elif opcode == _CHUNK:
                self.chunks.append(_packed(descriptor, at, length))
                others = 0
            elif opcode == _MESSAGE_INDEX and self.chunks and length >= 6:
                last = self.chunks[-1]
                rows = min((length - 6) // 16, last.claimed // (_HEAD.size + _MESSAGE_BODY))
                rows = max(rows, last.rows)  # each topic has an index, and none has more messages than rows
                self.chunks[-1] = replace(last, rows=rows)
            elif opcode == _DATA_END:
                self.whole = True
            if others > _OTHERS:
                raise Damage(f"there are more than {_OTHERS} consecutive records without rows at byte {at}")


def _packed(descriptor: int, at: int, length: int) -> Packed:
    if length < _CHUNK_HEAD.size:
        raise Damage(f"the chunk at byte {at} is too short for its header")
    start_time, end_time, claimed, _, _ = _CHUNK_HEAD.unpack(_read(descriptor, _CHUNK_HEAD.size, at))
    if claimed > CHUNK_BYTES or length > CHUNK_BYTES:
        raise Damage(
            f"the chunk at byte {at} would unpack to {max(claimed, length) / 1e6:.4g} MB; "
            f"a chunk of hilt has at most {CHUNK_BYTES / 1e6:.4g} MB"
        )
    return Packed(at, length, start_time, end_time, claimed, 0)


def metadata_name(head: bytes) -> str:
    """The name of a metadata record, from its first bytes; empty if it is too long to be one of ours."""
    if len(head) < 4 or (length := int.from_bytes(head[:4], "little")) > min(_NAME_BYTES, len(head) - 4):
        return ""
    return head[4 : 4 + length].decode(errors="replace")


def metadata_texts(body: bytes) -> dict[str, str]:
    """The texts of a metadata record: a name, then a map of strings."""
    _, at = _string(body, 0)
    end = at + 4 + int.from_bytes(body[at : at + 4], "little")
    at += 4
    if end > len(body):
        raise Damage("a text claims to be longer than its record")
    found = {}
    while at < end:
        key, at = _string(body, at)
        found[key], at = _string(body, at)
    return found


def _string(body: bytes, at: int) -> tuple[str, int]:
    end = at + 4 + int.from_bytes(body[at : at + 4], "little")
    if at + 4 > len(body) or end > len(body):
        raise Damage("a text claims to be longer than its record")
    try:
        return body[at + 4 : end].decode(), end
    except UnicodeDecodeError:
        raise Damage("a text is not UTF-8") from None


def unpack(descriptor: int, chunk: Packed) -> bytes:
    """The records of a chunk, if their length and CRC match its header."""
    body = _read(descriptor, chunk.length, chunk.offset)
    _, _, claimed, crc, named = _CHUNK_HEAD.unpack_from(body)
    begin = _CHUNK_HEAD.size + named + 8
    if begin > len(body) or named > _NAME_BYTES or claimed != chunk.claimed:
        raise Damage(f"there is no chunk at byte {chunk.offset}")
    packed = memoryview(body)[begin : begin + int.from_bytes(body[begin - 8 : begin], "little")]
    data = _unpacked(body[_CHUNK_HEAD.size : _CHUNK_HEAD.size + named], packed, claimed)
    if len(data) != claimed or (crc and zlib.crc32(data) != crc):
        raise Damage(f"the chunk at byte {chunk.offset} does not unpack to the size and CRC in its header")
    return data


def _unpacked(compression: bytes, packed: memoryview, most: int) -> bytes:
    """Unpack at most one byte more than claimed: enough to detect a false claim."""
    try:
        if compression == b"zstd":
            reader = zstandard.ZstdDecompressor(max_window_size=_WINDOW).stream_reader(packed)
            return _all_of(reader, most + 1)
        if compression == b"lz4":
            return bytes(lz4.frame.LZ4FrameDecompressor().decompress(packed, max_length=most + 1))
        if compression == b"":
            return bytes(packed[: most + 1])
    except (zstandard.ZstdError, RuntimeError, EOFError, ValueError, MemoryError) as error:
        raise Damage(f"a chunk cannot be unpacked: {error}") from None
    raise Damage(f"a chunk has an unknown compression, {compression.decode(errors='replace')!r}")


def _all_of(reader: zstandard.ZstdDecompressionReader, most: int) -> bytes:
    parts = []
    while most > 0 and (part := reader.read(min(most, 1 << 20))):
        parts.append(part)
        most -= len(part)
    return b"".join(parts)


def rows_of(data: bytes, row: np.dtype) -> np.ndarray:
    """The rows of an unpacked chunk: messages of one length, read as one table and not one by one.

    They are followed by messages of other topics, which only viewers read.
    """
    begin, others = 0, 0
    while begin + _HEAD.size <= len(data) and data[begin] != _MESSAGE:  # schemas and channels, in the first chunk
        begin += _HEAD.size + _HEAD.unpack_from(data, begin)[1]
        others += 1
        if others > _OTHERS:
            raise Damage("a chunk contains something other than rows")
    size = _HEAD.size + _MESSAGE_BODY + len(CDR_LITTLE_ENDIAN) + row.itemsize
    if begin > len(data):
        raise Damage("a chunk contains rows of another size than the recording declares")
    lines = np.frombuffer(data, np.uint8, (len(data) - begin) // size * size, begin).reshape(-1, size)
    head = np.frombuffer(_HEAD.pack(_MESSAGE, size - _HEAD.size), np.uint8)
    topic = lines[:1, _HEAD.size : _HEAD.size + _CHANNEL].copy()
    cdr = np.frombuffer(CDR_LITTLE_ENDIAN, np.uint8)
    before = size - row.itemsize
    fits = (lines[:, : _HEAD.size] == head).all(axis=1) & (lines[:, _HEAD.size : _HEAD.size + _CHANNEL] == topic).all(axis=1)
    count = int(fits.argmin()) if not fits.all() else len(lines)
    if (lines[:count, before - len(cdr) : before] != cdr).any() or (len(data) > begin and not count):
        raise Damage("a chunk contains rows of another size than the recording declares")
    _check_rest(data, begin + count * size, topic.tobytes(), _OTHERS * (1 + count))
    return np.ascontiguousarray(lines[:count, before:]).reshape(-1).view(row)


def _check_rest(data: bytes, at: int, topic: bytes, most: int) -> None:
    """Check that the rows of a chunk are followed by complete messages only, not too many, and no further rows."""
    while at < len(data):
        whole = at + _HEAD.size + _CHANNEL <= len(data) and data[at] == _MESSAGE
        if not whole or data[at + _HEAD.size : at + _HEAD.size + _CHANNEL] == topic:
            raise Damage("a chunk contains rows of another size than the recording declares")
        at += _HEAD.size + _HEAD.unpack_from(data, at)[1]
        most -= 1
        if at > len(data) or most < 0:
            raise Damage("a chunk contains something other than rows")
