"""What a report of `payload` shows: what operator, arms and payload did, and what another outage policy would have done."""

import math
from collections.abc import Iterator

import numpy as np
from matplotlib.axes import Axes

from hilt.job import Result
from hilt.report import figure
from hilt.report.colours import AXES, CONTROLLER, IDEAL, MADE, MEASURED
from hilt.report.figure import Picture, legend, line, mark_fault, panels
from hilt.report.numbers import named
from hilt.report.page import table
from hilt.report.pictures import energy_made, lateness
from hilt.report.words import si
from hilt.systems.payload.analysis.beside import policies, with_feedback
from hilt.systems.payload.analysis.variations import end_of_silence
from hilt.systems.payload.link import playout_delay
from hilt.systems.payload.metrics import position_errors
from hilt.systems.payload.payload import Payload
from hilt.systems.payload.views import bilateral as payload_bilateral
from hilt.systems.payload.views.arms import (
    HOLDS,
    approximation_picture,
    approximation_words,
    follows,
    joints_picture,
    turn_picture,
    turns,
    two_hands_picture,
)
from hilt.systems.payload.views.grasp import events, grasp_picture, grasp_table, missed, missed_words
from hilt.systems.payload.views.identify import hindered, hindrance_picture, hindrance_words, identified_words, identify_picture
from hilt.systems.payload.views.link import (
    link_picture,
    policies_picture,
    policy_rows,
    ports_picture,
    resync_picture,
    resync_words,
    statistics_table,
)
from hilt.systems.payload.views.traces import (
    distance,
    drawable,
    outside,
    part,
    projected,
    runaway,
    scenario_of,
    virtual,
    zoom,
)

ACROSS = 0.02  # fraction of the force along the operator's direction: less across it is not drawn


def explicit_sum(compliance: float, stiffness: float, grip_damping: float, damping: float, period: float) -> float:
    """K_s D_t + 2 D + K_s K_t T/2 of an arm that responds to the force of the previous tick; it diverges at 1 and above."""
    return compliance * grip_damping + 2.0 * damping + 0.5 * compliance * stiffness * period


def advice(result: Result) -> Iterator[str]:
    """Say what to change."""
    scenario = scenario_of(result)
    if scenario.gripped and (distance := missed(result)) is not None:
        yield missed_words(result, distance)
    if scenario.bilateral_mode:
        yield from payload_bilateral.advice(result)
        return
    yield from _warnings(scenario)
    if scenario.link.outage_duration > 0 and end_of_silence(result) is None:
        yield "<b>Outage.</b> The run ended before the outage reached orbit; lengthen loop.duration."
    if scenario.arm.model == "jointed" and len(result.rows) >= 3 and (share := follows(result)) >= HOLDS:
        yield f"<b>Arm.</b> {approximation_words(scenario, share)}"
    if not scenario.slave.force_feedback:
        yield "<b>Force feedback</b> is off: the arm does not yield to the force. Set slave.force_feedback = true."


def details(result: Result) -> Iterator[tuple[str, str]]:
    """Tables and texts that explain the run."""
    scenario = scenario_of(result)
    if scenario.gripped and (found := events(result)):
        yield "Grasp", grasp_table(result, found)
    if scenario.bilateral_mode:
        yield from payload_bilateral.details(result)
        return
    if result.beside is not None and policies(result):
        head = (
            "policy",
            "net travel in the silence",
            "speed at its end",
            "largest force since its start",
            "hands apart at the end",
        )
        again = result.beside.runs["resynchronised"], result.beside.numbers["resynchronised_s"]
        yield (
            "Outage policies",
            f"<p>All policies were run on this scenario; travel and speed are the payload's. "
            f"This run used <b>{scenario.link.outage_policy}</b>.</p>{table(head, policy_rows(policies(result), scenario))}"
            "<p>After a stop the slave stays behind by the lost distance; it does not catch up on its own. "
            f"{resync_words(*again)}</p>",
        )
    if rough(scenario):
        yield "Link", f"<p>Both directions to the end of the run.</p>{statistics_table(result)}"
    if scenario.virtual.identify:
        yield "Identification", f"<p>{identified_words(result)}</p>"
    if hindered(scenario):
        yield "What hinders the payload", f"<p>{hindrance_words(result)}</p>"
    if scenario.arm.model == "jointed" and len(result.rows) >= 3:
        yield "Arm", f"<p>{approximation_words(scenario, follows(result))}</p>"


def numbers(result: Result) -> Iterator[tuple[str, str]]:
    if scenario_of(result).bilateral_mode:
        yield from payload_bilateral.numbers(result)
        return
    yield from named(
        result,
        "peak_force_N",
        "virtual_peak_force_N",
        "closing_force_N",
        "release_force_N",
        "position_error_m",
        "final_position_error_m",
        "travel_after_outage_m",
        "final_speed_m_s",
        "impulse_Ns",
        "attitude_error_rad",
        "mass_error",
        "link_delay_mean_s",
    )


def headline(result: Result) -> Picture:
    """Speed and force along the operator's direction."""
    if scenario_of(result).bilateral_mode:
        return payload_bilateral.headline(result)
    stop = result.fault.t if result.fault else None
    fig, axes = panels(2, 2.4, 10.0)
    _speed_curves(axes[0], result)
    _force_curves(axes[1], result)
    axes[1].set(xlabel="time [s]")
    runaway(axes)
    zoom(axes, result)
    mark_fault(axes, stop)
    return Picture("Speed and force", _seen(result), fig)


def rough(scenario: Payload) -> bool:
    """Whether the link loses, duplicates or delays packets unevenly, or has an outage."""
    link = scenario.link
    return max(link.jitter, link.loss, link.duplication, link.outage_duration) > 0


def _seen(result: Result) -> str:
    m = result.metrics
    words = f"The slave arm pushed with at most {si(m['peak_force_N'], 'N', 3)}"
    if math.isfinite(m["position_error_m"]):
        words += (
            f"; its hand was at most {si(m['position_error_m'], 'm', 3)} from where the virtual hand was shown to the operator "
            f"and {si(m['final_position_error_m'], 'm', 3)} at the end"
        )
    end = f"{si(m['final_speed_m_s'], 'm/s', 3)}"
    if result.fault is not None:
        words += f". The guard stopped the run at {result.fault.t:.4g} s, with the payload at {end}"
    elif end_of_silence(result) is None or "travel_after_outage_m" not in m:
        words += f". The payload {'is at rest' if m['stopped'] else 'is still moving'} at the end ({end})"
    else:
        words += (
            f". After the link was lost the payload travelled {si(m['travel_after_outage_m'], 'm', 3)} and "
            f"{'was at rest' if m['stopped'] else 'was still moving'} at the end of the outage; its final speed is {end}"
        )
    return words + "."


def _warnings(scenario: Payload) -> Iterator[str]:
    slave, seen, grip, period = scenario.slave, scenario.virtual, scenario.grip, scenario.loop.period
    at_once = slave.compliance * seen.grip_damping + 2.0 * slave.damping
    whole = explicit_sum(slave.compliance, seen.grip_stiffness, seen.grip_damping, slave.damping, period)
    if seen.step == "explicit" and whole >= 1.0:
        if at_once >= 1.0:
            which, when = f"K_s D_t + 2 D = {at_once:.3f}", "every period"
        else:
            which, when = f"K_s D_t + 2 D + K_s K_t T/2 = {whole:.3f}", f"this period of {si(period, 's', 3)}"
        yield (
            f"<b>Diverges.</b> {which} is not below 1: the explicit step of the virtual arm, as printed, diverges at {when}. "
            "Set virtual.step = implicit."
        )
    compliance = slave.compliance if slave.force_feedback else 0.0
    hands = scenario.arm.count
    real = explicit_sum(compliance, hands * grip.stiffness, hands * grip.damping, slave.damping, period)
    if real >= 1.0:
        yield (
            f"<b>Grip too stiff.</b> With the real {'grip' if hands == 1 else 'grips'} "
            f"K_s D_t + 2 D + K_s K_t T/2 = {real:.3f} is not below 1: the slave arm, "
            "which responds to the force of the previous tick, starts to oscillate by itself. Lower grip.damping, "
            "grip.stiffness or slave.damping."
        )


def pictures(result: Result) -> Iterator[Picture]:
    rows, scenario = result.rows, scenario_of(result)
    if scenario.gripped and (found := events(result)):
        yield grasp_picture(result, found)
    if scenario.bilateral_mode:
        yield from payload_bilateral.pictures(result)
        return
    t = rows["t"]
    if len(t) < 3:  # stopped at once: nothing moved
        return
    stop = result.fault.t if result.fault else None
    yield from _across(result, stop)
    yield _positions(result, stop)
    yield from _arms(result, stop)
    if scenario.virtual.identify:
        yield identify_picture(result, stop)
    if hindered(scenario):
        yield hindrance_picture(result, stop)
    if rough(scenario):
        yield link_picture(result, stop)
    if result.beside is not None and policies(result):
        yield policies_picture(policies(result), scenario)
        yield resync_picture(result.beside.runs["resynchronised"], result.beside.numbers["resynchronised_s"])
    yield ports_picture(result, stop)
    if result.beside is not None and with_feedback(result):
        yield feedback_picture(result, result.beside.runs["other feedback"])
    yield from energy_made(result, t, stop)
    yield from lateness(rows, t)


def _arms(result: Result, stop: float | None) -> Iterator[Picture]:
    arm = scenario_of(result).arm
    if turns(result):
        yield turn_picture(result, stop)
    if arm.count == 2:
        yield two_hands_picture(result, stop)
    if arm.model == "jointed":
        yield joints_picture(result, stop)
        yield approximation_picture(result, stop)


def _speed_curves(axes: Axes, result: Result) -> None:
    rows, t = result.rows, result.rows["t"]
    delayed = playout_delay(scenario_of(result)) > 0
    line(axes, t, 1e3 * part(result, "v_sc"), "commanded v_sc", color=CONTROLLER, linewidth=1.0, alpha=0.7)
    line(axes, t, 1e3 * projected(result, rows["V_WBcm"]["v"]), "payload", color=MEASURED)
    if delayed:
        line(axes, t, 1e3 * part(result, "v_r"), "reference, ground", color="0.6", linewidth=1.1)
    line(axes, t, 1e3 * part(result, "v_r_orbit"), "reference, orbit" if delayed else "reference", **IDEAL)
    outside(axes, t, result, labels=True)
    axes.set(ylabel="velocity [mm/s]")
    legend(axes)


def _force_curves(axes: Axes, result: Result) -> None:
    t = result.rows["t"]
    line(axes, t, part(result, "f_s"), "slave arm", color=MEASURED)
    line(axes, *virtual(result, "f_vir"), "virtual arm", **IDEAL)
    outside(axes, t, result)
    axes.set(ylabel="force [N]")
    legend(axes)


def _across(result: Result, stop: float | None) -> Iterator[Picture]:
    """Force on all axes, where there is more than that along the operator's direction."""
    t, force = result.rows["t"], drawable(result.rows["f_s"])
    along = projected(result, result.rows["f_s"])
    rest = np.linalg.norm(force, axis=1) ** 2 - along**2
    if not np.nanmax(rest) > (ACROSS * np.nanmax(np.abs(along))) ** 2:
        return
    fig, axes = panels(1, 2.4)
    for i, name in enumerate("xyz"):
        line(axes[0], t, force[:, i], name, color=AXES[i])
    axes[0].set(ylabel="force of the slave arm [N]", xlabel="time [s]")
    outside(axes[0], t, result)
    runaway(axes)
    legend(axes[0])
    zoom(axes, result)
    mark_fault(axes, stop)
    yield Picture("Force, all axes", "Of the slave arm on the payload.", fig)


def _positions(result: Result, stop: float | None) -> Picture:
    scenario, t = scenario_of(result), result.rows["t"]
    errors = drawable(1e3 * position_errors(result.rows, scenario))
    fig, axes = panels(2)
    line(axes[0], t, distance(result, "x_s"), "slave hand", color=MEASURED)
    payload = projected(result, result.rows["X_WBcm"]["p"])
    line(axes[0], t, payload - payload[0], "payload", color=CONTROLLER, linewidth=1.0)
    line(axes[0], *virtual(result, "x_vir"), "virtual hand", **IDEAL)
    if len(errors):
        line(axes[1], t[-len(errors) :], errors, color=MADE)
    axes[0].set(ylabel="travel along the\ndirection [m]")
    axes[1].set(ylabel="slave from\nvirtual hand [mm]", xlabel="time [s]")
    for panel in axes:
        outside(panel, t, result)
    runaway(axes)
    legend(axes[0])
    zoom(axes, result)
    mark_fault(axes, stop)
    caption = "Travel from the start, the virtual hand shifted by the play-out delay, and the distance between the hands."
    return Picture("Position", caption, fig)


def feedback_picture(result: Result, other: Result) -> Picture:
    """Force and travel, without and with force feedback."""
    own = scenario_of(result).slave.force_feedback
    fig, spread = figure.subplots(2, 2, figsize=(7.2, 4.2), sharex=True, sharey="row")
    said = []
    for column, on in enumerate((False, True)):
        run, axes = result if on == own else other, [spread[0][column], spread[1][column]]
        t, m, name = run.rows["t"], run.metrics, "with feedback" if on else "without feedback"
        line(axes[0], t, part(run, "f_s"), color=MEASURED if on else MADE)
        line(axes[1], t, 1e3 * distance(run, "x_s"), color=MEASURED if on else MADE)
        axes[0].set_title(name, fontsize=9)
        axes[1].set(xlabel="time [s]")
        mark_fault(axes, run.fault.t if run.fault else None)
        said.append(f"{name} {m['peak_force_N']:.4g} N at most, mean square {m['mean_square_force_N2']:.4g} N²")
    spread[0][0].set(ylabel="force of the slave arm [N]")
    spread[1][0].set(ylabel="travel of its hand [mm]")
    runaway([panel for row in spread for panel in row])
    return Picture("Force feedback", f"The same run {'; '.join(said)}.", fig)
