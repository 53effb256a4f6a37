"""The contacts in a report of `docking`, collision by collision."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hilt.job import Result
from hilt.report import figure
from hilt.report.colours import BOUND, CONTROLLER, IDEAL, LIMIT, MADE, MEASURED, TRUTH
from hilt.report.figure import Picture
from hilt.report.words import off_one
from hilt.systems.docking.docking import Docking

SHOWN = 9  # collisions with their own panel
CUT = 100.0  # % error: longer bars are cut


@dataclass(frozen=True)
class Collision:
    """The rows from the first touch to the last one."""

    number: int
    first: int
    last: int
    side: int  # 1 front frame, -1 rear frame


def collisions(rows: np.ndarray, most: int) -> list[Collision]:
    touching = np.flatnonzero(rows["contact"] != 0)
    found = []
    for number in range(1, min(int(rows["collision"].max()), most) + 1):
        inside = touching[rows["collision"][touching] == number]
        if len(inside):
            found.append(Collision(number, int(inside[0]), int(inside[-1]), int(rows["contact"][inside[0]])))
    return found


def collisions_of(result: Result) -> list[Collision]:
    return collisions(result.rows, scenario_of(result).collisions)


def scenario_of(result: Result) -> Docking:
    assert isinstance(result.scenario, Docking)
    return result.scenario


def along(result: Result, signal: str) -> np.ndarray:
    """Component of a vector signal along the frames' normal."""
    part: np.ndarray = result.rows[signal] @ np.array(scenario_of(result).frames.n_W)
    return part


def tip_position(result: Result, signal: str) -> np.ndarray:
    """Position of the tip along the normal [m], from midway between the frames; it touches at ± free_travel."""
    scenario = scenario_of(result)
    return along(result, signal) - float(np.dot(scenario.frames.n_W, scenario.start_of_tip))


def free_travel(scenario: Docking) -> float:
    return scenario.frames.gap - scenario.rod.radius


def grid(count: int, height: float, columns: int = 3, sharey: bool = False) -> tuple[Figure, list[Axes]]:
    """Small panels side by side; unused places stay empty."""
    columns = min(columns, count)
    rows = math.ceil(count / columns)
    fig, axes = figure.subplots(rows, columns, figsize=(7.2, height * rows + 0.4), squeeze=False, sharey=sharey)
    for spare in axes.flat[count:]:
        spare.set_visible(False)
    return fig, list(axes.flat[:count])


def error_bars(axes: Axes, names: Sequence[str], ratios: Sequence[float], colours: Sequence[str], goal: float) -> None:
    """Horizontal bars of |ratio - 1| in percent, each labelled; bars longer than the panel are cut and hatched."""
    errors = [100.0 * abs(ratio - 1.0) if math.isfinite(ratio) else 0.0 for ratio in ratios]
    inside = [error for error in errors if error <= CUT]
    end = 1.1 * max([1.3 * goal, *inside] if inside else [CUT])
    for n, (ratio, error, colour) in enumerate(zip(ratios, errors, colours, strict=True)):
        cut = error > CUT
        axes.barh(n, min(error, end), 0.65, color=colour, hatch="///" if cut else None, edgecolor="white", linewidth=0.0)
        text = off_one(ratio) if math.isfinite(ratio) else "no contact"
        clear = max(min(error, end), goal)  # of the line of the goal
        axes.annotate(text, (clear, n), (6, 0), textcoords="offset points", va="center", fontsize=8)
    axes.axvline(goal, **BOUND)
    axes.set_yticks(range(len(names)), list(names), fontsize=8)
    axes.set(xlim=(0.0, 1.35 * end), ylim=(len(names) - 0.4, -0.6))
    axes.locator_params(axis="x", nbins=4)
    axes.grid(visible=False, axis="y")


def bound_line(axes: Axes, bound: float | None) -> bool:
    """Draw the lowest possible CoF of a first touch in real time; return whether it is within the axis."""
    seen = bound is not None and 1.0 < bound < 1.0 + 0.01 * axes.get_xlim()[1]
    if seen:
        assert bound is not None
        axes.axvline(100.0 * (bound - 1.0), color=LIMIT, linewidth=1.3, linestyle=":")
    return seen


def coefficients(result: Result, bound: float | None) -> Picture:
    """[He2022, Fig. 8d]"""
    count, wanted = len(result.metrics["cov"]), scenario_of(result).goal
    fig, panels = figure.subplots(1, 2, figsize=(7.2, 0.24 * count + 1.0), sharey=True)
    for axes, name, goal in zip(panels, ("cov", "cof"), (wanted.cov, wanted.cof), strict=True):
        values = result.metrics[name]
        colours = [MADE if abs(v - 1.0) > goal else MEASURED for v in values]
        error_bars(axes, [f"collision {n + 1}" for n in range(len(values))], values, colours, 100.0 * goal)
    dotted = bound_line(panels[1], bound)
    panels[0].set(xlabel="|CoV - 1|: speed error [%]")
    panels[1].set(xlabel="|CoF - 1|: peak force error [%]")
    caption = f"Dash-dotted: the goals, {100 * wanted.cov:g} % for speed and {100 * wanted.cof:g} % for force."
    if dotted and bound is not None:
        caption += f" Dotted: in real time no method keeps a first touch just after a tick within {off_one(bound)} of ideal."
    return Picture("CoV and CoF", caption, fig)


def forces(result: Result, ideal: Result | None) -> Picture:
    """[He2022, Fig. 6d, Fig. 11, Fig. 16 to Fig. 18]"""
    every = collisions_of(result)
    found = every[:SHOWN]
    peaks = [float(np.abs(along(result, "F_C_true_W")[c.first : c.last + 1]).max()) for c in found]
    shared = max(peaks) < 6.0 * max(min(peaks), 1e-12)
    fig, panels = grid(len(found), 2.0, sharey=shared)
    for axes, collision in zip(panels, found, strict=True):
        force_panel(axes, result, collision)
        if ideal is not None:
            ideal_force(axes, result, ideal, collision)
        axes.set_title(f"collision {collision.number}, {'front' if collision.side > 0 else 'rear'} frame", fontsize=8.5)
    for axes in panels:
        if axes.get_subplotspec().is_first_col():  # type: ignore[union-attr]
            axes.set_ylabel("force [N]")
        axes.set_xlabel("time since the touch [ms]", fontsize=8)
    fig.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=4, fontsize=8)
    caption = f"Zero is where the robot touches. {ideal_begins(result)}"
    if not shared:
        caption += " Each panel has its own scale."
    if len(every) > SHOWN:
        caption += f" The first {SHOWN} of {len(every)} collisions."
    return Picture("Contact forces", caption, fig)


def ideal_begins(result: Result) -> str:
    """Say where the ideal begins: twin leads the robot, which touches with the simulated rod; otherwise it touches later."""
    late = "" if scenario_of(result).compensate.method == "twin" else ", so it is ahead by the robot's lag"
    return f"The ideal begins where the simulated rod touches{late}."


def window(result: Result, collision: Collision) -> slice:
    """Rows of a contact, with a margin on both sides."""
    margin = max(3, (collision.last - collision.first) // 5)
    return slice(max(0, collision.first - margin), min(len(result.rows), collision.last + 1 + margin))


def force_panel(axes: Axes, result: Result, collision: Collision) -> None:
    """True, measured and compensated force of one collision, positive into the frame."""
    part = window(result, collision)
    ms = 1e3 * (result.rows["t"][part] - result.rows["t"][collision.first])
    for signal, label, style in (
        ("F_C_true_W", "true", {"color": TRUTH, "linewidth": 3.0, "alpha": 0.6}),
        ("F_mea_W", "measured", {"color": MEASURED}),
        ("F_hat_W", "compensated", {"color": CONTROLLER}),
    ):
        axes.plot(ms, collision.side * along(result, signal)[part], label=label, **style)


def simulated_touch(result: Result, collision: Collision) -> float:
    """Time [s] at which the simulated rod reached the frame; the robot arrives later."""
    beyond = collision.side * tip_position(result, "p_C_des_W") > free_travel(scenario_of(result))
    k = collision.first
    while k > 0 and beyond[k - 1]:
        k -= 1
    return float(result.rows["t"][k])


def ideal_contact(result: Result, ideal: Result, collision: Collision) -> tuple[np.ndarray, slice]:
    """Time [s] of the same collision in the ideal run, shifted to the touch of the simulated rod, and its rows."""
    same = [c for c in collisions_of(ideal) if c.number == collision.number]
    if not same:
        return np.zeros(0), slice(0, 0)
    part = slice(max(0, same[0].first - 1), same[0].last + 2)
    return simulated_touch(result, collision) + ideal.rows["t"][part] - ideal.rows["t"][same[0].first], part


def ideal_force(axes: Axes, result: Result, ideal: Result, collision: Collision) -> None:
    t, part = ideal_contact(result, ideal, collision)
    ms = 1e3 * (t - result.rows["t"][collision.first])
    axes.plot(ms, collision.side * along(ideal, "F_C_true_W")[part], label="ideal", **IDEAL)


def velocity_in_contact(axes: Axes, result: Result, ideal: Result | None) -> None:
    """Contact after contact, the flights left out.  [He2022, Fig. 6c, Fig. 9, Fig. 14]"""
    t, begin = result.rows["t"], 0.0
    for collision in collisions_of(result):
        part = window(result, collision)
        s = t[part] - t[part][0] + begin
        axes.plot(s, 1e3 * along(result, "v_C_des_W")[part], color=MEASURED)
        if ideal is not None:
            at, same = ideal_contact(result, ideal, collision)
            axes.plot(at - t[part][0] + begin, 1e3 * along(ideal, "v_C_des_W")[same], **IDEAL)
        axes.text(
            0.5 * (s[0] + s[-1]), 1.01, str(collision.number), transform=axes.get_xaxis_transform(), ha="center", fontsize=8
        )
        begin = s[-1] + (t[1] - t[0])
        axes.axvline(begin, color="0.7", linewidth=0.8)
    axes.set(xlabel="time around the contacts [s], flights left out", ylabel="velocity [mm/s]")


def identified(result: Result) -> Picture | None:
    """[He2022, Fig. 6a, Fig. 6b, Fig. 13]"""
    rows, scenario = result.rows, scenario_of(result)
    found = [c for c in collisions_of(result) if rows["identified"][c.first : c.last + 1].any()]
    if not found:
        return None
    critical = 2.0 * math.sqrt(scenario.contact.stiffness * scenario.reduced_mass)
    fig, (top, low) = figure.panels(2)
    begin = 0.0
    for collision in found:
        part = slice(collision.first, collision.last + 1)
        known = rows["identified"][part] == 1
        s = begin + rows["t"][part] - rows["t"][collision.first]
        first = collision is found[0]
        top.plot(s, 1e-3 * _true_stiffness(result, collision), label="true" if first else None, **IDEAL)
        low.plot(s, np.full(len(s), scenario.contact.damping), **IDEAL)
        for axes, value, variance, scale in ((top, "k_hat", "k_var", 1e-3), (low, "c_hat", "c_var", 1.0)):
            x, middle = s[known], scale * rows[value][part][known]
            doubt = 2.0 * scale * np.sqrt(np.maximum(rows[variance][part][known], 0.0))
            axes.plot(x, middle, color=MEASURED, label="identified" if first else None)
            axes.fill_between(
                x, middle - doubt, middle + doubt, color=MEASURED, alpha=0.2, linewidth=0, label="± 2 σ" if first else None
            )
        top.text(
            0.5 * (s[0] + s[-1]), 1.01, str(collision.number), transform=top.get_xaxis_transform(), ha="center", fontsize=8
        )
        begin = s[-1] + scenario.loop.period
        for axes in (top, low):
            axes.axvline(begin, color="0.7", linewidth=0.8)
    values = np.concatenate([rows[c.first : c.last + 1][["identified", "k_hat", "c_hat"]] for c in found])
    values = values[values["identified"] == 1]
    truth = 1e-3 * np.concatenate([_true_stiffness(result, c) for c in found])
    _frame(top, 1e-3 * values["k_hat"], truth, 0.2 * float(truth.max()))
    _frame(low, values["c_hat"], np.array([scenario.contact.damping]), 0.01 * critical)
    top.set(ylabel="stiffness [N/mm]")
    low.set(ylabel="damping [N·s/m]", xlabel="time in contact [s], flights left out")
    top.legend(loc="lower right", ncols=3, fontsize=8)
    return Picture(
        "Identified contact", "Identified stiffness and damping, contact after contact, with their uncertainty.", fig
    )


def _true_stiffness(result: Result, collision: Collision) -> np.ndarray:
    """True stiffness of the touched frame; for a Hertz contact its slope at the current depth."""
    contact = scenario_of(result).contact
    ratio = 1.0 if collision.side > 0 else contact.rear_stiffness_ratio
    depth: np.ndarray = result.rows["penetration"][collision.first : collision.last + 1]
    if contact.is_hertz:
        return 1.5 * ratio * contact.hertz_coefficient * np.sqrt(depth)
    return np.full(len(depth), ratio * contact.stiffness)


def _frame(axes: Axes, values: np.ndarray, truth: np.ndarray, margin: float) -> None:
    """Axis limits that keep the large initial uncertainty from hiding the rest."""
    low, high = np.percentile(values, [5, 95])
    axes.set_ylim(min(low, truth.min()) - margin, max(high, truth.max()) + margin)


def flights(found: list[Collision], count: int) -> list[tuple[int, int]]:
    """First and last row before the first collision, between two, and after the last."""
    edges = [(-1, 0), *((c.first, c.last + 1) for c in found), (count - 1, count)]
    return [(after, max(after, before)) for (_, after), (before, _) in itertools.pairwise(edges) if after < count]
