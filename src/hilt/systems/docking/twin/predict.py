"""Step 8: the twin, run ahead of the robot by exactly the robot's dead time.

    v½ = v + ½ h a;   x += h v½;   a = -f̂(x, v½) e/m;   v = v½ + ½ h a            velocity Verlet, order 2

The robot's reference and its derivatives in real time, with virtual time running at β:
    r = x,   ṙ = β v,   r̈ = β² a + β̇ v,   r⃛ = β³ j + 3 β β̇ a
"""

from typing import Any, NamedTuple

from hilt.compiled import jit, jit_apart
from hilt.systems.docking.twin import model


class Ahead(NamedTuple):
    """The twin along the normal after `horizon` of virtual time, and the clock then."""

    horizon: float
    rate: float  # β
    slope: float  # β̇
    x: float
    v: float
    a: float


class Motion(NamedTuple):
    """Reference of the robot and its derivatives in real time: scalars along the normal, or vectors."""

    r: Any
    dr: Any
    ddr: Any
    dddr: Any


@jit
def acceleration(frame, mass, x, v):
    return -frame.e * model.force(frame, x, v) / mass


@jit
def ahead(frame, mass, x, v, horizon, steps):
    """(x, v, a) of the twin after `horizon` of virtual time."""
    if (x + v * horizon - frame.surface) * frame.e <= 0.0 and (x - frame.surface) * frame.e <= 0.0:
        return x + v * horizon, v, 0.0  # no frame is known
    h = horizon / steps
    a = acceleration(frame, mass, x, v)
    for _ in range(steps):
        v += 0.5 * h * a
        x += h * v
        a = acceleration(frame, mass, x, v)
        v += 0.5 * h * a
    return x, v, a


@jit
def clock_ahead(rate, slope, aim, time):
    """Virtual time that passes in `time`, and β and β̇ afterwards; the clock continues towards its target."""
    if slope == 0.0:
        return rate * time, rate, 0.0
    ramp = (aim - rate) / slope
    if ramp <= 0.0:
        return rate * time, rate, 0.0
    if time < ramp:
        return (rate + 0.5 * slope * time) * time, rate + slope * time, slope
    return aim * time - 0.5 * (aim - rate) * ramp, aim, 0.0


@jit_apart
def foresee(frame, mass, start, aim, time, steps):
    """The twin at real time `time` after `start`; the clock moves towards `aim`."""
    further, rate, slope = clock_ahead(start.rate, start.slope, aim, time)
    x, v, a = ahead(frame, mass, start.x, start.v, further, steps)
    return Ahead(start.horizon + further, rate, slope, x, v, a)


@jit
def in_real_time(frame, mass, there):
    """The motion along the normal, in real time."""
    rate, slope = there.rate, there.slope
    jerk = -frame.e * model.force_rate(frame, there.x, there.v, there.a) / mass
    ddr = rate * rate * there.a + slope * there.v
    return Motion(there.x, rate * there.v, ddr, rate * rate * rate * jerk + 3.0 * rate * slope * there.a)
