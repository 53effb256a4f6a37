"""`hilt bound`: the lowest force that any method can reach at the first touch of a scenario."""

import json
from typing import Annotated

import typer
from rich.table import Table

from hilt.cli.console import console
from hilt.core.faults import InputError


def bound(
    target: Annotated[
        str, typer.Argument(metavar="SYSTEM|FILE.toml", help="a system that has a bound, or one of its scenario files")
    ],
    scenario: Annotated[str | None, typer.Option("--scenario", help="one of the system's scenarios, or a .toml file")] = None,
    settings: Annotated[list[str], typer.Option("--set", metavar="KEY=VALUE", help="change a value")] = [],  # noqa: B006
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object on stdout and nothing else")] = False,
) -> None:
    """Show the lowest contact force any method can reach at the first touch of an unknown surface, and what would lower it."""
    from hilt import job
    from hilt.core import registry

    system, values, name = job.find(target, scenario, settings)
    own = system.part("views.bound")
    if own is None:
        able = [each for each, other in registry.systems().items() if other.part("views.bound")]
        raise InputError(
            f"{system.name} has no bound on its contact force; give one that has ({', '.join(able)}), or one of its files"
        )
    found = own.bound(values)
    if as_json:
        print(json.dumps({"system": system.name, "scenario": name, **job.plain(found.as_json())}))
        return
    table = Table(show_header=False)
    table.add_column()
    table.add_column(justify="right")
    for words, value in found.rows():
        table.add_row(words, value)
    console.print(f"[bold]{system.name} · {name}[/]  {values.summary}", highlight=False)
    console.print(table)
    console.print(found.sentence, highlight=False)


def add(app: typer.Typer) -> None:
    """Add this command to the others."""
    app.command()(bound)
