"""Pictures that every system's report has."""

from collections.abc import Iterator

import numpy as np

from hilt.job import Result
from hilt.report import colours, figure
from hilt.report.colours import CONTROLLER, LOST, MADE, MEASURED
from hilt.report.figure import Picture, line, mark_fault
from hilt.report.ledger import LEAST
from hilt.report.words import prefixed


def energy_made(result: Result, t: np.ndarray, stop: float | None) -> Iterator[Picture]:
    """Draw energy by cause, over time and in total; nothing if no part of the loop made or took any."""
    exchanged = float(result.ledger["exchanged_J"])
    causes = [
        row
        for row in result.ledger["rows"]
        if row["port"] != "environment" and max(row["in_J"], row["out_J"]) > LEAST * exchanged
    ]
    if not causes or not exchanged > 0.0:
        return
    ports = {row["port"]: result.rows[f"W_{row['port']}"] for row in causes}
    made = {name: port["into"] - port["out"] for name, port in ports.items()}
    scale, unit = prefixed(max(float(np.nanmax(np.abs(curve))) for curve in made.values()), "J")
    fig, (left, right) = figure.subplots(1, 2, figsize=(7.2, 0.35 * len(causes) + 2.0), width_ratios=(1.5, 1))
    for n, (name, curve) in enumerate(made.items()):
        line(left, t, scale * curve, name, color=colours.of(n))
    left.set(xlabel="time [s]", ylabel=f"made since the start [{unit}]")
    mark_fault([left], stop)
    values = [scale * row["net_J"] for row in causes]
    right.barh(list(made), values, color=[MADE if v > 0 else LOST for v in values])
    right.axvline(0.0, color="black", linewidth=0.8)
    right.set(xlabel=f"made (red) or lost [{unit}]")
    right.invert_yaxis()
    right.locator_params(axis="x", nbins=4)
    for n, label in enumerate(right.get_yticklabels()):  # the names of the bars are the legend of the curves
        label.set_color(colours.of(n))
    caption = "Net energy of each part of the loop, in the colour of its name, without the work of the world."
    yield Picture("Where the energy was made", caption, fig)


def lateness(rows: np.ndarray, t: np.ndarray) -> Iterator[Picture]:
    """Draw how late the ticks began; nothing for a run without deadlines."""
    late = rows["lateness"] * 1e6
    if not late.any():
        return
    fig, (left, right) = figure.subplots(1, 2, figsize=(7.2, 2.4), width_ratios=(1.5, 1))
    line(left, t, late, color=MEASURED)
    right.hist(late, bins=60, color=MEASURED, log=True, label="lateness")
    if np.nan_to_num(rows["tick_time"]).any():  # missing in recordings of older versions
        right.hist(rows["tick_time"] * 1e6, bins=60, color=CONTROLLER, log=True, alpha=0.5, label="duration")
        right.legend(fontsize=8)
    left.set(xlabel="time [s]", ylabel="lateness [µs]")
    right.set(xlabel="lateness, duration [µs]", ylabel="ticks")
    median, p99 = np.percentile(late, [50, 99])
    caption = f"Ticks began late by {median:.0f} µs (median), {p99:.0f} µs (p99), {late.max():.0f} µs at worst."
    yield Picture("Lateness", caption, fig)
