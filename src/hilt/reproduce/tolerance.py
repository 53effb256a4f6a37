"""How far hilt's value may be from the paper's, and why: set from the paper's words and digits, not from hilt's result."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Tolerance:
    """What counts as agreement, and the reason for it. Without `allows`, the author of the claim judges."""

    words: str
    why: str
    allows: Callable[[float, float], bool] | None = None  # (paper, here)

    def as_json(self) -> dict[str, str]:
        return {"allowed": self.words, "why": self.why}


def within(share: float, why: str) -> Tolerance:
    """Allow a share of the paper's value."""
    return Tolerance(f"± {100 * share:.3g} %", why, lambda paper, here: abs(here - paper) <= share * abs(paper))


def near(distance: float, unit: str, why: str) -> Tolerance:
    return Tolerance(f"± {distance:g} {unit}".rstrip(), why, lambda paper, here: abs(here - paper) <= distance)


def below(why: str) -> Tolerance:
    """For a paper that says "less than"."""
    return Tolerance("below the paper's value", why, lambda paper, here: here < paper)


def judged(words: str, why: str) -> Tolerance:
    """For claims in words: the criterion used in their place."""
    return Tolerance(words, why)
