"""Criteria for a run of `docking`: speed after and peak force of each contact, compared with the same contact in space."""

import math
from typing import Any

from pydantic import Field

from hilt.core.scenario import Section
from hilt.core.units import Share
from hilt.core.verdict import DIVERGED_SPEED, Figure, Verdict, against_goal, at_most, percent


class Goal(Section):
    """How closely a run must match the contact in space; the worst contact counts."""

    cov: Share = Field(default=0.01, gt=0, le=0.5, description="speed after each contact: deviation from ideal, |CoV - 1|")
    cof: Share = Field(default=0.05, gt=0, le=0.5, description="peak force of each contact: deviation from ideal, |CoF - 1|")


def judge(result: Any) -> Verdict:
    metrics, scenario = result.metrics, result.scenario
    cov, cof = (_known(metrics[name]) for name in ("cov", "cof"))
    figures = tuple(
        _figure(name, words, values, goal)
        for name, words, values, goal in (("cov", "speed", cov, scenario.goal.cov), ("cof", "force", cof, scenario.goal.cof))
        if values
    )
    if metrics["diverged"]:
        return Verdict("diverged", _diverged(metrics, cov), figures)
    if not metrics["cof"]:
        return Verdict("no contact", f"No contact in {scenario.loop.duration:.4g} s: nothing was touched.")
    if metrics["contacts_missed"] >= len(metrics["cof"]):
        return Verdict("no contact", _unseen(result), figures)
    if not cov:
        why = "the run ended during the first contact; lengthen loop.duration"
        reason = next((value.reason for value in metrics["cov"] if hasattr(value, "reason")), why)
        return Verdict("not judged", f"Not judged: {reason}.", figures)
    return against_goal(figures, _note(metrics["contacts_missed"], len(cov), scenario.collisions))


def _note(missed: int, found: int, wanted: int) -> str:
    unseen = [f"the controller did not see {missed} of the contacts"] if missed else []
    few = [f"only {found} of {wanted} contacts took place"] if found < wanted else []
    return "; ".join(unseen + few)


def _known(values: list[float]) -> list[float]:
    return [value for value in values if math.isfinite(value)]


def _figure(metric: str, words: str, values: list[float], goal: float) -> Figure:
    worst = max((value - 1.0 for value in values), key=abs)
    said = f"{words} {_off(worst, abs(worst) <= goal)} ideal (goal {percent(goal)})"
    return at_most(metric, abs(worst), goal, said, f"{words} off by", percent(worst) if worst < 9.0 else f"× {1.0 + worst:.3g}")


def _off(worst: float, met: bool) -> str:
    if met:
        return f"within {percent(abs(worst))} of"
    return f"up to {percent(abs(worst))} {'above' if worst > 0 else 'below'}"


def _diverged(metrics: dict[str, Any], cov: list[float]) -> str:
    fastest = max(cov, default=0.0)
    how = (
        f"after a contact the speed was {fastest:.3g} times the ideal"
        if fastest > DIVERGED_SPEED
        else "speed grew by over 25 %"
    )
    return f"Diverged at t = {metrics['diverged_at_s']:.3g} s: the loop made energy, {how}."


def _unseen(result: Any) -> str:
    metrics, scenario = result.metrics, result.scenario
    left = metrics["kinetic_energy_ratio"]
    lost = f" At the end {percent(left)} of the ideal energy was left." if math.isfinite(left) else ""
    return (
        f"No contact seen: the bodies touched, but the measured force never exceeded the detection threshold of "
        f"{scenario.force_threshold:.3g} N, so the controller did not react.{lost}"
    )
