"""Where the loop of docking loses time: two bodies with symplectic Euler steps, set-points without a lead.

With two robots both have the delay of the slower one, and the robot that is not the clock gets its set-points in time.
"""

from typing import Any

from hilt.metrics import delays
from hilt.systems.docking.docking import Docking


def table(scenario: Docking) -> dict[str, float]:
    pairing = scenario.pairing
    ahead = 0.0 if pairing is None else pairing.delay - max(pairing.lags.values())
    robot = delays.robot(scenario.with_one_robot)
    robot["robot_dead_time"] -= ahead
    found = {**delays.until_the_body(scenario), **delays.held("euler", scenario), **robot}
    return found if pairing is None else {**found, "other_robot": ahead}


def measured(result: Any) -> list[tuple[str, str]]:
    """Measured phase of the other robot's clock relative to the loop, and its drift."""
    pairing = result.scenario.pairing
    return [] if pairing is None else delays.phase(result.rows, pairing)
