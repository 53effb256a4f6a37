"""`hilt check`: whether a scenario can work at all, and if not, which values it would need."""

import json
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from hilt.cli.console import console


def check(
    target: Annotated[str, typer.Argument(metavar="SYSTEM|FILE.toml", help="a system, or your own scenario file")],
    scenario: Annotated[str | None, typer.Option("--scenario", help="one of the system's scenarios, or a .toml file")] = None,
    settings: Annotated[list[str], typer.Option("--set", metavar="KEY=VALUE", help="change a value")] = [],  # noqa: B006
    rig: Annotated[
        str | None,
        typer.Option("--rig", metavar="NAME|FILE.toml", help="also apply a rig's settings and check the reach of its arm"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object on stdout and nothing else")] = False,
) -> None:
    """Check whether a scenario can work at all: what prevents it, and which value it would need. Simulates nothing."""
    from hilt import job
    from hilt.analysis import check as checks

    if rig is None:
        system, values, name = job.find(target, scenario, settings)
        remarks = checks.check(system, values)
    else:
        from hilt.device import rigfile
        from hilt.lab import reach

        file = rigfile.load(rigfile.find(rig))
        system, _, _ = job.find(target, scenario, [])
        system, values, name = job.find(target, scenario, [*file.settings(system.name), *settings])
        arm = reach.check(file, system.set_up(values))
        remarks = tuple(sorted((*checks.check(system, values), *arm), key=lambda remark: remark.fine))
    if as_json:
        fine = all(remark.fine for remark in remarks)
        found = [job.plain(remark.as_json()) for remark in remarks]
        print(json.dumps({"system": system.name, "scenario": name, "fine": fine, "checks": found}))
        return
    good = all(remark.fine for remark in remarks)
    console.print(Text(checks.summary(remarks), "bold green" if good else "bold red"))
    lines = Table.grid(padding=(0, 2))
    for remark in remarks:
        lines.add_row(Text("ok", "green") if remark.fine else Text("NO", "bold red"), remark.about, Text(remark.sentence))
    console.print(lines)


def add(app: typer.Typer) -> None:
    """Add this command to the others."""
    app.command()(check)
