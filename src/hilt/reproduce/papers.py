"""The papers that hilt reproduces."""

import html
import importlib
from pathlib import Path

from hilt.core import registry
from hilt.core.faults import InputError
from hilt.report import figure, page, summary
from hilt.reproduce.beside import numbers_picture
from hilt.reproduce.claims import Claim, Reproduction


def _modules() -> dict[str, str]:
    """Of every system: which module computes the claims of which paper."""
    found: dict[str, str] = {}
    for system in registry.systems().values():
        found |= getattr(system.part("paper"), "PAPERS", {})
    return dict(sorted(found.items()))


def names() -> list[str]:
    return list(_modules())


def reproduce(name: str) -> Reproduction:
    known = _modules()
    if name not in known:
        raise InputError(f"{name!r} is not a paper that hilt reproduces; known are {', '.join(known)}; choose one")
    found: Reproduction = importlib.import_module(known[name]).reproduce()
    return found


def write(reproduction: Reproduction, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"reproduce-{reproduction.key}.html"
    with figure.styled():
        path.write_text(page.document(reproduction.title, _body(reproduction)), encoding="utf-8")
    return path


def _body(found: Reproduction) -> str:
    """The tally, the numbers beside each other, what differs and why; every claim and the figures are folded."""
    differs = [claim for claim in found.claims if not claim.holds]
    look = "verdict" if differs else "verdict good"
    body = f"<h1>{html.escape(found.title)}</h1><div class='{look}'><b>{html.escape(found.tally)}</b></div>"
    numbers = numbers_picture(found)
    if numbers is not None:
        body += summary.figure(numbers)
    if differs:
        body += f"<h2>{'What was missed' if found.own else 'What differs'}, and why</h2>"
        because = [(*_cells(claim), html.escape(claim.because)) for claim in differs]
        body += page.table(("where", "claim", found.against, "here", "because"), because, 9)
    rows = [(*_cells(claim), _verdict(found, claim)) for claim in found.claims]
    body += page.fold(
        f"All {len(rows)} {'targets' if found.own else 'claims'}",
        page.table(("where", "claim", found.against, "here", "verdict"), rows, 9),
    )
    return body + page.fold("Figures", page.figures(found.pictures()))


def _cells(claim: Claim) -> tuple[str, ...]:
    return tuple(html.escape(text) for text in (claim.where, claim.what, claim.paper, claim.here))


def _verdict(found: Reproduction, claim: Claim) -> str:
    look = "no" if not claim.holds else "beyond" if claim.beyond else "yes"
    return f"<span class='{look}'>{found.verdict(claim)}</span>"
