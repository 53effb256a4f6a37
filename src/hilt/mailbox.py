"""The mailbox: requests into the loop's process, through shared memory.

Any number of processes may ask; the loop looks once a tick, which costs one comparison while nobody has asked. Each sender
has a lane of its own, a small ring with one writer: so nobody waits for another sender, and one that is stopped or killed in
the middle of a letter jams nothing, since a letter counts only when it is whole. The kernel frees the lane of a dead sender.

A letter is posted, taken by the loop, and answered in the place it lay in: accepted, or refused with a reason.

What is bounded: letters that wait in a lane (LETTERS_A_LANE), letters taken in a tick (LETTERS_A_POLL), and their age: an old
letter is refused, since "arm" must not come true long after the person who said it has gone. "stop" is never too old.
"""

import math
import os
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hilt import clock
from hilt.faults import InputError
from hilt.shared import Segment

MAGIC = 0x68696C746D61696C  # "hiltmail"
VERSION = 1
SUFFIX = ".mail"
LANES = 16
LETTERS_A_LANE = 16
LETTERS_A_POLL = 4
OLDEST = 1.0  # [s]
KEY_BYTES, TEXT_BYTES = 64, 120

START, STOP, RESET, ARM, SET, STEER = range(1, 7)
KINDS = {START: "start", STOP: "stop", RESET: "reset", ARM: "arm", SET: "set", STEER: "steer"}

_LETTER = np.dtype(
    [("kind", "i8"), ("sent", "i8"), ("value", "f8"), ("ramp", "f8"), ("axes", "f8", (6,)), ("key", f"S{KEY_BYTES}")]
)
_ANSWER = np.dtype([("number", "i8"), ("accepted", "i8"), ("text", f"S{TEXT_BYTES}")])
_LANE = np.dtype(
    [
        ("posted", "i8"),
        ("taken", "i8"),
        ("letters", _LETTER, (LETTERS_A_LANE,)),
        ("answers", _ANSWER, (LETTERS_A_LANE,)),
    ],
    align=True,
)
_BOX = np.dtype([("magic", "i8"), ("version", "i8"), ("pid", "i8"), ("bell", "i8"), ("lanes", _LANE, (LANES,))], align=True)


class Request(NamedTuple):
    """What somebody asks of the loop: `key`, `value` and `ramp` [s] with SET, the six `axes` of the hand with STEER."""

    kind: int
    key: str
    value: float
    ramp: float
    axes: tuple[float, ...]
    lane: int
    number: int


class Answer(NamedTuple):
    accepted: bool
    text: str


def _map(segment: Segment) -> np.ndarray:
    return np.frombuffer(segment.memory, _BOX, 1)


class Mailbox:
    """The loop's side. Every request that `poll` returns is to be answered with `answer`."""

    def __init__(self, name: str) -> None:
        self._segment = Segment.create(name + SUFFIX, _BOX.itemsize)
        box = _map(self._segment)
        box["magic"], box["version"], box["pid"] = MAGIC, VERSION, os.getpid()
        self._bell, self._lanes = box["bell"], box["lanes"][0]
        self._posted, self._taken = self._lanes["posted"], self._lanes["taken"]
        self._heard = 0
        self._next_lane = 0
        self._segment.publish()

    def poll(self) -> Sequence[Request]:
        """The next few requests, one of each lane in turn; usually none."""
        if self._bell[0] == self._heard:
            return ()
        bell = int(self._bell[0])  # read before the lanes: who posts meanwhile rings again
        found: list[Request] = []
        for _ in range(LETTERS_A_POLL):
            waiting = [(self._next_lane + i) % LANES for i in range(LANES)]
            lane = next((i for i in waiting if self._posted[i] > self._taken[i]), None)
            if lane is None:
                self._heard = bell
                break
            self._next_lane = (lane + 1) % LANES
            request = self._take(lane)
            if request is not None:
                found.append(request)
        return found

    def _take(self, lane: int) -> Request | None:
        # A lane holds no more than it has room for, whatever its count says.
        number = max(int(self._taken[lane]), int(self._posted[lane]) - LETTERS_A_LANE)
        letter = self._lanes["letters"][lane, number % LETTERS_A_LANE]
        self._taken[lane] = number + 1
        axes = tuple(letter["axes"].tolist())
        key = letter["key"].decode(errors="replace")
        request = Request(int(letter["kind"]), key, float(letter["value"]), float(letter["ramp"]), axes, lane, number)
        age = (clock.nanoseconds() - int(letter["sent"])) * 1e-9
        reason = _fault_of(request, age)
        if reason:
            self.answer(request, False, reason)
            return None
        return request

    def answer(self, request: Request, accepted: bool, text: str = "") -> None:
        place = self._lanes["answers"][request.lane, request.number % LETTERS_A_LANE]
        place["accepted"], place["text"] = accepted, _cut(text, TEXT_BYTES)
        place["number"] = request.number + 1  # last: from here on it counts

    def close(self) -> None:
        self._segment.close()


def _fault_of(request: Request, age: float) -> str:
    """Why a letter is not even shown to the loop; the memory belongs to others too."""
    if request.kind not in KINDS:
        return f"no such request: {request.kind}"
    if request.kind != STOP and not 0.0 <= age <= OLDEST:
        return f"too old: sent {age:.1f} s ago, {OLDEST:g} s are allowed; ask again"
    if not all(map(math.isfinite, (request.value, request.ramp, *request.axes))) or request.ramp < 0.0:
        return "not a finite number, or a ramp shorter than 0 s"
    return ""


def _cut(text: str, size: int) -> bytes:
    return text.encode()[:size].decode(errors="ignore").encode()


class Sender:
    """Somebody who asks. Each request returns its number; `answer(number)` is None until the loop has answered."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._segment = Segment.open(name + SUFFIX, writable=True)
        if len(self._segment.memory) != _BOX.itemsize:
            raise InputError(f"{self._segment.path} is no mailbox of hilt; give the name of a run")
        box = _map(self._segment)
        if (box["magic"][0], box["version"][0]) != (MAGIC, VERSION):
            raise InputError(f"{self._segment.path} is no mailbox of version {VERSION}; use the hilt that made it")
        self._bell = box["bell"]
        self._lane = box["lanes"][0, self._claim()]
        self._posted = int(self._lane["posted"])

    def _claim(self) -> int:
        for lane in range(LANES):
            if self._segment.claim(lane):
                return lane
        self._segment.close()
        raise InputError(f"{LANES} senders ask {self._name} already, which is all it can hear; close one")

    def start(self) -> int:
        return self._post(START)

    def stop(self) -> int:
        return self._post(STOP)

    def reset(self) -> int:
        return self._post(RESET)

    def arm(self) -> int:
        return self._post(ARM)

    def set(self, key: str, value: float, ramp: float = 0.0) -> int:
        """Change a parameter, in a ramp of so many seconds."""
        if len(key.encode()) > KEY_BYTES:
            raise InputError(f"{key!r} is longer than the {KEY_BYTES} bytes of a parameter's name; give the dotted name of one")
        return self._post(SET, key.encode(), value, ramp)

    def steer(self, axes: Sequence[float]) -> int:
        """What the operator's hand does: six numbers."""
        if len(axes) != 6:
            raise InputError(f"operator input has {len(axes)} numbers; it needs 6")
        return self._post(STEER, axes=axes)

    def _post(
        self, kind: int, key: bytes = b"", value: float = 0.0, ramp: float = 0.0, axes: Sequence[float] = (0.0,) * 6
    ) -> int:
        number = self._posted
        if number - int(self._lane["taken"]) >= LETTERS_A_LANE:
            raise InputError(
                f"{self._name} has {LETTERS_A_LANE} requests of this sender before it and takes none; "
                f"wait for answers{'' if self._segment.owner_alive else ': its process has ended'}"
            )
        place = number % LETTERS_A_LANE
        self._lane["letters"][place] = (kind, clock.nanoseconds(), value, ramp, tuple(axes), key)
        self._posted = number + 1
        self._lane["posted"] = number + 1  # from here on the letter counts
        self._bell[0] = clock.nanoseconds()  # a new number, whoever rings at the same time
        return number

    def answer(self, number: int) -> Answer | None:
        place = self._lane["answers"][number % LETTERS_A_LANE]
        if int(place["number"]) != number + 1:
            return None
        return Answer(bool(place["accepted"]), place["text"].decode(errors="replace"))

    def wait(self, number: int, seconds: float) -> Answer:
        """The answer, or the refusal that nobody answered in time."""
        until = clock.now() + seconds
        while (found := self.answer(number)) is None:
            if not self._segment.owner_alive:
                return Answer(False, f"{self._name} has ended")
            if clock.now() > until:
                return Answer(False, f"{self._name} did not answer within {seconds:g} s")
            clock.pause(0.001)
        return found

    def close(self) -> None:
        """Free the lane for others."""
        self._segment.close()
