"""Driver of a Universal Robots robot: its data package is the clock, `wait` returns with it, `send` writes a set-point.

A script on the controller (follow.script) reads the registers in every cycle and follows them with servoj; `open` sends it and
waits until it has answered with the number of this run. Set-points are absolute: one that comes a cycle late is followed in the
next one, and errors do not accumulate. Each has a number, which the script returns, so the driver knows what the robot has
really taken. A robot that takes joint angles is also measured by its angles; the controller's tool pose is compared only once.

TCP loses nothing, but a busy controller skips packages: the time stamps show how many, and they are counted (`skipped`).
The robot's own status (safety, program, script) is checked in every package, and trouble becomes a fault.
"""

import contextlib
import secrets
from typing import Any

import numpy as np

from hilt.compiled import jit
from hilt.core import clock, faults
from hilt.core.faults import InputError
from hilt.core.signals import TWIST
from hilt.device import frames
from hilt.device.frames import DrivenRobot
from hilt.device.joints import space
from hilt.device.protocol import Reply
from hilt.device.rtde import codec, script
from hilt.device.rtde.link import Link
from hilt.device.rtde.settings import CYCLES, RtdeSettings
from hilt.host import machine
from hilt.maths import so3, vec

PLACES = {"pose": ("actual_TCP_pose", "target_TCP_pose"), "joints": ("actual_q", "target_q")}
STATE = ("runtime_state", "safety_status_bits", "robot_mode", "target_speed_fraction")
# Where the values of these fields begin.
T, ACTUAL, TARGET, RUNTIME, SAFETY, MODE, SLIDER, ECHO, TOOL = 0, 1, 7, 13, 14, 15, 16, 17, 20

PLAYING, RUNNING = 2, 7  # runtime_state, robot_mode
# Bits of safety_status_bits, the worst first.
STOPS = (
    ((5, 6, 7), faults.ROBOT_EMERGENCY),
    ((8, 9), faults.ROBOT_SAFETY),
    ((2,), faults.ROBOT_PROTECTIVE),
    ((4,), faults.ROBOT_SAFEGUARD),
    ((10,), faults.ROBOT_SAFETY),
)
SCRIPT_FAULTS = {
    script.STOOD_STILL: faults.ROBOT_WATCHDOG,
    script.TOO_FAR: faults.ROBOT_LIMITED,
    script.NO_HANDSHAKE: faults.ROBOT_RESTARTED,
    script.ENDED: faults.ROBOT_PROGRAM,
}
_FIRST_PACKAGES = 25  # received before the cycle is checked
_JUMP_MAX = 10.0  # times step_limit in a cycle; a larger jump of the measured pose is rejected
_DRAIN_MAX = 1000
_COUNTS = 2**31 - 1  # of the counter, which is never 0


@jit
def pose_from(values, begin, X):
    """Write the pose of six numbers: position and rotation vector."""
    vec.store(X.p, (values[begin], values[begin + 1], values[begin + 2]))
    so3.store(X.q, so3.exp((values[begin + 3], values[begin + 4], values[begin + 5])))


class RtdeRobot(DrivenRobot):
    """One robot."""

    def __init__(self, settings: RtdeSettings) -> None:
        super().__init__(settings)
        self.settings = settings
        self.packages = 0  # new ones from the controller
        self.late = 0  # of these, read too late to be answered
        self.skipped = 0  # by the controller, according to its time stamps
        self.duplicates = 0
        self.rejected = 0  # not one of our packages, or an impossible one
        self.limited = 0  # set-points that were shortened
        self.unheard = 0  # packages in which the script still has the previous set-point
        self._now, self._wanted, self._here, self._change = (frames.identity() for _ in range(4))
        self._actual, self._moved = frames.identity(), frames.identity()
        self._twist = np.zeros(1, TWIST)[0]
        self._line = Link()
        self._recipe, self._fields = 0, codec.Fields(())
        self._registers = codec.Outgoing(0, ())
        self._values = np.zeros(TOOL + script.POSE)  # of the newest package
        self._numbers, self._next = np.zeros(script.POSE), np.zeros(script.POSE)  # of the set-point, as in the registers
        self.joints = space.of(settings)
        self._cycle = self._t = self._seen = 0.0
        self._token = self._counter = 0
        self._usual = _COUNTS  # smallest lag of the script, in set-points
        self._echo = 0  # number of the set-point that the script follows
        self._moving = self._shaken = False
        _warm_up()

    def counters(self) -> dict[str, int]:
        names = ("packages", "late", "skipped", "duplicates", "rejected", "limited", "unheard")
        return {name: int(getattr(self, name)) for name in names}

    def notes(self) -> list[str]:
        """Return what the user should know besides the counters."""
        found = [f"the robot's controller said: {text}" for text in self._line.texts]
        found += self.joints.notes() if self.joints is not None else []
        if self.skipped:
            count = "1 package" if self.skipped == 1 else f"{self.skipped} packages"
            found.append(f"the robot's controller was busy and skipped {count} of {self.packages + self.skipped}")
        return found

    def open(self, address: str, port: int, script_port: int, cycle: float, time_limit: float) -> None:
        """Connect, send the script, and wait until it answers; an InputError if the robot is not there or not ready."""
        if cycle not in CYCLES:
            raise InputError(
                f"robot.cycle is {1e3 * cycle:g} ms but e-Series send every 2 ms, CB3 every 8 ms; set robot.cycle = '2 ms'"
            )
        self._cycle = cycle
        if self.joints is not None:
            self.joints.cycle = cycle
        deadline = clock.now() + time_limit
        try:
            self._meet(address, port, deadline, time_limit)
            self._check_robot()
            if self.joints is not None:
                pose_from(self._values, TOOL, self._wanted)
                self.joints.check_agrees(self._actual, self._wanted)
            self._start_script(address, script_port, deadline)
        except OSError as error:
            self.close()
            raise InputError(
                f"the robot at {address}:{port} cannot be reached: {error}; check address, cable and power, and that RTDE is "
                "enabled on the controller"
            ) from None
        except InputError:
            self.close()
            raise

    def _meet(self, address: str, port: int, deadline: float, time_limit: float) -> None:
        """Agree on the data to send, and receive a few packages, which show the cycle."""
        first, line = self.settings.registers, self._line
        line.connect(address, port, deadline)
        names = [f"input_double_register_{first + i}" for i in range(script.POSE)]
        self._registers = line.inputs([*names, *(f"input_int_register_{first + i}" for i in range(3))], deadline)
        echo = [f"output_int_register_{first + i}" for i in range(3)]
        fields = ["timestamp", *PLACES[self.settings.command], *STATE, *echo, "actual_TCP_pose"]
        self._recipe, self._fields = line.outputs(fields, 1.0 / self._cycle, deadline)
        self._values = np.zeros(len(self._fields.values))
        line.begin(deadline)
        stamps = set[float]()
        while len(stamps) < _FIRST_PACKAGES:
            if not line.receive(deadline):
                raise InputError(f"the robot at {address}:{port} sent no data within {time_limit:g} s; restart its controller")
            if self._fields.read(line.buffer, line.at, line.to, self._recipe) != codec.OK:
                self.rejected += 1
                continue
            self._values[:] = self._fields.values
            stamps.add(float(self._values[T]))
            self.packages += 1
        self._t, self._seen = float(self._values[T]), clock.now()
        sorted_stamps = np.array(sorted(stamps))
        seen = float(np.diff(sorted_stamps).min())
        if abs(seen - self._cycle) > 0.1 * self._cycle:
            raise InputError(
                f"robot.cycle is {1e3 * self._cycle:g} ms but the robot sends every {1e3 * seen:.3g} ms; "
                f"set robot.cycle = '{1e3 * seen:.3g} ms'"
            )
        self._begin()

    def _check_robot(self) -> None:
        if code := self._stopped():
            raise InputError(f"the robot cannot be started: {faults.explain(code)}")
        if int(self._values[MODE]) != RUNNING:
            raise InputError(
                f"the robot is in mode {int(self._values[MODE])}, not 7 (running); switch it on and release its brakes"
            )
        if self._values[SLIDER] < 1.0 - 1e-9:
            raise InputError(f"the robot's speed slider is at {100 * self._values[SLIDER]:.0f} %; set it to 100 %")

    def _start_script(self, address: str, port: int, deadline: float) -> None:
        settings = self.settings
        self._token = 1 + secrets.randbelow(_COUNTS - 1)
        program = script.Program(
            token=self._token,
            register=settings.registers,
            cycle=self._cycle,
            lookahead=settings.lookahead,
            gain=settings.gain,
            watchdog=settings.watchdog,
            step_limit=settings.step_limit,
            turn_limit=settings.turn_limit,
            deceleration=settings.deceleration,
            command=settings.command,
        )
        if self.joints is not None:
            first, last = (float(np.linalg.norm(part)) for part in np.split(self.joints.speed_limits, 2))
            program = program._replace(step_limit=first * self._cycle, turn_limit=last * self._cycle)
        self._write(script.STAND)
        with contextlib.closing(machine.connect(address, port, max(deadline - clock.now(), 0.01))) as line:
            line.sendall(script.text_of(program).encode())
            while int(self._values[ECHO + script.TOKEN]) != self._token or int(self._values[RUNTIME]) != PLAYING:
                if clock.now() > deadline or self._line.broken:
                    raise InputError(self._no_answer())
                if self._line.receive(min(deadline, clock.now() + 0.1)):
                    self._take()
                    self._write(script.STAND)
        self._shaken = True
        self._begin()

    def _no_answer(self) -> str:
        said = f"; it said: {self._line.texts[-1]}" if self._line.texts else ""
        return f"the robot did not start hilt's script; set it to remote control, and end its own program{said}"

    def _begin(self) -> None:
        """Begin with a script that has just started: its set-point is the robot's own."""
        self._numbers[:] = self._values[TARGET : TARGET + script.POSE]
        if self.joints is not None:
            self.joints.start(self._numbers)
        self._read_pose(self._values, TARGET, self._sent)
        self._read_pose(self._values, ACTUAL, self._actual)
        frames.to_world(self._X_WR, self._actual, self._X_TB, self._here)
        self._usual, self._echo = _COUNTS, 0

    def _read_pose(self, values: Any, begin: int, X: Any) -> None:
        """Write the pose of the tool from six numbers of a package."""
        if self.joints is None:
            pose_from(values, begin, X)
        else:
            self.joints.pose(values[begin : begin + script.POSE], X)

    def wait(self, X_WB: Any, V_WB: Any) -> Reply:
        """Block until the robot's next package; write the mock-up's pose, and its mean twist since the last one."""
        deadline, before, fresh, line = clock.now() + self.settings.patience * self._cycle, self._t, 0, self._line
        for _ in range(_DRAIN_MAX):
            # After the first new package, only what has already arrived.
            if not line.receive(0.0 if fresh else deadline):
                break
            fresh += self._take()
        if not fresh:
            return Reply(faults.ROBOT_SILENT, self._number(), heard=False)
        self.late += fresh - 1
        self._answered = False
        frames.copy(self._here, self._wanted)
        frames.to_world(self._X_WR, self._actual, self._X_TB, self._here)
        frames.twist_between(self._wanted, self._here, self._t - before, self._twist)
        frames.copy(self._here, X_WB)
        V_WB["v"][...], V_WB["w"][...] = self._twist["v"], self._twist["w"]
        echo = int(self._values[ECHO])
        stood, self._echo = echo == self._echo, echo
        self.unheard += stood
        behind = (self._counter - echo) % _COUNTS
        self._usual = min(self._usual, behind)
        return Reply(self._trouble(behind), self._number(), behind <= self._usual + 1, stood)

    def _number(self) -> int:
        """Return the number of the robot's own cycle."""
        return round(self._t / self._cycle)

    def _trouble(self, behind: int) -> int:
        """Return the fault that the robot's status means, or 0."""
        if code := self._stopped():
            return code
        if not self._shaken:
            return faults.NONE
        values = self._values
        if int(values[ECHO + script.TOKEN]) != self._token:
            return faults.ROBOT_RESTARTED
        if code := SCRIPT_FAULTS.get(int(values[ECHO + script.ORDER]), faults.NONE):
            return code
        playing = int(values[RUNTIME]) == PLAYING and behind <= self._usual + self.settings.watchdog + 1
        return faults.NONE if playing else faults.ROBOT_PROGRAM

    def _stopped(self) -> int:
        """Return the fault for which the robot's safety system has stopped it, or 0."""
        bits = int(self._values[SAFETY])
        return next((code for numbers, code in STOPS if any(bits >> number & 1 for number in numbers)), faults.NONE)

    def _take(self) -> bool:
        """Keep the package just received if it is newer than the newest."""
        line, values = self._line, self._fields.values
        if self._fields.read(line.buffer, line.at, line.to, self._recipe) != codec.OK:
            self.rejected += 1
            return False
        cycles = round((float(values[T]) - self._t) / self._cycle)
        if cycles <= 0:
            self.duplicates += cycles == 0
            self.late += cycles < 0
            return False
        self._read_pose(values, ACTUAL, self._moved)
        moved = frames.distance(self._actual, self._moved)
        # A time stamp must fit our own clock: one that runs ahead would make all later ones look old.
        ahead = cycles * self._cycle > self.settings.patience * self._cycle + 2.0 * (clock.now() - self._seen)
        if ahead or moved > _JUMP_MAX * self.settings.step_limit * cycles:
            self.rejected += 1
            return False
        self._t, self._seen = float(values[T]), clock.now()
        self._actual, self._moved = self._moved, self._actual
        self._values[:] = values
        self.packages += 1
        self.skipped += cycles - 1
        return True

    def send(self, X_WB_cmd: Any) -> int:
        """Answer the package: move to this pose within the cycle, as far as the limits per cycle allow; 0 or a fault code."""
        if self._answered:
            return faults.ROBOT_LINE
        settings = self.settings
        frames.copy(X_WB_cmd, self._twin)
        frames.to_robot(self._X_WR, self._twin, self._X_TB, self._wanted)
        short = frames.correct(self._sent, self._sent, self._wanted, settings.step_limit, settings.turn_limit, self._change)
        frames.apply(self._sent, self._change, self._now)
        if not (np.isfinite(self._now["p"]).all() and np.isfinite(self._now["q"]).all()):
            self.hold()
            return faults.ROBOT_NOT_SENDABLE
        if self.joints is None:
            self._next[:3], self._next[3:] = self._now["p"], so3.log(so3.load(self._now["q"]))
        elif code := self.joints.solve(self._now):
            return code
        if code := self._go():
            return code
        self.limited += bool(short)
        return faults.ROBOT_LIMITED if short else faults.NONE

    def send_joints(self) -> int:
        """Answer the package with the angles in `joints.next`; 0 or a fault code."""
        assert self.joints is not None
        if self._answered:
            return faults.ROBOT_LINE
        self.joints.pose(self.joints.next, self._now)
        return self._go()

    def _go(self) -> int:
        """Send the prepared set-point, whose pose is in `_now`; 0 or a fault code."""
        if self.joints is not None:
            self._next[:] = self.joints.next
        self._exchange()
        self._moving = True
        if not self._reply(script.FOLLOW):
            self._exchange()
            return faults.ROBOT_LINE
        if self.joints is not None:
            self.joints.record_sent(self._numbers)
        return faults.NONE

    def _exchange(self) -> None:
        """Swap the next set-point and the present one; calling it again undoes that."""
        self._sent, self._now = self._now, self._sent
        self._numbers, self._next = self._next, self._numbers

    def hold(self) -> int:
        """Answer the package without moving; 0 or a fault code. Until the first set-point the robot stands still by itself."""
        return faults.NONE if self._reply(script.FOLLOW if self._moving else script.STAND) else faults.ROBOT_LINE

    def close(self) -> None:
        """Let the script end, and disconnect; the script stops the arm anyway when set-points no longer come."""
        if self._shaken:
            self._write(script.END)
        self._shaken, self._answered = False, True
        self._line.close()

    def _reply(self, order: int) -> bool:
        """Send one answer per package."""
        if self._answered:
            return False
        self._answered = True
        return self._write(order)

    def _write(self, order: int) -> bool:
        """Write the set-point, under the next number."""
        self._counter = self._counter % (_COUNTS - 1) + 1
        return self._line.send(self._registers.write(*self._numbers, self._counter, self._token, order))


def _warm_up() -> None:
    """Compile everything before the first package, which must be answered within a cycle."""
    frames.warm_up()
    fields = codec.Fields(("DOUBLE", "INT32", "UINT32"))
    data = np.frombuffer(codec.message(codec.DATA, b"\1" + bytes(fields.packed.size)), np.uint8).copy()
    codec.whole(data, 0, len(data))
    fields.read(data, 0, len(data), 1)
    X = frames.identity()
    pose_from(np.zeros(6), 0, X)
    so3.log(so3.load(X["q"]))
