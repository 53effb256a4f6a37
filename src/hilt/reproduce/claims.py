"""A paper's claims beside what hilt computes.

A verdict is computed wherever the paper gives numbers: paper's value, ours and the tolerance decide. Whether an input was
chosen to give the result, or the result could not have been otherwise, only the author of a claim knows, and has to declare.
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
    BY_CONSTRUCTION: "could not have come out otherwise: an identity, or an input of the run",
    NOT_TESTABLE: "the paper does not say what is needed to compute it",
    BEYOND: "the paper gives no figure to compare with",
}
DECLARED = (FITTED, BY_CONSTRUCTION, NOT_TESTABLE)
OWN_MEANING = {
    "met": "computed; keeps the target",
    "missed": "computed; does not keep it, and the reason is given",
    "beyond the target": "computed beside what was asked for",
}
_SUMMED_UP = {
    DIFFERS: "differ",
    BEYOND: "beyond the paper (it gives no figure to compare with)",
    "beyond the target": "beyond what was asked for",
}


@dataclass(frozen=True)
class Claim:
    """One number or statement: the paper's, ours, how it was read, what was allowed, and the verdict."""

    where: str
    what: str
    paper: str
    here: str
    judged: bool | None = None  # by the author, for statements in words; numbers are judged by the tolerance
    because: str = ""
    beyond: bool = False  # the paper has no figure to compare with
    numbers: tuple[tuple[float, float], ...] = ()  # the paper's and ours, where the paper gives numbers
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
        """Whether ours agrees with the paper's, however that came about."""
        if self.judged is not None:
            return bool(self.judged)  # comparisons of arrays give a type of their own
        if self.tolerance is None or self.tolerance.allows is None:
            return False
        return all(bool(self.tolerance.allows(paper, ours)) for paper, ours in self.numbers)

    @property
    def verdict(self) -> str:
        """A fitted claim that does not even agree differs: a fit excuses agreement, not disagreement."""
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
            "verdict": told(self, self.verdict),
            "kind": self.verdict,
            "holds": None if self.declared == NOT_TESTABLE else self.holds,
            "because": self.because,
            "reading": self.reading,
            "tolerance": self.tolerance.as_json() if self.tolerance else None,
            "numbers": [[float(paper), float(ours)] for paper, ours in self.numbers],
        }


def told(claim: Claim, verdict: str) -> str:
    """The verdict with its reason, where one is due."""
    if claim.beyond and not claim.holds and verdict == BEYOND:
        verdict += ", our own criterion missed"
    needs_reason = not claim.holds or verdict in DECLARED
    return f"{verdict}, because {claim.because}" if needs_reason and claim.because else verdict


@dataclass(frozen=True)
class Listing:
    """A table beside the claims; `good` says which rows are as they should be."""

    title: str
    head: tuple[str, ...]
    rows: list[tuple[str, ...]]
    good: list[bool]

    def as_json(self) -> dict[str, Any]:
        return {"title": self.title, "head": list(self.head), "rows": [list(row) for row in self.rows], "good": self.good}


@dataclass(frozen=True)
class Reproduction:
    """All claims of a paper, and its figures, drawn when they are asked for."""

    key: str
    title: str
    claims: list[Claim]
    pictures: Callable[[], list[Picture]]
    own: bool = False  # of a method of ours: what it is held against are our own targets, not a paper's
    tables: tuple[Callable[[], Listing], ...] = ()

    def verdict(self, claim: Claim) -> str:
        """A target of one's own is met or missed; only a paper is reproduced."""
        if not self.own:
            return claim.verdict
        return "missed" if not claim.holds else "beyond the target" if claim.beyond else "met"

    @property
    def against(self) -> str:
        """What stands beside ours."""
        return "target" if self.own else "paper"

    @property
    def meaning(self) -> dict[str, str]:
        """Every verdict that a claim may get, in order, and what it says."""
        return OWN_MEANING if self.own else MEANING

    @property
    def coverage(self) -> dict[str, int]:
        """How many claims have got each verdict; those that none has got are there, too."""
        found = [self.verdict(claim) for claim in self.claims]
        return {verdict: found.count(verdict) for verdict in self.meaning}

    @property
    def tally(self) -> str:
        """The same in one line."""
        counted = [f"{count} {_SUMMED_UP.get(verdict, verdict)}" for verdict, count in self.coverage.items() if count]
        return f"{len(self.claims)} {'targets of our own' if self.own else 'claims'}: {', '.join(counted)}."

    def as_json(self) -> dict[str, Any]:
        claims = [
            {**claim.as_json(), "verdict": told(claim, self.verdict(claim)), "kind": self.verdict(claim)}
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
