"""A paper's claims beside what hilt computes."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hilt.report.figure import Picture


@dataclass(frozen=True)
class Claim:
    """One number or statement: the paper's, ours, whether they agree, and why not."""

    where: str
    what: str
    paper: str
    here: str
    holds: bool
    because: str = ""
    beyond: bool = False  # the paper has no figure to compare with
    numbers: tuple[tuple[float, float], ...] = ()  # the paper's and ours, where the paper gives numbers

    @property
    def verdict(self) -> str:
        if not self.holds:
            return "differs"
        return "beyond the paper" if self.beyond else "reproduced"

    def as_json(self) -> dict[str, Any]:
        verdict = self.verdict + (f", because {self.because}" if not self.holds else "")
        return {"where": self.where, "claim": self.what, "paper": self.paper, "here": self.here, "verdict": verdict}


@dataclass(frozen=True)
class Reproduction:
    """All claims of a paper, and its figures, drawn when they are asked for."""

    key: str
    title: str
    claims: list[Claim]
    pictures: Callable[[], list[Picture]]
    own: bool = False  # of a method of ours: what it is held against are our own targets, not a paper's

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
    def tally(self) -> str:
        """How many of each, in one line."""
        found = Counter(self.verdict(claim) for claim in self.claims)
        order = ("met", "missed", "beyond the target") if self.own else ("reproduced", "differs", "beyond the paper")
        words = {
            "differs": "differ",
            "beyond the paper": "beyond the paper (it gives no figure to compare with)",
            "beyond the target": "beyond what was asked for",
        }
        counted = [f"{found[each]} {words.get(each, each)}" for each in order if found[each]]
        return f"{len(self.claims)} {'targets of our own' if self.own else 'claims'}: {', '.join(counted)}."

    def as_json(self) -> dict[str, Any]:
        claims = [{**claim.as_json(), "verdict": self._told(claim)} for claim in self.claims]
        return {"paper": self.key, "title": self.title, "tally": self.tally, "claims": claims}

    def _told(self, claim: Claim) -> str:
        return self.verdict(claim) + (f", because {claim.because}" if not claim.holds else "")
