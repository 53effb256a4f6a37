"""A paper's claims beside what hilt computes."""

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

    def as_json(self) -> dict[str, Any]:
        return {"paper": self.key, "title": self.title, "claims": [claim.as_json() for claim in self.claims]}
