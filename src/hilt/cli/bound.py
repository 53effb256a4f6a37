"""The command line of the bound: what no method can do better at the first touch of a scenario."""

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from hilt.core.faults import InputError

console = Console()


def bound(
    target: Annotated[str, typer.Argument(metavar="SYSTEM|FILE.toml", help="docking, or a scenario file of it")],
    scenario: Annotated[str | None, typer.Option("--scenario", help="one of the system's scenarios, or a .toml file")] = None,
    settings: Annotated[list[str], typer.Option("--set", metavar="KEY=VALUE", help="change a value")] = [],  # noqa: B006
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object on stdout and nothing else")] = False,
) -> None:
    """Least contact force at the first touch of an unknown surface, by any method, and what would lower it."""
    from hilt import job

    system, values, name = job.find(target, scenario, settings)
    if system.name != "docking":
        raise InputError(f"{system.name} has no bound of its contact force; only docking has; give docking or one of its files")
    from hilt.report.words import si
    from hilt.systems.docking.analysis.bound import WITHIN
    from hilt.systems.docking.views.bound import PARTS, first_touch, stiffness_unit

    found = first_touch(values)  # type: ignore[arg-type]
    if as_json:
        print(json.dumps({"system": system.name, "scenario": name, **job.plain(found.as_json())}))
        return
    touch, unit = found.touch, stiffness_unit(found.touch)
    table = Table(show_header=False)
    table.add_column()
    table.add_column(justify="right")
    table.add_row("least CoF of the first touch, real time", f"{found.cof:.4f}")
    table.add_row("  the same by the linear programme", f"{found.programme:.4f}")
    if found.guarded_clock is not None and found.guarded_cof is not None:
        table.add_row(f"least CoF at the clock of guarded, β = {found.guarded_clock:.2f}", f"{found.guarded_cof:.4f}")
    if found.clock is not None:
        table.add_row(f"largest clock β that can meet {100 * WITHIN:g} %", f"{found.clock:.3f}")
    if found.stiffness is not None:
        table.add_row(f"stiffness above which real time cannot meet {100 * WITHIN:g} %, A as below", si(found.stiffness, unit))
    table.add_row("  stiffness here", si(touch.stiffness, unit))
    table.add_row("from the touch to the first answer of the robot, t_b", si(touch.t_b, "s"))
    for part, seconds in found.parts.items():
        table.add_row(f"  {PARTS[part]}", si(seconds, "s"))
    table.add_row("the robot's response 2ζ/ω_n, beside t_b", si(touch.T1, "s"))
    table.add_row("largest acceleration of the command, A", si(touch.acceleration, "m/s²"))
    table.add_row("  in parts of v0 ω, n", f"{touch.acceleration / (touch.speed * touch.omega):.3g}")
    table.add_row("largest speed of the command, V", si(touch.fastest, "m/s"))
    table.add_row("speed along the normal, v0", si(touch.speed, "m/s"))
    table.add_row("mass along the normal", f"{touch.mass:.4g} kg")
    console.print(f"[bold]{system.name} · {name}[/]  {values.summary}", highlight=False)
    console.print(table)
    console.print(found.sentence, highlight=False)


def add(app: typer.Typer) -> None:
    """This command, beside the others."""
    app.command()(bound)
