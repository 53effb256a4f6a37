"""Opens the cockpit: a port, a token, a card for later links, and the door."""

import asyncio
import errno
import resource
import secrets
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from hilt.cockpit import door, keys
from hilt.cockpit.gate import Log, is_loopback
from hilt.cockpit.helm import Helm
from hilt.core.faults import InputError
from hilt.device import own

OPEN_FILES = 4096
Ready = Callable[[Callable[..., str], keys.Card], None]


def bind(host: str, port: int) -> socket.socket:
    """Return a socket bound to the port, or refuse with one sentence."""
    found = None
    try:
        family, kind, number, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        found = socket.socket(family, kind, number)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
    except (OSError, OverflowError) as error:
        if found is not None:
            found.close()
        if getattr(error, "errno", None) == errno.EADDRINUSE:
            raise InputError(
                f"port {port} of {host} is in use; stop the program that uses it, or choose another with --port"
            ) from None
        raise InputError(f"cannot listen on port {port} of {host}: {error}; choose others with --host and --port") from None
    return found


def _permit_files() -> None:
    """Raise the limit of open files, so that we refuse excess connections ourselves and can still open recordings."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))


def serve(host: str, port: int, out: Path, token: str | None = None, ready: Ready | None = None) -> None:
    """Serve until interrupted. `ready` is called once, when pages can be opened, with a function for links and the card."""
    log, codes = Log(), keys.Codes()
    if not is_loopback(host):
        print(
            f"hilt: the cockpit listens on {host}: anyone who can reach it and has a key can move the robot, and nothing "
            "is encrypted; leave out --host to stay on this machine",
            file=sys.stderr,
        )
    bound = bind(host, port)
    port = bound.getsockname()[1]
    token = token or secrets.token_urlsafe(24)
    _permit_files()
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    card = keys.Card(port)
    helm = Helm(token, codes, log)
    helm.on_login = card.forget_page

    def opened() -> None:
        card.write(address, codes.secret)
        if ready is not None:
            ready(lambda role=keys.CONTROL, session="": keys.link(address, codes.secret, role, session), card)

    config = {"host": host, "port": port, "out": str(out), "token": token, "drivers": own.allowed()}
    try:
        asyncio.run(door.run(bound, config, helm, log, opened))
    finally:
        card.remove()
