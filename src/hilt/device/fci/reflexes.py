"""How an emulated Franka robot checks commands: speed, acceleration and jerk of its motion generator.

A command beyond a limit triggers a reflex. A cycle without a command goes on with the last acceleration.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from hilt.device.fci.settings import (
    ACCELERATION,
    JERK,
    JOINT_ACCELERATION,
    JOINT_JERK,
    SPEED,
    TURN_ACCELERATION,
    TURN_JERK,
    TURN_SPEED,
)

ERRORS = ("velocity_limits_violation", "velocity_discontinuity", "acceleration_discontinuity")
_ROUNDING = 1e-6  # relative


class Reflexes:
    """Checks commands; `rates` are velocity and acceleration of the set-point, along `axes` axes."""

    def __init__(self, generator: str, axes: int, sizes: Callable[[Any], Any], limits: Any) -> None:
        """`limits` has a row for each of speed, acceleration and jerk, to be compared with the `sizes` of a rate."""
        self.rates = np.zeros((2, axes))
        self._generator, self._sizes, self._limits = generator, sizes, np.asarray(limits)

    def begin(self) -> None:
        """Begin at rest."""
        self.rates[...] = 0.0

    def check(self, step: Any, dt: float) -> list[str]:
        """Return the errors of a command, from its step since the last one; its velocity and acceleration are kept."""
        velocity = np.asarray(step) / dt
        acceleration = (velocity - self.rates[0]) / dt
        jerk = (acceleration - self.rates[1]) / dt
        self.rates[0], self.rates[1] = velocity, acceleration
        return [
            f"{self._generator}_{error}"
            for rate, error, most in zip((velocity, acceleration, jerk), ERRORS, self._limits, strict=True)
            if (self._sizes(rate) > most * (1.0 + _ROUNDING)).any()
        ]

    def coast(self, dt: float) -> Any:
        """Return the step of a cycle without a command."""
        self.rates[0] += dt * self.rates[1]
        return dt * self.rates[0]


def _place_and_turn(rate: Any) -> Any:
    return np.array([np.linalg.norm(rate[:3]), np.linalg.norm(rate[3:])])


def of_poses() -> Reflexes:
    """Check the tool's translation and rotation, each by its magnitude."""
    limits = ((SPEED, TURN_SPEED), (ACCELERATION, TURN_ACCELERATION), (JERK, TURN_JERK))
    return Reflexes("cartesian_motion_generator", 6, _place_and_turn, limits)


def of_joints(speeds: Any) -> Reflexes:
    """Check each joint separately; the speed limits are those of the URDF."""
    n = len(speeds)
    return Reflexes("joint_motion_generator", n, np.abs, (speeds, (JOINT_ACCELERATION,) * n, (JOINT_JERK,) * n))
