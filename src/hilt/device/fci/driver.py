"""Driver of a Franka robot: its state is the clock, `wait` returns with it, `send` answers it with a pose or with angles.

Until the first set-point the robot stands still by itself and is not answered. The first set-point requests a motion; once the
robot reports that the motion runs, every state is answered with a command, and the first command repeats the set-point in the
state. `hold` reduces the speed, then ends the motion. Every command is bounded so that it triggers no reflex: poses by
motion.py, joint angles by angles.py.

A state repeats the previous command, so the driver knows what the robot has really taken. A robot that misses a command goes on
with its last acceleration. Then the driver continues from where the robot says it is, and `Reply.heard` is false.
"""

import math
from typing import Any

import numpy as np

from hilt.core import clock, faults
from hilt.core.faults import InputError
from hilt.core.signals import TWIST
from hilt.device import frames
from hilt.device.fci import codec
from hilt.device.fci.angles import AngleMotion
from hilt.device.fci.link import Link
from hilt.device.fci.motion import Motion, PoseMotion
from hilt.device.fci.settings import FciSettings
from hilt.device.frames import DrivenRobot
from hilt.device.joints import space
from hilt.device.peer import named
from hilt.device.protocol import Reply

STANDING, STARTING, FOLLOWING, ENDING = range(4)  # phases of a motion
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


class FciRobot(DrivenRobot):
    """One robot."""

    bounded = True

    def __init__(self, settings: FciSettings) -> None:
        super().__init__(settings)
        self.settings = settings
        self.packets = 0  # new states
        self.late = 0  # of these, read too late to be answered
        self.lost = 0  # never arrived, according to their numbers
        self.duplicates = 0
        self.rejected = 0  # not a state, or an impossible one
        self.limited = 0  # set-points further away than a cycle allows
        self.smoothed = 0  # commands that were changed to stay within acceleration and jerk
        self.unheard = 0  # states that repeat another command than the one sent
        self.state, self._next = np.zeros(1, codec.READ_STATE)[0], np.zeros(1, codec.READ_STATE)[0]
        self.seen = -math.inf  # arrival of the newest state
        self._wanted, self._here = frames.identity(), frames.identity()
        self._twist = np.zeros(1, TWIST)[0]
        frames.warm_up()
        self.joints = space.of(settings)
        self._motion: Motion = PoseMotion(settings) if self.joints is None else AngleMotion(settings, self.joints)
        self._sent = self._motion.sent
        self._link, self._command = Link(), codec.OutgoingCommand()
        self._phase, self._requested_at, self._move = STANDING, 0.0, 0
        self._greeted = False  # whether the motion's first command was sent: the robot's own set-point
        self._upset = False  # whether the robot has ended the motion by itself
        self._said: list[str] = []
        frames.distance(self.state["X_actual"], self._next["X_actual"])  # compiled before the first state

    @property
    def strangers(self) -> int:
        return self._link.states.strangers

    @property
    def moves(self) -> bool:
        """Whether a motion has begun and not ended: its commands may be behind the set-points."""
        return self._phase in (FOLLOWING, ENDING)

    def counters(self) -> dict[str, int]:
        names = ("packets", "late", "lost", "duplicates", "rejected", "limited", "smoothed", "unheard", "strangers")
        return {name: int(getattr(self, name)) for name in names}

    def notes(self) -> list[str]:
        """Return what the user should know besides the counters."""
        strangers, joints = self._link.states.describe_strangers(), [] if self.joints is None else self.joints.notes()
        return [*self._said, *joints, *([f"{strangers} arrived at the robot's port and were ignored"] if strangers else [])]

    def open(self, address: str, port: int, time_limit: float) -> None:
        """Connect and receive a few states; an InputError if the robot is not there or not ready."""
        deadline = clock.now() + time_limit
        try:
            self._link.connect(address, port, deadline)
            self._meet(address, port, deadline, time_limit)
            self._check_robot()
            if isinstance(self._motion, AngleMotion):
                self._motion.joints.check_agrees(self.state["X_actual"], self._motion.reported)
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
        """Receive the first states; all must have the same sender, at the robot's address."""
        line = self._link.states
        for count in range(_FIRST_STATES):
            while True:
                data, sender = line.receive(deadline)
                if sender is None:
                    raise InputError(
                        f"the robot at {address}:{port} sent no state within {time_limit:g} s; check that nothing blocks UDP "
                        f"packets to port {line.port} of this machine"
                    )
                if self._read(data):
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
        self._motion.base(self.state)
        frames.to_world(self._X_WR, self.state["X_actual"], self._X_TB, self._here)

    def _read(self, data: bytes) -> bool:
        """Decode a state into `_next`; False if it is not one."""
        if codec.decode_state(data, self._next) != codec.OK:
            return False
        self._motion.see(self._next)
        return True

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
        followed = self._phase == FOLLOWING
        code, heard = self._look(cycles)
        coasts = not heard and followed and self._phase == FOLLOWING
        return Reply(code, int(self.state["message_id"]), heard, coasts=coasts)

    def _take(self, data: bytes) -> bool:
        """Keep a state if it is newer than the newest."""
        if not self._read(data):
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
        """Return the fault that the state reports, and whether the last command was taken."""
        mode = int(self.state["mode"])
        if mode not in (codec.IDLE, codec.MOVING):
            return self._stopped(mode), False
        runs = self._runs()
        if self._phase == STARTING:
            return self._begin(runs), False
        if self._phase == FOLLOWING and runs:
            heard = cycles == 1 and self._motion.was_taken(self.state)  # a state that was not read was not answered
            if not heard:
                self.unheard += 1
                self._motion.resync(self.state)
            return self._rival(), heard
        if self._phase == FOLLOWING:
            self._upset = True  # something else has ended it
        if self._phase == ENDING and runs:
            return faults.NONE, False
        self._phase = STANDING
        self._motion.base(self.state)
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
        self._motion.base(self.state)
        return faults.ROBOT_WATCHDOG if mode == codec.REFLEX and self.state["reasons"][_LOST] else MODES[mode][1]

    def _runs(self) -> bool:
        """Whether the robot runs a motion of the requested kind."""
        return int(self.state["mode"]) == codec.MOVING and int(self.state["generator"]) == self._motion.shown

    def _begin(self, runs: bool) -> int:
        """Wait for the requested motion, and for its first command; 0 or a fault code."""
        self._motion.base(self.state)
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
        if clock.now() - self._requested_at > _START or self._link.broken:
            self._phase = STANDING
            return faults.ROBOT_PROGRAM
        return faults.NONE

    def _rival(self) -> int:
        # The identity of the robot must be clear before it moves; once it moves, another sender must not be able to stop it.
        return faults.ROBOT_RIVAL if self._link.states.rival is not None and self._phase == STANDING else faults.NONE

    def send(self, X_WB_cmd: Any) -> int:
        """Answer the state: move to this pose, as far as the bounds allow; 0 or a fault code. On a fault of the joints nothing
        is sent."""
        if self._answered:
            return faults.ROBOT_LINE
        frames.copy(X_WB_cmd, self._twin)
        if not (np.isfinite(self._twin["p"]).all() and np.isfinite(self._twin["q"]).all()):
            self.hold()
            return faults.ROBOT_NOT_SENDABLE
        if self._phase != FOLLOWING:
            return self._request_motion()
        frames.to_robot(self._X_WR, self._twin, self._X_TB, self._wanted)
        if code := self._motion.advance(self._wanted):
            return code
        if not self._reply(finished=False):
            return faults.ROBOT_LINE
        self.limited += self._motion.far
        self.smoothed += self._motion.bent
        return faults.ROBOT_LIMITED if self._motion.far else faults.NONE

    def send_joints(self) -> int:
        """Answer the state with the angles in `joints.next`, a step of a soft stop, as far as the joints' jerk allows; 0 or a
        fault code."""
        assert isinstance(self._motion, AngleMotion)
        if self._answered or self._phase != FOLLOWING:
            return self.hold()
        self._motion.brake()
        return faults.NONE if self._reply(finished=False) else faults.ROBOT_LINE

    def _request_motion(self) -> int:
        """Request a motion, or wait for it; one that is about to end is ended first."""
        if self._phase == ENDING:
            return faults.NONE if self._reply(finished=True) else faults.ROBOT_LINE
        if self._phase == STARTING:
            return self._greet()
        self._answered = True
        if self._upset:
            return faults.ROBOT_LINE
        self._move, self._requested_at = self._link.next_number(), clock.now()
        controller = CONTROLLERS[self.settings.controller]
        if not self._link.send(codec.move_request(self._move, controller, self._motion.generator)):
            return faults.ROBOT_LINE
        self._phase, self._greeted = STARTING, False
        return faults.NONE

    def _greet(self) -> int:
        """Answer a motion that has just begun with the robot's own set-point; before it begins there is nothing to answer."""
        self._answered = True
        if not self._runs():
            return faults.NONE
        self._motion.repeat()
        self._greeted = self._reply(finished=False)
        return faults.NONE if self._greeted else faults.ROBOT_LINE

    def hold(self) -> int:
        """Answer the state without a new set-point: reduce the speed, then end the motion; 0 or a fault code."""
        if self._answered:
            return faults.ROBOT_LINE
        if self._phase == STANDING:  # it stands still by itself
            self._answered = True
            return faults.NONE
        if self._phase == STARTING:
            return self._greet()
        finished = self._motion.slow_down() or self._phase == ENDING
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
        """Send one command per state; it becomes the set-point if it was sent."""
        self._answered = True
        if finished:
            self._motion.repeat()
        if not self._link.states.send(self._motion.write(self._command, int(self.state["message_id"]), finished)):
            return False
        self._motion.took()
        return True
