"""Driver of a Franka robot: its state is the clock, `wait` returns with it, `send` answers it with a pose.

Until the first set-point the robot stands by itself and nobody answers it. The first one asks for a motion; once the robot
says that it runs, every state is answered with a command, and the first of these is the pose that the state gives as commanded.
`hold` takes the speed down, then ends the motion. Whatever is sent is bounded (shape.py), so that it is no reflex.

A state shows the command before it: so the driver knows what the robot has really taken. A robot that misses a command goes on
with its last acceleration. Then the driver begins anew from where the robot says it is, and `Reply.heard` is false.
"""

import math
from typing import Any

import numpy as np

from hilt.core import clock, faults
from hilt.core.faults import InputError
from hilt.core.signals import TWIST
from hilt.device.driven import DrivenRobot
from hilt.device.fci import codec, shape
from hilt.device.fci.link import Link
from hilt.device.fci.settings import FciSettings
from hilt.device.peer import named
from hilt.device.protocol import Reply
from hilt.device.rsi import frames
from hilt.maths import so3

STANDING, STARTING, FOLLOWING, ENDING = range(4)  # the motion, as the driver knows it
CONTROLLERS = {"joint": codec.JOINT_IMPEDANCE, "cartesian": codec.CARTESIAN_IMPEDANCE}
MODES = {
    codec.OTHER: ("is in another mode", faults.ROBOT_PROGRAM),
    codec.MOVING: ("is in motion", faults.NONE),
    codec.GUIDING: ("is being guided by hand", faults.ROBOT_PROGRAM),
    codec.REFLEX: ("has stopped itself by a reflex", faults.ROBOT_PROTECTIVE),
    codec.USER_STOPPED: ("is stopped by its user stop", faults.ROBOT_EMERGENCY),
    codec.RECOVERING: ("is recovering from an error", faults.ROBOT_PROGRAM),
}
_LOST = codec.ERRORS.index("communication_constraints_violation")
_FIRST_STATES = 25  # received before the robot is accepted
_JUMP_MAX = 10.0  # times step_limit in a cycle; a larger jump of the measured pose is rejected
_DRAIN_MAX = 1000
_START = 2.0  # [s] in which a motion must begin
_END = 0.5  # [s] in which it must have ended when the connection is closed
_STILL = np.zeros(6)
_SAME_PLACE, _SAME_TURN = 1e-7, 3e-7  # [m], [rad]: a command as the state repeats it, in 32 bits, within reach of the arm


class FciRobot(DrivenRobot):
    """One robot."""

    bounded = True

    def __init__(self, settings: FciSettings) -> None:
        super().__init__(settings)
        self.settings = settings
        self.packets = 0  # new states
        self.late = 0  # of these, read too late to be answered
        self.lost = 0  # never arrived, by their numbers
        self.duplicates = 0
        self.rejected = 0  # no state, or an impossible one
        self.limited = 0  # set-points further away than a cycle allows
        self.smoothed = 0  # commands that were bent to stay within acceleration and jerk
        self.unheard = 0  # states that show another command than the one sent
        self.state, self._next = np.zeros(1, codec.HEARD)[0], np.zeros(1, codec.HEARD)[0]
        self.seen = -math.inf  # arrival of the newest state
        self._now, self._wanted, self._here = (frames.identity() for _ in range(3))
        self._twist = np.zeros(1, TWIST)[0]
        self._motion, self._bounds = np.zeros(1, shape.MOTION)[0], _bounds(settings)
        self._keep = math.exp(-codec.CYCLE / shape.BLEND)
        self._link, self._command = Link(), codec.OutgoingCommand()
        self._phase, self._asked, self._move = STANDING, 0.0, 0
        self._greeted = False  # the motion's first command was sent: the pose that the robot has
        self._upset = False  # the robot has ended the motion by itself
        self._said: list[str] = []
        _warm_up(self._bounds)

    @property
    def strangers(self) -> int:
        return self._link.states.strangers

    def counters(self) -> dict[str, int]:
        names = ("packets", "late", "lost", "duplicates", "rejected", "limited", "smoothed", "unheard", "strangers")
        return {name: int(getattr(self, name)) for name in names}

    def notes(self) -> list[str]:
        """What the user should know besides the counters."""
        told = self._link.states.told()
        return [*self._said, *([f"{told} arrived at the robot's port and were ignored"] if told else [])]

    def open(self, address: str, port: int, time_limit: float) -> None:
        """Connect and receive a few states; one sentence if the robot is not there or not ready."""
        deadline = clock.now() + time_limit
        try:
            self._link.connect(address, port, deadline)
            self._meet(address, port, deadline, time_limit)
            self._check_robot()
            self._set_collisions(deadline)
        except OSError as error:
            self.close()
            raise InputError(
                f"the robot at {address}:{port} cannot be reached: {error}; check address, cable and power, and that FCI is "
                "activated on its Desk"
            ) from None
        except InputError:
            self.close()
            raise

    def _meet(self, address: str, port: int, deadline: float, time_limit: float) -> None:
        """Of the first states all must have one sender, at the robot's address."""
        line = self._link.states
        for count in range(_FIRST_STATES):
            while True:
                data, sender = line.receive(deadline)
                if sender is None:
                    raise InputError(
                        f"the robot at {address}:{port} sent no state within {time_limit:g} s; check that nothing keeps UDP "
                        f"packets from port {line.port} of this machine"
                    )
                if codec.decode_state(data, self._next) == codec.OK:
                    break
                self.rejected += 1
            if count and line.peer != sender:
                raise InputError(
                    f"two senders claim to be the robot: {named(line.peer or sender)} and {named(sender)}; stop one of them"
                )
            line.peer = sender
            self._keep_state()
        line.settle()
        self._upset = False
        self._base()
        frames.to_world(self._X_WR, self.state["X_actual"], self._X_TB, self._here)

    def _keep_state(self) -> None:
        self.state, self._next = self._next, self.state
        self.packets += 1
        self.seen = clock.now()

    def _check_robot(self) -> None:
        mode = int(self.state["mode"])
        if mode != codec.IDLE:
            reasons = codec.reasons_of(self.state)
            why = f" ({', '.join(reasons)})" if mode == codec.REFLEX and reasons else ""
            raise InputError(f"the robot {MODES[mode][0]}{why}; make it ready on its Desk, and connect again")

    def _set_collisions(self, deadline: float) -> None:
        force, torque = self.settings.collision_force, self.settings.collision_torque
        if force is None or torque is None:
            return
        number = self._link.next_number()
        reply = self._link.ask(codec.collision_request(number, torque, force), codec.SET_COLLISION_BEHAVIOR, number, deadline)
        if codec.read_status(reply) != codec.SUCCESS:
            raise InputError(
                f"the robot refuses robot.collision_force = {force:g} N and robot.collision_torque = {torque:g} N·m; lower them"
            )

    def _base(self) -> None:
        """The robot's set-point is what its state gives as commanded, at rest."""
        frames.copy(self.state["X_commanded"], self._sent)
        shape.set_out(self._motion, _STILL, _STILL, 0)

    # In every cycle

    def wait(self, X_WB: Any, V_WB: Any) -> Reply:
        """Block until the robot's next state; write the mock-up's pose, and its mean twist since the last one."""
        deadline, before, fresh = clock.now() + self.settings.patience * codec.CYCLE, int(self.state["message_id"]), 0
        for _ in range(_DRAIN_MAX):
            # After the first new state, only what has already arrived.
            data, sender = self._link.states.receive(0.0 if fresh else deadline)
            if sender is None:
                break
            fresh += self._take(data)
        if not fresh:
            return Reply(faults.ROBOT_SILENT, before, heard=False)
        self.late += fresh - 1
        self._answered = False
        cycles = int(self.state["message_id"]) - before
        frames.copy(self._here, self._wanted)
        frames.to_world(self._X_WR, self.state["X_actual"], self._X_TB, self._here)
        frames.twist_between(self._wanted, self._here, cycles * codec.CYCLE, self._twist)
        frames.copy(self._here, X_WB)
        V_WB["v"][...], V_WB["w"][...] = self._twist["v"], self._twist["w"]
        code, heard = self._look(cycles)
        return Reply(code, int(self.state["message_id"]), heard)

    def _take(self, data: bytes) -> bool:
        """Keep a state if it is newer than the newest."""
        if codec.decode_state(data, self._next) != codec.OK:
            self.rejected += 1
            return False
        cycles = int(self._next["message_id"]) - int(self.state["message_id"])
        if cycles <= 0:
            self.duplicates += cycles == 0
            self.late += cycles < 0
            return False
        moved = frames.distance(self.state["X_actual"], self._next["X_actual"])
        # Its number must fit our own clock: one that runs ahead would make all later ones look old.
        ahead = cycles * codec.CYCLE > self.settings.patience * codec.CYCLE + 2.0 * (clock.now() - self.seen)
        if ahead or moved > _JUMP_MAX * self.settings.step_limit * cycles:
            self.rejected += 1
            return False
        self.lost += cycles - 1
        self._keep_state()
        return True

    def _look(self, cycles: int) -> tuple[int, bool]:
        """What the state says about the robot, as a fault, and whether the last command was taken."""
        mode = int(self.state["mode"])
        if mode not in (codec.IDLE, codec.MOVING):
            return self._stopped(mode), False
        runs = self._runs()
        if self._phase == STARTING:
            return self._begin(runs), False
        if self._phase == FOLLOWING and runs:
            heard = cycles == 1 and self._was_heard()  # a state that was not read was not answered
            if not heard:
                self._begin_anew()
            return self._rival(), heard
        if self._phase == FOLLOWING:
            self._upset = True  # somebody else has ended it
        if self._phase == ENDING and runs:
            return faults.NONE, False
        self._phase = STANDING
        self._base()
        while self._link.reply() is not None:  # the end of the motion
            pass
        if self._upset:
            self._upset = False
            return faults.ROBOT_RESTARTED, False
        return self._rival(), True

    def _stopped(self, mode: int) -> int:
        if not self._upset:
            reasons = codec.reasons_of(self.state)
            self._said.append(f"the robot {MODES[mode][0]}" + (f": {', '.join(reasons)}" if reasons else ""))
        self._phase, self._upset = STANDING, True
        self._base()
        return faults.ROBOT_WATCHDOG if mode == codec.REFLEX and self.state["reasons"][_LOST] else MODES[mode][1]

    def _runs(self) -> bool:
        """Whether the robot is in a motion as the driver asks for it."""
        return int(self.state["mode"]) == codec.MOVING and int(self.state["generator"]) == codec.CARTESIAN_GENERATOR

    def _begin(self, runs: bool) -> int:
        """Wait for the motion that was asked for, and for its first command."""
        self._base()
        if runs:
            self._phase = FOLLOWING if self._greeted else STARTING
            return faults.NONE
        while (found := self._link.reply()) is not None:
            if found.command == codec.MOVE and found.number == self._move:
                status = codec.read_status(found.payload)
                if status not in (codec.SUCCESS, codec.MOTION_STARTED):
                    self._phase = STANDING
                    self._said.append(f"the robot refused a motion with status {status}")
                    return faults.ROBOT_PROGRAM
        if clock.now() - self._asked > _START or self._link.broken:
            self._phase = STANDING
            return faults.ROBOT_PROGRAM
        return faults.NONE

    def _was_heard(self) -> bool:
        taken = self.state["X_commanded"]
        if frames.distance(self._sent, taken) > _SAME_PLACE:
            return False
        turn = so3.between(so3.load(self._sent["q"]), so3.load(taken["q"]))
        return math.hypot(*turn) <= _SAME_TURN

    def _begin_anew(self) -> None:
        """The robot is elsewhere than it was sent: go on from there, as it moves there."""
        self.unheard += 1
        frames.copy(self.state["X_commanded"], self._sent)
        shape.set_out(self._motion, self.state["twist"], self.state["rate"], 1)

    def _rival(self) -> int:
        # The identity of the robot must be clear before it moves; once it moves, another sender must not be able to stop it.
        return faults.ROBOT_RIVAL if self._link.states.rival is not None and self._phase == STANDING else faults.NONE

    def send(self, X_WB_cmd: Any) -> int:
        """Answer the state: move to this pose, as far as the bounds allow; 0 or a fault code."""
        if self._answered:
            return faults.ROBOT_LINE
        frames.copy(X_WB_cmd, self._twin)
        if not (np.isfinite(self._twin["p"]).all() and np.isfinite(self._twin["q"]).all()):
            self.hold()
            return faults.ROBOT_NOT_SENDABLE
        if self._phase != FOLLOWING:
            return self._ask()
        frames.to_robot(self._X_WR, self._twin, self._X_TB, self._wanted)
        far, bent = shape.advance(self._motion, self._bounds, self._sent, self._wanted, self._now, self._keep, codec.CYCLE)
        if not self._reply(finished=False):
            return faults.ROBOT_LINE
        self.limited += bool(far)
        self.smoothed += bool(bent)
        return faults.ROBOT_LIMITED if far else faults.NONE

    def _ask(self) -> int:
        """Ask for a motion, or wait for it; one that is about to end is ended first."""
        if self._phase == ENDING:
            return faults.NONE if self._reply(finished=True) else faults.ROBOT_LINE
        if self._phase == STARTING:
            return self._greet()
        self._answered = True
        if self._upset:
            return faults.ROBOT_LINE
        self._move, self._asked = self._link.next_number(), clock.now()
        if not self._link.send(codec.move_request(self._move, CONTROLLERS[self.settings.controller])):
            return faults.ROBOT_LINE
        self._phase, self._greeted = STARTING, False
        return faults.NONE

    def _greet(self) -> int:
        """Answer a motion that has just begun with the pose that the robot has; before it begins there is nothing to answer."""
        self._answered = True
        if not self._runs():
            return faults.NONE
        frames.copy(self._sent, self._now)
        self._greeted = self._reply(finished=False)
        return faults.NONE if self._greeted else faults.ROBOT_LINE

    def hold(self) -> int:
        """Answer the state without a new set-point: take the speed down, then end the motion; 0 or a fault code."""
        if self._answered:
            return faults.ROBOT_LINE
        if self._phase == STANDING:  # it stands by itself
            self._answered = True
            return faults.NONE
        if self._phase == STARTING:
            return self._greet()
        rest = bool(shape.slow_down(self._motion, self._bounds, self._sent, self._now, codec.CYCLE))
        finished = rest or self._phase == ENDING
        if not self._reply(finished):
            return faults.ROBOT_LINE
        self._phase = ENDING if finished else FOLLOWING
        return faults.NONE

    def close(self) -> None:
        """End the motion, if there is one, and disconnect."""
        self.stop()
        deadline, X, V = clock.now() + _END, frames.identity(), np.zeros(1, TWIST)[0]
        while self._phase != STANDING and clock.now() < deadline:
            if self.wait(X, V).code == faults.ROBOT_SILENT:
                break
            self.stop()
        self._phase, self._answered = STANDING, True
        self._link.close()

    def _reply(self, finished: bool) -> bool:
        """One command for each state; it becomes the set-point if it was sent."""
        self._answered = True
        if finished:
            frames.copy(self._sent, self._now)
        number = int(self.state["message_id"])
        if not self._link.states.send(self._command.write(number, self._now, finished)):
            return False
        self._sent, self._now = self._now, self._sent
        return True


def _bounds(settings: FciSettings) -> Any:
    bounds = np.zeros(1, shape.BOUNDS)[0]
    bounds["step"], bounds["turn"] = settings.step_limit, settings.turn_limit
    for name in ("acceleration", "jerk", "angular_acceleration", "angular_jerk"):
        bounds[name] = getattr(settings, name)
    return bounds


def _warm_up(bounds: Any) -> None:
    """Compile everything before the first state, which must be answered within a cycle."""
    frames.warm_up()
    heard, x, X = np.zeros(1, codec.HEARD)[0], np.zeros(1, shape.MOTION)[0], frames.identity()
    codec.decode_state(bytes(codec.OutgoingState().data), heard)
    codec.OutgoingCommand().write(0, X, False)
    shape.set_out(x, _STILL, _STILL, 0)
    shape.set_out(x, heard["twist"], heard["rate"], 1)
    shape.advance(x, bounds, X, X, frames.identity(), 1.0, codec.CYCLE)
    shape.slow_down(x, bounds, X, frames.identity(), codec.CYCLE)
    frames.distance(heard["X_actual"], heard["X_commanded"])
    frames.distance(X, heard["X_commanded"])
    so3.between(so3.load(X["q"]), so3.load(heard["X_commanded"]["q"]))
