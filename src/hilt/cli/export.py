"""`hilt export`: a scenario's loop as an FMU."""

import json
from pathlib import Path
from typing import Annotated

import typer

from hilt.cli.console import console
from hilt.core.faults import InputError


def export(
    target: Annotated[str, typer.Argument(metavar="SYSTEM|FILE.toml", help="a system, or your own scenario file")],
    out: Annotated[Path, typer.Option("--out", help="the FMU to write, such as my.fmu")],
    scenario: Annotated[str | None, typer.Option("--scenario", help="one of the system's scenarios, or a .toml file")] = None,
    settings: Annotated[list[str], typer.Option("--set", metavar="KEY=VALUE", help="change a value")] = [],  # noqa: B006
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object on stdout and nothing else")] = False,
) -> None:
    """Export a scenario's loop (plant and tick) as an FMU for other tools: FMI 2.0 co-simulation, no Python inside."""
    from hilt import job
    from hilt.fmi.export import export as write

    if out.suffix != ".fmu":
        raise InputError(f"--out is {str(out)!r}; the file name of an FMU must end in .fmu; rename it")
    job.check_folder(out.parent)
    system, values, name = job.find(target, scenario, settings)
    out.parent.mkdir(parents=True, exist_ok=True)
    shown = write(system, values, name, out)
    counts = shown.counts
    if as_json:
        print(json.dumps({"system": system.name, "scenario": name, "fmu": str(out), "period": values.loop.period, **counts}))
        return
    console.print(f"{out}: {system.name} {name}, FMI 2.0 co-simulation", highlight=False, soft_wrap=True)
    console.print(
        f"step {values.loop.period:g} s; {counts['outputs']} outputs, {counts['inputs']} inputs (live values), "
        f"{counts['constants']} constants of the scenario",
        highlight=False,
        soft_wrap=True,
    )


def add(app: typer.Typer) -> None:
    """Add this command to the others."""
    app.command()(export)
