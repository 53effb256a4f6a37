"""An emulated KUKA controller: its own clock, its own limits, and a log of every set-point received.

Each cycle it sends its pose and waits until the next cycle for the answer with the same IPOC. An answer that is late, missing
or has another IPOC causes no motion and counts in Delay; `late_limit` consecutive ones stop it, and so does a correction
beyond its limits. Once stopped, it gives the cause in `reason` and sends nothing until `restart`. The correction received in a
cycle is executed in the next one, so the set-point is reached one cycle plus the dead time later than hilt meant.

Corrections are accepted only from the address and port that it sends to; packets of others are counted.

It also checks hilt: `violations` has a sentence for every set-point that arrived while not `live` or that required more
acceleration than `acceleration_limit` since the previous one. An answer without motion (hold) is not a set-point; if it
follows fast motion, it is counted as a hard stop.
"""

import random
import socket
import threading
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from hilt.core import clock
from hilt.core.signals import POSE, TWIST
from hilt.device.line import Line
from hilt.device.peer import PeerPort
from hilt.device.rsi import codec, frames
from hilt.device.rsi.aside import NO_PUSH, Aside, Push
from hilt.device.rsi.response import Response

_STILL = 1e-12  # [m] and [rad]: a correction below this does not move


@dataclass(frozen=True, kw_only=True)
class ControllerSettings:
    """The emulated robot. SI; poses are those of the tool in the robot's base."""

    cycle: float = 0.004
    jitter: float = 0.0  # [s], a packet is sent up to this much late
    correction: Literal["relative", "absolute"] = "relative"
    start_p: tuple[float, float, float] = (1.0, 0.0, 1.0)
    start_q: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)
    dead_time: float = 0.008
    natural_frequency: float = 60.0  # [rad/s]
    damping_ratio: float = 0.9
    step_limit: float = 0.002  # [m] in a cycle
    turn_limit: float = 0.01  # [rad] in a cycle
    speed_limit: float = 2.0  # [m/s] of the tool itself
    workspace: tuple[tuple[float, float, float], tuple[float, float, float]] = ((-3.0, -3.0, -3.0), (3.0, 3.0, 3.0))
    acceleration_limit: float = 20.0  # [m/s²], of set-points: promised by hilt
    late_limit: int = 10
    seed: int = 1


class SetPoint(NamedTuple):
    """One entry of the log."""

    t: float
    ipoc: int
    correction: tuple[float, ...]  # p [m], q
    pose: tuple[float, ...]  # p [m], q: result of all corrections so far
    live: bool


class RsiController:
    """Sends to the address and port where hilt listens, from `own` if given.

    `serve` runs in the caller's thread, `start` in a new thread.
    """

    def __init__(self, address: str, port: int, settings: ControllerSettings, own: tuple[str, int] = ("", 0)) -> None:
        self.settings, self.line = settings, Line(settings.seed)
        self.live = False  # whether set-points are allowed; set by whoever arms hilt
        self.disconnect = False  # the cable is unplugged: nothing is sent or received
        self.wrong_ipoc = False  # packets carry a time stamp that does not fit the cycle
        self._pushed, self._aside = NO_PUSH, Aside()
        self.diary: list[SetPoint] = []
        self.violations: list[str] = []
        self.hard_stops = self.late = self.refused = self.cycles = 0
        self.reason = ""  # why it stopped
        self._ipoc = 4_123_000_000
        self._rob, self._answer = np.zeros(1, codec.ROB)[0], np.zeros(1, codec.SEN)[0]
        self._start, self._set, self._next = (np.zeros(1, POSE)[0] for _ in range(3))
        self._turn = np.zeros(1, TWIST)[0]
        self._set["p"], self._set["q"] = settings.start_p, settings.start_q
        self._random = random.Random(settings.seed)
        self._port = PeerPort(codec.SIZE_MAX)
        self._port.bind(own[0] or ("127.0.0.1" if address.startswith("127.") else ""), own[1])
        self._port.peer = (
            socket.gethostbyname(address),
            port,
        )  # answers come from a numeric address, even if the rig file has a name
        self._port.settle()
        self._end = threading.Event()
        self._thread: threading.Thread | None = None
        frames.warm_up()
        self._response = Response(
            self._set, clock.now(), settings.dead_time, settings.natural_frequency, settings.damping_ratio
        )
        self._begin()

    def _begin(self) -> None:
        self._start["p"], self._start["q"] = self._set["p"], self._set["q"]
        self._late_in_a_row = self._last_ipoc = 0
        self._late_before = self.late  # each program has its own count
        self._velocity = np.zeros(3)
        self.reason = ""

    @property
    def strangers(self) -> int:
        """Packets from senders other than hilt."""
        return self._port.strangers

    @property
    def address(self) -> tuple[str, int]:
        """The address it sends from."""
        return self._port.address

    def start(self) -> "RsiController":
        self._thread = threading.Thread(target=self.serve, name="rsi", daemon=True)
        self._thread.start()
        return self

    def stop(self) -> None:
        self._end.set()
        if self._thread is not None:
            self._thread.join()
        self._port.close()

    def __enter__(self) -> "RsiController":
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def restart(self) -> None:
        """The operator restarts the program, from the robot's present pose."""
        self._begin()

    @property
    def push(self) -> Push:
        """Push the robot aside by a displacement, over a duration."""
        return self._pushed

    @push.setter
    def push(self, asked: Push) -> None:
        self._pushed = asked
        self._aside.push(asked)

    def true_pose(self) -> Any:
        """True pose of the tool at this moment, in the robot's base."""
        p, q, _, _ = self._response.at(clock.now())
        pose = np.zeros(1, POSE)[0]
        pose["p"], pose["q"] = p, q
        return pose

    def true_twist(self) -> Any:
        _, _, v, w = self._response.at(clock.now())
        twist = np.zeros(1, TWIST)[0]
        twist["v"], twist["w"] = v, w
        return twist

    def serve(self) -> None:
        """Cycle until `stop`. A stall of this process shifts the cycles: there is no burst to catch up."""
        cycle, due = self.settings.cycle, clock.now()
        while not self._end.wait(max(due + self._random.uniform(0.0, self.settings.jitter) - clock.now(), 0.0)):
            due = max(due, clock.now() - cycle)
            if self.reason:  # its clock keeps running while the program is stopped
                due += cycle
                self._ipoc += round(cycle * codec.TICKS_PER_SECOND)
                self.line.release(clock.now())
                continue
            self._response.settle(due)
            self._send(due)
            due += cycle
            self._listen(due)
            self.cycles += 1

    def _send(self, due: float) -> None:
        """Send the robot's pose at the tick itself: the packet may be late, the tick is not."""
        p, q, v, _ = self._response.at(due)
        if float(np.linalg.norm(v)) > self.settings.speed_limit:
            self._halt(f"tool speed {np.linalg.norm(v):.3g} m/s is above {self.settings.speed_limit:g} m/s")
        rob = self._rob
        self._ipoc += round(self.settings.cycle * codec.TICKS_PER_SECOND)
        rob["X_act"]["p"], rob["X_act"]["q"] = self._aside.at(due, p, q)
        rob["X_set"]["p"], rob["X_set"]["q"] = self._set["p"], self._set["q"]
        rob["delay"], rob["ipoc"] = self.late - self._late_before, self._ipoc + (1 if self.wrong_ipoc else 0)
        self.line.release(clock.now())
        if not self.disconnect:
            self.line.send(codec.encode_rob(rob), clock.now(), self._port.send)

    def _listen(self, due: float) -> None:
        """Receive the answer of this cycle; one that has already arrived counts even if this process itself is late."""
        heard = False
        while True:
            data, sender = self._port.receive(0.0 if heard else due)
            if sender is None:
                break
            if self.disconnect:
                continue
            if codec.decode_sen(data, self._answer) != codec.OK or int(self._answer["ipoc"]) != self._ipoc or heard:
                self.refused += 1
                continue
            heard = True
            self._hear(due)
        if heard:
            self._late_in_a_row = 0
        elif self._last_ipoc:  # a program waits for its first answer
            self.late += 1
            self._late_in_a_row += 1
            if self._late_in_a_row >= self.settings.late_limit:
                self._halt(f"{self._late_in_a_row} answers in a row were late")

    def _hear(self, due: float) -> None:
        """Check a correction, log it, and execute it."""
        settings, correction = self.settings, self._answer["correction"]
        relative = settings.correction == "relative"
        frames.apply(self._set if relative else self._start, correction, self._next)
        step = frames.distance(self._set, self._next)
        frames.twist_between(self._set, self._next, 1.0, self._turn)
        turn = float(np.linalg.norm(self._turn["w"]))
        self._judge(step, turn)
        pose = tuple(float(part) for part in (*self._next["p"], *self._next["q"]))
        low, high = settings.workspace
        if step > settings.step_limit * (1.0 + 1e-9) or turn > settings.turn_limit * (1.0 + 1e-9):
            self._halt(f"correction of {1e3 * step:.3g} mm, {turn:.3g} rad in a cycle is beyond the limit")
        elif not all(a <= b <= c for a, b, c in zip(low, pose, high, strict=False)):
            self._halt(f"corrected position {pose[:3]} is outside the workspace")
        else:
            self._set["p"], self._set["q"] = pose[:3], pose[3:]
            self._response.command(self._set, due, due + settings.cycle)
        moved = tuple(float(part) for part in (*correction["p"], *correction["q"]))
        self.diary.append(SetPoint(clock.now(), self._ipoc, moved, pose, self.live))
        self._last_ipoc = self._ipoc

    def _judge(self, step: float, turn: float) -> None:
        settings = self.settings
        cycles = round((self._ipoc - self._last_ipoc) / (settings.cycle * codec.TICKS_PER_SECOND)) if self._last_ipoc else 1
        # A relative correction is one cycle's motion whatever was lost before it; an absolute one makes up for losses.
        way = settings.cycle * (1 if settings.correction == "relative" else cycles)
        velocity = (self._next["p"] - self._set["p"]) / way
        acceleration = float(np.linalg.norm(velocity - self._velocity)) / (settings.cycle * cycles)
        self._velocity = velocity
        if step < _STILL and turn < _STILL:
            self.hard_stops += acceleration > settings.acceleration_limit
            return
        if not self.live:
            self.violations.append(f"set-point of {1e3 * step:.3g} mm at IPOC {self._ipoc} while not live")
        if acceleration > settings.acceleration_limit * (1.0 + 1e-3):
            self.violations.append(f"set-point at IPOC {self._ipoc} needs {acceleration:.3g} m/s²")

    def _halt(self, reason: str) -> None:
        self.reason = self.reason or reason
