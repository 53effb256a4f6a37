"""`hilt new` and `hilt schema`: a commented scenario file to start from, and a list of its keys."""

import json
from typing import Annotated

import typer

from hilt.cli.console import console

SystemName = Annotated[str, typer.Argument(metavar="SYSTEM", help="a system; hilt list shows all of them")]


def new(system: SystemName) -> None:
    """Print a commented scenario file to start from: hilt new SYSTEM > my.toml. It runs unchanged."""
    from hilt.core import registry

    print(registry.system(system).template, end="")


def schema(
    system: SystemName,
    brief: Annotated[bool, typer.Option("--brief", help="the main keys on one screen: unit, default, meaning")] = False,
    every: Annotated[bool, typer.Option("--all", help="with --brief: all keys")] = False,
) -> None:
    """Print the JSON schema of a system's scenario, or with --brief a readable list of its keys."""
    from hilt.core import registry

    found = registry.system(system)
    if not brief and not every:
        print(json.dumps(found.scenario.model_json_schema(), indent=2))  # type: ignore[attr-defined]
        return
    from hilt.core import outline, toml

    lines = list(outline.lines(found.scenario))
    shown = lines if every else outline.chosen(lines, toml.parse(found.template))
    for line in outline.columns(shown, None if every else console.width):
        print(line)
    if len(shown) < len(lines):
        rest = f"{len(lines) - len(shown)} more keys with --all; JSON schema for programs: hilt schema {found.name}"
        print(rest)


def add(app: typer.Typer) -> None:
    """Add these commands to the others."""
    app.command()(new)
    app.command()(schema)
