"""The papers that hilt reproduces."""

import html
import importlib
from pathlib import Path

from hilt.core.faults import InputError
from hilt.report import page
from hilt.reproduce.claims import Reproduction

_MODULES = {
    "cuniato2022": "hilt.systems.aerial.paper.cuniato2022",
    "destefano2017": "hilt.systems.freefloat.paper.destefano2017",
    "he2022": "hilt.systems.docking.paper.he2022",
    "twin": "hilt.systems.docking.paper.twin_claims",
    "yang2018": "hilt.systems.payload.paper.yang2018",
}


def names() -> list[str]:
    return list(_MODULES)


def reproduce(name: str) -> Reproduction:
    if name not in _MODULES:
        raise InputError(f"{name!r} is not a paper that hilt reproduces; known are {', '.join(_MODULES)}; choose one")
    found: Reproduction = importlib.import_module(_MODULES[name]).reproduce()
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
