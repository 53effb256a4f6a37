"""Where the loop of docking loses time: two bodies with Euler's symplectic step, set-points that do not lead.

With two robots both have the slower one's delay, and the robot that is not the clock gets its set-points in time.
"""

from typing import Any

import numpy as np

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
    """Of a run: the phase of the other robot's clock to the loop's, and how fast it drifts."""
    pairing, rows = result.scenario.pairing, result.rows
    if pairing is None or len(rows) < 3:
        return []
    t = rows["t"]
    phase = np.unwrap(rows["clock_phase"], period=pairing.cycle)
    drift, first = np.polyfit(t - t[0], phase, 1)
    ends = (1e3 * (value % pairing.cycle) for value in (first, first + drift * (t[-1] - t[0])))
    begin, end = (f"{value:.3g} ms" for value in ends)
    words = f"of the robot {pairing.other}, whose cycle is {1e3 * pairing.cycle:g} ms; no delay: it is made up for"
    return [(f"phase of the clock {words}", f"{begin} at the start, {end} at the end, {1e6 * drift:+.1f} ppm")]
