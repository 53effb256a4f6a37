"""The joints of an emulated robot: it takes angles, checks them against the limits of its URDF, and reports angles.

A robot's lag is emulated for the pose of the tool (device/arm.py), so the measured angles are those of that pose, followed from
one cycle to the next: the arm's posture never changes.
"""

from typing import Any

import numpy as np

from hilt.core.faults import InputError
from hilt.device.joints.settings import JointSettings
from hilt.device.joints.space import EXACT, JointSpace

_ROUNDED = 1.0 + 1e-3  # of a speed: angles are rounded to the digits of their packet


class EmulatedJoints:
    """Joints whose limits are the URDF's, even where the rig file has tighter ones."""

    def __init__(self, settings: JointSettings, cycle: float, X_RT: Any) -> None:
        own = settings.model_copy(update={"margin": 0.0, "speed": None})
        self._cycle, self._set, self._measured = cycle, JointSpace(own, cycle), JointSpace(own, cycle)
        left = self._set.find(X_RT)
        if not left <= EXACT or not self._inside(self._set.last):
            where = ", ".join(f"{part:.3g}" for part in X_RT["p"])
            raise InputError(
                f"the emulated arm cannot reach the start of the scenario, its tool at {where} m in its base; "
                "move the robot (X_WR), or give another posture"
            )
        self.begin(X_RT)

    def _inside(self, q: Any) -> bool:
        return bool(((self._set.lower <= q) & (q <= self._set.upper)).all())

    def begin(self, X_RT: Any) -> None:
        """Begin with the tool's set-point at a pose near the last one; the pose becomes exactly that of the angles."""
        self._set.find(X_RT, self._set.last)
        self._set.pose(self._set.last, X_RT)
        self._measured.start(self._set.last)

    @property
    def target(self) -> Any:
        """The set-point [rad]."""
        return self._set.last

    def actual(self, X_RT: Any) -> Any:
        """The angles [rad] of a pose of the tool, from those of the last call."""
        self._measured.find(X_RT, self._measured.last)
        return self._measured.last

    @property
    def speed_limits(self) -> Any:
        return self._set.speed_limits

    def outside(self, angles: Any) -> str:
        """Name the joint that is sent beyond its limits; empty if there is none."""
        out = (angles < self._set.lower) | (angles > self._set.upper)
        joint = int(np.argmax(out))
        return f"joint {joint + 1} is sent to {angles[joint]:.4g} rad, beyond its limits" if out.any() else ""

    def hear(self, q: Any, cycles: int, X_RT: Any) -> str:
        """Take angles as the set-point, `cycles` after the last ones, and write the tool's pose; returns what is wrong."""
        angles = np.asarray(q, float)
        if not np.isfinite(angles).all():
            return "angles that are not finite"
        fast = np.abs(angles - self._set.last) / (self._cycle * cycles)
        over = fast > self._set.speed_limits * _ROUNDED
        if why := self.outside(angles):
            return why
        if over.any():
            joint = int(np.argmax(over))
            return f"joint {joint + 1} is sent at {fast[joint]:.3g} rad/s, beyond {self._set.speed_limits[joint]:.3g} rad/s"
        self.take(angles, X_RT)
        return ""

    def take(self, angles: Any, X_RT: Any) -> None:
        """Make these angles the set-point, and write the tool's pose."""
        self._set.start(angles)
        self._set.pose(angles, X_RT)
