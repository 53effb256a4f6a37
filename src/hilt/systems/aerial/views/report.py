"""What a report of `aerial` shows: first whether the human is safe, then what base, arm and task did."""

import math
from collections.abc import Iterator

from hilt.job import Result
from hilt.report.figure import Picture, mark_fault
from hilt.report.numbers import named
from hilt.report.page import table
from hilt.report.pictures import energy_made, lateness
from hilt.report.words import metric, si
from hilt.systems.aerial.aerial import Aerial
from hilt.systems.aerial.analysis.beside import OTHER
from hilt.systems.aerial.views.flight import displacement_curves, estimate, estimate_curves, joints, with_and_without
from hilt.systems.aerial.views.port import guard_words, hand_words, limit_picture, limits_table, port_picture
from hilt.systems.aerial.views.task import (
    concluded,
    contact_words,
    force_curves,
    gains,
    has_gains_to_show,
    snap,
    tank,
    tank_words,
)
from hilt.systems.aerial.views.traces import scenario_of, stage, stop_of

__all__ = ["advice", "comparison_sentence", "details", "headline", "numbers", "pictures"]

LITTLE = 0.01  # N·s/m of added damping: less counts as none
FEW = 1e-3  # m: a larger error of the inverse kinematics is reported


def advice(result: Result) -> Iterator[str]:
    """Say what to change: first whether the human is safe."""
    yield f"<b>Human.</b> {hand_words(result)}"
    if held(scenario_of(result)):
        yield f"<b>Guard.</b> {guard_words(result)}"


def details(result: Result) -> Iterator[tuple[str, str]]:
    """Describe arm, task, contact, tank and link."""
    scenario = scenario_of(result)
    yield "How stiff a hand may be", limits_table(result)
    yield "What was seen", f"<p>{_seen(result)}</p>"
    if scenario.task.kind != "hover":
        yield "Task", f"<p>{concluded(result)}</p>"
    if scenario.cable.present:
        yield "Contact", f"<p>{contact_words(result)}</p>"
    yield "Energy tank", f"<p>{tank_words(result)}</p>"
    if rough(scenario):
        yield "Link", f"<p>{_link(result)}</p>"


def numbers(result: Result) -> Iterator[tuple[str, str]]:
    m, scenario = result.metrics, scenario_of(result)
    yield "largest displacement of the base, x, y, z", metric("base_displacement_m", m["base_displacement_m"], 3)
    yield from named(result, "base_final_error_m")
    if touched(scenario):
        yield from named(result, "peak_force_N", "tool_force_final_N", "late_force_N")
        yield "tool at the end", f"{_height(m['sag_m'])} its desired position"
    yield from named(result, "estimator_t63_s", "recovery_time_s", "hand_stiffness_limit_N_m")
    if m["added_damping_max_Ns_m"] > LITTLE:
        yield from named(result, "added_damping_max_Ns_m")
    yield from named(result, "joint_torque_max_Nm", "tank_min_J")


def _height(sag: float) -> str:
    if abs(sag) < 1e-5:
        return "at"
    return f"{1e3 * abs(sag):.2g} mm {'below' if sag > 0 else 'above'}"


def headline(result: Result) -> Picture:
    """Displacement of the base, and the force that causes it."""
    forced = touched(scenario_of(result)) or any(scenario_of(result).push.force) or bool(result.rows["wind_N"].any())
    fig, axes = stage(result, 2 if forced else 1, 2.2, 10.0)
    displacement_curves(axes[0], result)
    caption = "Above, how far the simulated base is from its planned position (ideal 0); the hardware shows this to the human. "
    if touched(scenario_of(result)):
        force_curves(axes[1], result)
        caption += "Below, the force on the tool as the sensor measures it."
    elif forced:
        estimate_curves(axes[1], result)
        caption += "Below, the force on the vehicle, true and as estimated from momentum."
    mark_fault(axes, stop_of(result))
    return Picture("Displacement and force", caption, fig)


def held(scenario: Aerial) -> bool:
    """Whether a hand holds the tool."""
    return scenario.hand.stiffness > 0.0


def touched(scenario: Aerial) -> bool:
    return held(scenario) or scenario.cable.present or scenario.hand.tool_mass > 0.0


def rough(scenario: Aerial) -> bool:
    """Whether the link has delay, jitter, losses or an outage."""
    link = scenario.link
    return max(link.delay, link.jitter, link.loss, link.duplication, link.outage_duration) > 0.0


def _seen(result: Result) -> str:
    m, scenario = result.metrics, scenario_of(result)
    moved = ", ".join(f"{1e3 * part:.3g}" for part in m["base_displacement_m"])
    words = f"The base was displaced by at most {moved} mm in x, y, z and by {si(m['base_final_error_m'], 'm', 3)} at the end"
    if result.fault is not None:
        words += f"; <b>the guard stopped the run at {result.fault.t:.4g} s</b>"
    if touched(scenario):
        words += (
            f". The force at the tool was at most {si(m['peak_force_N'], 'N', 3)} and "
            f"{si(m['tool_force_final_N'], 'N', 3)} at the end, when the tool is {_height(m['sag_m'])} its desired position"
        )
    if all(math.isfinite(m.get(f"estimator_{name}", math.nan)) for name in ("t63_s", "t90_s", "overshoot")):
        ideal = 2.146 / scenario.estimator.bandwidth, 3.890 / scenario.estimator.bandwidth
        words += (
            f". The estimator saw 63 % of the push after {1e3 * m['estimator_t63_s']:.0f} ms and 90 % after "
            f"{1e3 * m['estimator_t90_s']:.0f} ms (a rigid body: {1e3 * ideal[0]:.0f} and {1e3 * ideal[1]:.0f} ms), and "
            f"overshot by {m['estimator_overshoot']:.1%}"
        )
    if math.isfinite(m.get("recovery_time_s", math.nan)):
        words += f". The base was back within 2 cm {m['recovery_time_s']:.2f} s after the snap"
    if not scenario.estimator.enabled:
        words += ". The estimator is off: a steady load keeps the base displaced"
    if m["ik_error_max_m"] > FEW:
        words += (
            f". The flying arm was up to {1e3 * m['ik_error_max_m']:.0f} mm behind its compliant pose: for this force the "
            "gains are so soft that reach and joint speeds are not sufficient"
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
        f"{table(head, rows)}The gains do not pass through it. The human's own loop closes on the hardware; only the base's "
        f"displacement comes back through the link, at least {si(2 * link.delay, 's', 3)} after the force that caused it."
    )


def pictures(result: Result) -> Iterator[Picture]:
    scenario, t = scenario_of(result), result.rows["t"]
    if len(t) < 3:  # stopped at once: nothing moved
        return
    close = snap(result)
    if close is not None:
        yield close
    if has_gains_to_show(result):
        yield gains(result)
        yield tank(result)
    if scenario.task.kind == "hover":
        if result.beside is not None:
            yield with_and_without(result, result.beside.runs[OTHER])
        yield from estimate(result, touched(scenario))
    yield limit_picture(result)
    if held(scenario):
        yield port_picture(result)
    yield joints(result)
    yield from energy_made(result, t, stop_of(result))
    yield from lateness(result.rows, t)


def _one(name: str, result: Result) -> str:
    m = result.metrics
    if result.fault is not None:
        return f"{name} was stopped at {result.fault.t:.3g} s"
    return (
        f"{name} moves the base by at most {si(max(m['base_displacement_m']), 'm', 3)} and ends with "
        f"{si(m['tool_force_final_N'], 'N', 3)} at the tool and a late force of {si(m['late_force_N'], 'N', 3)}"
    )


def comparison_sentence(results: dict[str, Result]) -> str:
    """One sentence that compares all runs."""
    return "; ".join(_one(name, result) for name, result in results.items()) + "."
