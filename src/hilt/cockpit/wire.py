"""What goes over the socket: messages that are checked before they are used, and frames of plain numbers.

A frame is   u32 length L of a header, the header (JSON, padded with spaces to a multiple of 8), then numbers of single
precision, all little-endian: the page lays an array over them without copying.
"""

import json
import re
import struct
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from hilt.cockpit.history import Range
from hilt.core.faults import InputError
from hilt.job import plain

MOST_SIGNALS = 24
MOST_POINTS = 4000
MOST_TOGETHER = 6  # recordings side by side: as many as there are distinguishable colours
Name = Annotated[str, Field(min_length=1, max_length=200)]
Names = Annotated[list[Name], Field(max_length=MOST_SIGNALS)]
Axis = Annotated[float, Field(ge=-1.0, le=1.0)]


class _Message(BaseModel):
    model_config = ConfigDict(allow_inf_nan=False)


class Watch(_Message):
    type: Literal["watch"]
    session: Name | None = None
    recording: Name | None = None
    recordings: Annotated[list[Name], Field(min_length=2, max_length=MOST_TOGETHER)] | None = None
    align: Literal["first-contact", "start"] = "first-contact"

    @model_validator(mode="after")
    def _one(self) -> "Watch":
        if sum(each is not None for each in (self.session, self.recording, self.recordings)) != 1:
            raise ValueError("give exactly one of session, recording and recordings")
        return self


class Signals(_Message):
    type: Literal["signals"]
    names: Names


class RangeWanted(_Message):
    type: Literal["range"]
    id: int
    names: Names
    begin: float = Field(alias="from")
    end: float = Field(alias="to")
    points: int = Field(ge=1, le=MOST_POINTS)


class Seek(_Message):
    type: Literal["seek"]
    t: float


class Play(_Message):
    type: Literal["play"]
    speed: float = Field(default=1.0, gt=0)


class Pause(_Message):
    type: Literal["pause"]


class Hello(_Message):
    """The first message of every socket: a key, or at the helm the code of a link, which is exchanged for one."""

    type: Literal["hello"]
    key: Name | None = None
    code: Name | None = None


class Attend(_Message):
    """At the helm: the session that orders are for."""

    type: Literal["watch"]
    session: Name | None = None


class _ForOne(_Message):
    """An order names its session: one meant for another is refused, however late or early it comes."""

    session: Name


class Hold(_ForOne):
    type: Literal["take", "release"]


class Do(_Message):
    """As above, but STOP needs no name: it stops the session that the page attends to, and the named one as well."""

    type: Literal["do"]
    what: Literal["arm", "start", "stop", "reset", "home", "quit"]
    session: Name | None = None
    id: int

    @model_validator(mode="after")
    def _named(self) -> "Do":
        if self.session is None and self.what != "stop":
            raise ValueError(f"{self.what} must name its session")
        return self


class Set(_ForOne):
    type: Literal["set"]
    key: Name
    value: float
    ramp: float = Field(default=0.0, ge=0)
    id: int


class Steer(_ForOne):
    type: Literal["steer"]
    axes: Annotated[list[Axis], Field(min_length=6, max_length=6)]
    held: bool
    id: int


class Ping(_Message):
    type: Literal["ping"]
    id: int


class CallMe(_Message):
    type: Literal["name"]
    name: Name


Message = Hello | Watch | Signals | RangeWanted | Seek | Play | Pause | Ping  # to the back room, which shows
Order = Hello | Attend | Hold | Do | Set | Steer | Ping | CallMe  # to the helm, which steers and stops
_MESSAGES: TypeAdapter[Message] = TypeAdapter(Annotated[Message, Field(discriminator="type")])
_ORDERS: TypeAdapter[Order] = TypeAdapter(Annotated[Order, Field(discriminator="type")])


def understand(text: str) -> Message:
    """Return a client's message, checked; an error becomes one sentence."""
    return _understand(_MESSAGES, text)


def understand_order(text: str) -> Order:
    return _understand(_ORDERS, text)


def _understand(adapter: TypeAdapter[Any], text: str) -> Any:
    try:
        return adapter.validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InputError(f"the message is not understood{place and f' at {place}'}: {first['msg']}") from None


def dumps(message: dict[str, Any]) -> str:
    return json.dumps(plain(message), separators=(",", ":"))


def frame(header: dict[str, Any], *parts: np.ndarray) -> bytes:
    """Return a frame of a header and numbers."""
    text = dumps(header).encode()
    text += b" " * (-(4 + len(text)) % 8)
    numbers = [np.ascontiguousarray(part, "<f4").tobytes() for part in parts]
    return struct.pack("<I", len(text)) + text + b"".join(numbers)


def parse(data: bytes) -> tuple[dict[str, Any], np.ndarray]:
    """Return header and numbers of a frame."""
    (length,) = struct.unpack_from("<I", data)
    return json.loads(data[4 : 4 + length]), np.frombuffer(data, "<f4", offset=4 + length)


def range_parts(found: Range) -> tuple[float, tuple[np.ndarray, ...]]:
    """Return t0 and the numbers of a range: times relative to t0, then for each name the smallest and the largest."""
    t0 = float(found.times[0]) if len(found.times) else 0.0
    each = np.stack((found.low, found.high), axis=1)
    return t0, ((found.times - t0).astype("f4"), each.ravel())


_PATH = re.compile(r"(?<![\w.~/])(?:/[\w.@+~-]+)+/([\w.@+~-]+)")


def without_paths(value: Any) -> Any:
    """Shorten paths of this machine to the file name, in text that others will read."""
    if isinstance(value, dict):
        return {key: without_paths(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [without_paths(each) for each in value]
    return _PATH.sub(r"\1", value) if isinstance(value, str) else value
