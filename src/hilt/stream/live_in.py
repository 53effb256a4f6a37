"""Requests to a session from topics of ROS 2, through its mailbox.

    /hilt/SYSTEM/operator        geometry_msgs/WrenchStamped   the operator's hand on the joystick
    /hilt/SYSTEM/set/KEY         std_msgs/Float64              a live value, in SI units, along its ramp
    /hilt/SYSTEM/refused         std_msgs/String               published by hilt: what was refused, and why

A wrench is a deflection of the joystick: the force and torque of a full deflection are given, more is refused. A wrench of
exactly 0 releases the joystick. If the topic falls silent while the joystick is held, the run ends with `dead-man`.

The loop checks every request as if it came from the cockpit. Requests from before the start of a run are discarded.
"""

import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from hilt.core import clock
from hilt.core.faults import InputError
from hilt.live.mailbox import LIVE, OFF, Sender
from hilt.record import rosmsg
from hilt.stream import reading
from hilt.stream.child import Line
from hilt.stream.link import Link
from hilt.stream.places import Place
from hilt.stream.rmw import Endpoint

LOOK = 0.01  # s between two checks for messages
SETTINGS = 0.1  # s between two changes of one live value: each goes into the run's record
QUIET = 1.0  # s before the same refusal is reported again
STEER = ""  # instead of a live value's name


def topic_of(key: str) -> str:
    """Return a live value's name as ROS allows it: no dots, and no part that begins with a digit."""
    return "".join(f"_{part}" if part[0].isdigit() else f"/{part}" for part in key.split(".")).strip("/")


def text_message(text: str) -> bytes:
    """Encode a std_msgs/msg/String."""
    data = text.encode() + b"\0"
    return b"\x00\x01\x00\x00" + len(data).to_bytes(4, "little") + data


class Newest:
    """The newest message of each topic; older ones that were not taken yet are dropped."""

    def __init__(self) -> None:
        self._messages: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def put(self, key: str, data: bytes) -> None:
        with self._lock:
            self._messages[key] = data

    def take(self) -> dict[str, bytes]:
        with self._lock:
            found, self._messages = self._messages, {}
        return found


class Desk:
    """Turns messages into requests, and refusals into sentences."""

    def __init__(self, sender: Sender, force: float, torque: float, say: Callable[[str], None]) -> None:
        self._sender, self._say = sender, say
        self._full = (force, torque)
        self._requested: dict[str, tuple[float, float]] = {}  # live value -> last request, and when
        self._later: dict[str, float] = {}  # live values that have to wait their turn
        self._open: dict[int, str] = {}  # requests without an answer
        self._said: dict[str, float] = {}
        self.passed = self.refused = 0

    def hear(self, messages: dict[str, bytes]) -> None:
        """Pass messages on to the loop, if it is live."""
        if self._sender.front.state != LIVE:
            self._requested.clear()
            self._later.clear()
            return
        for key, data in messages.items():
            try:
                if key == STEER:
                    self._steer(reading.wrench(data))
                else:
                    self._later[key] = reading.number(data)
            except InputError as error:
                self._refuse(key, str(error))
        for key in list(self._later):
            self._set(key)

    def _steer(self, wrench: Sequence[float]) -> None:
        axes = []
        for part, full, unit in ((wrench[:3], self._full[0], "N"), (wrench[3:], self._full[1], "N·m")):
            worst = max(part, key=abs)
            if abs(worst) > full:
                raise InputError(f"{worst:.4g} {unit} is more than the {full:g} {unit} of a full deflection; stay within it")
            axes += [each / full for each in part]
        self._post(STEER, lambda: self._sender.steer(axes, held=any(axes)))

    def _set(self, key: str) -> None:
        """Request the newest value, unless it was the last one requested; not more often than a person would."""
        value, (before, at) = self._later[key], self._requested.get(key, (None, 0.0))
        if value != before and clock.now() - at < SETTINGS:
            return
        del self._later[key]
        if value != before:
            self._requested[key] = (value, clock.now())
            self._post(key, lambda: self._sender.set(key, value))

    def _post(self, key: str, post: Callable[[], int]) -> None:
        try:
            self._open[post()] = key
            self.passed += 1
        except InputError as error:  # the loop has not answered the previous ones
            self._refuse(key, str(error))

    def look(self) -> None:
        """Process the loop's answers."""
        for number, key in list(self._open.items()):
            answer = self._sender.answer(number)
            if answer is not None:
                del self._open[number]
                if not answer.accepted:
                    self._refuse(key, answer.text)
        while len(self._open) > 64:  # of a run that has ended
            del self._open[next(iter(self._open))]

    def _refuse(self, key: str, why: str) -> None:
        self.refused += 1
        sentence = f"refused from ROS 2, {key or 'operator'}: {why}"
        if clock.now() - self._said.get(key, -QUIET) >= QUIET:
            self._said[key] = clock.now()
            self._say(sentence)


def main() -> None:
    with Line.open() as line:
        config, place = line.config, Place(**line.config["place"])
        sender = Sender(config["session"], who="ROS 2, --live-in")
        system, live = sender.info["system"], [each["key"] for each in sender.info["live"]]
        link = Link(place, f"hilt_{system}_in")
        begin, newest = f"/hilt/{system}", Newest()
        refusals = link.publisher(Endpoint(link.domain, f"{begin}/refused", rosmsg.STRING, rosmsg.STANDARD))

        def say(sentence: str) -> None:
            print(f"hilt: {sentence}", file=sys.stderr, flush=True)
            refusals.put(text_message(sentence))

        desk = Desk(sender, config["force"], config["torque"], say)
        topics = {STEER: (f"{begin}/operator", rosmsg.WRENCH_STAMPED)}
        topics |= {key: (f"{begin}/set/{topic_of(key)}", rosmsg.FLOAT) for key in live}
        for key, (topic, kind) in topics.items():
            link.subscriber(Endpoint(link.domain, topic, kind, rosmsg.STANDARD), partial(newest.put, key))
        line.tell(ready=f"ROS 2 may steer and set: {begin}/operator and {len(live)} of {begin}/set/…, at {place.address}")
        _serve(line, sender, newest, desk)
        line.tell(account=f"from ROS 2: {desk.passed} requests passed on, {desk.refused} refused")
        link.close()


def _serve(line: Line, sender: Any, newest: Newest, desk: Desk) -> None:
    opened = False
    while not line.over and sender.alive:
        state = sender.front.state
        opened |= state != OFF
        if opened and state == OFF:
            return
        desk.hear(newest.take())
        desk.look()
        clock.pause(LOOK)


if __name__ == "__main__":
    main()
