"""Driver of a KUKA robot with RSI: the controller is the clock, `wait` returns with its packet, `send` answers it.

Every packet must be answered with its own IPOC, in READY as in LIVE: `hold` answers without moving. In absolute mode a
correction is never zeroed, since that would send the robot back to its start: there `hold` repeats the last one.
Every answer is first read back by our own decoder: a packet that it refuses (a non-finite number) is not sent, and the
set-point that the driver remembers is the one that the controller got, including rounding.
The controller counts the answers that it discards as late (`delay`). A relative correction is then lost: the set-point that
the driver remembers goes back to the previous one, so that the next correction makes up for it; absolute ones do anyway.
A restarted program begins from the robot's present pose, and so does the driver; `wait` reports it once. This is safe only
with relative corrections: an absolute one would jump if the driver were mistaken. In absolute mode no packet is answered
after a restart until the driver is opened again.
A robot that takes corrections of its joints (AK) is also measured by its joints (AIPos); RIst is compared only once.
"""

import itertools
from typing import Any

import numpy as np

from hilt.core import clock, faults
from hilt.core.faults import InputError
from hilt.core.signals import TWIST
from hilt.device import frames
from hilt.device.frames import DrivenRobot
from hilt.device.joints import space
from hilt.device.peer import PeerPort, named
from hilt.device.protocol import Reply
from hilt.device.rsi import codec
from hilt.device.rsi.settings import RsiSettings

_FIRST_PACKETS = 25  # received before the robot is accepted: another sender with a 12 ms cycle has sent eight by then
_JUMP_MAX = 10.0  # times step_limit in a cycle; a larger jump of the measured pose is rejected
_DRAIN_MAX = 1000
_RESTART = 10  # cycles without a packet, at least: no program can be restarted faster
_REBOOT = 1.0  # [s] by which the robot's clock must have gone back: no packet is in transit that long


class RsiRobot(DrivenRobot):
    """One robot."""

    def __init__(self, settings: RsiSettings) -> None:
        super().__init__(settings)
        self.settings = settings
        self.packets = 0  # new ones from the controller
        self.late = 0  # of these, read or received too late to be answered
        self.lost = 0  # never arrived, according to the steps of IPOC
        self.duplicates = 0
        self.rejected = 0  # not a packet, or an impossible one
        self.limited = 0  # corrections that were shortened
        self.restarts = 0  # of the robot's program, since it was connected
        self.state = np.zeros(1, codec.ROB)[0]  # the newest packet
        self._start, self._wanted, self._here, self._correction = (frames.identity() for _ in range(4))
        self._before = frames.identity()  # set-point before the last answer
        self._reported = frames.identity()  # the tool's pose as reported by the controller, for a robot that takes joint angles
        self.joints = space.of(settings)
        self._q_start, self._q_before, self._q_correction = np.zeros(6), np.zeros(6), np.zeros(6)  # the same for its joints
        self._answer_ipoc = self._answer_delay = 0  # of the packet that was answered last
        self._twist = np.zeros(1, TWIST)[0]
        self._next = np.zeros(1, codec.ROB)[0]
        self._answer = np.zeros(1, codec.SEN)[0]
        self._cycle, self._step = 0.0, 0
        self._seen = 0.0
        self._line = PeerPort(codec.SIZE_MAX, settings.peer, lambda data: codec.decode_rob(data, self._next) == codec.OK)
        self._moving = False  # whether set-points are sent and the robot is not just held
        frames.warm_up()
        codec.warm_up()

    @property
    def port(self) -> int:
        return self._line.port

    @property
    def strangers(self) -> int:
        return self._line.strangers

    def counters(self) -> dict[str, int]:
        names = ("packets", "late", "lost", "duplicates", "rejected", "limited", "delay", "restarts", "strangers")
        return {name: int(getattr(self, name)) for name in names}

    def notes(self) -> list[str]:
        """Return what the user should know besides the counters."""
        strangers, peer = self._line.describe_strangers(), self._line.peer
        found = [f"{strangers} arrived at the robot's port {self.port} and were ignored"] if strangers else []
        found += self.joints.notes() if self.joints is not None else []
        if peer is not None and not self.settings.peer:
            found.append(
                f"robot.peer is not set: {named(peer)} was taken for the robot as the only sender; set robot.peer to it"
            )
        return found

    @property
    def delay(self) -> int:
        """Number of our answers that the controller has reported late."""
        return int(self.state["delay"])

    def open(self, address: str, port: int, cycle: float, time_limit: float) -> None:
        """Listen on a port (0: any, see `port`) and wait for the robot; an InputError if it does not send or differs."""
        if cycle not in codec.CYCLES:
            raise InputError(f"robot.cycle is {1e3 * cycle:g} ms but RSI sends every 4 ms or 12 ms; set robot.cycle = '4 ms'")
        self._cycle, self._step = cycle, round(cycle * codec.TICKS_PER_SECOND)
        if self.joints is not None:
            self.joints.cycle = cycle
        self.restarts = 0
        try:
            if not self._line.opened:
                self.listen(address, port)
            self._meet(time_limit)
        except InputError:
            self.close()
            raise

    def listen(self, address: str, port: int) -> None:
        """Open the port, before the robot's program is started."""
        try:
            self._line.bind(address, port)
        except (OSError, OverflowError) as error:
            self.close()
            raise InputError(
                f"cannot listen for the robot on {address}:{port}: {error}; end the other program or change robot.port"
            ) from None

    def _meet(self, time_limit: float) -> None:
        """Receive a few packets, answer them without moving, and check the cycle. The first sender need not be the robot: a
        second sender among these packets is an error, since nothing shows which of the two is the robot."""
        deadline, stamps, line = clock.now() + time_limit, set[int](), self._line
        line.forget()
        while len(stamps) < _FIRST_PACKETS:
            data, sender = line.receive(deadline)
            if sender is None and clock.now() > deadline:
                raise InputError(self._nobody(time_limit))
            if sender is None:
                continue
            if not self._read(data):
                self.rejected += 1
                continue
            if line.peer not in (None, sender):
                raise InputError(
                    f"two senders claim to be the robot at port {self.port}: {named(line.peer)} and {named(sender)}; "
                    "stop one of them, or set the robot's address and port in robot.peer"
                )
            line.peer = sender
            self.state, self._next = self._next, self.state
            if not stamps:
                self._begin()
            stamps.add(int(self.state["ipoc"]))
            self._seen = clock.now()
            self.packets += 1
            self._answered = False
            self.hold()
        line.settle()
        self._check_cycle(sorted(stamps))
        if self.joints is not None:
            self.joints.check_agrees(self.state["X_act"], self._reported)
        frames.to_world(self._X_WR, self.state["X_act"], self._X_TB, self._here)

    def _read(self, data: bytes) -> bool:
        """Decode a packet into `_next`; False if it is not one of this robot."""
        if codec.decode_rob(data, self._next) != codec.OK:
            return False
        if self.joints is None:
            return True
        if not codec.has_joints(self._next):
            return False
        frames.copy(self._next["X_act"], self._reported)
        self.joints.pose(self._next["q_act"], self._next["X_act"])
        return True

    def _nobody(self, time_limit: float) -> str:
        strangers = self._line.describe_strangers()
        others = f"; {strangers} arrived, but robot.peer is {self.settings.peer}" if strangers else ""
        advice = "start its RSI program and check the address in it"
        if self.joints is not None:
            advice += ", and that it sends AIPos"
        return f"no robot sent to port {self.port} within {time_limit:g} s; {advice}{others}"

    def _check_cycle(self, stamps: list[int]) -> None:
        seen = min((after - before for before, after in itertools.pairwise(stamps)), default=0)
        if seen != self._step:
            raise InputError(
                f"robot.cycle is {self._step} ms but the robot at port {self.port} sends every {seen} ms; "
                f"set robot.cycle = '{seen} ms' or choose the other sensor mode in its program"
            )

    def _begin(self) -> None:
        """Begin with a robot's program that has just started: its set-point is its pose, and no correction has been made."""
        for pose in (self._start, self._sent, self._before):
            frames.copy(self.state["X_act"], pose)
        self._correction["p"], self._correction["q"] = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)
        if self.joints is not None:
            self.joints.start(self.state["q_act"])
            self._q_start[:] = self._q_before[:] = self.state["q_act"]
            self._q_correction[:] = 0.0

    def wait(self, X_WB: Any, V_WB: Any) -> Reply:
        """Block until the robot's next packet; write the mock-up's pose, and its mean twist since the last one."""
        code = self._wait(X_WB, V_WB)
        # Every cycle of the robot is either a packet received or one that was lost.
        return Reply(code, self.packets + self.lost, code != faults.ROBOT_SILENT and not self._last_was_late())

    def _wait(self, X_WB: Any, V_WB: Any) -> int:
        deadline, before, fresh = clock.now() + self.settings.patience * self._cycle, int(self.state["ipoc"]), 0
        restarts = self.restarts
        for _ in range(_DRAIN_MAX):
            # After the first new packet, only what has already arrived.
            data, sender = self._line.receive(0.0 if fresh else deadline)
            if sender is None:
                break
            fresh += self._take(data)
        if not fresh:
            return faults.ROBOT_SILENT
        self.packets += fresh
        self.late += fresh - 1
        if self.restarts and self.settings.correction == "absolute":
            self._answered = True
            return faults.ROBOT_RESTARTED
        self._answered = False
        if self.restarts > restarts:
            self._begin()
            frames.to_world(self._X_WR, self.state["X_act"], self._X_TB, self._here)
            frames.copy(self._here, X_WB)
            V_WB["v"][...] = V_WB["w"][...] = 0.0
            return faults.ROBOT_RESTARTED
        self._take_back()
        frames.copy(self._here, self._wanted)
        frames.to_world(self._X_WR, self.state["X_act"], self._X_TB, self._here)
        passed = (int(self.state["ipoc"]) - before) / codec.TICKS_PER_SECOND
        frames.twist_between(self._wanted, self._here, passed, self._twist)
        frames.copy(self._here, X_WB)
        V_WB["v"][...], V_WB["w"][...] = self._twist["v"], self._twist["w"]
        # The identity of the robot must be clear before it moves; once it moves, another sender must not be able to stop it.
        return faults.ROBOT_RIVAL if self._line.rival is not None and not self._moving else faults.NONE

    def _take_back(self) -> None:
        """Take back a relative correction that was not received: it was not executed."""
        if self.settings.correction == "relative" and self._last_was_late():
            frames.copy(self._before, self._sent)
            if self.joints is not None:
                self.joints.start(self._q_before)

    def _last_was_late(self) -> bool:
        """Whether all answers due since the last one, including it, were reported late: then it was not received."""
        due = (int(self.state["ipoc"]) - self._answer_ipoc) // self._step
        return due > 0 and int(self.state["delay"]) - self._answer_delay >= due

    def _take(self, data: bytes) -> bool:
        """Keep a packet if it is newer than the newest."""
        if not self._read(data):
            self.rejected += 1
            return False
        step = int(self._next["ipoc"]) - int(self.state["ipoc"])
        silence = clock.now() - self._seen
        if step < -_REBOOT * codec.TICKS_PER_SECOND and silence > self.settings.patience * self._cycle:
            return self._take_new_program()
        if step <= 0:
            self.duplicates += step == 0
            self.late += step < 0
            return False
        cycles = step // self._step
        moved = frames.distance(self.state["X_act"], self._next["X_act"])
        # A time stamp must fit our own clock: one that runs ahead would make all later ones look old.
        ahead = cycles * self._cycle > self.settings.patience * self._cycle + 2.0 * silence
        if step % self._step or ahead or moved > _JUMP_MAX * self.settings.step_limit * cycles:
            self.rejected += 1
            return False
        # A running program reports every cycle without an answer as late. If some are not reported, it was restarted.
        due = (int(self._next["ipoc"]) - self._answer_ipoc) // self._step
        if cycles > _RESTART and due - (int(self._next["delay"]) - self._answer_delay) > 1:
            return self._take_new_program()
        self._seen = clock.now()
        self.lost += cycles - 1
        self.state, self._next = self._next, self.state
        return True

    def _take_new_program(self) -> bool:
        self.restarts += 1
        self._seen = clock.now()
        self.state, self._next = self._next, self.state
        # Not answered yet; reports of late answers are counted from here.
        self._answer_ipoc, self._answer_delay = int(self.state["ipoc"]), int(self.state["delay"])
        return True

    def send(self, X_WB_cmd: Any) -> int:
        """Answer the packet: move to this pose within the cycle, as far as the limits per cycle allow; 0 or a fault code."""
        if self._answered:
            return faults.ROBOT_LINE
        frames.copy(X_WB_cmd, self._twin)
        frames.to_robot(self._X_WR, self._twin, self._X_TB, self._wanted)
        origin, settings = self._origin(), self.settings
        short = frames.correct(
            origin, self._sent, self._wanted, settings.step_limit, settings.turn_limit, self._answer["correction"]
        )
        if self.joints is not None:
            frames.apply(origin, self._answer["correction"], self._wanted)
            if not (np.isfinite(self._wanted["p"]).all() and np.isfinite(self._wanted["q"]).all()):
                self.hold()
                return faults.ROBOT_NOT_SENDABLE
            if code := self.joints.solve(self._wanted) or self.send_joints():
                return code
            self.limited += bool(short)
            return faults.ROBOT_LIMITED if short else faults.NONE
        data = codec.encode_sen(self._answer["correction"], self.state["ipoc"], settings.sen_type)
        if codec.decode_sen(data, self._answer) != codec.OK:
            self.hold()
            return faults.ROBOT_NOT_SENDABLE
        if not self._reply(data):
            return faults.ROBOT_LINE
        frames.copy(self._answer["correction"], self._correction)
        frames.apply(origin, self._correction, self._sent)
        self.limited += bool(short)
        self._moving = True
        return faults.ROBOT_LIMITED if short else faults.NONE

    def send_joints(self) -> int:
        """Answer the packet with the angles in `joints.next`; 0 or a fault code."""
        assert self.joints is not None
        if self._answered:
            return faults.ROBOT_LINE
        joints, answer = self.joints, self._answer
        origin = joints.last if self.settings.correction == "relative" else self._q_start
        np.subtract(joints.next, origin, out=answer["joints"])
        data = codec.encode_joints(answer["joints"], self.state["ipoc"], self.settings.sen_type)
        if codec.decode_sen(data, answer) != codec.OK:
            self.hold()
            return faults.ROBOT_NOT_SENDABLE
        if not self._reply(data):
            return faults.ROBOT_LINE
        self._q_correction[:] = answer["joints"]
        np.add(origin, self._q_correction, out=joints.next)
        joints.record_sent(joints.next)
        joints.pose(joints.last, self._sent)
        self._moving = True
        return faults.NONE

    def hold(self) -> int:
        """Answer the packet without moving; 0 or a fault code."""
        self._moving = False
        if self.settings.correction == "relative":
            self._correction["p"], self._correction["q"] = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)
            self._q_correction[:] = 0.0
        ipoc, kind = self.state["ipoc"], self.settings.sen_type
        if self.joints is None:
            answered = self._reply(codec.encode_sen(self._correction, ipoc, kind))
        else:
            answered = self._reply(codec.encode_joints(self._q_correction, ipoc, kind))
        return faults.NONE if answered else faults.ROBOT_LINE

    def close(self) -> None:
        """Stop, and release the port. The robot stops by itself when its packets are no longer answered."""
        self.stop()
        self._line.close()

    def _origin(self) -> Any:
        return self._sent if self.settings.correction == "relative" else self._start

    def _reply(self, data: bytes) -> bool:
        """Send one answer per packet: a second one would be taken for the next packet's."""
        if not self._line.opened or self._answered:
            return False
        self._answered = True
        self._answer_ipoc, self._answer_delay = int(self.state["ipoc"]), int(self.state["delay"])
        frames.copy(self._sent, self._before)
        if self.joints is not None:
            self._q_before[:] = self.joints.last
        return self._line.send(data)
