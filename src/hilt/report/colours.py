"""The colours of all pictures, once: what a colour means in one report it means in all.

A limit is violet, dash-dotted, and nothing else is: no joint, axis, method or signal may be taken for one.
"""

from typing import Any

MEASURED = "#1f6fb2"  # what the run did
CONTROLLER = "#e07b00"  # what a controller commanded or estimated
MADE = "#c0392b"  # energy that the loop made, errors, and where a run was stopped
LOST = "#5b8db8"  # energy that the loop lost
TRUTH = "#8a939c"  # what really happened, which no sensor shows
LIMIT = "#6a1b9a"

IDEAL: dict[str, Any] = {"color": "black", "linestyle": (0, (3, 5)), "linewidth": 1.1}
BOUND: dict[str, Any] = {"color": LIMIT, "linestyle": "-.", "linewidth": 1.3}  # limits, bounds, goals

AXES = (MEASURED, "#2a9d5c", "#a9803a")  # x, y, z
CYCLE = (MEASURED, "#2a9d5c", CONTROLLER, "#00838f", "#a9803a", "#d6709b", "#7a8c1f")  # joints, parts of the loop, runs
STRIPE = "0.88"  # a stretch of time: a contact, a push
SILENT, RETURNING, ACTS, FROZEN = "#f3c6c1", "#cfe8d4", "#f6c98a", "#dfe3e8"  # a stretch of time with a meaning
STATES = ("#66c2a5", "#fc8d62", "#8da0cb", "#e78ac3", "#a6d854", "#ffd92f", "#e5c494")


def of(n: int) -> str:
    """The nth of a number of equals."""
    return CYCLE[n % len(CYCLE)]
