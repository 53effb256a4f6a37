"""The motions of a Franka robot, as its driver sees them: poses of the tool here, angles of the joints in angles.py.

A motion begins at the set-point in the robot's state; every further command is bounded (shape.py), so that it triggers no
reflex. `sent` is the robot's present set-point, as a pose of its tool in its base.
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
_SAME_PLACE, _SAME_TURN = 1e-7, 3e-7  # [m], [rad]: rounding of a command in the state, which has 32 bits


class Motion(Protocol):
    """A motion. A command is made by `advance`, `slow_down` or `repeat`, then written; call `took` once it was sent."""

    generator: int  # code in a Move request
    shown: int  # code in a state
    sent: Any
    far: bool  # whether the last set-point was further away than a cycle allows
    bent: bool  # whether the command was changed to stay within acceleration and jerk

    def see(self, state: Any) -> None:
        """Complete a state that has just arrived."""

    def base(self, state: Any) -> None:
        """Start at rest at the set-point in the state."""

    def resync(self, state: Any) -> None:
        """Continue from the set-point and motion in the state: the robot is not where it was sent."""

    def was_taken(self, state: Any) -> bool:
        """Whether the state repeats the last command."""

    def advance(self, X_RT: Any) -> int:
        """Make the next command towards a pose of the tool; 0 or a fault code."""

    def slow_down(self) -> bool:
        """Make a command that reduces the speed; returns whether the robot is then at rest."""

    def repeat(self) -> None:
        """Make a command that repeats the last one."""

    def write(self, command: codec.OutgoingCommand, number: int, finished: bool) -> bytearray: ...

    def took(self) -> None:
        """Record that the command was sent: it is now the set-point."""


class PoseMotion:
    """A motion by poses of the tool."""

    generator, shown = codec.CARTESIAN_POSITION, codec.CARTESIAN_GENERATOR

    def __init__(self, settings: FciSettings) -> None:
        self.bounds = bounds_of(settings)
        self.sent, self._now = frames.identity(), frames.identity()
        self.far = self.bent = False
        self._x, self._keep = np.zeros(1, shape.MOTION)[0], math.exp(-codec.CYCLE / shape.BLEND)
        self._warm_up()

    def _warm_up(self) -> None:
        """Compile everything before the first state, which must be answered within a cycle."""
        state = np.zeros(1, codec.READ_STATE)[0]
        codec.decode_state(bytes(codec.OutgoingState().data), state)
        self.resync(state)
        self.advance(state["X_actual"])
        self.advance(frames.identity())
        self.slow_down()
        self.write(codec.OutgoingCommand(), 0, False)
        self.was_taken(state)
        self.base(state)

    def see(self, state: Any) -> None:
        """Does nothing: the state already has the poses."""

    def base(self, state: Any) -> None:
        frames.copy(state["X_commanded"], self.sent)
        shape.set_out(self._x, STILL, STILL, 0)

    def resync(self, state: Any) -> None:
        frames.copy(state["X_commanded"], self.sent)
        shape.set_out(self._x, state["twist"], state["rate"], 1)

    def was_taken(self, state: Any) -> bool:
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
