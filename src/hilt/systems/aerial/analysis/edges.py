"""The edges of `aerial`: the stiffest hand for which the loop is stable, and what moves that limit.

The closed form is that of hand_limit.py, exact for the linear loop of one axis. It leaves out the damping that the guard at the
port adds once it has seen energy come back, the limits of the arm, the task's changes of gains, and a hand that holds still:
an instability that nothing excites does not grow within a run, so a simulated edge is above it or not found at all.
"""

import math

from hilt.sweeps.beyond import Limit
from hilt.sweeps.edges import Form, Vital, around
from hilt.systems.aerial.aerial import Aerial
from hilt.systems.aerial.metrics import hand_limit


def limits(scenario: Aerial) -> tuple[Limit, ...]:
    return (Limit("diverged"),)


def goals(scenario: Aerial) -> tuple[Limit, ...]:
    """The scenario's own goals."""
    goal = scenario.goal
    return (
        Limit("human_port_energy_min_J", -goal.port_energy, below=True),
        Limit("late_force_N", goal.late_force),
        Limit("base_displacement_m", goal.displacement),
    )


def forms(scenario: Aerial, limit: Limit) -> list[Form]:
    if limit.metric not in ("diverged", "late_force_N") or limit.below:
        return []

    def height(each: Aerial) -> float:
        most = hand_limit(each)
        return each.hand.stiffness - most if math.isfinite(most) else -1.0

    return [
        Form(
            "stiffest hand",
            "1 + (k + r d) G = 0",
            "the guard's added damping, the arm's limits, and a hand that does not move",
            height,
        )
    ]


def vital(scenario: Aerial) -> list[Vital]:
    found = [
        around("hand.stiffness", scenario.hand.stiffness, most=10_000.0),
        around("force_filter.bandwidth", scenario.force_filter.bandwidth, chosen=True),
        around("servo.delay", scenario.servo.delay, most=0.1),
    ]
    if scenario.servo.kind == "lag":
        found.append(around("servo.lag", scenario.servo.lag, most=0.2))
    return found


def metrics(scenario: Aerial) -> list[str]:
    return ["late_force_N", "peak_force_N"]
