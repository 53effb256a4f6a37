"""The cockpit: a run seen and driven in a browser.

station (the loop) ── ring ──► server ── socket ──► pages
                   ◄─ mailbox ───┘
"""

from collections.abc import Callable
from pathlib import Path


def serve(host: str, port: int, out: Path, token: str | None = None, ready: Callable[[str], None] | None = None) -> None:
    """Serve until interrupted; see server.py. `ready` is called with the address when it can be opened."""
    from hilt.cockpit import server  # here: the scenes are used without it, too

    server.serve(host, port, out, token, ready)
