"""The command line of the cockpit."""

import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer


def cockpit(
    port: Annotated[int, typer.Option(help="where to listen; 0 takes a free one")] = 8484,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="only print the address")] = False,
    host: Annotated[str, typer.Option(help="an address that others can reach has to be asked for")] = "127.0.0.1",
    out: Annotated[Path, typer.Option("--out", help="folder for recordings and reports")] = Path("runs"),
) -> None:
    """Watch, drive and stop runs in a browser."""
    from hilt import cockpit as server

    def ready(address: str) -> None:
        print(address, flush=True)
        if not no_browser:
            webbrowser.open(address)

    with suppress(KeyboardInterrupt):
        server.serve(host, port, out, ready=ready)


def add(app: typer.Typer) -> None:
    """`hilt cockpit`, beside the others."""
    app.command()(cockpit)
