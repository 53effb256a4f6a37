"""The command line of a new scenario: a commented file to begin with, and its keys on one screen."""

import json
from typing import Annotated

import typer

from hilt.cli.console import console

SystemName = Annotated[str, typer.Argument(metavar="SYSTEM", help="as hilt list shows them")]


def new(system: SystemName) -> None:
    """A commented scenario to begin with, on stdout: hilt new SYSTEM > my.toml. It runs as it is."""
    from hilt.core import registry

    print(registry.system(system).template, end="")


def schema(
    system: SystemName,
    brief: Annotated[bool, typer.Option("--brief", help="the keys that matter on one screen: unit, default, meaning")] = False,
    every: Annotated[bool, typer.Option("--all", help="with --brief: all keys")] = False,
) -> None:
    """JSON schema of a system's scenario; --brief for people."""
    from hilt.core import registry

    found = registry.system(system)
    if not brief and not every:
        print(json.dumps(found.scenario.model_json_schema(), indent=2))  # type: ignore[attr-defined]
        return
    from hilt.core import outline, toml

    lines = list(outline.lines(found.scenario))
    shown = lines if every else outline.chosen(lines, toml.parse(found.template))
    for words in outline.columns(shown, None if every else console.width):
        print(words)
    if len(shown) < len(lines):
        rest = f"{len(lines) - len(shown)} more keys with --all; all of them for programs: hilt schema {found.name}"
        print(rest)


def add(app: typer.Typer) -> None:
    """These commands, beside the others."""
    app.command()(new)
    app.command()(schema)
