"""The loop's delay table: how late the mock-up responds to a force, and where that time is lost.

Each value is the delay at low frequency: a push of impulse J at time t_c leaves the mock-up on the line x = J/m (t - t_c - τ),
with τ the sum. This holds for a contact that is slow compared with each part.
"""

from typing import Any

import numpy as np

from hilt.core.pairing import Pairing
from hilt.core.system import System
from hilt.dynamics.integrators import EXTRA_DELAY

WORDS = {
    "sensor": "sensor, delay, age of its samples and low-pass",
    "filter": "force filter",
    "tool": "accelerations for the tool's inertia forces",
    "integrator": "force held over a tick, integrator",
    "robot_dead_time": "robot, dead time",
    "robot_response": "robot, response 2ζ/ω_n",
    "other_robot": "set-points for the robot that is not the clock",
    "lead": "lead of the set-point",
    "whole": "whole loop",
}


def table(system: System, scenario: Any) -> dict[str, float]:
    """Every delay of the loop by name, and the total, in seconds; empty for a system without such a table."""
    own = system.part("views.delays")
    if own is None:
        return {}
    parts: dict[str, float] = own.table(scenario)
    return {**parts, "whole": sum(parts.values())}


def until_the_body(scenario: Any) -> dict[str, float]:
    """Delays from the contact to the force that moves the body."""
    return {
        "sensor": scenario.sensor.lateness + scenario.sensor.lag(scenario.loop.period),
        "filter": scenario.force_filter.delay,
    }


def tool(scenario: Any, until_body: dict[str, float]) -> dict[str, float]:
    """Delay of subtracting the tool's inertia forces: they lag behind the force that they are subtracted from."""
    if scenario.tool is None:
        return {}
    return {
        "tool": scenario.tool.mass / scenario.body.mass * (scenario.tool.smooth - until_body["sensor"] - until_body["filter"])
    }


def held(integrator: str, scenario: Any) -> dict[str, float]:
    """Delay of holding the force over a tick and of the integrator."""
    return {"integrator": EXTRA_DELAY[integrator] * scenario.loop.period}


def robot(scenario: Any) -> dict[str, float]:
    """Delays of the robot: dead time, and the lag of its response."""
    own = scenario.robot_lag
    dead = scenario.robot.pure(own)
    return {"robot_dead_time": dead, "robot_response": own - dead}


def lead(scenario: Any) -> dict[str, float]:
    """Time recovered by set-points ahead of the body, as a negative delay."""
    ahead = scenario.robot.delay if scenario.robot.lead else 0.0
    return {"lead": -ahead} if ahead > 0.0 else {}


def phase(rows: np.ndarray, pairing: Pairing) -> list[tuple[str, str]]:
    """Phase of the other robot's clock relative to the loop's in a run, and its drift, in words."""
    if len(rows) < 3:
        return []
    t = rows["t"]
    unwrapped = np.unwrap(rows["clock_phase"], period=pairing.cycle)
    drift, first = np.polyfit(t - t[0], unwrapped, 1)
    ends = (1e3 * (value % pairing.cycle) for value in (first, first + drift * (t[-1] - t[0])))
    begin, end = (f"{value:.3g} ms" for value in ends)
    words = f"of the robot {pairing.other}, whose cycle is {1e3 * pairing.cycle:g} ms; no delay: it is compensated"
    return [(f"phase of the clock {words}", f"{begin} at the start, {end} at the end, {1e6 * drift:+.1f} ppm")]
