"""By how much the robot's set-point is off the loop's, and the gentle way back: nothing is ever made up for in one step.

It begins with the rest of the way to where the scenario starts, and grows by every step that came too late for its cycle.
"""

import math
from typing import Any

import numpy as np

from hilt.maths import so3

BLEND = 0.3  # s in which most of it is made up for


class Behind:
    """`away` in metres and `turned` in radians, both in W."""

    def __init__(self, cycle: float) -> None:
        self.away, self.turned = np.zeros(3), np.zeros(3)
        self._keep = math.exp(-cycle / BLEND)

    def start(self, away: Any = 0.0) -> None:
        self.away[:], self.turned[:] = away, 0.0

    def lose(self, wanted: Any, heard: Any) -> None:
        """The robot has not gone to `wanted`, it has stayed at `heard`."""
        self.away += heard["p"] - wanted["p"]
        self.turned += so3.between(tuple(wanted["q"]), tuple(heard["q"]))

    def take(self, pose: Any) -> None:
        """From the loop's set-point to the one that is sent; the next one will be closer."""
        pose["p"] += self.away
        pose["q"] = so3.multiply(so3.exp(tuple(self.turned)), tuple(pose["q"]))
        self.away *= self._keep
        self.turned *= self._keep
