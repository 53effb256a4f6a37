"""The command line.

Exit code 0: done; 1: a replay differs; 2: bad input, one sentence, nothing written; 3: the run ended with a fault.
"""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from hilt import __version__
from hilt.faults import InputError

app = typer.Typer(
    add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False,
    help="Robotic hardware-in-the-loop simulation with an energy ledger.",
)  # fmt: skip
console = Console()
status = Console(stderr=True)

Settings = Annotated[list[str], typer.Option("--set", metavar="KEY=VALUE", help="change a value: --set robot.delay='20 ms'")]
AsJson = Annotated[bool, typer.Option("--json", help="one JSON object on stdout and nothing else")]
OutFolder = Annotated[Path, typer.Option("--out", help="folder for recordings and reports")]


def _print_json(value: object) -> None:
    print(json.dumps(value))


@app.callback(invoke_without_command=True)
def version(show: Annotated[bool, typer.Option("--version", help="print the version")] = False) -> None:
    if show:
        print(f"hilt {__version__}")
        raise typer.Exit


@app.command("list")
def list_systems(as_json: AsJson = False) -> None:
    """Systems and their scenario files."""
    from hilt import registry, scenario
    from hilt.report import terminal

    found = {
        name: {
            "summary": system.summary,
            "scenarios": {n: scenario.read_toml(p).get("summary", "") for n, p in system.scenario_files.items()},
        }
        for name, system in registry.systems().items()
    }
    if as_json:
        _print_json(found)
    else:
        terminal.print_systems(console, found)


@app.command()
def run(
    target: Annotated[str, typer.Argument(metavar="SYSTEM|FILE.toml", help="a system, or a scenario file of yours")],
    scenario: Annotated[str | None, typer.Option(help="one of the system's scenarios, or a .toml file")] = None,
    settings: Settings = [],  # noqa: B006  (typer reads it, nobody changes it)
    as_json: AsJson = False,
    out: OutFolder = Path("runs"),
    clock: Annotated[str, typer.Option(help="free (as fast as possible) or periodic (wall time)")] = "free",
    rig: Annotated[str, typer.Option(help="what stands for robot and sensor")] = "simulated",
) -> None:
    """Run a scenario: table of metrics, energy ledger, recording and report."""
    from hilt import job, registry
    from hilt.clock import Clock, FreeClock, PeriodicClock

    clocks: dict[str, type[Clock]] = {"free": FreeClock, "periodic": PeriodicClock}
    if clock not in clocks:
        raise InputError(f"--clock is {clock!r}; it must be free or periodic; choose one")
    system, values, name = job.find(target, scenario, settings)
    make_rig = registry.rig(rig)
    job.check_folder(out)
    if as_json:
        result = job.run(system, values, name, out, clocks[clock](), make_rig)
        _print_json(result.as_json())
    else:
        from hilt.report import page, terminal

        with terminal.progress(status, values.loop.duration, values.loop.period) as watch:
            result = job.run(system, values, name, out, clocks[clock](), make_rig, watch)
        terminal.print_result(console, result)
        console.print(f"recording  {result.recording}", highlight=False, soft_wrap=True)
        console.print(f"report     {page.write(result)}", highlight=False, soft_wrap=True)
    if result.fault:
        if as_json:
            print(result.fault.sentence, file=sys.stderr)
        raise typer.Exit(3)


@app.command()
def show(recording: Path, as_json: AsJson = False) -> None:
    """Print the summary of a recording and write its report again."""
    from hilt import job
    from hilt.record.recording import load
    from hilt.report import page, terminal

    found = load(recording)
    if not len(found.rows):
        raise InputError(f"{recording} holds no whole chunk of rows; it was cut too early; run the scenario again")
    system, values = job.scenario_of(found)
    name = found.result["scenario"] if found.result else "cut recording"
    result = job.finish(system, values, name, found.rows, recording)
    if as_json:
        _print_json(result.as_json())
        return
    terminal.print_result(console, result)
    if found.result is None:
        console.print(f"The run did not end in order: {len(found.rows)} rows up to t = {found.rows['t'][-1]:.4g} s are whole.")
    console.print(f"report     {page.write(result)}", highlight=False, soft_wrap=True)


@app.command()
def replay(recording: Path, as_json: AsJson = False) -> None:
    """Run the tick over the recorded inputs and compare byte by byte."""
    from hilt import job
    from hilt.record.recording import load

    found = load(recording)
    difference = job.replay(found)
    if as_json:
        _print_json(
            {
                "recording": str(recording),
                "rows": len(found.rows),
                "identical": difference is None,
                "difference": difference and vars(difference),
            }
        )
    elif difference is None:
        console.print(f"{len(found.rows)} rows replayed, every byte the same.")
    else:
        console.print(
            f"differs first at tick {difference.tick} in {difference.signal}: recorded {difference.recorded}, "
            f"replayed {difference.replayed}"
        )
    if difference is not None:
        raise typer.Exit(1)


@app.command()
def reproduce(
    paper: Annotated[str | None, typer.Argument(help="destefano2017; all papers if not given")] = None,
    as_json: AsJson = False,
    out: OutFolder = Path("runs"),
) -> None:
    """Every number of a paper beside ours, with the verdict, and its figures."""
    from hilt import job
    from hilt.report import terminal
    from hilt.reproduce import papers

    job.check_folder(out)
    results = [papers.reproduce(name) for name in ([paper] if paper else papers.names())]
    if as_json:
        _print_json([result.as_json() for result in results] if paper is None else results[0].as_json())
        return
    for result in results:
        terminal.print_claims(console, result)
        console.print(f"report     {papers.write(result, out)}", highlight=False, soft_wrap=True)


@app.command()
def schema(system: str) -> None:
    """JSON schema of a system's scenario."""
    from hilt import registry

    print(json.dumps(registry.system(system).scenario.model_json_schema(), indent=2))  # type: ignore[attr-defined]


def main() -> None:
    try:
        app()
    except InputError as error:
        print(f"hilt: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("hilt: interrupted; the recording holds what was run", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
