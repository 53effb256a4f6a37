"""Where a robot must stand before it is armed, and the straight way there, from rest to rest."""

import math
from typing import Any

from hilt.core.faults import InputError
from hilt.device.rigfile import RigLimits
from hilt.maths import so3
from hilt.maths.quintic import PEAK_ACCELERATION, PEAK_SPEED, quintic

TURN_TOLERANCE = 1e-3  # [rad]
SHARE = 0.5  # of the rig's limits, on the way to the start
PEAK_JERK = 60.0  # of a quintic from 0 to 1, at its ends


def check_near(here: Any, there: Any, allowed: float, name: str, advice: str) -> None:
    """Refuse a robot that stands too far from a pose."""
    apart, turned = math.dist(here["p"], there["p"]), math.hypot(*so3.between(tuple(here["q"]), tuple(there["q"])))
    if apart > allowed or turned > TURN_TOLERANCE:
        raise InputError(
            f"the robot stands {1e3 * apart:.3g} mm and {turned:.2g} rad from {name}; allowed are "
            f"{1e3 * allowed:g} mm and {TURN_TOLERANCE:g} rad; {advice}"
        )


class StraightWay:
    """`ticks` set-points, a cycle apart, within a speed [m/s] and a share of the other limits."""

    def __init__(self, begin: Any, end: Any, cycle: float, limits: RigLimits, speed: float) -> None:
        self._begin = begin.copy()
        self._way = end["p"] - begin["p"]
        self._turn = so3.between(tuple(begin["q"]), tuple(end["q"]))
        way, turn = math.hypot(*self._way), math.hypot(*self._turn)
        slowest = max(
            PEAK_SPEED * max(way / speed, turn / (SHARE * limits.angular_speed)),
            math.sqrt(PEAK_ACCELERATION / SHARE * max(way / limits.acceleration, turn / limits.angular_acceleration)),
            math.cbrt(PEAK_JERK / SHARE * way / limits.jerk),
        )
        self.ticks = max(1, math.ceil(slowest / cycle))

    def at(self, tick: int, pose: Any) -> None:
        """Write set-point 1 to `ticks`."""
        share = quintic(tick / self.ticks)[0]
        pose["p"] = self._begin["p"] + share * self._way
        pose["q"] = so3.multiply(so3.exp(tuple(share * part for part in self._turn)), tuple(self._begin["q"]))
