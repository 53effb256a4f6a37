"""An emulated Universal Robots controller: RTDE, the script port, and a robot that follows hilt's script.

It does what follow.script does, and runs no other script: handshake, counter, orders, limits of a step, watchdog. servoj is
emulated by the response of device/arm.py, a dead time and a second-order lag, which the data do not show. The pose read in a
cycle is followed in that cycle, so it is reached one cycle plus that lag later than intended.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from hilt.core import clock
from hilt.device import frames
from hilt.device.arm import Arm, ArmSettings
from hilt.device.rtde import script
from hilt.device.rtde.driver import PLAYING, RUNNING
from hilt.device.rtde.server import RtdeServer
from hilt.maths import so3

STOPPED = 1  # runtime_state
NORMAL, PROTECTIVE, SAFEGUARD, EMERGENCY, VIOLATION = 0, 2, 4, 7, 8  # bits of safety_status_bits

Wrench = Callable[[], tuple[Any, Any]]


def _nothing() -> tuple[Any, Any]:
    return (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)


class UrController(Arm):
    """The controller; `wrench()` returns force [N] and torque [N·m] at the tool, in the axes of the base."""

    def __init__(self, address: str, port: int, script_port: int, settings: ArmSettings, wrench: Wrench = _nothing) -> None:
        self.protective = self.emergency = self.safeguard = self.violation = False
        self.slider = 1.0  # speed slider
        self.server = RtdeServer(address, port, script_port, 1.0 / settings.cycle, self._value, self._started)
        self.scripts = self.unknown = 0  # scripts received: ours, others
        self._shaken, self._still = False, 0  # whether the program has met hilt; cycles without an order
        self._program: script.Program | None = None
        self._pending: script.Program | None = None  # while the operator has stopped it
        self._wrench = wrench
        self._first = 1.0  # [s] of the controller's own clock at the first cycle
        self._shown: dict[str, Any] = {}
        super().__init__(settings)

    @property
    def script_port(self) -> int:
        return self.server.script_port

    @property
    def address(self) -> tuple[str, int]:
        return self.server.address, self.server.port

    def _close(self) -> None:
        self.server.close()

    def serve(self) -> None:
        """Run its cycles until `stop`."""
        due = clock.now()
        while not self._end.is_set():
            self.server.deaf = self.disconnect
            self.server.attend(due + self._random.uniform(0.0, self.settings.jitter))
            due = self._on_time(due)
            self._response.settle(due)
            self._run(due)
            self._show(due)
            self.line.release(clock.now())
            if not self.disconnect:
                self.server.publish(self.cycles, self.line)
            due += self.settings.true_cycle
            self.cycles += 1

    def _skip(self, due: float, count: int) -> None:
        """The script's counter of cycles without an order goes on; its watchdog judges hilt alone."""
        if self._program is not None and self._shaken:
            self._still = max(self._still, min(self._still + count, self._program.watchdog // 2))

    # The program

    def _started(self, text: str) -> None:
        program = script.read(text)
        if program is None:
            self.unknown += 1
            self.server.say("this emulated controller knows only hilt's script")
            return
        self.scripts += 1
        self._program, self._pending = None, program

    def restart(self) -> None:
        super().restart()
        self._program = None

    def _halt(self, reason: str) -> None:
        super()._halt(reason)
        self._program = None

    @property
    def _stops(self) -> str:
        """The reason for which its safety system stops it, or nothing."""
        named = ("protective", "emergency", "safeguard", "violation")
        return next((f"{name} stop" for name in named if getattr(self, name)), "")

    def _run(self, due: float) -> None:
        """Run one cycle of the program."""
        if self._stops:
            if self._program is not None:
                self._halt(self._stops)
            self._program = self._pending = None
        elif self._pending is not None and not self.reason:
            self._program, self._pending = self._pending, None
            self._begin_program()
        if self._program is not None:
            self._step(self._program, due)

    def _begin_program(self) -> None:
        self._begin()
        self._angles = np.zeros(script.POSE) if self.joints is None else self.joints.target.copy()
        self._waited, self._still, self._seen, self._shaken = 0, 0, 0, False
        self._report(0, 0, 0)

    def _report(self, counter: int, token: int, state: int) -> None:
        assert self._program is not None
        for number, value in zip((script.COUNTER, script.TOKEN, script.ORDER), (counter, token, state), strict=True):
            self.server.outputs[f"output_int_register_{self._program.register + number}"] = value

    def _input(self, kind: str, number: int) -> Any:
        assert self._program is not None
        return self.server.inputs.get(f"input_{kind}_register_{self._program.register + number}", 0)

    def _step(self, program: script.Program, due: float) -> None:
        """Run the script for one cycle."""
        token = self._input("int", script.TOKEN)
        counter, order = self._input("int", script.COUNTER), self._input("int", script.ORDER)
        if not self._shaken:
            self._waited += 1
            if token == program.token:
                self._shaken, self._seen = True, counter
                self._report(counter, token, script.STANDING)
            elif self._waited > program.handshake:
                self._end_with(script.NO_HANDSHAKE, "no handshake")
            return
        if token != program.token:
            self._end_with(script.NO_HANDSHAKE, "another run writes to the registers")
        elif counter == self._seen:
            self._still += 1
            self.late += 1
            if self._still > program.watchdog:
                self._end_with(script.STOOD_STILL, f"the counter stood still for {self._still} cycles")
        elif order == script.END:
            self._end_with(script.ENDED, "hilt has ended its program")
        else:
            self._hear(program, order, due)
            self._still, self._seen = 0, counter
            if self._program is not None:
                self._report(counter, token, script.FOLLOWING if order == script.FOLLOW else script.STANDING)

    def _end_with(self, state: int, reason: str) -> None:
        self._report(self._seen, self._input("int", script.TOKEN), state)
        self._halt(reason)

    def _hear(self, program: script.Program, order: int, due: float) -> None:
        """Execute the set-point of this cycle; standing is a set-point that does not move."""
        cycles = self._still + 1
        self._next["p"], self._next["q"] = self._set["p"], self._set["q"]
        if order == script.FOLLOW:
            step, turn = self._read_next()
            most = cycles * (1.0 + 1e-9)
            if step > most * program.step_limit or turn > most * program.turn_limit:
                apart = f"{1e3 * step:.3g} mm" if self.joints is None else f"{max(step, turn):.3g} rad"
                self._end_with(script.TOO_FAR, f"a set-point {apart} away in {cycles} cycles")
                return
        if self.joints is not None and (why := self.joints.hear(self._angles, cycles, self._next)):
            self._halt(why)
            return
        self._follow(self._next, due, cycles, allowed=cycles, spread=cycles)

    def _read_next(self) -> tuple[float, float]:
        """Read the set-point from the registers; returns how far away it is, as the script computes it."""
        numbers = [float(self._input("double", i)) for i in range(script.POSE)]
        if self.joints is not None:
            self._angles = np.array(numbers)
            first, last = np.split(self._angles - self.joints.target, 2)
            return float(np.linalg.norm(first)), float(np.linalg.norm(last))
        self._next["p"], self._next["q"] = numbers[:3], so3.exp((numbers[3], numbers[4], numbers[5]))
        turn = so3.between(tuple(self._set["q"]), tuple(self._next["q"]))
        return frames.distance(self._set, self._next), float(np.linalg.norm(turn))

    # What it shows

    def _show(self, due: float) -> None:
        p, q, v, w = self._response.at(due)
        self._check_speed(v)
        seen_p, seen_q = self._aside.at(due, p, q)
        f, tau = self._wrench()
        plays = self._program is not None
        bits = {name: getattr(self, name) for name in ("protective", "safeguard", "emergency", "violation")}
        numbers = (PROTECTIVE, SAFEGUARD, EMERGENCY, VIOLATION)
        safety = sum(on << number for on, number in zip(bits.values(), numbers, strict=True))
        joints = {}
        if self.joints is not None:
            seen = frames.identity()
            seen["p"], seen["q"] = seen_p, seen_q
            joints = {
                "actual_q": tuple(map(float, self.joints.actual(seen))),
                "target_q": tuple(map(float, self.joints.target)),
            }
        self._shown = {
            **joints,
            "timestamp": self._first + self.cycles * self.settings.cycle,
            "actual_TCP_pose": (*map(float, seen_p), *_turn(seen_q)),
            "target_TCP_pose": (*map(float, self._set["p"]), *_turn(self._set["q"])),
            "actual_TCP_speed": (*map(float, v), *map(float, w)),
            "actual_TCP_force": (*map(float, f), *map(float, tau)),
            "tcp_force_scalar": float(np.linalg.norm(f)),
            "runtime_state": PLAYING if plays else STOPPED,
            "robot_mode": RUNNING,
            "safety_mode": 3 if safety else 1,
            "safety_status": 3 if safety else 1,
            "safety_status_bits": safety or 1 << NORMAL,
            "robot_status_bits": 1 | plays << 1,
            "speed_scaling": self.slider,
            "target_speed_fraction": self.slider,
        }

    def _value(self, name: str) -> Any:
        return self._shown.get(name)


def _turn(q: Any) -> tuple[float, float, float]:
    """Return the rotation vector of a quaternion."""
    x, y, z = so3.log(so3.normalise(tuple(float(part) for part in q)))
    return x, y, z
