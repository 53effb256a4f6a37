"""The link in a `payload` report: statistics of both directions, what outages do, and how the hands come together again."""

from typing import Any

import numpy as np

from hilt.job import Result
from hilt.report.colours import AXES, CONTROLLER, IDEAL, MADE, MEASURED
from hilt.report.figure import Picture, legend, line, mark_fault, panels
from hilt.report.page import table
from hilt.report.words import si
from hilt.systems.payload.analysis.variations import end_of_silence
from hilt.systems.payload.link import playout_delay
from hilt.systems.payload.metrics import position_errors, shift
from hilt.systems.payload.outage import SILENT
from hilt.systems.payload.payload import Payload
from hilt.systems.payload.views.traces import (
    distance,
    drawable,
    outside,
    part,
    projected,
    runaway,
    scenario_of,
    virtual,
)

POLICY_COLOURS = (*AXES, CONTROLLER)


def statistics_table(result: Result) -> str:
    """Table of packets sent, lost, reordered and duplicated, and their delays, for each direction."""
    last, head = result.rows[-1], ("", "sent", "lost", "reordered", "duplicated", "mean delay", "longest delay")
    lines = []
    for words, name in (("ground to orbit", "link"), ("orbit to ground", "down")):
        sent = int(last[f"{name}_sent"])
        shares = (f"{last[f'{name}_{what}'] / max(sent, 1):.2%}" for what in ("lost", "reordered", "duplicated"))
        delays = (si(float(last[f"{name}_delay_{what}"]), "s", 4) for what in ("mean", "max"))
        lines.append((words, str(sent), *shares, *delays))
    return table(head, lines)


def ports_picture(result: Result, stop: float | None) -> Picture:
    """Energy into the link on the ground and out of it on orbit."""
    rows, t = result.rows, result.rows["t"]
    late = shift(scenario_of(result))
    ground = drawable(rows["W_master"]["into"] - rows["W_master"]["out"])
    orbit = drawable(rows["W_slave"]["out"] - rows["W_slave"]["into"])
    fig, axes = panels(1, 2.4)
    line(axes[0], t, orbit, "out on orbit", color=MEASURED)
    line(axes[0], t[late:], ground[: max(len(t) - late, 0)], "in on the ground", **IDEAL)
    axes[0].set(ylabel="energy [J]", xlabel="time [s]")
    outside(axes[0], t, result)
    runaway(axes)
    legend(axes[0])
    mark_fault(axes, stop)
    shown = ", shifted by the play-out delay" if late else ""
    caption = f"Work of the virtual arm on the virtual payload{shown}, and of the slave arm on the real one."
    return Picture("The link's two ports", caption, fig)


def policy_rows(runs: dict[str, Result], scenario: Payload) -> list[tuple[str, ...]]:
    """For each policy: travel, speed at the end of the silence, largest force since it began, distance at the end."""
    table: list[tuple[str, ...]] = []
    own = scenario.link.outage_policy
    for policy, run in runs.items():
        name = f"<b>{policy}</b>" if policy == own else policy
        if run.fault is not None:
            name += f" (stopped at {run.fault.t:.3g} s)"
        last = end_of_silence(run)
        if last is None:
            table.append((name, "never silent", "", "", si(run.metrics["final_position_error_m"], "m", 3)))
            continue
        speed = float(np.linalg.norm(run.rows["V_WBcm"]["v"][last]))
        since = run.rows["t"] >= scenario.link.outage_start + playout_delay(scenario)
        size = np.linalg.norm(run.rows["f_s"][since], axis=1)
        force = float(size.max()) if len(size) else 0.0
        table.append(
            (
                name,
                si(run.metrics["travel_after_outage_m"], "m", 3),
                si(speed, "m/s", 3),
                si(force, "N", 3),
                si(run.metrics["final_position_error_m"], "m", 3),
            )
        )
    return table


def link_picture(result: Result, stop: float | None) -> Picture:
    """Silence and losses of both directions."""
    rows, t, scenario = result.rows, result.rows["t"], scenario_of(result)
    fig, axes = panels(2, 1.6)
    shares = []
    for name, words, colour in (("link", "up, to orbit", MEASURED), ("down", "down, to the\nground", CONTROLLER)):
        line(axes[0], t, rows[f"{name}_silence"], words, color=colour)
        shares.append(100.0 * rows[f"{name}_lost"] / np.maximum(rows[f"{name}_sent"], 1))
        line(axes[1], t, shares[-1], words, color=colour)
    axes[1].axhline(100.0 * scenario.link.loss, label="link.loss", **IDEAL)
    longest = float(rows["link_silence"].max())
    most = max(float(share[len(share) // 20 :].max()) for share in shares)
    axes[0].set(ylabel="age of the newest\npacket, beyond\nplay-out [s]", ylim=(0.0, max(0.1, 1.1 * longest)))
    axes[1].set(ylabel="lost so far [%]", xlabel="time [s]", ylim=(0.0, max(1.0, 1.2 * most)))
    for n, panel in enumerate(axes):
        outside(panel, t, result, labels=n == 0)
        legend(panel)
    mark_fault(axes, stop)
    delay, jitter, playout = (
        si(value, "s", 3) for value in (scenario.link.delay, scenario.link.jitter, playout_delay(scenario))
    )
    words = (
        f"Delay {delay}, jitter up to {jitter}, played out after {playout}; {shares[0][-1]:.3g} % of the packets were lost "
        f"on the way up, {shares[1][-1]:.3g} % on the way down"
    )
    silent = int(np.count_nonzero(rows["link_state"] == SILENT)) * scenario.loop.period
    if silent > 0:
        words += f"; for {silent:.3g} s the slave had no link"
        if longest < 0.9 * (silent - 0.1):
            words += f" in one or more outages (the age is counted up to {longest:.3g} s)"
        return Picture("Link", f"{words}.", fig)
    return Picture("Link", f"{words}; the slave never lost the link.", fig)


def policies_picture(runs: dict[str, Result], scenario: Payload) -> Picture:
    """Speed of the payload and travel of the hand with each policy."""
    fig, axes = panels(3, 1.6)
    for colour, (policy, run) in zip(POLICY_COLOURS, runs.items(), strict=True):
        t, own = run.rows["t"], policy == scenario.link.outage_policy
        style: dict[str, Any] = {"color": colour, "linewidth": 2.2 if own else 1.2}
        line(axes[0], t, projected(run, run.rows["V_WBcm"]["v"]), policy + (" (run)" if own else ""), **style)
        line(axes[1], t, distance(run, "x_s"), **style)
        line(axes[2], t, part(run, "f_s"), **style)
        mark_fault(axes, run.fault.t if run.fault else None)
    own_run = runs[scenario.link.outage_policy]
    for n, panel in enumerate(axes):
        outside(panel, own_run.rows["t"], own_run, labels=n == 0)
    axes[0].set(ylabel="payload [m/s]")
    axes[1].set(ylabel="slave hand [m]")
    axes[2].set(ylabel="force [N]", xlabel="time [s]")
    legend(axes[0])
    caption = "The same outage with each policy: speed of the payload, travel of the slave hand, force of the arm."
    return Picture("Outage policies", caption, fig)


def resync_words(run: Result, when: float | None) -> str:
    if when is None:
        return "The virtual arm was not re-synchronised to the slave arm: nothing stayed at rest for long enough."
    apart = position_errors(run.rows, run.scenario)
    return (
        f"When everything is at rest, at {when:.3g} s, the virtual arm is moved to the slave arm's position: the hands are "
        f"{si(float(apart[-1]), 'm', 3)} apart afterwards, {si(float(apart.max()), 'm', 3)} before."
    )


def resync_picture(run: Result, when: float | None) -> Picture:
    """Travel of both hands until they are re-synchronised."""
    t, errors = run.rows["t"], drawable(1e3 * position_errors(run.rows, run.scenario))
    fig, axes = panels(2)
    line(axes[0], t, distance(run, "x_s"), "slave hand", color=MEASURED)
    line(axes[0], *virtual(run, "x_vir"), "virtual hand", **IDEAL)
    line(axes[1], t[-len(errors) :], errors, color=MADE)
    axes[0].set(ylabel="travel along the\ndirection [m]")
    axes[1].set(ylabel="slave from\nvirtual hand [mm]", xlabel="time [s]")
    for n, panel in enumerate(axes):
        outside(panel, t, run, labels=n == 0)
        if when is not None:
            shown = when + playout_delay(run.scenario)
            panel.axvline(shown, color=CONTROLLER, linewidth=1.2, label="re-synchronised" if n == 0 else None)
    legend(axes[0])
    mark_fault(axes, run.fault.t if run.fault else None)
    return Picture(
        "Re-synchronisation",
        f"The same scenario, run longer if needed; virtual hand shifted by the play-out delay. {resync_words(run, when)}",
        fig,
    )
