"""A motion of a Franka robot by joint angles, computed from the poses of its tool with the arm's URDF.

    pose ──► limit of a step ──► inverse kinematics ──► acceleration and jerk of the joints ──► their limits ──► command

Measured poses are computed from a state's angles with the URDF; the controller's own tool pose is only compared, once.
"""

import math
from typing import Any

import numpy as np

from hilt.device import frames
from hilt.device.fci import codec, joint_shape, shape
from hilt.device.fci.settings import FciJoints, FciSettings
from hilt.device.joints.space import JointSpace

_STILL = np.zeros(codec.JOINTS)
_SAME = 3e-7  # [rad]: rounding of a commanded angle in the state, which has 32 bits


class AngleMotion:
    """A motion by joint angles. `joints` is shared with the driver: `next` is the command to send, `last` the robot's."""

    generator, shown = codec.JOINT_POSITION, codec.JOINT_GENERATOR

    def __init__(self, settings: FciSettings, joints: JointSpace) -> None:
        self.joints, self._settings, self.bounds = joints, settings, np.zeros(1, joint_shape.BOUNDS)[0]
        own = joints.settings
        assert isinstance(own, FciJoints)
        self.bounds["joints"], self.bounds["acceleration"], self.bounds["jerk"] = joints.joints, own.acceleration, own.jerk
        joints.cycle = codec.CYCLE
        joints.coast(2.0 * own.acceleration / own.jerk)
        self.reported = frames.identity()  # the tool's pose as reported in the newest state
        self.sent, self._target, self._change = (frames.identity() for _ in range(3))
        self.far = self.bent = False
        self._follows = False  # whether the next command follows the set-points
        # Of the last command and of the next one: a refused command must not change the former.
        self._x, self._y = np.zeros(1, joint_shape.MOTION)[0], np.zeros(1, joint_shape.MOTION)[0]
        self._keep = math.exp(-codec.CYCLE / shape.BLEND)
        self._difference = np.zeros(codec.JOINTS)
        self._warm_up()

    def _warm_up(self) -> None:
        """Compile everything before the first state, which must be answered within a cycle."""
        state, X = np.zeros(1, codec.READ_STATE)[0], frames.identity()
        codec.decode_state(bytes(codec.OutgoingState().data), state)
        state["q"] = state["q_d"] = self.joints.settings.posture
        self.see(state)
        self.resync(state)
        frames.copy(self.sent, X)
        self.advance(X)
        self.slow_down()
        self.brake()
        self.write(codec.OutgoingCommand(), 0, False)
        self.was_taken(state)
        self.base(state)
        self.joints.forget()

    def see(self, state: Any) -> None:
        frames.copy(state["X_actual"], self.reported)
        self.joints.pose(state["q"], state["X_actual"])

    def base(self, state: Any) -> None:
        self._begin(state)
        joint_shape.set_out(self._x, self.bounds, _STILL, _STILL, 0)

    def resync(self, state: Any) -> None:
        self._begin(state)
        self.joints.speed[:] = state["dq_d"]
        joint_shape.set_out(self._x, self.bounds, state["dq_d"], state["ddq_d"], 1)

    def _begin(self, state: Any) -> None:
        self.joints.start(state["q_d"])
        self.joints.pose(state["q_d"], self.sent)
        frames.copy(self.sent, self._target)

    def was_taken(self, state: Any) -> bool:
        np.subtract(state["q_d"], self.joints.last, out=self._difference)
        return float(np.abs(self._difference, out=self._difference).max()) <= _SAME

    def advance(self, X_RT: Any) -> int:
        """Joint limits are faults; what acceleration and jerk do not allow at once is made up for later."""
        settings, joints, self._follows = self._settings, self.joints, True
        if self._x["resync"]:  # whatever the set-point: its present motion goes on first
            frames.copy(X_RT, self._target)
        self.far = bool(
            frames.correct(self._target, self._target, X_RT, settings.step_limit, settings.turn_limit, self._change)
        )
        frames.apply(self._target, self._change, self._target)
        if code := joints.aim(self._target):
            return code
        self.bent = bool(joint_shape.advance(self._x, self._y, self.bounds, joints.last, joints.next, self._keep, codec.CYCLE))
        joints.speed[:] = self._x["v"]  # the arm goes on when a command is lost, whatever `joints` assumes
        return joints.check()

    def slow_down(self) -> bool:
        """Slow down as fast as the joints may; a soft stop uses `brake`."""
        self.joints.next[:] = self.joints.last
        return self.brake()

    def brake(self) -> bool:
        """Go to the angles in `joints.next`, a step of a stop; returns whether the arm is then at rest."""
        self.far = self.bent = self._follows = False
        joints = self.joints
        return bool(joint_shape.brake(self._x, self._y, self.bounds, joints.last, joints.next, codec.CYCLE))

    def repeat(self) -> None:
        self.joints.next[:] = self.joints.last
        self.far = self.bent = self._follows = False
        joint_shape.set_out(self._y, self.bounds, _STILL, _STILL, 0)

    def write(self, command: codec.OutgoingCommand, number: int, finished: bool) -> bytearray:
        return command.write_angles(number, self.joints.next, finished)

    def took(self) -> None:
        joints = self.joints
        joints.record_sent(joints.next)
        joints.pose(joints.last, self.sent)
        if not self._follows:
            frames.copy(self.sent, self._target)
        self._x, self._y = self._y, self._x
