"""A paper's claims next to what hilt computes.

Where the paper gives numbers, the verdict follows from its value, hilt's value and the tolerance. Only the author of a claim
knows whether an input was chosen to give the result, or the result could not have been otherwise, and has to declare it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hilt.report.figure import Picture
from hilt.reproduce.tolerance import Tolerance

REPRODUCED = "reproduced"
DIFFERS = "differs"
FITTED = "fitted"
BY_CONSTRUCTION = "by construction"
NOT_TESTABLE = "not testable here"
BEYOND = "beyond the paper"
MEANING = {
    REPRODUCED: "computed from the paper's inputs; agrees within a tolerance set from its words and digits",
    DIFFERS: "computed; does not agree, and the reason is given",
    FITTED: "an input was chosen to give it, so agreement says nothing",
    BY_CONSTRUCTION: "could not have turned out otherwise: an identity, or an input of the run",
    NOT_TESTABLE: "the paper does not give what is needed to compute it",
    BEYOND: "computed, but the paper gives no number to compare with",
}
DECLARED = (FITTED, BY_CONSTRUCTION, NOT_TESTABLE)
OWN_MEANING = {
    "met": "computed; meets the target",
    "missed": "computed; misses the target, and the reason is given",
    "beyond the target": "computed in addition to the targets",
}
_SUMMED_UP = {
    DIFFERS: "differ",
    BEYOND: "beyond the paper (it gives no number to compare with)",
    "beyond the target": "beyond the targets",
}


@dataclass(frozen=True)
class Claim:
    """One number or statement: the paper's value, hilt's, how it was read, the tolerance, and the verdict."""

    where: str
    what: str
    paper: str
    here: str
    judged: bool | None = None  # by the author, for statements in words; numbers are judged by the tolerance
    because: str = ""
    beyond: bool = False  # the paper has no number to compare with
    numbers: tuple[tuple[float, float], ...] = ()  # (paper, here), where the paper gives numbers
    reading: str = ""  # how the paper's words were read
    tolerance: Tolerance | None = None
    declared: str = ""  # fitted, by construction, not testable here; `because` says why

    def __post_init__(self) -> None:
        if self.declared and (self.declared not in DECLARED or not self.because):
            raise ValueError(f"{self.what!r}: {self.declared!r} must be one of {', '.join(DECLARED)}, with a reason")
        if self.declared == NOT_TESTABLE:
            return
        computed = bool(self.numbers) and self.tolerance is not None and self.tolerance.allows is not None
        if computed == (self.judged is not None):
            raise ValueError(f"{self.what!r} needs either numbers with a tolerance that compares them, or a judgement")

    @property
    def holds(self) -> bool:
        """Whether hilt agrees with the paper, for whatever reason."""
        if self.judged is not None:
            return bool(self.judged)  # comparing arrays gives numpy.bool
        if self.tolerance is None or self.tolerance.allows is None:
            return False
        return all(bool(self.tolerance.allows(paper, here)) for paper, here in self.numbers)

    @property
    def verdict(self) -> str:
        """The verdict; a fitted claim that does not agree even so counts as differing."""
        if self.declared == NOT_TESTABLE:
            return NOT_TESTABLE
        if self.beyond:
            return BEYOND
        if not self.holds:
            return DIFFERS
        return self.declared or REPRODUCED

    def as_json(self) -> dict[str, Any]:
        return {
            "where": self.where,
            "claim": self.what,
            "paper": self.paper,
            "here": self.here,
            "verdict": explained(self, self.verdict),
            "kind": self.verdict,
            "holds": None if self.declared == NOT_TESTABLE else self.holds,
            "because": self.because,
            "reading": self.reading,
            "tolerance": self.tolerance.as_json() if self.tolerance else None,
            "numbers": [[float(paper), float(here)] for paper, here in self.numbers],
        }


def explained(claim: Claim, verdict: str) -> str:
    """Return the verdict, with its reason where it needs one."""
    if claim.beyond and not claim.holds and verdict == BEYOND:
        verdict += ", our own criterion missed"
    needs_reason = not claim.holds or verdict in DECLARED
    return f"{verdict}, because {claim.because}" if needs_reason and claim.because else verdict


@dataclass(frozen=True)
class Listing:
    """A table next to the claims; `good` says which rows are as they should be."""

    title: str
    head: tuple[str, ...]
    rows: list[tuple[str, ...]]
    good: list[bool]

    def as_json(self) -> dict[str, Any]:
        return {"title": self.title, "head": list(self.head), "rows": [list(row) for row in self.rows], "good": self.good}


@dataclass(frozen=True)
class Reproduction:
    """All claims of a paper, and its figures, which are drawn on demand."""

    key: str
    title: str
    claims: list[Claim]
    pictures: Callable[[], list[Picture]]
    own: bool = False  # a method of hilt's own, held against our targets instead of a paper
    tables: tuple[Callable[[], Listing], ...] = ()

    def verdict(self, claim: Claim) -> str:
        """Return a claim's verdict: hilt's own targets are met or missed, only a paper is reproduced."""
        if not self.own:
            return claim.verdict
        return "missed" if not claim.holds else "beyond the target" if claim.beyond else "met"

    @property
    def against(self) -> str:
        """The head of the column next to hilt's values."""
        return "target" if self.own else "paper"

    @property
    def meaning(self) -> dict[str, str]:
        """Every possible verdict, in order, and what it means."""
        return OWN_MEANING if self.own else MEANING

    @property
    def coverage(self) -> dict[str, int]:
        """Number of claims per verdict, including verdicts that none has."""
        found = [self.verdict(claim) for claim in self.claims]
        return {verdict: found.count(verdict) for verdict in self.meaning}

    @property
    def tally(self) -> str:
        """The coverage in one line."""
        counted = [f"{count} {_SUMMED_UP.get(verdict, verdict)}" for verdict, count in self.coverage.items() if count]
        return f"{len(self.claims)} {'targets of our own' if self.own else 'claims'}: {', '.join(counted)}."

    def as_json(self) -> dict[str, Any]:
        claims = [
            {**claim.as_json(), "verdict": explained(claim, self.verdict(claim)), "kind": self.verdict(claim)}
            for claim in self.claims
        ]
        return {
            "paper": self.key,
            "title": self.title,
            "tally": self.tally,
            "coverage": self.coverage,
            "claims": claims,
            "tables": [table().as_json() for table in self.tables],
        }
