"""An emulated KUKA controller: its own clock, its own limits, and a log of every set-point received.

Each cycle it sends its pose and waits until the next cycle for the answer with the same IPOC. An answer that is late, missing
or has another IPOC causes no motion and counts in Delay; `late_limit` consecutive ones stop it, and so does a correction
beyond its limits. Once stopped, it gives the cause in `reason` and sends nothing until `restart`. The correction received in a
cycle is executed in the next one, so the set-point is reached one cycle plus the dead time later than intended.

Corrections are accepted only from the address and port that it sends to; packets of others are counted.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from hilt.core import clock
from hilt.device import frames
from hilt.device.arm import Arm, ArmSettings
from hilt.device.peer import PeerPort
from hilt.device.rsi import codec
from hilt.host import machine


@dataclass(frozen=True, kw_only=True)
class ControllerSettings(ArmSettings):
    correction: Literal["relative", "absolute"] = "relative"


class RsiController(Arm):
    """The controller; it sends to the address and port where hilt listens, from `own` if given."""

    STAMP = "IPOC"

    def __init__(self, address: str, port: int, settings: ControllerSettings, own: tuple[str, int] = ("", 0)) -> None:
        self._port = PeerPort(codec.SIZE_MAX)
        self._port.bind(own[0] or ("127.0.0.1" if address.startswith("127.") else ""), own[1])
        # Answers come from a numeric address, even if the rig file has a name.
        self._port.peer = (machine.resolve(address), port)
        self._port.settle()
        self.wrong_ipoc = False  # packets carry a time stamp that does not fit the cycle
        self._ipoc = 4_123_000_000
        self._rob, self._answer = np.zeros(1, codec.ROB)[0], np.zeros(1, codec.SEN)[0]
        self._relative = settings.correction == "relative"
        codec.warm_up()
        super().__init__(settings)

    def _begin(self) -> None:
        super()._begin()
        self._first = np.zeros(6) if self.joints is None else self.joints.target.copy()  # where the program began

    @property
    def stamp(self) -> int:
        return self._ipoc

    @property
    def strangers(self) -> int:
        return self._port.strangers

    @property
    def address(self) -> tuple[str, int]:
        return self._port.address

    def _close(self) -> None:
        self._port.close()

    def serve(self) -> None:
        """Run its cycles until `stop`."""
        cycle, due = self.settings.cycle, clock.now()
        while not self._end.wait(max(due + self._random.uniform(0.0, self.settings.jitter) - clock.now(), 0.0)):
            due = self._on_time(due)
            if self.reason:  # its clock keeps running while the program is stopped
                due += self.settings.true_cycle
                self._ipoc += round(cycle * codec.TICKS_PER_SECOND)
                self.line.release(clock.now())
                continue
            self._response.settle(due)
            self._send(due)
            due += self.settings.true_cycle
            self._listen(due)
            self.cycles += 1

    def _skip(self, due: float, count: int) -> None:
        self._ipoc += count * round(self.settings.cycle * codec.TICKS_PER_SECOND)

    def _send(self, due: float) -> None:
        """Send the robot's pose at the tick itself: the packet may be late, the tick is not."""
        p, q, v, _ = self._response.at(due)
        self._check_speed(v)
        rob = self._rob
        self._ipoc += round(self.settings.cycle * codec.TICKS_PER_SECOND)
        rob["X_act"]["p"], rob["X_act"]["q"] = self._aside.at(due, p, q)
        rob["X_set"]["p"], rob["X_set"]["q"] = self._set["p"], self._set["q"]
        if self.joints is not None:
            rob["q_act"], rob["q_set"] = self.joints.actual(rob["X_act"]), self.joints.target
        rob["delay"], rob["ipoc"] = self.late - self._late_before, self._ipoc + (1 if self.wrong_ipoc else 0)
        self.line.release(clock.now())
        if not self.disconnect:
            self.line.send(codec.encode_rob(rob), clock.now(), self._port.send)

    def _listen(self, due: float) -> None:
        """Receive the answer of this cycle; one that has already arrived counts even if this process itself is late."""
        heard, deadline = False, self._answered_by(due)
        while True:
            data, sender = self._port.receive(0.0 if heard else deadline)
            if sender is None:
                break
            if self.disconnect:
                continue
            known = codec.decode_sen(data, self._answer) == codec.OK and int(self._answer["ipoc"]) == self._ipoc
            if not known or codec.takes_joints(self._answer) != (self.joints is not None) or heard:
                self.refused += 1
                continue
            heard = True
            self._hear(due)
        if heard:
            self._late_in_a_row = 0
        else:
            self._miss()

    def _hear(self, due: float) -> None:
        """Execute the correction of this cycle. A relative one is one cycle's motion, whatever was lost before it; an absolute
        one makes up for losses."""
        passed = round((self._ipoc - self._last_stamp) / (self.settings.cycle * codec.TICKS_PER_SECOND))
        cycles = passed if self._last_stamp else 1
        if self.joints is not None:
            origin = self.joints.target if self._relative else self._first
            if why := self.joints.hear(origin + self._answer["joints"], 1 if self._relative else cycles, self._next):
                self._halt(why)
                return
        else:
            frames.apply(self._set if self._relative else self._start, self._answer["correction"], self._next)
        self._follow(self._answer["correction"], due, cycles, spread=1 if self._relative else cycles)
