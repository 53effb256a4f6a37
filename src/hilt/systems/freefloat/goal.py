"""Criteria for a run of `freefloat`: the energy that the loop made or lost, and the accuracy of the motion."""

from typing import Any

from pydantic import Field

from hilt.core.scenario import Section
from hilt.core.units import Metre, Share
from hilt.core.verdict import DIVERGED_ENERGY, Verdict, against_goal, at_most, percent


class Goal(Section):
    """A free body gains and loses only the work of the world on it, and moves as its equations say.

    5 % of energy is 2.5 % of speed: about what a force sensor of 1 % and a robot of some milliseconds allow in free motion.
    1 mm is the accuracy of industrial robots over their workspace: a larger drift of the integration shows on them.
    """

    energy: Share = Field(
        default=0.05, gt=0, le=0.5, description="energy made or lost by the loop / largest energy of the body"
    )
    drift: Metre = Field(default=0.001, gt=0, description="largest distance from the exact motion under the measured force")


def judge(result: Any) -> Verdict:
    metrics, goal = result.metrics, result.scenario.goal
    made, drift = metrics["energy_made"], metrics["position_error_m"]
    did = "made" if made > 0 else "lost"
    energy = f"the loop {did} {percent(abs(made))} of the body's energy (goal {percent(goal.energy)})"
    away = f"drift {1e3 * drift:.2f} mm (goal {1e3 * goal.drift:.3g} mm)"
    figures = (
        at_most("energy_made", abs(made), goal.energy, energy, "energy made", percent(made)),
        at_most("position_error_m", drift, goal.drift, away, "drift", f"{1e3 * drift:.2f} mm"),
    )
    if made > DIVERGED_ENERGY:
        grown = f"{percent(made)} of the body's energy came from the loop itself and not from the world"
        return Verdict("diverged", f"Diverged: the loop made energy; {grown}.", figures)
    if result.scenario.wall is not None and not result.scenario.push and not metrics["rebound_gain"]:
        return Verdict("no contact", "No contact: the body left no wall before the run ended; lengthen loop.duration.", figures)
    return against_goal(figures)
