"""The tip of a robot that bends: a mass on a spring and damper, not seen by the robot's encoders.

    m_t ẍ = K_f (x_m - x) + C_f (ẋ_m - ẋ) - F(x, ẋ),      m_t = K_f/ω_f²,  C_f = 2ζ_f ω_f m_t

x_m is the tip position according to the encoders; all along the normal of the frames. Between two samples x_m is the cubic
through both positions and velocities. Integrated with fourth-order Runge-Kutta, in steps short compared with the fastest
oscillation of the tip in contact.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

from hilt.compiled import jit

STEP = 0.05  # of 1/ω
MOST_STEPS = 200  # per tick


@dataclass(frozen=True)
class Bending:
    """One mode."""

    stiffness: float  # K_f, N/m
    frequency: float  # ω_f, rad/s
    damping_ratio: float  # ζ_f

    @property
    def mass(self) -> float:
        return self.stiffness / self.frequency**2


class Drive(NamedTuple):
    """Motion of the tip according to the encoders, over one tick."""

    before: float
    v_before: float
    after: float
    v_after: float


@jit
def driven(drive, s, dt):
    """(x_m, ẋ_m) at the fraction s of the tick."""
    x0, v0, x1, v1 = drive
    d, h = x1 - x0, dt
    a, b = 3.0 * d - h * (2.0 * v0 + v1), h * (v0 + v1) - 2.0 * d
    return x0 + s * (h * v0 + s * (a + s * b)), v0 + s * (2.0 * a + 3.0 * s * b) / h


def steps_of(bending: Bending, contact_stiffness: float, dt: float) -> int:
    """Number of steps in a tick."""
    fastest = bending.frequency * math.sqrt(1.0 + contact_stiffness / bending.stiffness)
    return max(1, math.ceil(min(fastest * dt / STEP, 1e9)))
