"""The cockpit: watch and drive a run in a browser.

station (the loop) ── ring ────► back room ── socket ──► pages
                   ◄─ mailbox ── door, helm ◄─ socket ──┘
"""

from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent / "static" / "index.html"  # built by tools/build_page.sh, and in every wheel


def serve(host: str, port: int, out: Path, token: str | None = None, ready: Any = None) -> None:
    """Serve until interrupted; see opening.py."""
    from hilt.cockpit import opening  # here, because the scenes are used without it too

    opening.serve(host, port, out, token, ready)
