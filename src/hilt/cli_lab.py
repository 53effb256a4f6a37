"""The command line of the lab: doctor, emulate, calibrate, identify, and a run on devices."""

import json
import select
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from hilt.faults import InputError

if TYPE_CHECKING:
    from hilt.job import Result

console = Console()
status = Console(stderr=True)
AsJson = Annotated[bool, typer.Option("--json", help="one JSON object on stdout and nothing else")]
RigPath = Annotated[Path, typer.Argument(metavar="RIG.toml", help="a rig file")]


def _ask() -> bool | None:
    """Yes or no from the terminal, without waiting for it."""
    if not select.select([sys.stdin], [], [], 0.0)[0]:
        return None
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def run(target: str, scenario: str | None, settings: list[str], as_json: bool, out: Path, rig: Path) -> None:
    """A scenario on the devices of a rig file."""
    from hilt import job, session
    from hilt.device import rigfile
    from hilt.report import page, terminal

    file = rigfile.load(rig)
    system, values, name = job.find(target, scenario, [*file.settings, *settings])
    asks = file.lab.arm == "ask"
    if asks and not sys.stdin.isatty():
        raise InputError("lab.arm is 'ask' but nobody can be asked here; answer at a terminal, or set lab.arm = 'run'")
    if asks:
        status.print("The robot is held. Arm it? Type yes and press enter.")
    if as_json:
        result = session.run(system, values, name, out, file, _ask if asks else None)
        print(json.dumps(result.as_json()))
    else:
        with terminal.progress(status, values.loop.duration, values.loop.period, "live") as watch:
            result = session.run(system, values, name, out, file, _ask if asks else None, watch)
        terminal.print_result(console, result)
        for note in result.notes or ():
            console.print(note, highlight=False)
        console.print(f"recording  {result.recording}", highlight=False, soft_wrap=True)
        console.print(f"report     {page.write(result)}", highlight=False, soft_wrap=True)
    end(result, as_json)


def end(result: "Result", as_json: bool) -> None:
    """Exit code 3 for a run that ended with a fault."""
    if result.fault:
        if as_json:
            print(result.fault.sentence, file=sys.stderr)
        raise typer.Exit(3)


def doctor(
    rate: Annotated[float, typer.Option(help="ticks a second that are asked for")] = 1000.0,
    seconds: Annotated[float, typer.Option(help="how long to measure")] = 10.0,
    as_json: AsJson = False,
) -> None:
    """What this machine can do in real time, and what to change."""
    from hilt import doctor as examiner

    if rate <= 0 or seconds <= 0:
        raise InputError(f"--rate is {rate:g} Hz and --seconds {seconds:g} s; both must be greater than 0; change them")
    found = examiner.examine(rate, seconds)
    if as_json:
        print(json.dumps(found))
    else:
        console.print(examiner.words(found), highlight=False)


def emulate(
    rig: RigPath,
    settings: Annotated[list[str], typer.Option("--set", metavar="KEY=VALUE", help="change a value of the scenario")] = [],  # noqa: B006
) -> None:
    """Stand in for the robot and the sensor of a rig file, on loopback, until interrupted."""
    from hilt.device import facility, rigfile

    facility.serve(rigfile.load(rig), settings)


def add(app: typer.Typer) -> None:
    """The lab's commands, beside the others."""
    app.command()(doctor)
    app.command()(emulate)
