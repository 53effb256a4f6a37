"""Driver of the wrench that a Franka robot estimates from the torques of its joints.

A robot sends its state to one client, and the wrench is part of it: this sensor has no connection of its own but reads the
states of the robot's driver. The bias is subtracted here and not in the robot.
"""

from typing import Any

import numpy as np

from hilt.core import clock, faults
from hilt.device.fci.driver import FciRobot
from hilt.device.fci.settings import FciForceSettings


class FciForce:
    """One sensor; `robot` is open, and its owner closes it."""

    def __init__(self, settings: FciForceSettings, robot: FciRobot) -> None:
        self.settings, self._robot = settings, robot
        self.used = 0
        self._field = settings.frame  # of a state
        self._wrench, self._zero, self._last = np.zeros(6), np.zeros(6), np.zeros(6)
        self._number, self._changed = -1, clock.now()

    def read(self, wrench: Any) -> int:
        """Write the newest wrench; 0 or a fault code. Never blocks."""
        robot = self._robot
        if (number := int(robot.state["message_id"])) != self._number:
            self._number = number
            self.used += 1
            self._wrench[:] = robot.state[self._field]
            if self.settings.reverse:
                self._wrench *= -1.0
            if (self._wrench != self._last).any():
                self._changed = robot.seen
            self._last[:] = self._wrench
        wrench["f"][...] = self._wrench[:3] - self._zero[:3]
        wrench["tau"][...] = self._wrench[3:] - self._zero[3:]
        if clock.now() - robot.seen > self.settings.stale:
            return faults.SENSOR_STALE
        frozen = 0.0 < self.settings.frozen < robot.seen - self._changed
        return faults.SENSOR_FROZEN if frozen else faults.NONE

    @property
    def samples(self) -> int:
        return self._robot.packets

    @property
    def age(self) -> float:
        """Age of the newest sample [s]."""
        return clock.now() - self._robot.seen

    def counters(self) -> dict[str, int]:
        return {"used": self.used}

    def bias(self) -> None:
        """Zero the sensor at its present load. Only on the user's request."""
        self._zero[:] = self._wrench

    def stop(self) -> None:
        """Does nothing: there is no connection."""
