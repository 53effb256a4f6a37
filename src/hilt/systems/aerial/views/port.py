"""The human port in a report: the stiffest hand for which the loop is stable, what the guard did, where the energy went."""

import html
import math
from dataclasses import replace

import numpy as np

from hilt.job import Result
from hilt.report import figure
from hilt.report.colours import CONTROLLER, MEASURED
from hilt.report.figure import Picture, hide_rounding, legend, line, mark_fault, panels
from hilt.report.page import table
from hilt.systems.aerial.aerial import Aerial
from hilt.systems.aerial.analysis.hand_limit import PortLoop, loops_of, stiffest_hand, warning
from hilt.systems.aerial.port_guard import lead_times
from hilt.systems.aerial.views.traces import scenario_of, stop_of, three

UNSURE = 1.87  # factor by which a limit computed from a lag alone may be too high
RECOMMENDED = 100.0  # rad/s of the force filter
SWEEP = 14  # bandwidths


def limits(scenario: Aerial, lead: bool) -> dict[str, float]:
    """Stiffest hand of each set of gains and axis, with the guard's lead or without."""
    return {name: _limit(scenario, loop, lead) for name, loop in loops_of(scenario).items()}


def _limit(scenario: Aerial, loop: PortLoop, lead: bool) -> float:
    guard, lag = scenario.port_passivity, scenario.servo.whole_lag
    times = lead_times(guard.lead, loop.bandwidth, lag, loop.period) if lead else (0.0, 0.0)
    return stiffest_hand(replace(loop, lead=times), scenario.hand.damping)


def least(scenario: Aerial, lead: bool) -> float:
    return min(limits(scenario, lead).values())


def _said(limit: float, stiffness: float) -> str:
    words = "any" if math.isinf(limit) else f"{limit:.0f} N/m"
    return f"<span class='no'>{words}</span>" if limit <= stiffness else words


def hand_words(result: Result) -> str:
    """Compare the limit with the scenario's hand, and say what follows."""
    scenario = scenario_of(result)
    stiffness, guarded = scenario.hand.stiffness, scenario.port_passivity.enabled
    acting = least(scenario, guarded)
    if stiffness == 0.0:
        words = f"Nobody holds the tool here. A hand may be up to <b>{acting:.0f} N/m</b> stiff"
    elif stiffness < acting:
        words = f"The hand has {stiffness:g} N/m; the loop is stable up to <b>{acting:.0f} N/m</b>"
    else:
        words = f"The hand has <b>{stiffness:g} N/m</b>, <b>more than the {acting:.0f} N/m</b> for which the loop is stable"
    how = "with the guard's lead" if guarded else "the guard is off"
    words += f" ({how}; the lowest limit of all gains that the task uses)."
    if stiffness >= acting:
        words += (
            " Only the guard's added damping keeps it stable."
            if guarded
            else " It diverges while that set is active; set port_passivity.enabled = true, or raise force_filter.bandwidth."
        )
    text = f"{words} A relaxed hand has about 150 N/m, a firm one 1000 N/m."
    if scenario.force_filter.bandwidth < RECOMMENDED:
        text += (
            f" <b>The force filter of {scenario.force_filter.bandwidth:g} rad/s is slow</b>: below {RECOMMENDED:g} rad/s stiff "
            "hands may become unstable."
        )
    said = warning(scenario.servo)
    return text + (f" <b>Caution:</b> {html.escape(said)}." if said else "")


def limits_table(result: Result) -> str:
    """Table of the limit for each set of gains and direction that the task uses."""
    scenario = scenario_of(result)
    with_lead, bare = limits(scenario, True), limits(scenario, False)
    stiffness = scenario.hand.stiffness
    sets = [(html.escape(name), _said(with_lead[name], stiffness), _said(bare[name], stiffness)) for name in bare]
    return table(("gains and direction", "stiffest hand, with the guard's lead", "without"), sets)


def guard_words(result: Result) -> str:
    scenario, m = scenario_of(result), result.metrics
    if not scenario.port_passivity.enabled:
        return "The guard at the human port is off: nothing but the limit above protects the human."
    added = m["added_damping_max_Ns_m"]
    did = (
        f"had to add up to {added:.3g} N·s/m of damping"
        if added > 0.01
        else "watched and added no damping: the human feels the apparent arm alone"
    )
    low = m["human_port_energy_min_J"]
    energy = (
        "never gave energy to the human" if low > -1e-6 else f"gave the human at most {-1e3 * low:.3g} mJ more than it received"
    )
    return f"The guard at the human port {did}. The hardware {energy}."


def limit_picture(result: Result) -> Picture:
    """Stiffest hand over the bandwidth of the force filter, with the scenario's own point."""
    scenario = scenario_of(result)
    nyquist = math.pi / scenario.loop.period
    widths = np.geomspace(5.0, 0.95 * nyquist, SWEEP)
    fig, axes = figure.subplots(figsize=(7.2, 3.4))
    for lead, label, colour in ((True, "with the guard's lead", MEASURED), (False, "without the guard", CONTROLLER)):
        heights = [least(_filtered(scenario, float(width)), lead) for width in widths]
        axes.plot(widths, heights, label=label, color=colour)
        if warning(scenario.servo):
            words = "may be as low as this:\nservo modelled by a lag only" if lead else None
            axes.fill_between(widths, np.array(heights) / UNSURE, heights, color=colour, alpha=0.15, linewidth=0, label=words)
    stiffness, width = scenario.hand.stiffness, scenario.force_filter.bandwidth
    if stiffness > 0.0:
        axes.plot([width], [stiffness], "o", color="black", markersize=7, label=f"this hand, {stiffness:g} N/m", zorder=4)
    else:
        axes.axvline(width, color="black", linewidth=1.0, label=f"this filter, {width:g} rad/s")
    for level, words in ((150.0, "relaxed hand"), (1000.0, "firm hand")):
        axes.axhline(level, color="0.6", linewidth=0.8, linestyle=":")
        axes.annotate(words, (5.0, level), (2, 2), textcoords="offset points", fontsize=7, color="0.4")
    axes.set(xscale="log", yscale="log", xlabel="bandwidth of the force filter [rad/s]", ylabel="stiffest stable hand [N/m]")
    legend(axes)
    caption = (
        "Hands below a curve are stable without any added damping; those above it oscillate unless the guard's damping stops "
        "them. The lowest limit of all gains and directions that the task uses."
    )
    return Picture("How stiff a hand may be", caption, fig)


def _filtered(scenario: Aerial, bandwidth: float) -> Aerial:
    return scenario.model_copy(update={"force_filter": scenario.force_filter.model_copy(update={"bandwidth": bandwidth})})


def port_picture(result: Result) -> Picture:
    """Energy that the human has put in, and the damping that the guard adds."""
    rows, t = result.rows, result.rows["t"]
    fig, axes = panels(2)
    line(axes[0], t, 1e3 * (rows["W_human"]["into"] - rows["W_human"]["out"]), "put in by the\nhuman, true", color=MEASURED)
    line(axes[0], t, 1e3 * rows["E_hw"], "stored in the\napparent arm", color=CONTROLLER)
    axes[0].axhline(0.0, color="black", linewidth=0.6)
    three(axes[1], t, rows["D_port"])
    axes[0].set(ylabel="energy [mJ]")
    axes[1].set(ylabel="damping added by\nthe guard [N·s/m]", xlabel="time [s]")
    hide_rounding(axes[1], 1.0)
    legend(axes[0])
    legend(axes[1])
    mark_fault(axes, stop_of(result))
    caption = "Below zero the hardware would have given the human more than it received; then the guard adds damping."
    return Picture("Energy at the human port", caption, fig)
