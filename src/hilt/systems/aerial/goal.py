"""Criteria for a run of `aerial`: the loop gives the human no energy, does not vibrate, holds its base and does its task."""

from typing import Any

from pydantic import Field

from hilt.core.scenario import Section
from hilt.core.units import Joule, Metre, Newton
from hilt.core.verdict import Figure, Verdict, against_goal, at_most


class Goal(Section):
    """The energy is the most that the guard at the human port lets through before it acts; 2.5 N of vibration still feels
    calm to a hand; 10 cm is half the clearance that the flying arm keeps from its work."""

    port_energy: Joule = Field(default=0.2, gt=0, description="energy that the human receives beyond what they put in")
    late_force: Newton = Field(
        default=2.5, gt=0, description="vibration: largest deviation of the force from its mean in the last quarter"
    )
    displacement: Metre = Field(default=0.1, gt=0, description="largest displacement of the base along an axis")


def judge(result: Any) -> Verdict:
    metrics, scenario = result.metrics, result.scenario
    goal, given = scenario.goal, 0.0 - metrics["human_port_energy_min_J"]
    force, away = metrics["late_force_N"], max(metrics["base_displacement_m"])
    energy = f"the loop gave the human {max(given, 0.0):.2f} J (goal {goal.port_energy:.3g} J)"
    vibration = f"vibration of {force:.2f} N (goal {goal.late_force:.3g} N)"
    moved = f"base moved by at most {1e3 * away:.3g} mm (goal {1e3 * goal.displacement:.3g} mm)"
    figures: list[Figure] = [
        at_most("human_port_energy_min_J", given, goal.port_energy, energy, "given to human", f"{max(given, 0.0):.2f} J"),
        at_most("late_force_N", force, goal.late_force, vibration, "vibration", f"{force:.2f} N"),
        at_most("base_displacement_m", away, goal.displacement, moved, "base moved", f"{1e3 * away:.3g} mm"),
    ]
    if metrics["diverged"]:
        made = f"it gave the human {given:.3g} J more than they put in"
        return Verdict("diverged", f"Diverged: the loop made energy; {made}.", tuple(figures))
    if scenario.task.kind == "diverter":
        hooked = bool(metrics["hooked"])
        words = "the tool hangs on the cable" if hooked else "the tool does not hang on the cable"
        figures.insert(0, Figure("hooked", float(hooked), 1.0, hooked, words, "hooked", "yes" if hooked else "no"))
    return against_goal(figures)
