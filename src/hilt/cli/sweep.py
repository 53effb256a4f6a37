"""`hilt sweep`: many scenarios, one table."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hilt.cli.console import console, status
from hilt.core.faults import InputError

if TYPE_CHECKING:
    from hilt.sweeps.sweep import Done
    from hilt.sweeps.table import Plan


def add(app: typer.Typer) -> None:
    app.command("sweep")(sweep)


def sweep(
    target: Annotated[
        str,
        typer.Argument(metavar="SYSTEM|FILE.toml|FOLDER", help="a system, a scenario file, or with --resume a sweep's folder"),
    ],
    over: Annotated[
        list[str],
        typer.Option(
            "--over",
            metavar="KEY=SPEC",
            help="an axis: robot.delay='2..40 ms:39', contact.stiffness='10..300 N/mm:60 log', compensate.method=none,pida, "
            "body.mass='normal(80,4) kg:500'",
        ),
    ] = [],  # noqa: B006  (typer reads it, nobody changes it)
    scenario: Annotated[str | None, typer.Option("--scenario", help="one of the system's scenarios, or a .toml file")] = None,
    settings: Annotated[list[str], typer.Option("--set", metavar="KEY=VALUE", help="change a value in all scenarios")] = [],  # noqa: B006
    seeds: Annotated[int | None, typer.Option(help="run this many seeds, starting at the scenario's")] = None,
    draws: Annotated[
        int | None, typer.Option(help="draw this many points jointly from the distributions without a count")
    ] = None,
    sampler: Annotated[str, typer.Option(help="how the points are drawn: random, sobol, halton or latin")] = "random",
    draw_seed: Annotated[int, typer.Option(help="seed of the draws")] = 1,
    metrics: Annotated[str, typer.Option(metavar="A,B", help="only these metrics; all if not given")] = "",
    engine: Annotated[
        str, typer.Option(help="threads (this machine), dask (a cluster), cuda (a GPU) or plain (slow)")
    ] = "threads",
    cluster: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="address of a Dask scheduler, such as tcp://host:8786")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="folder of the table; runs/… if not given")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="compute only the chunks that are missing in the folder")] = False,
    chunk: Annotated[int | None, typer.Option(help="scenarios per file")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object on stdout and nothing else")] = False,
) -> None:
    """Run a scenario over ranges of its values and write one table, with a curve or a map of it."""
    from hilt.sweeps import engines, limits, page
    from hilt.sweeps import sweep as sweeps
    from hilt.sweeps.table import Table

    plan, folder = (
        _continued(Path(target), over, settings, scenario, seeds)
        if resume and Path(target).is_dir()
        else _planned(target, scenario, settings, (over, seeds, draws, sampler, draw_seed), (metrics, chunk, engine), out)
    )
    if cluster is not None and engine != "dask":
        engine = "dask" if engine == engines.DEFAULT else engine
        if engine != "dask":
            raise InputError(
                f"--cluster {cluster} is the address of a Dask scheduler but --engine is {engine}; leave out one of them"
            )
    made = engines.named(engine, **({"address": cluster} if engine == "dask" else {}))
    space = plan.space
    found = limits.estimate(space.system, space.base, space.count, len(space.keys), made.name)
    limits.check(found, folder)
    if found.remarkable:
        status.print(f"{found.sentence}; Ctrl-C ends it, --resume continues it", highlight=False, soft_wrap=True)
    Table(folder, plan).check(resume)
    with _bar(space.count, shown=not as_json) as watch:
        done = sweeps.run(plan, made, folder, resume, watch, print_status)
    if as_json:
        print(json.dumps(done.as_json()))
    else:
        _print(done)
        console.print(f"report     {page.write(done)}", highlight=False, soft_wrap=True)


def _planned(
    target: str,
    scenario: str | None,
    settings: list[str],
    axes: "tuple[list[str], int | None, int | None, str, int]",
    rest: "tuple[str, int | None, str]",
    out: Path | None,
) -> "tuple[Plan, Path]":
    from hilt import job
    from hilt.core.clock import stamp
    from hilt.sweeps import making
    from hilt.sweeps import sweep as sweeps
    from hilt.sweeps.table import Plan

    over, seeds, draws, sampler, draw_seed = axes
    metrics, chunk, engine = rest
    if not over and seeds is None:
        raise InputError("there is no axis; give one with --over, such as --over robot.delay='2..40 ms:39', or --seeds 20")
    request = making.Request(making.over_of(over), seeds, draws, sampler, draw_seed)
    space = making.find(target, scenario, settings, request)
    plan = Plan(
        space,
        sweeps.metrics_of(space.system, metrics.split(",")),
        sweeps.checked_chunk(chunk, space.count),
        "gpu" if engine == "cuda" else "cpu",
    )
    folder = out or Path("runs") / f"{space.system.name}-{space.name}-sweep-{stamp()}"
    job.check_folder(folder)
    return plan, folder


def _continued(
    folder: Path, over: list[str], settings: list[str], scenario: str | None, seeds: int | None
) -> "tuple[Plan, Path]":
    from hilt.sweeps.table import Table

    if over or settings or scenario or seeds is not None:
        raise InputError(
            f"{folder} already has a scenario and axes; leave out --over, --set, --scenario and --seeds, "
            "or give the system with --out and --resume"
        )
    return Table.open(folder).plan, folder


def print_status(sentence: str) -> None:
    status.print(f"hilt: {sentence}", highlight=False, soft_wrap=True)


@contextmanager
def _bar(count: int, shown: bool) -> Iterator[Callable[[int], None]]:
    """Show a progress bar on stderr: scenarios, rate and time left."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    if not shown:
        yield lambda _: None
        return
    columns = (
        TextColumn("sweeping"),
        BarColumn(),
        TextColumn("{task.completed:,.0f} of {task.total:,.0f}"),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=status) as bar:
        task = bar.add_task("sweep", total=count, rate="")

        def watch(scenarios: int) -> None:
            bar.advance(task, scenarios)
            speed = bar.tasks[0].speed
            bar.update(task, rate=f"{speed:,.0f} scenarios/s" if speed else "")

        yield watch


def _print(done: "Done") -> None:
    from rich.table import Table as Lines

    from hilt.sweeps import summary

    space = done.table.space
    rate = done.scenarios / done.seconds if done.seconds > 0.0 else 0.0
    title = f"{space.system.name} · {space.name}: {done.scenarios:,} scenarios in {done.seconds:.3g} s, {rate:,.0f} a second"
    lines = Lines("metric", "smallest", "median", "largest", "of", title=title, title_justify="left")
    for line in summary.lines(done.table):
        lines.add_row(*line)
    for column in lines.columns[1:]:
        column.justify = "right"
    console.print(lines)
    if done.failed:
        console.print(f"{done.failed:,} of {done.scenarios:,} runs ended with a fault", highlight=False)
    console.print(f"table      {done.table.chunks}", highlight=False, soft_wrap=True)
