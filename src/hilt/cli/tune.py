"""`hilt tune`: vary keys, test the best values on unseen seeds, write them as a scenario file."""

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from hilt.cli.console import console, status
from hilt.core.faults import InputError

if TYPE_CHECKING:
    from hilt.sweeps.tune import Search, Tuned

NOT_BETTER = 1  # exit code
MOST_PROCESSES = 64


def tune(
    target: Annotated[str, typer.Argument(metavar="SYSTEM|FILE.toml", help="a system, or your own scenario file")],
    vary: Annotated[
        list[str],
        typer.Option("--vary", metavar="KEY=SPEC", help="robot.delay='2..40 ms', 'a..b unit log', or values: pida,twin"),
    ],
    objective: Annotated[str, typer.Option(metavar="METRIC[:min|max]", help="metric to minimise, or with :max to maximise")],
    scenario: Annotated[str | None, typer.Option("--scenario", help="one of the system's scenarios, or a .toml file")] = None,
    settings: Annotated[list[str], typer.Option("--set", metavar="KEY=VALUE", help="change a value")] = [],  # noqa: B006
    trials: Annotated[int, typer.Option(help="number of trials, over all processes")] = 100,
    seeds: Annotated[int, typer.Option(help="run each trial with this many seeds, starting at the scenario's")] = 3,
    unseen: Annotated[int, typer.Option(help="test the winner on this many further seeds")] = 20,
    storage: Annotated[
        str | None, typer.Option(metavar="URL|FILE", help="keep trials in a file, sqlite:///, postgresql://, redis://, grpc://")
    ] = None,
    study: Annotated[str, typer.Option(metavar="NAME", help="name of the study there; an existing one is continued")] = "hilt",
    processes: Annotated[int, typer.Option(help="number of processes that share the trials")] = 1,
    engine: Annotated[str, typer.Option(help="threads (this machine), cuda (a GPU) or plain (slow)")] = "threads",
    out: Annotated[Path, typer.Option("--out", metavar="FILE.toml", help="the scenario file to write")] = Path("tuned.toml"),
    force: Annotated[
        bool, typer.Option("--force", help="write it even if it is not better, and over an existing file")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object on stdout and nothing else")] = False,
) -> None:
    """Find better values: Optuna varies keys; the winner is tested on unseen seeds and written as a scenario file."""
    from hilt.sweeps import tune as tuning
    from hilt.sweeps import tuner

    tuning.check_trials(trials)
    if not 1 <= processes <= MOST_PROCESSES:
        raise InputError(f"--processes is {processes}; it must be from 1 to {MOST_PROCESSES}; give a whole number")
    _check_file(out, force)
    order = {"target": target, "scenario": scenario, "settings": settings, "vary": vary, "objective": objective}
    search = tuner.search_of(order | {"seeds": seeds, "engine": engine})
    _check_seeds(search, seeds, unseen)
    if not as_json and status.is_terminal:
        status.print(f"running {trials} trials with {seeds} seeds each … Ctrl-C ends it", highlight=False)
    with tempfile.TemporaryDirectory() as folder:
        shared = storage or (str(Path(folder) / "tuning.log") if processes > 1 else None)
        found = _searched(
            search, order | {"seeds": seeds, "engine": engine, "storage": shared, "study": study}, trials, processes, unseen
        )
    written = found.better or force
    if written:
        _write(out, found.text(study))
    if as_json:
        from hilt import job

        print(json.dumps(job.plain({**found.as_json(), "file": str(out) if written else None})))
    else:
        _print(search, found, out if written else None)
    if not written:
        raise typer.Exit(NOT_BETTER)


def _searched(search: "Search", order: dict[str, Any], trials: int, processes: int, unseen: int) -> "Tuned":
    from hilt.sweeps import study as studies
    from hilt.sweeps import tune as tuning
    from hilt.sweeps import tuner

    study = studies.opened(search, studies.storage_of(order["storage"]), order["study"])
    shares = [trials // processes + (n < trials % processes) for n in range(processes)]
    orders = [order | {"number": n, "trials": share} for n, share in enumerate(shares) if n > 0 and share]
    with tuner.Helpers(orders) as helpers:
        search.run(study, shares[0])
        for sentence in helpers.wait():
            status.print(f"hilt: a process ended before its trials were done: {sentence}", highlight=False, soft_wrap=True)
    return tuning.evaluate(search, study, unseen)


def _check_seeds(search: "Search", seeds: int, unseen: int) -> None:
    from hilt.sweeps import seeds as many

    many.check(search.batch.system, search.batch.base, seeds)
    if not 1 <= unseen <= many.MOST:
        raise InputError(f"--unseen is {unseen}; it must be from 1 to {many.MOST}; give a whole number")


def _check_file(path: Path, force: bool) -> None:
    if path.suffix != ".toml":
        raise InputError(f"--out is {path}; a scenario file must end in .toml; rename it")
    if path.is_dir() or (path.exists() and not force):
        raise InputError(f"--out is {path}, which exists; give another name, or --force to replace it")
    if not path.absolute().parent.is_dir():
        raise InputError(f"--out is {path}, whose folder does not exist; make it, or give another name")


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}; choose another with --out") from None


def _print(search: "Search", found: "Tuned", path: Path | None) -> None:
    from hilt.sweeps import maps
    from hilt.sweeps.margin_page import quantity
    from hilt.sweeps.space import value_of

    table = Table("key", "before", "tuned", title=f"{found.trials} trials, {found.given_up} pruned", title_justify="left")
    for key, value in found.best.items():
        unit = maps.shown_unit(search.batch.system, key)
        shown = [
            quantity(each, unit) if isinstance(each, float) else _shown(each)
            for each in (value_of(search.batch.base, key), value)
        ]
        table.add_row(key, *shown)
    for name, (before, after) in found.comparison.others.items():
        table.add_row(f"{name}, mean", f"{before:.4g}", f"{after:.4g}", style="dim")
    console.print(table)
    console.print(found.sentence, highlight=False)
    if path is not None:
        console.print(f"scenario   {path}: hilt run {path}", highlight=False, soft_wrap=True)
    else:
        console.print("Nothing was written; --force writes it anyway.", highlight=False)


def _shown(value: Any) -> str:
    return "not given" if value is None else str(value)


def add(app: typer.Typer) -> None:
    """Add this command to the others."""
    app.command()(tune)
