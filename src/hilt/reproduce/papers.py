"""The papers that hilt reproduces."""

import html
import importlib
from pathlib import Path

from hilt.core import registry
from hilt.core.faults import InputError
from hilt.report import page
from hilt.reproduce.claims import Reproduction


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
    rows = []
    for claim in reproduction.claims:
        verdict = f"<span class='{'yes' if claim.holds else 'no'}'>{claim.verdict}</span>"
        if not claim.holds:
            verdict += f", because {html.escape(claim.because)}"
        rows.append((*(html.escape(text) for text in (claim.where, claim.what, claim.paper, claim.here)), verdict))
    body = f"<h1>{html.escape(reproduction.title)}</h1>" + page.table(("where", "claim", "paper", "here", "verdict"), rows, 9)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"reproduce-{reproduction.key}.html"
    path.write_text(page.document(reproduction.title, body + page.figures(reproduction.pictures())), encoding="utf-8")
    return path
