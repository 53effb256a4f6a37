"""Criteria for a run of `payload`: whether the operator sees and feels what the slave arm does."""

import math
from typing import Any

from pydantic import Field

from hilt.core.scenario import Section
from hilt.core.units import Metre, Newton, Second, Share
from hilt.core.verdict import DIVERGED_ENERGY, Figure, Verdict, against_goal, at_most, percent

LEDGER_ROUNDING = 1e-6  # J in the link's ledger: less than this is rounding


class Goal(Section):
    """Which of these apply depends on the run: following if a virtual arm is shown, travel in an outage, the rest for a hand
    that feels the slave arm.

    An operator cannot see differences below 5 mm on a screen; without braking, the payload travels three times 10 cm in the 3 s
    of a dead link at 30 mm/s; a tenth of the force is about the smallest difference that a hand feels; a force that takes over
    5 s to settle is not useful as feedback.
    """

    following: Metre = Field(default=0.005, gt=0, description="largest distance between virtual and slave hand")
    travel: Metre = Field(default=0.1, gt=0, description="distance within which the payload must stop after the link is lost")
    felt: Share = Field(default=0.1, gt=0, le=0.5, description="difference between felt and applied force / applied force")
    felt_least: Newton = Field(default=0.05, gt=0, description="a difference below this is not felt")
    settling: Second = Field(default=5.0, gt=0, description="time until both forces have settled")
    energy: Share = Field(
        default=0.05, gt=0, le=0.5, description="energy made or lost by the table's loop / energy of the pull"
    )


def judge(result: Any) -> Verdict:
    return _bilateral(result) if result.scenario.bilateral_mode else _unilateral(result)


def _bilateral(result: Any) -> Verdict:
    metrics, goal = result.metrics, result.scenario.goal
    if metrics["books_min_J"] < -LEDGER_ROUNDING:
        return Verdict(
            "diverged", f"Diverged: the link made energy; {-metrics['books_min_J']:.3g} J more came out than went in."
        )
    applied, off, settling = abs(metrics["applied_N"]), abs(metrics["felt_minus_applied_N"]), metrics["settling_time_s"]
    if not applied:
        return Verdict("no contact", "No contact: the slave arm applied no force at the end.")
    allowed = max(goal.felt * applied, goal.felt_least)
    settled = f"the forces settled in {settling:.3g} s" if math.isfinite(settling) else "the forces did not settle"
    feels = f"the force felt differs by {off:.2f} N from the {applied:.3g} N applied (goal {allowed:.2g} N)"
    until = f"{settled} (goal {goal.settling:.3g} s)"
    return against_goal(
        (
            at_most("felt_minus_applied_N", off, allowed, feels, "felt off by", f"{off:.2f} N"),
            at_most("settling_time_s", settling, goal.settling, until, "settled in", f"{settling:.3g} s"),
        )
    )


def _unilateral(result: Any) -> Verdict:
    metrics, scenario = result.metrics, result.scenario
    distance = metrics["position_error_m"]
    if math.isinf(metrics["virtual_peak_force_N"]) or math.isnan(metrics["virtual_peak_force_N"]):
        return Verdict("diverged", "Diverged: the virtual arm's equations diverged; shorten loop.period or soften the grip.")
    made = _made(result.ledger)
    if made > DIVERGED_ENERGY:
        return Verdict("diverged", f"Diverged: the table's loop made {percent(made)} of the energy of the pull.")
    figures = [_energy(made, scenario.goal.energy)]
    if scenario.link.outage_duration > 0:
        figures.insert(0, _outage(metrics, scenario.goal.travel))
    elif math.isfinite(distance):
        goal = scenario.goal.following
        words = f"slave hand within {1e3 * distance:.2f} mm of the virtual hand (goal {1e3 * goal:.3g} mm)"
        figures.insert(0, at_most("position_error_m", distance, goal, words, "hands apart", f"{1e3 * distance:.2f} mm"))
    else:
        return Verdict("not judged", f"Not judged: {distance.reason}.")
    return against_goal(figures)


def _made(ledger: dict[str, Any]) -> float:
    """Energy that came from the loop and not from the slave arm, relative to the energy that the slave arm moved."""
    moved = next(row for row in ledger["rows"] if row["port"] == "environment")
    through = max(moved["in_J"], moved["out_J"])
    return float((ledger["stored_change_J"] - moved["net_J"]) / through) if through else 0.0


def _energy(made: float, goal: float) -> Figure:
    word = "made" if made > 0 else "lost"
    said = f"the table's loop {word} {percent(abs(made))} of the energy (goal {percent(goal)})"
    return at_most("energy", abs(made), goal, said, "energy made", percent(made))


def _outage(metrics: dict[str, Any], goal: float) -> Figure:
    travel = metrics["travel_after_outage_m"]
    words = f"the payload travelled {1e3 * travel:.3g} mm after the link was lost (goal {1e3 * goal:.3g} mm)"
    if not metrics["stopped"]:
        moved = f"the payload was still moving at the end of the outage, {words}"
        return Figure("stopped", travel, goal, False, moved, "travel", f"{1e3 * travel:.3g} mm, moving")
    return at_most("travel_after_outage_m", travel, goal, words, "travel", f"{1e3 * travel:.3g} mm")
