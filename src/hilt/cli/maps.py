"""`hilt map` and `hilt margin`: where a loop fails, and how far a scenario is from failing."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from hilt.cli.console import console, status
from hilt.core.faults import InputError

if TYPE_CHECKING:
    from hilt.sweeps.batch import Batch
    from hilt.sweeps.maps import Map
    from hilt.sweeps.margin import Margin

Target = Annotated[str, typer.Argument(metavar="SYSTEM|FILE.toml", help="a system, or your own scenario file")]
ScenarioName = Annotated[str | None, typer.Option("--scenario", help="one of the system's scenarios, or a .toml file")]
Settings = Annotated[list[str], typer.Option("--set", metavar="KEY=VALUE", help="change a value: --set robot.delay='20 ms'")]
Limits = Annotated[
    list[str],
    typer.Option(
        "--limit",
        metavar="METRIC=VALUE",
        help="a run fails if: diverged, cof=5%, 'tank_min_J<0'; of several, any one is enough",
    ),
]
Seeds = Annotated[int, typer.Option(help="run each point with this many seeds; it fails if any of them fails")]
EngineName = Annotated[str, typer.Option("--engine", help="threads (this machine), cuda (a GPU) or plain (slow)")]
AsJson = Annotated[bool, typer.Option("--json", help="one JSON object on stdout and nothing else")]
OutFolder = Annotated[Path, typer.Option("--out", help="folder for the page")]


def map_(
    target: Target,
    x: Annotated[
        str, typer.Option("--x", metavar="KEY[=RANGE]", help="horizontal axis: robot.delay='2..40 ms:25', or the key alone")
    ],
    y: Annotated[
        str, typer.Option("--y", metavar="KEY[=RANGE]", help="vertical axis: contact.stiffness='10..300 N/mm:25 log'")
    ],
    scenario: ScenarioName = None,
    settings: Settings = [],  # noqa: B006  (typer reads it, nobody changes it)
    limit: Limits = [],  # noqa: B006
    seeds: Seeds = 1,
    engine: EngineName = "threads",
    as_json: AsJson = False,
    out: OutFolder = Path("runs"),
) -> None:
    """Map where a loop fails over two of its values: the boundary, refined by bisection, and closed-form limits."""
    from hilt.sweeps import asking, edges, map_page, maps

    batch = _batch(target, scenario, settings, seeds, engine, out)
    sides = asking.side(batch, "--x", x), asking.side(batch, "--y", y)
    limits = asking.limits(batch, limit) or edges.limits(batch.system, batch.base)
    _announce(f"running a map of {sides[0].points} × {sides[1].points} points", as_json)
    found = maps.draw(batch, *sides, limits)
    if as_json:
        _print_json(batch, found)
        return
    title = map_page.title(batch, found)
    path = _page(batch, "map", map_page.render(found, title, _sub(batch, settings)), out)
    console.print(f"[bold]{title}[/]  {found.runs} runs", highlight=False)
    for sentence in map_page.sentences(found):
        console.print(sentence, highlight=False)
    for curve in found.curves:
        form = curve.form
        console.print(f"{form.name}: {form.formula}; leaves out {form.leaves_out}", highlight=False, style="dim", markup=False)
    console.print(f"report     {path}", highlight=False, soft_wrap=True)


def margin(
    target: Target,
    scenario: ScenarioName = None,
    settings: Settings = [],  # noqa: B006
    limit: Limits = [],  # noqa: B006
    key: Annotated[
        list[str],
        typer.Option("--key", metavar="KEY", help="find the critical value of this key; the system's list if not given"),
    ] = [],  # noqa: B006
    uncertain: Annotated[
        list[str],
        typer.Option(
            "--uncertain", metavar="KEY=SPEC", help="robot.delay=5%, contact.stiffness='normal(176,9) N/mm'; 10 % if not given"
        ),
    ] = [],  # noqa: B006
    metrics: Annotated[
        str, typer.Option(metavar="A,B", help="metrics of the sensitivity analysis; the system's choice if not given")
    ] = "",
    samples: Annotated[int, typer.Option(help="samples for the Sobol indices, a power of 2; 0 skips them")] = 64,
    seeds: Seeds = 1,
    engine: EngineName = "threads",
    as_json: AsJson = False,
    out: OutFolder = Path("runs"),
) -> None:
    """Show how far a scenario is from failing, what its metrics depend on, and which method is advised."""
    from hilt.sweeps import asking, margin_page
    from hilt.sweeps import margin as margins

    batch = _batch(target, scenario, settings, seeds, engine, out)
    question = margins.Question(
        limits=asking.limits(batch, limit),
        keys=tuple(key),
        uncertain=dict(asking.uncertain(batch, text) for text in uncertain) or None,
        metrics=asking.metrics(batch.system, metrics),
        samples=samples,
    )
    _announce("searching for critical values", as_json)
    found = margins.find(batch, question)
    if as_json:
        _print_json(batch, found)
        return
    title = margin_page.title(batch)
    path = _page(batch, "margin", margin_page.render(found, title, _sub(batch, settings)), out)
    console.print(f"[bold]{title}[/]  {found.runs} runs", highlight=False)
    for sentence in margin_page.verdict(found):
        console.print(sentence, highlight=False, markup=False)
    console.print(_table(margin_page.head(found), margin_page.rows(found)))
    if found.sobol is not None:
        console.print(_table(margin_page.index_head(found.sobol), margin_page.index_rows(found.sobol)))
        ranges = ", ".join(f"{name} {text}" for name, text in found.sobol.uncertain.items())
        console.print(f"Total Sobol indices over {ranges}.", highlight=False, style="dim")
    console.print(f"report     {path}", highlight=False, soft_wrap=True)


def _table(head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> Table:
    found = Table(*head)
    found.columns[0].no_wrap = True  # a key is read and typed as a whole
    for row in rows:
        found.add_row(*row)
    for column in found.columns[1:]:
        column.justify = "right"
    return found


def _batch(target: str, scenario: str | None, settings: list[str], seeds: int, engine: str, out: Path) -> "Batch":
    """The scenario, the engine and the folder, all checked before anything runs."""
    from hilt import job
    from hilt.sweeps import asking

    found = asking.batch(job.find(target, scenario, settings), seeds, engine)
    job.check_folder(out)
    return found


def _sub(batch: "Batch", settings: list[str]) -> str:
    changed = f"; with {', '.join(settings)}" if settings else ""
    return f"{batch.base.summary}{changed}"


def _print_json(batch: "Batch", found: "Map | Margin") -> None:
    print(json.dumps({"system": batch.system.name, "scenario": batch.name, **found.as_json()}))


def _page(batch: "Batch", kind: str, text: str, folder: Path) -> Path:
    """Write the page, named after system, scenario, kind and time, and return its path."""
    from hilt.core.clock import stamp

    path = folder / f"{batch.system.name}-{batch.name}-{kind}-{stamp()}.html"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"the page {path} cannot be written: {error.strerror}; choose another folder with --out") from None
    return path


def _announce(what: str, as_json: bool) -> None:
    if not as_json and status.is_terminal:
        status.print(f"{what} … Ctrl-C ends it", highlight=False)


def add(app: typer.Typer) -> None:
    """Add these commands to the others."""
    app.command("map")(map_)
    app.command()(margin)
