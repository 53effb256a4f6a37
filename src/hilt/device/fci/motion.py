"""What a motion of a Franka robot is made of, for its driver: poses of the tool here, angles of the joints in angles.py.

A motion begins at what the robot's state gives as commanded; every further command is bounded (shape.py), so that it is no
reflex. `sent` is the set-point that the robot has, as a pose of its tool in its base.
"""

import math
from typing import Any, Protocol

import numpy as np

from hilt.core import faults
from hilt.device import frames
from hilt.device.fci import codec, shape
from hilt.device.fci.settings import FciSettings
from hilt.maths import so3

STILL = np.zeros(6)
_SAME_PLACE, _SAME_TURN = 1e-7, 3e-7  # [m], [rad]: a command as the state repeats it, in 32 bits, within reach of the arm


class Motion(Protocol):
    """One motion at a time. A command is made by `advance`, `slow_down` or `repeat`, written, and `took` once it was sent."""

    generator: int  # of a Move
    shown: int  # the same in a state
    sent: Any
    far: bool  # of the last command: whether its set-point was further away than a cycle allows
    bent: bool  # whether it was bent to stay within acceleration and jerk

    def see(self, state: Any) -> None:
        """Complete a state that has just come."""

    def base(self, state: Any) -> None:
        """The set-point is what the state gives as commanded, at rest."""

    def anew(self, state: Any) -> None:
        """The robot is elsewhere than it was sent: go on from there, as it moves there."""

    def was_heard(self, state: Any) -> bool:
        """Whether the state repeats the last command."""

    def advance(self, X_RT: Any) -> int:
        """The next command towards a pose of the tool; a fault code if there is none."""

    def slow_down(self) -> bool:
        """The next command takes the speed down; whether the robot is at rest with it."""

    def repeat(self) -> None:
        """The next command is the last one."""

    def write(self, command: codec.OutgoingCommand, number: int, finished: bool) -> bytearray: ...

    def took(self) -> None:
        """The command was sent: it is the set-point."""


class PoseMotion:
    """Poses of the tool."""

    generator, shown = codec.CARTESIAN_POSITION, codec.CARTESIAN_GENERATOR

    def __init__(self, settings: FciSettings) -> None:
        self.bounds = bounds_of(settings)
        self.sent, self._now = frames.identity(), frames.identity()
        self.far = self.bent = False
        self._x, self._keep = np.zeros(1, shape.MOTION)[0], math.exp(-codec.CYCLE / shape.BLEND)
        self._warm_up()

    def _warm_up(self) -> None:
        """Compile everything before the first state, which must be answered within a cycle."""
        state = np.zeros(1, codec.HEARD)[0]
        codec.decode_state(bytes(codec.OutgoingState().data), state)
        self.anew(state)
        self.advance(state["X_actual"])
        self.advance(frames.identity())
        self.slow_down()
        self.write(codec.OutgoingCommand(), 0, False)
        self.was_heard(state)
        self.base(state)

    def see(self, state: Any) -> None:
        """It has the poses."""

    def base(self, state: Any) -> None:
        frames.copy(state["X_commanded"], self.sent)
        shape.set_out(self._x, STILL, STILL, 0)

    def anew(self, state: Any) -> None:
        frames.copy(state["X_commanded"], self.sent)
        shape.set_out(self._x, state["twist"], state["rate"], 1)

    def was_heard(self, state: Any) -> bool:
        taken = state["X_commanded"]
        if frames.distance(self.sent, taken) > _SAME_PLACE:
            return False
        turn = so3.between(so3.load(self.sent["q"]), so3.load(taken["q"]))
        return math.hypot(*turn) <= _SAME_TURN

    def advance(self, X_RT: Any) -> int:
        far, bent = shape.advance(self._x, self.bounds, self.sent, X_RT, self._now, self._keep, codec.CYCLE)
        self.far, self.bent = bool(far), bool(bent)
        return faults.NONE

    def slow_down(self) -> bool:
        self.far = self.bent = False
        return bool(shape.slow_down(self._x, self.bounds, self.sent, self._now, codec.CYCLE))

    def repeat(self) -> None:
        self.far = self.bent = False
        frames.copy(self.sent, self._now)

    def write(self, command: codec.OutgoingCommand, number: int, finished: bool) -> bytearray:
        return command.write(number, self._now, finished)

    def took(self) -> None:
        frames.copy(self._now, self.sent)


def bounds_of(settings: FciSettings) -> Any:
    bounds = np.zeros(1, shape.BOUNDS)[0]
    bounds["step"], bounds["turn"] = settings.step_limit, settings.turn_limit
    for name in ("acceleration", "jerk", "angular_acceleration", "angular_jerk"):
        bounds[name] = getattr(settings, name)
    return bounds
