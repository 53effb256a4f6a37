"""Where the loop of docking loses time: two bodies with Euler's symplectic step, set-points that do not lead."""

from hilt.metrics import delays
from hilt.systems.docking.docking import Docking


def table(scenario: Docking) -> dict[str, float]:
    return {**delays.until_the_body(scenario), **delays.held("euler", scenario), **delays.robot(scenario)}
