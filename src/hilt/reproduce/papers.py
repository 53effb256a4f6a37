"""The papers that hilt reproduces."""

import html
import importlib
from pathlib import Path

from hilt.core import registry
from hilt.core.faults import InputError
from hilt.report import figure, page, summary
from hilt.reproduce.beside import numbers_picture
from hilt.reproduce.claims import (
    BEYOND,
    BY_CONSTRUCTION,
    DIFFERS,
    FITTED,
    NOT_TESTABLE,
    REPRODUCED,
    Claim,
    Listing,
    Reproduction,
)

LOOKS = {REPRODUCED: "yes", "met": "yes", DIFFERS: "no", "missed": "no"}  # all others are neither good nor bad
REASONS = {
    DIFFERS: "What differs, and why",
    "missed": "What was missed, and why",
    FITTED: "What was fitted: agreement says nothing",
    BY_CONSTRUCTION: "What could not have turned out otherwise",
    NOT_TESTABLE: "What cannot be tested here",
    BEYOND: "Beyond the paper: where our own criterion is missed",
}


def _modules() -> dict[str, str]:
    """Return, for the papers of all systems, the module that computes the claims."""
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
    """Coverage, the numbers side by side, what is not reproduced and why; all claims and the figures are folded."""
    wanting = [claim for claim in found.claims if not claim.holds or claim.declared]
    look = "verdict" if wanting else "verdict good"
    body = f"<h1>{html.escape(found.title)}</h1><div class='{look}'><b>{html.escape(found.tally)}</b></div>{_coverage(found)}"
    numbers = numbers_picture(found)
    if numbers is not None:
        body += summary.figure(numbers)
    for verdict, heading in REASONS.items():
        claims = [claim for claim in wanting if found.verdict(claim) == verdict]
        if claims:
            because = [(*_cells(claim), html.escape(claim.because)) for claim in claims]
            body += f"<h2>{heading}</h2>" + page.table(("where", "claim", found.against, "here", "because"), because, 9)
    body += "".join(_listing(table()) for table in found.tables)
    rows = [(*_cells(claim), _reading(claim), _allowed(claim), _verdict(found, claim)) for claim in found.claims]
    head = ("where", "claim", found.against, "here", "read as", "tolerance, and why", "verdict")
    body += page.fold(f"All {len(rows)} {'targets' if found.own else 'claims'}", page.table(head, rows, 9))
    return body + page.fold("Figures", page.figures(found.pictures()))


def _coverage(found: Reproduction) -> str:
    """Return the number of claims per verdict as a table."""
    rows = [
        (f"<span class='{LOOKS.get(verdict, 'beyond')}'>{verdict}</span>", str(count), html.escape(found.meaning[verdict]))
        for verdict, count in found.coverage.items()
    ]
    rows.append(("<b>in all</b>", f"<b>{len(found.claims)}</b>", ""))
    return page.table(("verdict", "targets" if found.own else "claims", "meaning"), rows, 9)


def _listing(table: Listing) -> str:
    """Return a table next to the claims; its last column is green or red."""
    rows = [
        (*(html.escape(cell) for cell in row[:-1]), f"<span class='{'yes' if good else 'no'}'>{html.escape(row[-1])}</span>")
        for row, good in zip(table.rows, table.good, strict=True)
    ]
    return f"<h2>{html.escape(table.title)}</h2>{page.table(table.head, rows, 9)}"


def _cells(claim: Claim) -> tuple[str, ...]:
    return tuple(html.escape(text) for text in (claim.where, claim.what, claim.paper, claim.here))


def _reading(claim: Claim) -> str:
    return html.escape(claim.reading)


def _allowed(claim: Claim) -> str:
    if claim.tolerance is None:
        return ""
    return f"{html.escape(claim.tolerance.words)}<br><span class='sub'>{html.escape(claim.tolerance.why)}</span>"


def _verdict(found: Reproduction, claim: Claim) -> str:
    verdict = found.verdict(claim)
    look = "no" if verdict == BEYOND and not claim.holds else LOOKS.get(verdict, "beyond")
    return f"<span class='{look}'>{verdict}</span>"
