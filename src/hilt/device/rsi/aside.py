"""An external push on an emulated robot: its encoders show it, its set-points do not."""

from typing import Any

import numpy as np

from hilt.core import clock
from hilt.maths import so3

Push = tuple[float, ...]  # displacement [m] and turn [rad] in the robot's base, and the duration [s]
NO_PUSH: Push = (0.0,) * 7


def push(text: str) -> Push:
    parts = tuple(float(part) for part in text.split(","))
    if len(parts) != 7 or not all(np.isfinite(parts)) or parts[6] < 0.0:
        raise ValueError("seven numbers x,y,z,rx,ry,rz,seconds in m, rad and s")
    return parts


class Aside:
    """The present displacement, linear in time from the previous push to the new one."""

    def __init__(self) -> None:
        self._from, self._to, self._begin, self._time = np.zeros(6), np.zeros(6), 0.0, 0.0

    def push(self, push: Push) -> None:
        now = clock.now()
        self._from, self._to, self._begin, self._time = self._at(now), np.array(push[:6]), now, push[6]

    def _at(self, t: float) -> np.ndarray:
        share = min(max((t - self._begin) / self._time, 0.0), 1.0) if self._time > 0.0 else 1.0
        return self._from + share * (self._to - self._from)

    def at(self, t: float, p: Any, q: Any) -> tuple[Any, Any]:
        """Return a pose with the push added."""
        aside = self._at(t)
        if not aside.any():
            return p, q
        return p + aside[:3], so3.multiply(so3.exp((aside[3], aside[4], aside[5])), tuple(float(part) for part in q))
