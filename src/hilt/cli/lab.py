"""The command line of the lab: doctor, emulate, calibrate, identify, and a run on devices."""

import json
import math
import select
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hilt.cli import stream as cli_stream
from hilt.cli.console import console, status
from hilt.core.faults import InputError

if TYPE_CHECKING:
    from hilt.device.rigfile import RigFile
    from hilt.job import Result
    from hilt.lab.compliance import Tapping
    from hilt.live.ready import Ask
    from hilt.stream.streams import Wanted

AsJson = Annotated[bool, typer.Option("--json", help="one JSON object on stdout and nothing else")]
Drivers = Annotated[
    list[str],
    typer.Option("--driver", metavar="FILE.py|MODULE:CLASS", help="allow a driver whose code is not next to the rig file"),
]
RigName = Annotated[str, typer.Argument(metavar="RIG", help="dry-lab, or your own rig file (.toml)")]


def _put(question: str) -> None:
    """Print a question at the terminal and discard anything typed before it."""
    status.print(question)
    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


def _ask() -> bool | None:
    """Return the answer typed at the terminal, or None if there is none yet; does not wait."""
    if not select.select([sys.stdin], [], [], 0.0)[0]:
        return None
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def run(
    target: str, scenario: str | None, settings: list[str], as_json: bool, out: Path, rig: Path | None, wanted: "Wanted"
) -> None:
    """Run a scenario on the devices of a rig file, or simulated in wall time."""
    from hilt import job
    from hilt.device import rigfile
    from hilt.live import session
    from hilt.report import terminal
    from hilt.stream.streams import streaming

    file = None if rig is None else rigfile.load(rig)
    system, _, _ = job.find(target, scenario, [])
    system, values, name = job.find(target, scenario, [*(file.settings(system.name) if file else ()), *settings])
    asks = file is not None and file.lab.arm == "ask"
    if asks and not sys.stdin.isatty():
        raise InputError("lab.arm is 'ask' but there is no terminal to ask at; run this in a terminal, or set lab.arm = 'run'")
    lab = session.Session(system, values, name, out, file)
    try:
        with streaming(
            lab.box.name, wanted, cli_stream.say
        ):  # before the loop has a core and a priority that children would inherit
            with _reaching(file, rig):
                lab.open()
            if asks:
                _put("The robot is held. Arm it? Type yes and press enter.")
            if as_json:
                result = lab.go(_ask if asks else None)
            else:
                with terminal.progress(status, values.loop.duration, values.loop.period, "live") as watch:
                    result = lab.go(_ask if asks else None, watch)
            lab.close()  # release the robot before waiting for the streams
    finally:
        lab.close()
    if as_json:
        print(json.dumps(result.as_json()))
    else:
        terminal.print_result(console, result)
        for note in result.notes or ():
            console.print(note, highlight=False)
        if result.recording is not None:
            console.print(f"recording  {result.recording}", highlight=False, soft_wrap=True)
            console.print(f"report     {report(result)}", highlight=False, soft_wrap=True)
    end(result, as_json)


@contextmanager
def _reaching(file: "RigFile | None", rig: Path | None) -> Iterator[None]:
    """If emulated devices do not answer, suggest starting the emulator."""
    from hilt.device import rigfile

    try:
        yield
    except InputError as error:
        if file is None or rig is None or file.facility is None or error.keys:
            raise
        name = rig.stem if rig.parent == rigfile.SHIPPED else str(rig)
        raise InputError(f"{error}; is the emulator running? hilt emulate {name}, in another terminal") from None


def report(result: "Result") -> Path:
    """Write the report of a finished run and return its path. The simulations shown beside the run are kept for next time."""
    from hilt.analysis import beside
    from hilt.report import page

    result = beside.computed(result)
    beside.keep(result)
    return page.write(result)


def end(result: "Result", as_json: bool) -> None:
    """Exit with code 3 if the run ended with a fault."""
    if result.fault:
        if as_json:
            print(result.fault.sentence, file=sys.stderr)
        raise typer.Exit(3)


def doctor(
    rate: Annotated[float, typer.Option(help="required ticks per second")] = 1000.0,
    seconds: Annotated[float, typer.Option(help="duration of the measurement")] = 10.0,
    as_json: AsJson = False,
) -> None:
    """Measure how well this machine keeps real time and say what to change; takes 10 s, longer if cyclictest is installed."""
    from hilt.lab import doctor as examiner

    if rate <= 0 or seconds <= 0:
        raise InputError(f"--rate is {rate:g} Hz and --seconds {seconds:g} s; both must be greater than 0; change them")
    examiner.check(rate, seconds)
    if not as_json:
        status.print(
            f"Measuring for {seconds:g} s how late this machine is at {rate:g} Hz, then again with cyclictest if it is "
            "installed. Nothing is moved or changed; Ctrl-C ends it.",
            highlight=False,
        )
    found = examiner.examine(rate, seconds)
    if as_json:
        print(json.dumps(found))
    else:
        console.print(examiner.words(found), highlight=False)


def emulate(
    rig: RigName,
    settings: Annotated[list[str], typer.Option("--set", metavar="KEY=VALUE", help="change a value of the scenario")] = [],  # noqa: B006
    diary: Annotated[Path | None, typer.Option(help="CSV file for every set-point that the robot receives")] = None,
    fault: Annotated[list[str], typer.Option(help="send to the running emulator: robot.drop=0.1, clear, status …")] = [],  # noqa: B006
) -> None:
    """Emulate the robot and the sensor of a rig file on loopback, until interrupted."""
    from hilt.device import rigfile
    from hilt.lab.dry import facility, robot
    from hilt.lab.dry.control import FacilityControl

    file = rigfile.load(rigfile.find(rig))
    if fault:
        control = FacilityControl(file)
        for line in fault:
            print(json.dumps(control.send(line)))
        return
    robot.check(file)
    use = f"hilt run {file.facility.system} --rig {rig}" if file.facility is not None else f"--rig {rig}"
    status.print(
        f"Starting an emulated robot and force sensor on this machine; the first start compiles for up to a minute. "
        f"Leave it running and use it from another terminal: {use}. Ctrl-C ends it.",
        highlight=False,
        soft_wrap=True,
    )
    raise typer.Exit(facility.serve(file, settings, diary=diary))


@contextmanager
def _driving(what: str) -> Iterator[Callable[[int, int], None]]:
    """A progress bar while the robot is driven; a fault gives exit code 3."""
    from rich.progress import Progress

    from hilt.lab.gentle import Stopped

    try:
        bar = Progress(console=status)
        task = bar.add_task(what, total=None)

        def watch(done: int, total: int) -> None:
            bar.start()  # only after the robot has answered: a refusal is one sentence
            bar.update(task, completed=done, total=total)

        try:
            yield watch
        finally:
            bar.stop()
    except Stopped as stopped:
        print(stopped.fault.sentence, file=sys.stderr)
        raise typer.Exit(3) from None


def _who_arms(file: "RigFile") -> "Ask | None":
    """Return the question to ask at the terminal once the robot is held, or None if running the command is consent enough."""
    if file.lab.arm != "ask":
        return None
    if not sys.stdin.isatty():
        raise InputError("lab.arm is 'ask' but there is no terminal to ask at; run this in a terminal, or set lab.arm = 'run'")
    asked = False

    def ask() -> bool | None:
        nonlocal asked
        if not asked:
            asked = True
            _put("The robot is held. It will be moved gently. Arm it? Type yes and press enter.")
        return _ask()

    return ask


def _out_file(rig: Path, out: Path | None, what: str) -> Path:
    """Return the file to write: next to the user's own rig file, or in the current folder for a shipped one."""
    from hilt.device import rigfile

    folder = Path() if rig.parent == rigfile.SHIPPED else rig.parent
    return out or folder / f"{rig.stem}-{what}.toml"


def identify(
    what: Annotated[str, typer.Argument(help="robot: its response; compliance: how it bends, measured by tapping a frame")],
    rig: RigName,
    axis: Annotated[
        str, typer.Option(help="axis to move along: x, y or z; for compliance the direction towards the frame, such as -x")
    ] = "x",
    reach: Annotated[
        float | None,
        typer.Option(
            help="metres to either side of its position (0.01); for compliance the farthest the frame may be (the workspace)"
        ),
    ] = None,
    preload: Annotated[float, typer.Option(help="for compliance: force on the frame before the taps, in N")] = 8.0,
    amplitude: Annotated[float, typer.Option(help="for compliance: amplitude of the taps, in metres")] = 0.15e-3,
    force: Annotated[
        float, typer.Option(help="for compliance: force at which the robot stops, in N, unless limits.force is lower")
    ] = 300.0,
    out: Annotated[Path | None, typer.Option(help="rig file to write; next to yours by default")] = None,
    as_json: AsJson = False,
    driver: Drivers = [],  # noqa: B006
) -> None:
    """Move the robot gently and write its delay, bandwidth and damping, or its compliance, into a copy of the rig file."""
    from hilt.device import own, rigfile

    if what not in ("robot", "compliance"):
        raise InputError(
            f"{what!r} cannot be identified, only robot and compliance; write: hilt identify robot RIG, "
            "or hilt identify compliance RIG"
        )
    if what == "robot" and axis not in ("x", "y", "z"):
        raise InputError(f"--axis is {axis!r}; it must be x, y or z; choose one")
    own.allow(*driver)
    path = rigfile.find(rig)
    file, target = rigfile.load(path), _out_file(path, out, "identified" if what == "robot" else "compliance")
    if what == "robot":
        found, lines = _identified_robot(file, path, target, axis, 0.01 if reach is None else reach)
    else:
        from hilt.lab.compliance import Tapping

        tapping = Tapping(axis, math.inf if reach is None else reach, preload, amplitude, force=force)
        found, lines = _identified_compliance(file, path, target, tapping)
    print(json.dumps({**found, "rig": str(target)}) if as_json else "\n".join(lines))
    if not as_json:
        console.print(f"rig file   {target}", highlight=False, soft_wrap=True)
        console.print(f"picture    {target.with_suffix('.svg')}", highlight=False, soft_wrap=True)


def _identified_robot(file: "RigFile", path: Path, target: Path, axis: str, reach: float) -> tuple[dict[str, Any], list[str]]:
    """Return the result as JSON and as lines of text."""
    from hilt.lab import identify as identify_robot

    ask = _who_arms(file)
    with _reaching(file, path), _driving("moving") as watch:
        fit = identify_robot.run(file, axis=axis, reach=reach, watch=watch, ask=ask)
    identify_robot.write(fit, path, target)
    identify_robot.plot(fit, target.with_suffix(".svg"))
    return fit.as_json(), fit.words()


def _identified_compliance(file: "RigFile", path: Path, target: Path, tapping: "Tapping") -> tuple[dict[str, Any], list[str]]:
    """The same for compliance. A fit that does not explain the test is shown in the picture but not written."""
    from hilt.lab import compliance

    ask = _who_arms(file)
    with _reaching(file, path), _driving("tapping") as watch:
        found = compliance.run(file, tapping, watch=watch, ask=ask)
    compliance.plot(found, target.with_suffix(".svg"))
    if found.refusal:
        raise InputError(f"{found.refusal}; no rig file was written; look at {target.with_suffix('.svg')}")
    compliance.write(found, path, target)
    return found.as_json(), compliance.words(found)


def calibrate(
    what: Annotated[str, typer.Argument(help="what to calibrate: tool")],
    rig: RigName,
    poses: Annotated[int, typer.Option(help="number of static poses to measure in")] = 12,
    system: Annotated[
        str | None, typer.Option(help="system whose [scenario.NAME] in the rig file applies; needed if they differ")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="rig file to write; next to yours by default")] = None,
    as_json: AsJson = False,
    driver: Drivers = [],  # noqa: B006
) -> None:
    """Turn the tool through static poses and write its mass and centre of mass into a copy of the rig file."""
    from hilt.device import own, rigfile
    from hilt.lab import calibrate as calibration

    if what != "tool":
        raise InputError(f"{what!r} cannot be calibrated, only tool; write: hilt calibrate tool RIG")
    own.allow(*driver)
    path = rigfile.find(rig)
    file, target = rigfile.load(path), _out_file(path, out, "tool")
    ask = _who_arms(file)
    with _reaching(file, path), _driving("turning") as watch:
        tool = calibration.run(file, poses, watch=watch, ask=ask, system=system)
    calibration.write(tool, path, target)
    print(json.dumps({**tool.as_json(), "rig": str(target)}) if as_json else "\n".join(tool.words()))
    if not as_json:
        console.print(f"rig file   {target}", highlight=False, soft_wrap=True)


def add(app: typer.Typer) -> None:
    """Add the lab's commands to the others."""
    for command in (doctor, emulate, identify, calibrate):
        app.command()(command)
