"""What a report of `aerial` shows: first whether the human is safe, then what base, arm and task did."""

import math
from collections.abc import Iterator

from hilt.job import Result
from hilt.report.figure import Picture
from hilt.report.page import table
from hilt.report.pictures import energy_made, lateness
from hilt.report.words import si
from hilt.systems.aerial.aerial import Aerial
from hilt.systems.aerial.analysis.beside import OTHER
from hilt.systems.aerial.views.flight import displacement, estimate, joints, with_and_without
from hilt.systems.aerial.views.port import guard_words, hand_words, limit_picture, port_picture
from hilt.systems.aerial.views.task import concluded, contact_words, forces, gains, has_gains_to_show, snap, tank, tank_words
from hilt.systems.aerial.views.traces import scenario_of, stop_of

__all__ = ["advice", "comparison_sentence", "pictures"]

FEW = 1e-3  # m of the inverse kinematics' error from which on it is told


def advice(result: Result) -> Iterator[str]:
    scenario = scenario_of(result)
    yield f"<b>Human.</b> {hand_words(result)}"
    if held(scenario):
        yield f"<b>Guard.</b> {guard_words(result)}"
    yield f"<b>Seen.</b> {_seen(result)}"
    if scenario.task.kind != "hover":
        yield f"<b>Task.</b> {concluded(result)}"
    if scenario.cable.present:
        yield f"<b>Contact.</b> {contact_words(result)}"
    yield f"<b>Tank.</b> {tank_words(result)}"
    if rough(scenario):
        yield f"<b>Link.</b> {_link(result)}"


def held(scenario: Aerial) -> bool:
    """Somebody holds the tool."""
    return scenario.hand.stiffness > 0.0


def touched(scenario: Aerial) -> bool:
    return held(scenario) or scenario.cable.present or scenario.hand.tool_mass > 0.0


def rough(scenario: Aerial) -> bool:
    """A link with something to tell."""
    link = scenario.link
    return max(link.delay, link.jitter, link.loss, link.duplication, link.outage_duration) > 0.0


def _seen(result: Result) -> str:
    m, scenario = result.metrics, scenario_of(result)
    moved = ", ".join(f"{1e3 * part:.3g}" for part in m["base_displacement_m"])
    words = (
        f"The base was displaced by at most {moved} mm in x, y, z and is {si(m['base_final_error_m'], 'm', 3)} off at the end"
    )
    if result.fault is not None:
        words += f"; <b>the guard stopped the run at {result.fault.t:.4g} s</b>"
    if touched(scenario):
        words += (
            f". The force at the tool was at most {si(m['peak_force_N'], 'N', 3)} and at the end "
            f"{si(m['tool_force_final_N'], 'N', 3)}, where the tool hangs {si(m['sag_m'], 'm', 3)} below where it is wanted"
        )
    if all(math.isfinite(m.get(f"estimator_{name}", math.nan)) for name in ("t63_s", "t90_s", "overshoot")):
        ideal = 2.146 / scenario.estimator.bandwidth, 3.890 / scenario.estimator.bandwidth
        words += (
            f". The estimator saw 63 % of the push after {1e3 * m['estimator_t63_s']:.0f} ms and 90 % after "
            f"{1e3 * m['estimator_t90_s']:.0f} ms (a rigid body: {1e3 * ideal[0]:.0f} and {1e3 * ideal[1]:.0f} ms), and "
            f"overshot by {m['estimator_overshoot']:.1%}"
        )
    if math.isfinite(m.get("recovery_time_s", math.nan)):
        words += f". It was back within 2 cm {m['recovery_time_s']:.2f} s after the snap"
    if not scenario.estimator.enabled:
        words += ". The estimator is off: a load that stays leaves the base off its place"
    if m["ik_error_max_m"] > FEW:
        words += (
            f". The flying arm was up to {1e3 * m['ik_error_max_m']:.0f} mm behind its compliant pose: for this force the "
            "gains are so soft that reach and joint speeds do not suffice"
        )
    return words + "."


def _link(result: Result) -> str:
    last, link = result.rows[-1], scenario_of(result).link
    head = ("direction", "mean delay", "packets lost", "longest silence")
    rows = [
        (
            name,
            si(float(last[f"{key}_delay_mean"]), "s", 3),
            str(int(last[f"{key}_lost"])),
            si(float(result.rows[f"{key}_age"].max()), "s", 3),
        )
        for name, key in (("force, to the simulation", "wrench"), ("displacement, to the hardware", "motion"))
    ]
    return (
        f"{table(head, rows)}Gains are not sent through it. The human's own loop closes on the hardware; only the base's "
        f"displacement comes back through the link, at least {si(2 * link.delay, 's', 3)} after the force that made it."
    )


def pictures(result: Result) -> Iterator[Picture]:
    scenario, t = scenario_of(result), result.rows["t"]
    if len(t) < 3:  # stopped at once: nothing moved
        return
    yield displacement(result)
    if touched(scenario):
        yield forces(result)
    close = snap(result)
    if close is not None:
        yield close
    if has_gains_to_show(result):
        yield gains(result)
        yield tank(result)
    if scenario.task.kind == "hover":
        if result.beside is not None:
            yield with_and_without(result, result.beside.runs[OTHER])
        yield estimate(result)
    yield limit_picture(result)
    if held(scenario):
        yield port_picture(result)
    yield joints(result)
    if result.ledger["exchanged_J"] > 0:
        yield energy_made(result, t, stop_of(result))
    yield lateness(result.rows, t)


def _one(name: str, result: Result) -> str:
    m = result.metrics
    if result.fault is not None:
        return f"{name} was stopped at {result.fault.t:.3g} s"
    return (
        f"{name} moves the base by at most {si(max(m['base_displacement_m']), 'm', 3)} and ends with "
        f"{si(m['tool_force_final_N'], 'N', 3)} at the tool and a late force of {si(m['late_force_N'], 'N', 3)}"
    )


def comparison_sentence(results: dict[str, Result]) -> str:
    """One sentence for all of them."""
    return "; ".join(_one(name, result) for name, result in results.items()) + "."
