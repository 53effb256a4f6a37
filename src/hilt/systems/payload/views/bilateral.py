"""What a report of a bilateral run shows: hand and slave arm, felt and applied force, the link's ledger, and how much delay
is too much."""

import math
from collections.abc import Iterator

import numpy as np
from matplotlib.axes import Axes

from hilt.job import Result
from hilt.maths.quintic import quintic
from hilt.report.colours import ACTS, BOUND, CONTROLLER, IDEAL, MADE, MEASURED
from hilt.report.figure import Picture, legend, line, mark_fault, panels
from hilt.report.numbers import named
from hilt.report.page import table
from hilt.report.pictures import lateness
from hilt.report.words import percent, si
from hilt.systems.payload.analysis.beside import settling
from hilt.systems.payload.bilateral import gains
from hilt.systems.payload.bilateral_metrics import link_ledger
from hilt.systems.payload.payload import Payload
from hilt.systems.payload.views.link import statistics_table
from hilt.systems.payload.views.traces import distance, opened, part, scenario_of, shade

USABLE = 5.0  # s: a force that takes longer to settle is no longer useful as feedback


def goal(result: Result) -> np.ndarray:
    """Intended position of the hand, from its start [m]."""
    scenario, t = scenario_of(result), result.rows["t"]
    share = [quintic((each - scenario.operator.start) / scenario.hand.time)[0] for each in t]
    return scenario.hand.distance * np.array(share)


def ideal_force(result: Result) -> np.ndarray:
    """Force [N] of hand, coupling and wall as three springs in series, without delay or damping."""
    scenario = scenario_of(result)
    arm, K = scenario.force_arm, gains(scenario.bilateral, scenario.link).K
    springs = 1.0 / scenario.hand.stiffness + 1.0 / K + 1.0 / arm.wall_stiffness
    return np.maximum(goal(result) - arm.wall_distance, 0.0) / springs


def has_wall(scenario: Payload) -> bool:
    return scenario.force_arm.wall_stiffness > 0 and scenario.hand.distance > scenario.force_arm.wall_distance


def longest_usable(times: dict[float, float]) -> float:
    """Delay [s] above which settling takes longer than is usable, interpolated between two runs; infinite if it never does."""
    before = (0.0, 0.0)
    for delay, time in times.items():
        if time > USABLE:
            share = (USABLE - before[1]) / (time - before[1]) if math.isfinite(time) else 0.0
            return before[0] + share * (delay - before[0])
        before = (delay, time)
    return math.inf


def advice(result: Result) -> Iterator[str]:
    """Say what to change."""
    m, scenario = result.metrics, scenario_of(result)
    if times := settling(result):
        yield f"<b>Delay.</b> {_limit(times, scenario.link.delay)} {_damped(scenario)}"
    if scenario.bilateral.books != "measured":
        yield (
            f"<b>Not certified.</b> bilateral.books = {scenario.bilateral.books}: there is no guard, or one that a motor "
            "with a lag deceives. Set bilateral.books = measured."
        )
    if m["books_min_J"] < -scenario.bilateral.energy:
        yield (
            f"<b>Not passive.</b> The link returned {si(-m['books_min_J'], 'J', 3)} more than it had received; "
            f"{si(scenario.bilateral.energy, 'J', 3)} is allowed."
        )


def details(result: Result) -> Iterator[tuple[str, str]]:
    scenario, times = scenario_of(result), settling(result)
    if times:
        own = scenario.link.delay
        head = ("delay, one way", *(_bold(si(delay, "s", 3), delay == own) for delay in times))
        row = ("settles in", *(si(time, "s", 3) if math.isfinite(time) else "not in this run" for time in times.values()))
        yield "Other delays", table(head, [row])
    yield "Link", f"<p>Both directions, {si(scenario.link.jitter, 's', 3)} of jitter.</p>{statistics_table(result)}"


def numbers(result: Result) -> Iterator[tuple[str, str]]:
    m = result.metrics
    yield from named(result, "felt_N", "applied_N")
    yield "felt minus applied", _newtons(m["felt_minus_applied_N"])
    yield from named(result, "settling_time_s", "books_min_J")
    yield "share of the time in which the energy guard acts", percent(m["guard_share"])
    yield from named(result, "link_delay_mean_s", "link_delay_max_s")


def headline(result: Result) -> Picture:
    """Hand and slave arm, felt and applied force."""
    fig, axes = panels(2, 2.4, 10.0)
    for panel, label in zip(axes, ("hand open", None), strict=True):
        opened(panel, result.rows["t"], result.rows, label)
    _position_curves(axes[0], result)
    _force_curves(axes[1], result)
    axes[1].set(xlabel="time [s]")
    mark_fault(axes, result.fault.t if result.fault else None)
    return Picture("Hand and force", _seen(result), fig)


def _damped(scenario: Payload) -> str:
    law = scenario.bilateral
    if law.master_damping is None and law.slave_damping is None:
        return "The damping K (delay + jitter) grows with the delay, so a longer delay costs time, not stability."
    return "The damping was set by hand and does not grow with the delay; leave out bilateral.*_damping to let it grow."


def _bold(text: str, own: bool) -> str:
    return f"<b>{text}</b>" if own else text


def _seen(result: Result) -> str:
    m, scenario = result.metrics, scenario_of(result)
    words = (
        f"At the end the hand feels {si(m['felt_N'], 'N', 3)} and the slave arm applies {si(m['applied_N'], 'N', 3)}, "
        f"felt minus applied {_newtons(m['felt_minus_applied_N'])}"
    )
    if has_wall(scenario):
        words += f" (three springs in series without a link: {si(float(ideal_force(result)[-1]), 'N', 3)})"
    settled = m["settling_time_s"]
    when = f"settled {si(settled, 's', 3)} after the hand stopped" if math.isfinite(settled) else "had not settled"
    words += f"; both forces {when}. "
    acts = m["guard_share"]
    if acts > 0:
        words += f"The guard limited a force for {acts:.1%} of the time; meanwhile the force felt is not the one applied."
    return words.strip()


def _newtons(value: float) -> str:
    return "0 N" if abs(value) < 1e-6 else si(value, "N", 3)


def _limit(times: dict[float, float], own: float) -> str:
    limit = longest_usable(times)
    longest = max(times, default=own)
    if times and min(times.values()) > USABLE:
        return f"Even at {si(min(times), 's', 3)} the forces take more than {USABLE:g} s to settle after the hand stops."
    if math.isinf(limit):
        return f"The forces settle within {USABLE:g} s at all delays up to {longest:g} s, the longest that was run."
    side = "is above that" if own > limit else "is below that"
    return (
        f"Above about {si(limit, 's', 2)} one way, with this hand and this contact, the forces take more than "
        f"{USABLE:g} s to settle, and feedback is no longer useful; this run's {si(own, 's', 3)} {side}."
    )


def pictures(result: Result) -> Iterator[Picture]:
    t = result.rows["t"]
    if len(t) < 3:
        return
    stop = result.fault.t if result.fault else None
    yield _difference(result, stop)
    yield _ledger(result, stop)
    yield _link(result, stop)
    if settling(result):
        yield _delays(result)
    yield from lateness(result.rows, t)


def _position_curves(axes: Axes, result: Result) -> None:
    scenario, t = scenario_of(result), result.rows["t"]
    line(axes, t, 1e3 * distance(result, "x_m"), "master device", color=CONTROLLER)
    line(axes, t, 1e3 * distance(result, "x_s"), "slave hand", color=MEASURED)
    line(axes, t, 1e3 * goal(result), "hand's goal", **IDEAL)
    if scenario.force_arm.wall_stiffness > 0:
        axes.axhline(1e3 * scenario.force_arm.wall_distance, color="0.5", linewidth=1.1, label="wall")
    axes.set(ylabel="position [mm]")
    legend(axes)


def _force_curves(axes: Axes, result: Result) -> None:
    t = result.rows["t"]
    line(axes, t, part(result, "f_m"), "felt by the hand", color=CONTROLLER)
    line(axes, t, part(result, "f_s"), "applied", color=MEASURED)
    if has_wall(scenario_of(result)):
        line(axes, t, ideal_force(result), "three springs,\nno delay", **IDEAL)
    axes.set(ylabel="force [N]")
    legend(axes)


def _difference(result: Result, stop: float | None) -> Picture:
    fig, axes = panels(1, 2.2)
    line(axes[0], result.rows["t"], part(result, "f_m") - part(result, "f_s"), color=MADE)
    axes[0].axhline(0.0, **IDEAL)
    axes[0].set(ylabel="felt minus applied [N]", xlabel="time [s]")
    mark_fault(axes, stop)
    caption = "While it moves the hand also feels damping; at rest, unless the guard acts, it feels what the slave arm applies."
    return Picture("Felt and applied force", caption, fig)


def _ledger(result: Result, stop: float | None) -> Picture:
    rows, t, scenario = result.rows, result.rows["t"], scenario_of(result)
    acts = (rows["master_guard"] > 0) | (rows["slave_guard"] > 0)
    fig, axes = panels(2)
    for port, words, colour in (("W_master", "ground", CONTROLLER), ("W_slave", "orbit", MEASURED)):
        line(axes[0], t, rows[port]["into"] - rows[port]["out"], words, color=colour)
    line(axes[1], t, link_ledger(rows), "both ends", color="black")
    axes[1].axhline(-scenario.bilateral.energy, label="bound, -E_0", **BOUND)
    for panel in axes:
        shade(panel, t, acts, ACTS, "guard acts" if panel is axes[0] else None)
    axes[0].set(ylabel="in minus out,\neach end [J]")
    axes[1].set(ylabel="in minus out [J]", xlabel="time [s]")
    for panel in axes:
        legend(panel)
    mark_fault(axes, stop)
    share = float(np.mean(acts))
    said = "it did not act here" if share == 0 else f"it acted {share:.1%} of the time"
    caption = (
        f"Energy that the link has received and not returned. The guard limits a force before the sum falls below -E_0; {said}."
    )
    return Picture("The link's ledger", caption, fig)


def _link(result: Result, stop: float | None) -> Picture:
    rows, t, link = result.rows, result.rows["t"], scenario_of(result).link
    fig, axes = panels(2, 1.7)
    for signal, words, colour in (("link_age", "on orbit", MEASURED), ("down_age", "on the ground", CONTROLLER)):
        line(axes[0], t, 1e3 * rows[signal], words, color=colour, linewidth=0.8)
    axes[0].axhline(1e3 * link.delay, label="delay", **IDEAL)
    axes[0].axhline(1e3 * (link.delay + link.jitter), color="0.5", linewidth=1.0, label="delay + jitter")
    for signal, words, colour in (("slave_fade", "slave arm", MEASURED), ("master_fade", "master device", CONTROLLER)):
        line(axes[1], t, 100.0 * rows[signal], words, color=colour)
    axes[0].set(ylabel="age of the\nnewest packet [ms]")
    axes[1].set(ylabel="share of the law\nin the force [%]", xlabel="time [s]", ylim=(-5, 108))
    for panel in axes:
        legend(panel)
    mark_fault(axes, stop)
    lost = [rows[f"{name}_lost"][-1] / max(rows[f"{name}_sent"][-1], 1) for name in ("link", "down")]
    caption = f"Lost: {lost[0]:.1%} up, {lost[1]:.1%} down. When no packet arrives for a while, the law fades to damping."
    return Picture("Link", caption, fig)


def _delays(result: Result) -> Picture:
    scenario = scenario_of(result)
    times = settling(result)
    shown = {delay: time for delay, time in times.items() if math.isfinite(time)}
    fig, axes = panels(1, 2.6)
    axes[0].plot(list(shown), list(shown.values()), "o-", color=MEASURED, label="this scenario")
    axes[0].axhline(USABLE, label="usable", **BOUND)
    if scenario.link.delay in shown:
        axes[0].plot(
            [scenario.link.delay], [shown[scenario.link.delay]], "o", color=CONTROLLER, markersize=9, label="this run's\ndelay"
        )
    axes[0].set(xlabel="delay, one way [s]", ylabel="settling time after\nthe hand stops [s]", ylim=(0, None), xlim=(0, None))
    legend(axes[0])
    return Picture("Effect of the delay", "The same scenario at other delays, each run to its end.", fig)
