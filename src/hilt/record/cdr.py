"""Messages as bytes (CDR, little-endian): rows unchanged, and standard messages of many rows at once.

The texts in a message (names of frames and joints) are the same for the whole run, so a message is a template with gaps for
numbers, filled column by column.

A pose that is not known yet (not finite, or a quaternion of 0) is left out: viewers refuse it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from hilt.record import rosmsg
from hilt.record.container import CDR_LITTLE_ENDIAN
from hilt.record.rosmsg import Types
from hilt.record.standard import Couple, Fixed, Frames, Joints, Pose, Standard

NANO = 1_000_000_000
Columns = Callable[[np.ndarray], np.ndarray]  # of rows: a table of numbers, one line per row


@dataclass(frozen=True)
class Message:
    """One message of a topic: the row it is made of, and its bytes."""

    row: int
    data: bytes


@dataclass(frozen=True)
class Topic:
    """A topic, its type, and the function that makes its messages."""

    name: str
    type: str
    types: Types
    _make: Callable[[np.ndarray, np.ndarray], Iterator[Message]]

    @property
    def definition(self) -> str:
        return rosmsg.definition(self.type, self.types)

    def encode(self, rows: np.ndarray, stamps: np.ndarray) -> Iterator[Message]:
        """The messages of some rows, with their times in nanoseconds."""
        return self._make(rows, stamps) if len(rows) else iter(())


class _Template:
    """The bytes of a message, with gaps for the time and for columns of numbers."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._stamps: list[int] = []
        self._places: list[tuple[int, Columns]] = []

    def _align(self, size: int) -> None:
        self._bytes += bytes(-len(self._bytes) % size)

    def count(self, number: int) -> None:
        self._align(4)
        self._bytes += number.to_bytes(4, "little")

    def text(self, text: str) -> None:
        data = text.encode() + b"\0"
        self.count(len(data))
        self._bytes += data

    def header(self, frame: str) -> None:
        self._align(4)
        self._stamps.append(len(self._bytes))
        self._bytes += bytes(8)
        self.text(frame)

    def numbers(self, width: int, columns: Columns) -> None:
        self._align(8)
        self._places.append((len(self._bytes), columns))
        self._bytes += bytes(8 * width)

    def fill(self, rows: np.ndarray, stamps: np.ndarray) -> list[bytes]:
        if not len(rows):
            return []
        lines = np.tile(np.frombuffer(bytes(self._bytes), np.uint8), (len(rows), 1))
        for at in self._stamps:
            lines[:, at : at + 4] = _bytes_of(stamps // NANO, "<i4")
            lines[:, at + 4 : at + 8] = _bytes_of(stamps % NANO, "<u4")
        for at, columns in self._places:
            found = _bytes_of(columns(rows), "<f8")
            lines[:, at : at + found.shape[1]] = found
        return [CDR_LITTLE_ENDIAN + line.tobytes() for line in lines]


def _bytes_of(numbers: np.ndarray, kind: str) -> np.ndarray:
    return np.ascontiguousarray(numbers.reshape(len(numbers), -1), dtype=kind).view(np.uint8)


def _column(name: str, begin: int = 0, width: int = 0) -> Columns:
    """Numbers of the row by a dotted name; zeros without a name."""
    parts = name.split(".") if name else []

    def columns(rows: np.ndarray) -> np.ndarray:
        if not parts:
            return np.zeros((len(rows), width))
        for part in parts:
            rows = rows[part]
        found = rows.reshape(len(rows), -1)
        return found[:, begin : begin + width] if width else found

    return columns


def _place(pose: Pose | Fixed) -> Columns:
    """Position and quaternion x, y, z, w: seven numbers."""
    if isinstance(pose, Fixed):
        numbers = np.array((*pose.p, *pose.q[1:], pose.q[0]))
        return lambda rows: np.tile(numbers, (len(rows), 1))
    p, q = _column(pose.p, width=3), _column(pose.q, width=4)

    def columns(rows: np.ndarray) -> np.ndarray:
        turn = q(rows)
        if not pose.q:
            turn[:, 0] = 1.0
        return np.concatenate([p(rows), turn[:, 1:], turn[:, :1]], axis=1)

    return columns


def _known(places: np.ndarray) -> np.ndarray:
    return np.isfinite(places).all(axis=1) & (np.abs(places[:, 3:]).max(axis=1) > 0.0)


def _pose_topic(name: str, pose: Pose) -> Topic:
    place, template = _place(pose), _Template()
    template.header(pose.frame)
    template.numbers(7, place)

    def encode(rows: np.ndarray, stamps: np.ndarray) -> Iterator[Message]:
        where = np.flatnonzero(_known(place(rows)))
        yield from map(Message, where.tolist(), template.fill(rows[where], stamps[where]))

    return Topic(name, rosmsg.POSE_STAMPED, rosmsg.STANDARD, encode)


def _couple_topic(name: str, kind: str, couple: Couple) -> Topic:
    template = _Template()
    template.header(couple.frame)
    template.numbers(3, _column(couple.first, width=3))
    template.numbers(3, _column(couple.second, width=3))
    return Topic(name, kind, rosmsg.STANDARD, _all_rows(template))


def _joints_topic(joints: Sequence[Joints]) -> Topic:
    """All joints in one message, as viewers expect them: angles, no speeds, no torques."""
    template, names = _Template(), [name for each in joints for name in each.names]
    template.header("")
    template.count(len(names))
    for name in names:
        template.text(name)
    template.count(len(names))
    for each in joints:
        template.numbers(len(each.names), _column(each.q, each.begin, len(each.names)))
    template.count(0)
    template.count(0)
    return Topic("/joint_states", rosmsg.JOINT_STATE, rosmsg.STANDARD, _all_rows(template))


def _all_rows(template: _Template) -> Callable[[np.ndarray, np.ndarray], Iterator[Message]]:
    def encode(rows: np.ndarray, stamps: np.ndarray) -> Iterator[Message]:
        yield from map(Message, range(len(rows)), template.fill(rows, stamps))

    return encode


@dataclass
class _Transforms:
    """All frames of a run in one message; the known ones may differ from row to row."""

    poses: Sequence[Pose | Fixed]
    _templates: dict[bytes, _Template] = field(default_factory=dict)

    def encode(self, rows: np.ndarray, stamps: np.ndarray) -> Iterator[Message]:
        known = np.stack([_known(_place(pose)(rows)) for pose in self.poses], axis=1)
        found: dict[int, bytes] = {}
        for which in np.unique(known, axis=0):
            where = np.flatnonzero((known == which).all(axis=1))
            template = self._templates.setdefault(which.tobytes(), self._template(which))
            found.update(zip(where.tolist(), template.fill(rows[where], stamps[where]), strict=True))
        yield from (Message(row, found[row]) for row in sorted(found))

    def _template(self, which: np.ndarray) -> _Template:
        template = _Template()
        poses = [pose for pose, known in zip(self.poses, which, strict=True) if known]
        template.count(len(poses))
        for pose in poses:
            template.header(pose.frame)
            template.text(pose.child)
            template.numbers(7, _place(pose))
        return template


def row_topic(system: str, row: np.dtype) -> Topic:
    """The topic of complete rows: a row's bytes are those of its message."""

    def encode(rows: np.ndarray, stamps: np.ndarray) -> Iterator[Message]:
        for i in range(len(rows)):
            yield Message(i, CDR_LITTLE_ENDIAN + rows[i : i + 1].tobytes())

    return Topic(f"/hilt/{system}", rosmsg.row_type_name(system), rosmsg.row_types(system, row), encode)


def standard_topics(system: str, frames: Frames) -> list[Topic]:
    """/tf, /joint_states, and a topic for each pose, twist and wrench, named by its signal."""
    begin = f"/hilt/{system}"
    moving: list[Pose | Fixed] = [*frames.fixed, *frames.poses]
    return [
        *([Topic("/tf", rosmsg.TF_MESSAGE, rosmsg.STANDARD, _Transforms(moving).encode)] if moving else ()),
        *(_pose_topic(f"{begin}/{pose.name}", pose) for pose in frames.poses),
        *(_couple_topic(f"{begin}/{twist.name}", rosmsg.TWIST_STAMPED, twist) for twist in frames.twists),
        *(_couple_topic(f"{begin}/{wrench.name}", rosmsg.WRENCH_STAMPED, wrench) for wrench in frames.wrenches),
        *([_joints_topic(frames.joints)] if frames.joints else ()),
    ]


def thinned(rows: np.ndarray, standard: Standard) -> np.ndarray:
    """The rows that become standard messages: every n-th tick."""
    return np.asarray(rows[rows["tick"] % standard.every == 0])


def stamps_of(rows: np.ndarray, began: int) -> np.ndarray:
    """Wall time of rows, in nanoseconds: start of the run plus time of the tick."""
    return began + np.rint(rows["t"] * 1e9).astype(np.int64)
