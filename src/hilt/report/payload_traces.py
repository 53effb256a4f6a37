"""Curves of a `payload` run along the operator's direction, how their panels are drawn, and what link and outages do."""

import itertools
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from hilt import job
from hilt.job import Result
from hilt.report.figure import AXES, MADE, MEASURED, Picture, line, mark_fault, panels, widen
from hilt.report.words import si
from hilt.systems.payload import Payload
from hilt.systems.payload_metrics import shift
from hilt.teleop.link import playout_delay
from hilt.teleop.outage import BACK, POLICIES, SILENT

BANDS = {SILENT: ("#f3c6c1", "link silent"), BACK: ("#cfe8d4", "coming back")}
RUNAWAY = 1e4  # times the usual size (median): from here on a logarithmic axis
LARGEST = 1e30  # a diverged virtual arm grows beyond what can be drawn


def scenario_of(result: Result) -> Payload:
    assert isinstance(result.scenario, Payload)
    return result.scenario


def projected(result: Result, vectors: np.ndarray) -> np.ndarray:
    """Along the operator's direction."""
    direction = np.array(scenario_of(result).operator.direction)
    with np.errstate(invalid="ignore", over="ignore"):
        value: np.ndarray = vectors @ (direction / np.linalg.norm(direction))
    return drawable(value)


def drawable(value: np.ndarray) -> np.ndarray:
    """What cannot be drawn becomes a gap."""
    return np.where(np.abs(value) < LARGEST, value, np.nan)


def part(result: Result, signal: str) -> np.ndarray:
    return projected(result, result.rows[signal])


def distance(result: Result, signal: str) -> np.ndarray:
    """The way from the start."""
    value = part(result, signal)
    way: np.ndarray = value - value[0]
    return way


def virtual(result: Result, signal: str) -> tuple[np.ndarray, np.ndarray]:
    """A signal of the ground against the time at which orbit gets it; positions from the start.

    Rows of the virtual arm tell the end of their tick.
    """
    late = shift(scenario_of(result)) + 1
    value = distance(result, signal) if signal.startswith("x_") else part(result, signal)
    t = result.rows["t"]
    return t[late:], value[: max(len(t) - late, 0)]


def outside(axes: Axes, t: np.ndarray, result: Result, labels: bool = False) -> None:
    """A band while the link is silent and while the slave comes back."""
    state = result.rows["link_state"]
    edges = [0, *(np.flatnonzero(np.diff(state)) + 1), len(state)]
    named: set[int] = set()
    for begin, end in itertools.pairwise(edges):
        code = int(state[begin])
        if code in BANDS:
            colour, words = BANDS[code]
            label = words if labels and code not in named else None
            named.add(code)
            axes.axvspan(t[begin], t[end - 1], color=colour, linewidth=0, alpha=0.6, label=label)


def legend(axes: Axes) -> None:
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8)


def runaway(axes: list[Axes]) -> None:
    """A logarithmic axis for curves that explode, enough room for those that do not move."""
    for panel in axes:
        values = np.concatenate([np.asarray(curve.get_ydata(), float) for curve in panel.lines] or [np.zeros(1)])
        sizes = np.abs(values[np.isfinite(values)])
        sizes = sizes[sizes > 0]
        if len(sizes) and sizes.max() > max(RUNAWAY * float(np.median(sizes)), 1e3):
            panel.set_yscale("symlog", linthresh=max(float(np.median(sizes)), 1e-3 * float(sizes.max())))
            panel.yaxis.get_major_locator().set_params(numticks=5)  # type: ignore[call-arg]
        else:
            widen(panel, 1e-6)


def zoom(axes: list[Axes], result: Result) -> None:
    """If the guard stopped a run that had only just begun to diverge, show that part."""
    if result.fault is None:
        return
    t, size = result.rows["t"], np.abs(part(result, "f_s"))
    begin = float(t[np.argmax(size > 0.02 * np.nanmax(size))])
    if t[-1] - begin < 0.1 * t[-1]:
        for panel in axes:
            panel.set_xlim(begin - (t[-1] - begin), t[-1] + 0.05 * (t[-1] - begin) + 1e-3 * t[-1])


def with_policies(result: Result) -> dict[str, Result]:
    """The same scenario with every outage policy; each takes milliseconds."""
    scenario = scenario_of(result)
    runs: dict[str, Result] = {}
    for policy in POLICIES:
        if policy == scenario.link.outage_policy:
            runs[policy] = result
            continue
        link = scenario.link.model_copy(update={"outage_policy": policy})
        runs[policy] = job.simulate(result.system, scenario.model_copy(update={"link": link}), result.name)
    return runs


def end_of_silence(result: Result) -> int | None:
    """The last row in which the link is silent."""
    silent = np.flatnonzero(result.rows["link_state"] == SILENT)
    return int(silent[-1]) if len(silent) else None


def policy_rows(runs: dict[str, Result], scenario: Payload) -> list[tuple[str, ...]]:
    """Of each policy: way, speed at the end of the silence, largest force since it began, distance at the end."""
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
    """Silence, state and losses."""
    rows, t = result.rows, result.rows["t"]
    fig, axes = panels(2, 1.6)
    line(axes[0], t, rows["link_silence"], "silence", color=MEASURED)
    share = 100.0 * rows["link_lost"] / np.maximum(rows["link_sent"], 1)
    line(axes[1], t, share, "lost so far", color=MADE)
    longest = float(rows["link_silence"].max())
    axes[0].set(ylabel="age of the newest\npacket on orbit,\nbeyond play-out [s]", ylim=(0.0, max(0.1, 1.1 * longest)))
    axes[1].set(
        ylabel="packets lost [%]", xlabel="time [s]", ylim=(0.0, max(1.0, 1.2 * float(share[len(share) // 20 :].max())))
    )
    for n, panel in enumerate(axes):
        outside(panel, t, result, labels=n == 0)
        legend(panel)
    mark_fault(axes, stop)
    scenario = scenario_of(result)
    delay, jitter, playout = (
        si(value, "s", 3) for value in (scenario.link.delay, scenario.link.jitter, playout_delay(scenario))
    )
    words = f"Delay {delay}, jitter up to {jitter}, played out after {playout}; {share[-1]:.3g} % of the packets were lost"
    silent = int(np.count_nonzero(rows["link_state"] == SILENT)) * scenario.loop.period
    if silent > 0:
        words += f"; for {silent:.3g} s the slave had no link"
        if longest < 0.9 * (silent - 0.1):
            words += f" in one or more outages (the age is counted up to {longest:.3g} s)"
        return Picture("Link", f"{words}.", fig)
    return Picture("Link", f"{words}, and the slave never found the link silent.", fig)


def policies_picture(runs: dict[str, Result], scenario: Payload) -> Picture:
    """Payload's speed and way with each policy."""
    fig, axes = panels(3, 1.6)
    for colour, (policy, run) in zip(AXES, runs.items(), strict=True):
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
    caption = "The same outage with each policy: speed of the payload, way of the slave hand, force of the arm."
    return Picture("Outage policies", caption, fig)
