"""The command line.

Exit code 0: done; 1: a replay differs; 2: bad input, one sentence, nothing written; 3: the run ended with a fault;
130: a signal ended the command before its run began, or after it.
"""

import json
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hilt import __version__
from hilt.cli import begin as cli_begin
from hilt.cli import bound as cli_bound
from hilt.cli import check as cli_check
from hilt.cli import cockpit as cli_cockpit
from hilt.cli import export as cli_export
from hilt.cli import lab as cli_lab
from hilt.cli import maps as cli_maps
from hilt.cli import station as cli_station
from hilt.cli import stream as cli_stream
from hilt.cli import sweep as cli_sweep
from hilt.cli import tune as cli_tune
from hilt.cli.console import console, status
from hilt.core.clock import Clock, FreeClock, PeriodicClock
from hilt.core.faults import InputError
from hilt.host import interrupts, shared
from hilt.host.interrupts import Interrupted

if TYPE_CHECKING:  # their imports cost time that `hilt list` need not spend
    from hilt.core.scenario import Scenario
    from hilt.core.system import System
    from hilt.preflight import Estimate
    from hilt.reproduce.claims import Reproduction


app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Robotic hardware-in-the-loop simulation with an energy ledger.",
)
cli_lab.add(app)
cli_station.add(app)
cli_stream.add(app)
cli_cockpit.add(app)
cli_bound.add(app)
cli_check.add(app)
cli_begin.add(app)
cli_sweep.add(app)
cli_maps.add(app)
cli_tune.add(app)
cli_export.add(app)

Target = Annotated[str, typer.Argument(metavar="SYSTEM|FILE.toml", help="a system, or your own scenario file")]
ScenarioName = Annotated[str | None, typer.Option("--scenario", help="one of the system's scenarios, or a .toml file")]
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
    shared.sweep()


@app.command("list")
def list_systems(as_json: AsJson = False) -> None:
    """List the systems with their scenarios, and the rigs that come with hilt."""
    from hilt.core import registry, scenario
    from hilt.device import rigfile
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
        terminal.print_systems(console, found, _folders())
        terminal.print_rigs(console, {name: scenario.read_toml(p).get("summary", "") for name, p in rigfile.shipped().items()})
        console.print(f"    in {rigfile.SHIPPED}", highlight=False, soft_wrap=True)


def _folders() -> dict[str, Path]:
    """Return the scenario folder of each system that has one."""
    from hilt.core import registry

    return {name: system.scenario_folder for name, system in registry.systems().items() if system.scenario_folder}


def _clock(name: str) -> Clock:
    clocks: dict[str, type[Clock]] = {"free": FreeClock, "periodic": PeriodicClock}
    if name not in clocks:
        raise InputError(f"--clock is {name!r}; it must be free or periodic; choose one")
    return clocks[name]()


@app.command()
def run(
    target: Target,
    scenario: ScenarioName = None,
    settings: Settings = [],  # noqa: B006  (typer reads it, nobody changes it)
    as_json: AsJson = False,
    out: OutFolder = Path("runs"),
    clock: Annotated[str, typer.Option(help="free (as fast as possible) or periodic (wall time)")] = "free",
    rig: Annotated[str, typer.Option(help="robot and sensor: simulated, dry-lab, or your own rig file (.toml)")] = "simulated",
    cockpit: Annotated[bool, typer.Option("--cockpit", help="run in wall time and show it in a browser")] = False,
    driver: cli_lab.Drivers = [],  # noqa: B006
    seeds: Annotated[
        int, typer.Option(help="run this many seeds, starting at the scenario's: mean and worst, no recording")
    ] = 1,
    stream: cli_stream.Out = "",
    live_in: cli_stream.In = "",
    live_force: cli_stream.Force = cli_stream.FORCE,
    live_torque: cli_stream.Torque = cli_stream.TORQUE,
) -> None:
    """Run a scenario: verdict, metrics, energy ledger, recording and report."""
    from hilt import job, preflight
    from hilt.core import registry
    from hilt.device import own, rigfile
    from hilt.live import cores

    own.allow(*driver)
    streams = cli_stream.wanted(stream, live_in, live_force, live_torque)
    if seeds != 1 and (cockpit or rig != "simulated" or clock != "free" or streams):
        raise InputError(
            f"--seeds {seeds} simulates many runs as fast as possible; it cannot be combined with --rig, --cockpit, --clock, "
            "--stream or --live-in; leave them out, or leave out --seeds"
        )
    without_files = registry.names("rigs")
    devices = None if rig in without_files else rigfile.find(rig, *without_files)
    if cockpit:
        where = None if devices is None else str(devices)
        cli_cockpit.run({"system": target, "scenario": scenario, "settings": settings, "rig": where}, out, streams)
        return
    if devices is not None or (streams and rig == "simulated"):
        cli_lab.run(target, scenario, settings, as_json, out, devices, streams)
        return
    if streams:
        raise InputError(f"--rig is {rig}, which has no rows in shared memory to stream; use --rig simulated or a rig file")
    pace = _clock(clock)
    system, values, name = job.find(target, scenario, settings)
    make_rig = registry.rig(rig)
    if clock == "periodic":
        cores.step_aside()
    if seeds != 1:
        _run_seeds(system, values, name, seeds, as_json)
        return
    job.check_folder(out)
    _announce(preflight.estimate(system, values), out)
    if as_json:
        result = job.run(system, values, name, out, pace, make_rig)
        _print_json(result.as_json())
    else:
        from hilt.report import terminal

        with terminal.progress(status, values.loop.duration, values.loop.period) as watch:
            result = job.run(system, values, name, out, pace, make_rig, watch)
        terminal.print_result(console, result)
        console.print(f"recording  {result.recording}", highlight=False, soft_wrap=True)
        console.print(f"report     {cli_lab.report(result)}", highlight=False, soft_wrap=True)
    cli_lab.end(result, as_json)


def _announce(estimate: "Estimate", folder: Path | None = None) -> None:
    """Refuse a run that cannot be done and announce one that takes long; on stderr, to keep JSON on stdout clean."""
    from hilt import preflight

    preflight.check(estimate, folder)
    if estimate.remarkable:
        status.print(f"{estimate.sentence}; Ctrl-C ends it", highlight=False, soft_wrap=True)


def _run_seeds(system: "System", values: "Scenario", name: str, count: int, as_json: bool) -> None:
    from hilt import preflight
    from hilt.report import terminal
    from hilt.sweeps import seeds

    seeds.check(system, values, count)
    _announce(preflight.estimate(system, values, count, recorded=False))
    summary = seeds.run(system, values, name, count)
    if as_json:
        _print_json(summary.as_json())
    else:
        terminal.print_seeds(console, summary)
    if summary.faults:
        if as_json:
            print(summary.sentence, file=sys.stderr)
        raise typer.Exit(3)


@app.command()
def compare(
    target: Target,
    over: Annotated[
        str,
        typer.Option(
            metavar="KEY=A,B,C", help="key and values to compare: compensate.method=none,pida or robot.delay='10..40 ms:4'"
        ),
    ],
    scenario: ScenarioName = None,
    settings: Settings = [],  # noqa: B006
    as_json: AsJson = False,
    out: OutFolder = Path("runs"),
    every: Annotated[bool, typer.Option("--all", help="all metrics and the energy ledger, one line each")] = False,
) -> None:
    """Run a scenario with several values of one key and compare them: a verdict for each, one picture, one sentence."""
    from hilt import job, preflight
    from hilt.core.clock import stamp
    from hilt.sweeps import making

    found = making.choices(target, scenario, settings, over)
    job.check_folder(out)
    first = next(iter(found.values()))
    longest = max((checked for _, checked, _ in found.values()), key=lambda each: each.loop.duration / each.loop.period)
    _announce(preflight.estimate(first[0], longest, len(found)), out)
    results = {}
    for choice, (system, checked, name) in found.items():
        if as_json:
            results[choice] = job.run(system, checked, name, out)
        else:
            from hilt.report import terminal

            with terminal.progress(status, checked.loop.duration, checked.loop.period, choice) as watch:
                results[choice] = job.run(system, checked, name, out, watch=watch)
    if as_json:
        _print_json({choice: result.as_json() for choice, result in results.items()})
        return
    from hilt.analysis import beside
    from hilt.report import comparison, page

    for choice, result in results.items():
        results[choice] = beside.computed(result)
        beside.keep(results[choice])
    comparison.print_comparison(console, results, every)
    for choice, result in results.items():
        console.print(f"{choice:10s} {page.write(result)}", highlight=False, soft_wrap=True)
    system, _, name = next(iter(found.values()))
    path = comparison.write(results, out / f"{system.name}-{name}-comparison-{stamp()}.html")
    console.print(f"report     {path}", highlight=False, soft_wrap=True)
    console.print(f"To watch these runs: {cli_cockpit.invitation(out)}, then Recordings.", highlight=False, soft_wrap=True)


@app.command()
def show(
    recording: Path,
    as_json: AsJson = False,
    advice: Annotated[
        bool,
        typer.Option("--advice", help="also run the simulations that the report shows beside the run, unless they are stored"),
    ] = False,
) -> None:
    """Print the summary of a recording and write its report again; simulates nothing unless --advice is given."""
    from hilt import job
    from hilt.analysis import beside
    from hilt.record.reading import rows_of_a_stranger, stored
    from hilt.report import page, terminal

    found = stored(recording)
    with rows_of_a_stranger(recording):
        result = job.reopened(found)
        if as_json:
            _print_json(result.as_json())
            return
        result = beside.kept(result)
        if advice and result.beside is None:
            result = beside.computed(result)
            beside.keep(result)
        report = page.write_again(result)
    terminal.print_result(console, result)
    if found.result is None:
        console.print(f"The run was cut off: its rows up to t = {result.rows['t'][-1]:.4g} s are complete.")
    console.print(f"report     {report}", highlight=False, soft_wrap=True)


@app.command()
def replay(recording: Path, as_json: AsJson = False) -> None:
    """Run the tick again on the recorded inputs and compare the results byte by byte."""
    from hilt import job
    from hilt.record.reading import rows_of_a_stranger, stored

    found = stored(recording)
    with rows_of_a_stranger(recording):
        difference = job.replay(found)
    if as_json:
        summary = {"recording": str(recording), "rows": found.count, "identical": difference is None}
        _print_json({**summary, "difference": difference and vars(difference)})
    elif difference is None:
        console.print(f"{found.count} rows replayed, every byte the same.")
    else:
        console.print(
            f"first difference at tick {difference.tick} in {difference.signal}: recorded {difference.recorded}, "
            f"replayed {difference.replayed}"
        )
    if difference is not None:
        raise typer.Exit(1)


@app.command()
def reproduce(
    paper: Annotated[str | None, typer.Argument(help="key of a paper, such as he2022; all papers if not given")] = None,
    as_json: AsJson = False,
    out: OutFolder = Path("runs"),
) -> None:
    """Recompute a paper's numbers and figures and compare them with the published ones; takes minutes per paper."""
    from hilt import job
    from hilt.report import terminal
    from hilt.reproduce import papers

    job.check_folder(out)
    names = [paper] if paper else papers.names()
    results = list(map(papers.reproduce, names)) if as_json else _reproduced(names)
    if as_json:
        _print_json([result.as_json() for result in results] if paper is None else results[0].as_json())
        return
    for result in results:
        terminal.print_claims(console, result)
        console.print(f"report     {papers.write(result, out)}", highlight=False, soft_wrap=True)


def _reproduced(names: list[str]) -> "list[Reproduction]":
    """Reproduce the papers one after another, showing how long each takes."""
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from hilt.reproduce import papers

    for unknown in set(names) - set(papers.names()):
        papers.reproduce(unknown)  # refuses it in one sentence
    many = f"{len(names)} papers and methods" if len(names) > 1 else names[0]
    notice = f"Recomputing every number of {many} by simulating all cases: some minutes each; Ctrl-C ends it."
    status.print(notice, highlight=False)
    results = []
    with Progress(SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), console=status) as bar:
        for number, name in enumerate(names, 1):
            task = bar.add_task(f"{name}  {number} of {len(names)}", total=1)
            results.append(papers.reproduce(name))
            bar.update(task, completed=1)
    return results


# The help shows commands in the order in which users need them.
_GROUPS = {
    "Simulate": ("run", "check", "new", "compare", "sweep", "map", "margin", "tune", "export", "list", "schema", "bound"),
    "Recordings": ("show", "replay", "cockpit"),
    "Lab": ("doctor", "emulate", "identify", "calibrate", "sessions", "ask", "stream"),
    "Papers": ("reproduce",),
}


def _sort_commands() -> None:
    groups = {name: group for group, names in _GROUPS.items() for name in names}
    order = list(groups)

    def name_of(command: typer.models.CommandInfo) -> str:
        return str(command.name or getattr(command.callback, "__name__", ""))

    app.registered_commands.sort(key=lambda command: order.index(name_of(command)) if name_of(command) in order else len(order))
    for command in app.registered_commands:
        command.rich_help_panel = groups.get(name_of(command), "Commands")


_sort_commands()


_COMPILING = {"run", "compare", "sweep", "map", "margin", "tune", "show", "replay", "reproduce", "emulate", "export"}


@contextmanager
def _compiling_shown() -> Iterator[None]:
    """Show what is being compiled, unless the output is JSON."""
    if "--json" in sys.argv or not _COMPILING & set(sys.argv[1:2]):
        yield
        return
    from hilt.report import compiling

    with compiling.shown(status):
        yield


def _sentence(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning like every other message of the command line."""
    print(f"hilt: {message}", file=sys.stderr)


def main() -> None:
    warnings.showwarning = _sentence
    try:
        with interrupts.raising(), _compiling_shown():
            app()
    except InputError as error:
        print(f"hilt: {error}", file=sys.stderr)
        sys.exit(2)
    except Interrupted as error:
        print(f"hilt: {error.sentence}", file=sys.stderr)
        sys.exit(error.code)
    except MemoryError:
        print("hilt: this machine is out of memory; shorten loop.duration or lengthen loop.period", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:  # the reader is gone: flushing the rest of the buffer must not fail a second time at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)


if __name__ == "__main__":
    main()
