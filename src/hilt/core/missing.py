"""Values that a run cannot provide: each says why, so that nobody has to guess what an empty cell means."""

import math
from typing import Any


class Missing(float):
    """A number that is not finite, with the reason: nan where there is nothing to compute, inf where there is no bound.

    It is a float, so code that calculates with metrics needs no special case.
    """

    reason: str

    def __new__(cls, reason: str, value: float = math.nan) -> "Missing":
        self = super().__new__(cls, value)
        self.reason = reason
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Missing, (self.reason, float(self))


def finite(value: float, reason: str) -> float:
    """Return the number if it is finite, otherwise a Missing with the reason."""
    return value if math.isfinite(value) else Missing(reason, value)


def reasons(metrics: dict[str, Any]) -> dict[str, str]:
    """Why values are missing, by name; for a list, the first reason."""
    found = {}
    for name, value in metrics.items():
        each = value if isinstance(value, list) else [value]
        why = next((entry.reason for entry in each if isinstance(entry, Missing)), None)
        if why is not None:
            found[name] = why
    return found
