"""The mailbox: requests into the loop's process, through shared memory.

Any number of processes may send requests; the loop looks once a tick, which costs one comparison while there are none. Each
sender has its own lane, a small ring with one writer: no sender waits for another, and one that is stopped or killed while it
writes a message blocks nothing, since a message counts only when complete. The kernel frees the lane of a dead sender.

A message is posted, taken by the loop, and answered in the same place: accepted, or refused with a reason.

The front of the box shows the loop's state, the ring of its run and its last sentence. Every process of the user may read it.

There are limits on the messages waiting in a lane (REQUESTS_A_LANE), on those taken in a tick (REQUESTS_A_POLL) and on their
age: an old message is refused, since "arm" must not take effect long after the person who sent it has left. "stop" is never
too old.
"""

import json
import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from hilt.core import clock
from hilt.core.faults import InputError
from hilt.host import machine
from hilt.host.seqlock import SeqLock
from hilt.host.shared import Segment, running
from hilt.record.deeds import Deeds
from hilt.record.letters import (
    ARM,
    BOX,
    HOME,
    KEY_BYTES,
    KINDS,
    LANES,
    LIVE,
    MAGIC,
    NAME_BYTES,
    OFF,
    QUIT,
    READY,
    REQUESTS_A_LANE,
    RESET,
    SENTENCE_BYTES,
    SET,
    START,
    STATES,
    STEER,
    STOP,
    STOPPED,
    SUFFIX,
    TEXT_BYTES,
    VERSION,
    WHO_BYTES,
    Answer,
    Front,
    Request,
)

__all__ = [
    "ARM",
    "HOME",
    "KINDS",
    "LANES",
    "LIVE",
    "OFF",
    "QUIT",
    "READY",
    "REQUESTS_A_LANE",
    "RESET",
    "SET",
    "START",
    "STATES",
    "STEER",
    "STOP",
    "STOPPED",
    "SUFFIX",
    "Answer",
    "Front",
    "Mailbox",
    "Request",
    "Sender",
    "Watcher",
    "sessions",
]
REQUESTS_A_POLL = 4
OLDEST = 1.0  # [s]


def _map(segment: Segment) -> np.ndarray:
    return np.frombuffer(segment.memory, BOX, 1)


class Mailbox:
    """The loop's side. Every request that `poll` returns must be answered with `answer`."""

    def __init__(self, name: str, info: dict[str, Any] | None = None) -> None:
        self.name = name
        self._segment = Segment.create(name + SUFFIX, BOX.itemsize)
        box = _map(self._segment)
        box["magic"], box["version"], box["pid"] = MAGIC, VERSION, machine.pid()
        box["info"] = json.dumps(info or {}).encode()
        self.bell, self.served = box["bell"], 0  # messages are waiting if these differ: a tick compares them and goes on
        self._lanes, self._front = box["lanes"][0], box["front"][0]
        self._lock, self.front = SeqLock(box["front"]["turn"]), Front()
        self.deeds = Deeds()
        self._posted, self._taken = self._lanes["posted"], self._lanes["taken"]
        self._next_lane = 0
        self._segment.publish()

    def poll(self) -> Sequence[Request]:
        """Return the next few requests, one of each lane in turn; usually none."""
        if self.bell[0] == self.served:
            return ()
        bell = int(self.bell[0])  # read before the lanes: a message posted in the meantime rings again
        found: list[Request] = []
        for _ in range(REQUESTS_A_POLL):
            waiting = [(self._next_lane + i) % LANES for i in range(LANES)]
            lane = next((i for i in waiting if self._posted[i] > self._taken[i]), None)
            if lane is None:
                self.served = bell
                break
            self._next_lane = (lane + 1) % LANES
            request = self._take(lane)
            if request is not None:
                found.append(request)
        return found

    def _take(self, lane: int) -> Request | None:
        # A lane holds no more than it has room for, whatever its count says.
        number = max(int(self._taken[lane]), int(self._posted[lane]) - REQUESTS_A_LANE)
        slot = self._lanes["requests"][lane, number % REQUESTS_A_LANE]
        self._taken[lane] = number + 1
        axes = tuple(slot["axes"].tolist())
        key = slot["key"].decode(errors="replace")
        who = slot["who"].decode(errors="replace")
        request = Request(int(slot["kind"]), key, float(slot["value"]), float(slot["ramp"]), axes, lane, number, who)
        age = (clock.nanoseconds() - int(slot["sent"])) * 1e-9
        reason = _fault_of(request, age)
        if reason:
            self.answer(request, False, reason)
            return None
        return request

    def answer(self, request: Request, accepted: bool, text: str = "") -> None:
        if accepted:
            self.deeds.note(request)
        place = self._lanes["answers"][request.lane, request.number % REQUESTS_A_LANE]
        place["accepted"], place["text"] = accepted, _cut(text, TEXT_BYTES)
        place["number"] = request.number + 1  # last: it counts from here

    def show(self, **changes: Any) -> None:
        """Publish the state of the session: some fields of Front."""
        if changes.get("state") == LIVE != self.front.state:
            self.deeds.begin()
        self.front = self.front._replace(**changes)
        place = self._front
        with self._lock.writing():
            place["state"], place["armed"], place["runs"] = self.front[:3]
            for name, size in (("ring", NAME_BYTES), ("sentence", SENTENCE_BYTES), ("recording", SENTENCE_BYTES)):
                place[name] = _cut(getattr(self.front, name), size)

    def close(self) -> None:
        self._segment.close()


def _fault_of(request: Request, age: float) -> str:
    """Return why a message is not passed to the loop, or nothing; other processes can write to this memory."""
    if request.kind not in KINDS:
        return f"no such request: {request.kind}"
    if request.kind != STOP and not 0.0 <= age <= OLDEST:
        return f"too old: sent {age:.1f} s ago, {OLDEST:g} s are allowed; send it again"
    if not all(map(math.isfinite, (request.value, request.ramp, *request.axes))) or request.ramp < 0.0:
        return "not a finite number, or a negative ramp"
    return ""


def _cut(text: str, size: int) -> bytes:
    return text.encode()[:size].decode(errors="ignore").encode()


def sessions() -> list[str]:
    """Return the names of the sessions that can be watched now."""
    return [name.removesuffix(SUFFIX) for name in running(SUFFIX)]


class Watcher:
    """A process that watches a session."""

    _writes = False

    def __init__(self, name: str) -> None:
        self.name = name
        self._segment = Segment.open(name + SUFFIX, BOX.itemsize, writable=self._writes)
        self._box = _map(self._segment)
        try:
            self.info = self._info()
        except InputError:
            self._segment.close()
            raise
        self.pid = int(self._box["pid"][0])
        self._last = Front()

    def _info(self) -> dict[str, Any]:
        path = self._segment.path
        if (self._box["magic"][0], self._box["version"][0]) != (MAGIC, VERSION):
            raise InputError(f"{path} is not a mailbox of version {VERSION}; use the hilt that created it")
        try:
            found = json.loads(bytes(self._box["info"][0]))
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise InputError(f"{path} does not describe its session; end the process that created it")
        return found

    @property
    def alive(self) -> bool:
        return self._segment.owner_alive

    @property
    def front(self) -> Front:
        """State of the session; the last complete one if the loop was stopped during an update."""
        whole = SeqLock(self._box["front"]["turn"]).read(self._front)
        self._last = whole[1] if whole is not None else self._last
        return self._last

    def _front(self) -> Front:
        place = self._box["front"][0]
        state, armed, runs = min(max(int(place["state"]), 0), len(STATES) - 1), bool(place["armed"]), int(place["runs"])
        texts = [bytes(place[name]).decode(errors="replace") for name in ("ring", "sentence", "recording")]
        return Front(state, armed, runs, *texts)

    def close(self) -> None:
        self._segment.close()


class Sender(Watcher):
    """A process that sends requests. Each returns its number; `answer(number)` is None until the loop has answered."""

    _writes = True

    def __init__(self, name: str, who: str = "") -> None:
        super().__init__(name)
        self.who = who or f"process {machine.pid()} of user {os.getuid()}"  # goes into the run's record
        self._bell = self._box["bell"]
        self._lane = self._box["lanes"][0, self._claim()]
        self._posted = int(self._lane["posted"])

    def _claim(self) -> int:
        for lane in range(LANES):
            if self._segment.claim(lane):
                return lane
        self._segment.close()
        raise InputError(f"{self.name} already has {LANES} senders, which is the maximum; close one")

    def start(self) -> int:
        return self._post(START)

    def stop(self) -> int:
        return self._post(STOP)

    def reset(self) -> int:
        return self._post(RESET)

    def arm(self) -> int:
        return self._post(ARM)

    def home(self) -> int:
        return self._post(HOME)

    def quit(self) -> int:
        return self._post(QUIT)

    def set(self, key: str, value: float, ramp: float = 0.0) -> int:
        """Change a parameter, along a ramp [s]."""
        if len(key.encode()) > KEY_BYTES:
            raise InputError(f"{key!r} is longer than the {KEY_BYTES} bytes of a parameter's name; give a dotted name")
        return self._post(SET, key.encode(), value, ramp)

    def steer(self, axes: Sequence[float], held: bool = True) -> int:
        """Send the operator's input: six numbers, and whether the dead man's switch is held."""
        if len(axes) != 6:
            raise InputError(f"operator input has {len(axes)} numbers; it needs 6")
        return self._post(STEER, value=float(held), axes=axes)

    def _post(
        self, kind: int, key: bytes = b"", value: float = 0.0, ramp: float = 0.0, axes: Sequence[float] = (0.0,) * 6
    ) -> int:
        number = self._posted
        if number - int(self._lane["taken"]) >= REQUESTS_A_LANE:
            raise InputError(
                f"{self.name} has {REQUESTS_A_LANE} unanswered requests of this sender and takes no more; "
                f"wait for answers{'' if self._segment.owner_alive else ': its process has ended'}"
            )
        place = number % REQUESTS_A_LANE
        self._lane["requests"][place] = (kind, clock.nanoseconds(), value, ramp, tuple(axes), key, _cut(self.who, WHO_BYTES))
        self._posted = number + 1
        self._lane["posted"] = number + 1  # the message counts from here
        self._bell[0] = clock.nanoseconds()  # a new number, even if others ring at the same time
        return number

    def answer(self, number: int) -> Answer | None:
        place = self._lane["answers"][number % REQUESTS_A_LANE]
        if int(place["number"]) != number + 1:
            return None
        return Answer(bool(place["accepted"]), place["text"].decode(errors="replace"))

    def wait(self, number: int, seconds: float) -> Answer:
        """Wait for the answer [s]; a refusal if there was none in time."""
        until = clock.now() + seconds
        while (found := self.answer(number)) is None:
            if not self._segment.owner_alive:
                return Answer(False, f"{self.name} has ended")
            if clock.now() > until:
                return Answer(False, f"{self.name} did not answer within {seconds:g} s")
            clock.pause(0.001)
        return found
