"""The command line of the cockpit."""

import os
import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hilt.cli.lab import Drivers
from hilt.cli.stream import say
from hilt.core import clock
from hilt.core.faults import InputError
from hilt.host.interrupts import Interrupted

if TYPE_CHECKING:
    from hilt.stream.streams import Wanted

TOKEN = "HILT_COCKPIT_TOKEN"  # in the environment, where other users do not see it; if not set, each server makes its own
SHORTEST_TOKEN = 16


def _token() -> str | None:
    found = os.environ.get(TOKEN)
    if found and (len(found) < SHORTEST_TOKEN or not found.isascii() or not found.replace("-", "").replace("_", "").isalnum()):
        raise InputError(f"{TOKEN} must be {SHORTEST_TOKEN} or more letters, digits, - and _; leave it out for a random one")
    return found or None


def _show(address: str, card: Any) -> None:
    """Open the page in the browser through a private file, because every user of the machine can read a command line."""
    webbrowser.open(card.page(address))


def _built() -> bool:
    """Whether the page exists: a wheel contains it, a checkout has to build it."""
    from hilt.cockpit import PAGE

    return PAGE.is_file()


def _check_page() -> None:
    if not _built():
        raise InputError("the cockpit's page is not built; run: make cockpit")


def invitation(out: Path) -> str:
    """Return the command that opens the runs of a folder in the cockpit; it depends on the installation."""
    command = "hilt cockpit" if _built() else "make cockpit"
    return f"{command}{'' if out == Path('runs') or not _built() else f' --out {out}'}"


def cockpit(
    port: Annotated[int, typer.Option(help="port to listen on; 0 takes a free one")] = 8484,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="only print the address")] = False,
    host: Annotated[str, typer.Option(help="address to listen on; by default only this machine can connect")] = "127.0.0.1",
    out: Annotated[Path, typer.Option("--out", help="folder for recordings and reports")] = Path("runs"),
    driver: Drivers = [],  # noqa: B006
    link: Annotated[bool, typer.Option("--link", help="print a new address for the cockpit running on this port")] = False,
    watch: Annotated[bool, typer.Option("--watch", help="the address allows watching and stopping, but no control")] = False,
) -> None:
    """Watch, drive and stop runs in a browser. The printed address works once and expires after five minutes."""
    from hilt import cockpit as server
    from hilt.cockpit import keys
    from hilt.device import own

    own.allow(*driver)
    role = keys.WATCH if watch else keys.CONTROL
    if link:
        print(keys.Card(port).link(role), flush=True)
        return
    _check_page()

    def ready(links: Any, card: Any) -> None:
        print(links(role), flush=True)
        if not no_browser:
            _show(links(role), card)

    with suppress(KeyboardInterrupt, Interrupted):
        server.serve(host, port, out, _token(), ready)


def run(config: dict[str, Any], out: Path, wanted: "Wanted") -> None:
    """Start a scenario in wall time, armed by this command, and show it until interrupted; then stop and end it."""
    from hilt import cockpit as server
    from hilt.live import mailbox, station
    from hilt.stream.streams import streaming

    _check_page()
    name = station.launch({**config, "out": str(out), "go": True})

    def ready(links: Any, card: Any) -> None:
        print(links(session=name), flush=True)
        _show(links(session=name), card)

    try:
        with suppress(KeyboardInterrupt, Interrupted), streaming(name, wanted, say):
            server.serve("127.0.0.1", 0, out, ready=ready)
    finally:
        with suppress(InputError):  # it may already have ended
            sender = mailbox.Sender(name)
            sender.wait(sender.stop(), 5.0)
            while sender.front.state == mailbox.LIVE and sender.alive:
                clock.pause(0.05)
            sender.wait(sender.quit(), 5.0)
            sender.close()


def add(app: typer.Typer) -> None:
    """Add `hilt cockpit` to the other commands."""
    app.command()(cockpit)
