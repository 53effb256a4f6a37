"""What a report of `payload` shows: what operator, arms and payload did, and what another outage policy would have done."""

import math
from collections.abc import Iterator

from hilt.job import Result
from hilt.report import figure
from hilt.report.figure import AXES, CONTROLLER, IDEAL, MADE, MEASURED, Picture, line, mark_fault, panels
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
    approximation_picture,
    approximation_words,
    follows,
    joints_picture,
    turn_picture,
    turns,
    two_hands_picture,
)
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
    legend,
    outside,
    part,
    projected,
    runaway,
    scenario_of,
    virtual,
    zoom,
)


def explicit_sum(compliance: float, stiffness: float, grip_damping: float, damping: float, period: float) -> float:
    """K_s D_t + 2 D + K_s K_t T/2 of an arm that answers the force of the tick before; from one on it diverges."""
    return compliance * grip_damping + 2.0 * damping + 0.5 * compliance * stiffness * period


def advice(result: Result) -> Iterator[str]:
    scenario = scenario_of(result)
    if scenario.bilateral_mode:
        yield from payload_bilateral.advice(result)
        return
    yield f"<b>Seen.</b> {_seen(result)}"
    if scenario.link.outage_duration > 0 and end_of_silence(result) is None:
        yield "<b>Outage.</b> The run ended before the outage reached orbit."
    elif policies(result):
        assert result.beside is not None
        head = (
            "policy",
            "net way in the silence",
            "speed at its end",
            "largest force from then on",
            "off the virtual hand at the end",
        )
        again = result.beside.runs["resynchronised"], result.beside.figures["resynchronised_s"]
        yield (
            "<b>Outage.</b> All policies were run on this scenario; way and speed are the payload's. "
            f"<b>{scenario.link.outage_policy}</b> was run."
            f"<br>{table(head, policy_rows(policies(result), scenario))}"
            "After a stop the slave keeps the way it stayed behind; it does not catch up by itself. "
            f"{resync_words(*again)}"
        )
    if rough(scenario):
        yield f"<b>Link.</b> Both directions to the end of the run.<br>{statistics_table(result)}"
    if scenario.virtual.identify:
        yield f"<b>Identified.</b> {identified_words(result)}"
    if hindered(scenario):
        yield f"<b>Hindered.</b> {hindrance_words(result)}"
    if scenario.arm.model == "jointed" and len(result.rows) >= 3:
        yield f"<b>Arm.</b> {approximation_words(scenario, follows(result))}"
    yield from _warnings(scenario)


def rough(scenario: Payload) -> bool:
    """A link with something to tell."""
    link = scenario.link
    return max(link.jitter, link.loss, link.duplication, link.outage_duration) > 0


def _seen(result: Result) -> str:
    m, scenario = result.metrics, scenario_of(result)
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
        words += f". The payload {'stands' if m['stopped'] else 'still moves'} at the end ({end})"
    else:
        words += (
            f". After the link was lost the payload went {si(m['travel_after_outage_m'], 'm', 3)} and "
            f"{'stood' if m['stopped'] else 'still moved'} at the end of the outage; at the end of the run it has {end}"
        )
    if not scenario.slave.force_feedback:
        words += ". Force feedback is off: the arm does not give way to the force"
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
            f"<b>Diverges.</b> {which} is not below 1: the printed, explicit step of the virtual arm diverges at {when}. "
            "Set virtual.step = implicit."
        )
    compliance = slave.compliance if slave.force_feedback else 0.0
    hands = scenario.arm.count
    real = explicit_sum(compliance, hands * grip.stiffness, hands * grip.damping, slave.damping, period)
    if real >= 1.0:
        yield (
            f"<b>Grip too hard.</b> With the real {'grip' if hands == 1 else 'grips'} "
            f"K_s D_t + 2 D + K_s K_t T/2 = {real:.3f} is not below 1: the slave arm, "
            "which answers the force of the tick before, starts to swing by itself. Lower grip.damping, grip.stiffness or "
            "slave.damping."
        )


def pictures(result: Result) -> Iterator[Picture]:
    rows, scenario = result.rows, scenario_of(result)
    if scenario.bilateral_mode:
        yield from payload_bilateral.pictures(result)
        return
    t = rows["t"]
    if len(t) < 3:  # stopped at once: nothing moved
        return
    stop = result.fault.t if result.fault else None
    yield _velocities(result, stop)
    yield _forces(result, stop)
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
        yield resync_picture(result.beside.runs["resynchronised"], result.beside.figures["resynchronised_s"])
    yield ports_picture(result, stop)
    if result.beside is not None and with_feedback(result):
        yield feedback_picture(result, result.beside.runs["other feedback"])
    if result.ledger["exchanged_J"] > 0:
        yield energy_made(result, t, stop)
    yield lateness(rows, t)


def _arms(result: Result, stop: float | None) -> Iterator[Picture]:
    arm = scenario_of(result).arm
    if turns(result):
        yield turn_picture(result, stop)
    if arm.count == 2:
        yield two_hands_picture(result, stop)
    if arm.model == "jointed":
        yield joints_picture(result, stop)
        yield approximation_picture(result, stop)


def _velocities(result: Result, stop: float | None) -> Picture:
    rows, t = result.rows, result.rows["t"]
    delayed = playout_delay(scenario_of(result)) > 0
    fig, axes = panels(1, 2.8)
    line(axes[0], t, part(result, "v_sc"), "commanded v_sc", color=CONTROLLER)
    line(axes[0], t, projected(result, rows["V_WBcm"]["v"]), "payload", color=MEASURED)
    line(axes[0], t, part(result, "v_r"), "reference,\nground" if delayed else "reference", color="0.6", linewidth=1.1)
    if delayed:
        line(axes[0], t, part(result, "v_r_orbit"), "reference,\norbit", **IDEAL)
    outside(axes[0], t, result, labels=True)
    axes[0].set(ylabel="velocity [m/s]", xlabel="time [s]")
    runaway(axes)
    legend(axes[0])
    zoom(axes, result)
    mark_fault(axes, stop)
    caption = "Along the operator's direction: what is asked for, what the arm is told, what the payload does."
    if delayed:
        caption += " The reference reaches orbit one play-out delay later."
    return Picture("Velocity", caption, fig)


def _forces(result: Result, stop: float | None) -> Picture:
    t, delay = result.rows["t"], playout_delay(scenario_of(result))
    fig, axes = panels(2)
    line(axes[0], t, part(result, "f_s"), "slave arm", color=MEASURED)
    line(axes[0], *virtual(result, "f_vir"), "virtual arm", **IDEAL)
    for i, name in enumerate("xyz"):
        line(axes[1], t, result.rows["f_s"][:, i], f"slave arm, {name}", color=AXES[i])
    axes[0].set(ylabel="along the\ndirection [N]")
    axes[1].set(ylabel="all axes [N]", xlabel="time [s]")
    for panel in axes:
        outside(panel, t, result)
        legend(panel)
    runaway(axes)
    zoom(axes, result)
    mark_fault(axes, stop)
    shifted = f", the virtual one {si(delay, 's', 3)} later than on the ground" if delay > 0 else ""
    return Picture(
        "Force", f"Of the arms on their payloads{shifted}; the virtual arm has no sensor noise and its own grip.", fig
    )


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
    axes[0].set(ylabel="way along the\ndirection [m]")
    axes[1].set(ylabel="slave from\nvirtual hand [mm]", xlabel="time [s]")
    for panel in axes:
        outside(panel, t, result)
    runaway(axes)
    legend(axes[0])
    zoom(axes, result)
    mark_fault(axes, stop)
    caption = "Ways from the start, the virtual hand shifted by the play-out delay, and the distance between the hands."
    return Picture("Position", caption, fig)


def feedback_picture(result: Result, other: Result) -> Picture:
    """Force and way, without and with force feedback."""
    own = scenario_of(result).slave.force_feedback
    fig, spread = figure.plt.subplots(2, 2, figsize=(7.2, 4.2), sharex=True, sharey="row")
    said = []
    for column, on in enumerate((False, True)):
        run, axes = result if on == own else other, [spread[0][column], spread[1][column]]
        t, m, name = run.rows["t"], run.metrics, "with feedback" if on else "without feedback"
        line(axes[0], t, part(run, "f_s"), color=MEASURED if on else MADE)
        line(axes[1], t, 1e3 * distance(run, "x_s"), color=MEASURED if on else MADE)
        axes[0].set_title(name, fontsize=9)
        axes[1].set(xlabel="time [s]")
        mark_fault(axes, run.fault.t if run.fault else None)
        said.append(f"{name} {m['peak_force_N']:.4g} N at most and {m['mean_square_force_N2']:.4g} N² in the mean square")
    spread[0][0].set(ylabel="force of the slave arm [N]")
    spread[1][0].set(ylabel="way of its hand [mm]")
    runaway([panel for row in spread for panel in row])
    return Picture("Force feedback", f"The same run {', '.join(said)}.", fig)
