"""The loop's delay table: how late the mock-up answers a force, and where that time is lost.

Each figure is the delay at low frequency: a push of impulse J at time t_c leaves the mock-up on the line x = J/m (t - t_c - τ),
with τ the sum. This is what a contact feels as long as it is slow beside each part.
"""

from typing import Any

from hilt.dynamics.integrators import EXTRA_DELAY
from hilt.sense.filter import LowPass

WORDS = {
    "sensor": "sensor, delay, age of its samples and low-pass",
    "filter": "force filter",
    "tool": "accelerations that take off the tool's inertia forces",
    "integrator": "force held over a tick, integrator",
    "robot_dead_time": "robot, dead time",
    "robot_response": "robot, response 2ζ/ω_n",
    "lead": "lead of the set-point",
    "whole": "whole loop",
}


def table(scenario: Any) -> dict[str, float]:
    """Every delay of the loop by name, and the whole, in seconds; nothing for a system whose loop is of another kind."""
    if not isinstance(getattr(scenario, "force_filter", None), LowPass):
        return {}
    robot, own, period = scenario.robot, scenario.robot_lag, scenario.loop.period
    dead = robot.pure(own)
    parts = {"sensor": scenario.sensor.lateness + scenario.sensor.lag(period), "filter": scenario.force_filter.delay}
    if scenario.system == "docking":  # its two bodies take Euler's symplectic step, and its set-points do not lead
        parts["integrator"] = EXTRA_DELAY["euler"] * period
        led = 0.0
    else:
        if scenario.tool is not None:
            late = scenario.tool.smooth - parts["sensor"] - parts["filter"]
            parts["tool"] = scenario.tool.mass / scenario.body.mass * late
        parts["integrator"] = EXTRA_DELAY[scenario.integrator.kind] * period
        led = robot.delay if robot.lead else 0.0
    parts |= {"robot_dead_time": dead, "robot_response": own - dead}
    if led > 0:
        parts["lead"] = -led
    return {**parts, "whole": sum(parts.values())}
