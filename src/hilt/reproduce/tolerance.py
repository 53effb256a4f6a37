"""How far ours may be from the paper's value, and why that far: set from the paper's words and digits, not from our result."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Tolerance:
    """What counts as agreement, and the reason for it. Without `allows` the author of the claim has judged it."""

    words: str
    why: str
    allows: Callable[[float, float], bool] | None = None  # the paper's value and ours

    def as_json(self) -> dict[str, str]:
        return {"allowed": self.words, "why": self.why}


def within(share: float, why: str) -> Tolerance:
    """Of the paper's value."""
    return Tolerance(f"± {100 * share:.3g} %", why, lambda paper, ours: abs(ours - paper) <= share * abs(paper))


def near(distance: float, unit: str, why: str) -> Tolerance:
    return Tolerance(f"± {distance:g} {unit}".rstrip(), why, lambda paper, ours: abs(ours - paper) <= distance)


def below(why: str) -> Tolerance:
    """For a paper that says "less than"."""
    return Tolerance("below the paper's value", why, lambda paper, ours: ours < paper)


def judged(words: str, why: str) -> Tolerance:
    """For claims in words: the criterion that we put in their place."""
    return Tolerance(words, why)
