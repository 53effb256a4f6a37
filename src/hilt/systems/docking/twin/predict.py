"""Step 8: the twin, run ahead of the robot by exactly its dead time.

    v½ = v + ½ h a;   x += h v½;   a = -f̂(x, v½) e/m;   v = v½ + ½ h a            velocity Verlet, order 2

The robot's reference and its derivatives in real time, with virtual time running at β:
    r = x,   ṙ = β v,   r̈ = β² a + β̇ v,   r⃛ = β³ j + 3 β β̇ a
"""

from hilt.compiled import jit
from hilt.systems.docking.twin import model


@jit
def acceleration(frame, mass, x, v):
    return -frame.e * model.force(frame, x, v) / mass


@jit
def ahead(frame, mass, x, v, horizon, steps):
    """(x, v, a) of the twin after `horizon` of virtual time."""
    if (x + v * horizon - frame.surface) * frame.e <= 0.0 and (x - frame.surface) * frame.e <= 0.0:
        return x + v * horizon, v, 0.0  # nothing can be met
    h = horizon / steps
    a = acceleration(frame, mass, x, v)
    for _ in range(steps):
        v += 0.5 * h * a
        x += h * v
        a = acceleration(frame, mass, x, v)
        v += 0.5 * h * a
    return x, v, a


@jit
def in_real_time(frame, mass, x, v, a, rate, slope):
    """(r, ṙ, r̈, r⃛)"""
    jerk = -frame.e * model.force_rate(frame, x, v, a) / mass
    return x, rate * v, rate * rate * a + slope * v, rate * rate * rate * jerk + 3.0 * rate * slope * a


@jit
def clock_ahead(rate, slope, aim, time):
    """Virtual time that passes in `time`, and β and β̇ then: the clock goes on to where it is going."""
    if slope == 0.0:
        return rate * time, rate, 0.0
    ramp = (aim - rate) / slope
    if ramp <= 0.0:
        return rate * time, rate, 0.0
    if time < ramp:
        return (rate + 0.5 * slope * time) * time, rate + slope * time, slope
    return aim * time - 0.5 * (aim - rate) * ramp, aim, 0.0
