"""Pictures that every system's report has."""

import numpy as np

from hilt.job import Result
from hilt.report import figure
from hilt.report.figure import LOST, MADE, MEASURED, Picture, line, mark_fault


def energy_made(result: Result, t: np.ndarray, stop: float | None) -> Picture:
    """Joules by cause, over time and in all."""
    fig, (left, right) = figure.plt.subplots(1, 2, figsize=(7.2, 2.9), width_ratios=(1.5, 1))
    causes = [row for row in result.ledger["rows"] if row["port"] != "environment"]
    colours = figure.plt.get_cmap("tab10")
    for n, row in enumerate(causes):
        port = result.rows[f"W_{row['port']}"]
        if row["in_J"] + row["out_J"] > 0:
            line(left, t, port["into"] - port["out"], row["port"], color=colours(n))
    left.set(xlabel="time [s]", ylabel="energy made since the start [J]")
    if left.lines:
        left.legend(fontsize=8, loc="upper left", bbox_to_anchor=(0.0, 1.22), ncols=3)
    mark_fault([left], stop)
    values = [row["net_J"] for row in causes]
    right.barh([row["port"] for row in causes], values, color=[MADE if v > 0 else LOST for v in values])
    right.axvline(0.0, color="black", linewidth=0.8)
    right.set(xlabel="made (red) or lost [J]")
    right.invert_yaxis()
    right.locator_params(axis="x", nbins=3)  # small joules have long numbers
    return Picture("Where the energy was made", "Net joules of each part of the loop; the world's own work is left out.", fig)


def lateness(rows: np.ndarray, t: np.ndarray) -> Picture:
    """How late the ticks began."""
    late = rows["lateness"] * 1e6
    fig, (left, right) = figure.plt.subplots(1, 2, figsize=(7.2, 2.4), width_ratios=(1.5, 1))
    if late.any():
        line(left, t, late, color=MEASURED)
        right.hist(late, bins=60, color=MEASURED, log=True, label="lateness")
        if np.nan_to_num(rows["tick_time"]).any():  # recordings of older versions have none
            right.hist(rows["tick_time"] * 1e6, bins=60, color=MADE, log=True, alpha=0.5, label="duration")
            right.legend(fontsize=8)
        median, p99 = np.percentile(late, [50, 99])
        caption = f"Ticks began late by {median:.0f} µs (median), {p99:.0f} µs (p99), {late.max():.0f} µs at worst."
    else:
        for panel in (left, right):
            panel.text(
                0.5, 0.5, "free-running clock:\nno deadlines, no lateness", ha="center", va="center", transform=panel.transAxes
            )
        caption = "The run was not paced; use --clock periodic to run in wall time."
    left.set(xlabel="time [s]", ylabel="lateness [µs]")
    right.set(xlabel="lateness, duration of a tick [µs]", ylabel="ticks")
    return Picture("Lateness", caption, fig)
