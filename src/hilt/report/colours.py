"""The colours of all pictures: a colour means the same in every report.

Only limits are violet and dash-dotted, so that no joint, axis, method or signal is mistaken for one.
"""

from typing import Any

MEASURED = "#1f6fb2"  # what the run did
CONTROLLER = "#e07b00"  # what a controller commanded or estimated
MADE = "#c0392b"  # energy made by the loop, errors, and where a run was stopped
LOST = "#5b8db8"  # energy lost by the loop
TRUTH = "#8a939c"  # what really happened, beyond any sensor
LIMIT = "#6a1b9a"

IDEAL: dict[str, Any] = {"color": "black", "linestyle": (0, (3, 5)), "linewidth": 1.1}
BOUND: dict[str, Any] = {"color": LIMIT, "linestyle": "-.", "linewidth": 1.3}  # limits, bounds, goals

AXES = (MEASURED, "#2a9d5c", "#a9803a")  # x, y, z
CYCLE = (MEASURED, "#2a9d5c", CONTROLLER, "#00838f", "#a9803a", "#d6709b", "#7a8c1f")  # joints, parts of the loop, runs
STRIPE = "0.88"  # an interval: a contact, a push
SILENT, RETURNING, ACTS, FROZEN = "#f3c6c1", "#cfe8d4", "#f6c98a", "#dfe3e8"  # intervals with a meaning
STATES = ("#66c2a5", "#fc8d62", "#8da0cb", "#e78ac3", "#a6d854", "#ffd92f", "#e5c494")


def of(n: int) -> str:
    """Return the nth colour for things of equal rank."""
    return CYCLE[n % len(CYCLE)]
