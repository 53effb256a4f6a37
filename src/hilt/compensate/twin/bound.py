"""What no method can do better: the least CoF of the first touch of an unknown surface.

Nothing can be known of a surface before it is touched. Until t_b later the robot goes on at βv0, then it brakes with at most A:
    CoF_min = max(1, ω (β t_b + β² v0/(2A)))  =  max(1, β ω t_b + β²/(2n))         A = n·v0·ω; pure delay, linear spring
t_b: the robot's delay, the sensor's, and the ticks until the force is above its threshold.
"""

import math
from typing import Any

WITHIN = 0.05  # CoF - 1 that is asked for


def least_cof(omega: float, late: float, ratio: float, clock: float = 1.0) -> float:
    """CoF_min of a contact of frequency ω [rad/s], `late` = t_b [s], n = `ratio`, at the clock β."""
    return max(1.0, clock * omega * late + clock**2 / (2.0 * ratio))


def critical_stiffness(mass: float, late: float, acceleration: float, speed: float, within: float = WITHIN) -> float:
    """Stiffness [N/m] above which real time cannot keep CoF within 1 + `within`, with a robot that brakes with A."""
    omega = (1.0 + within) / (late + speed / (2.0 * acceleration))
    return mass * omega**2


def clock_needed(omega: float, late: float, ratio: float, within: float = 0.0) -> float:
    """Largest β with CoF_min ≤ 1 + `within`."""
    slow = omega * late
    return min(1.0, ratio * (math.sqrt(slow * slow + 2.0 * (1.0 + within) / ratio) - slow))


def lateness(scenario: Any) -> float:
    """t_b of a scenario: whole ticks until the force is felt, at least one; the command answers in that tick."""
    slope = scenario.contact.stiffness * scenario.approach.speed  # N/s
    felt = max(1, math.ceil(scenario.force_threshold / slope / scenario.loop.period - 1e-9)) * scenario.loop.period
    return float(scenario.robot_lag + scenario.force_delay + felt)


def bound_cof(scenario: Any) -> float | None:
    """Least CoF of the scenario's first touch in real time, in closed form; None where there is none yet.

    Not for robots of second order, other contacts than a linear spring, or an oblique one.
    """
    contact = scenario.contact
    if scenario.dof != 1 or "second-order" in scenario.robot.kind or contact.kind != "linear" or contact.damping > 0:
        return None
    omega = math.sqrt(contact.stiffness / scenario.reduced_mass)
    return least_cof(omega, lateness(scenario), scenario.limits.command_acceleration_ratio)
