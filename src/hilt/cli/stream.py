"""`hilt stream` and the streaming options of `hilt run`."""

from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from hilt.cli.console import status
from hilt.core.faults import InputError
from hilt.host.interrupts import Interrupted

if TYPE_CHECKING:
    from hilt.stream.streams import Wanted

Out = Annotated[
    str,
    typer.Option(
        "--stream", metavar="foxglove,ros2", help="show the run live in Foxglove, in ROS 2, or both: NAME[@ADDRESS[:PORT]]"
    ),
]
In = Annotated[
    str, typer.Option("--live-in", metavar="ros2", help="let ROS 2 topics steer and set live values: ros2[@ROUTER[:PORT]]")
]
Force = Annotated[str, typer.Option("--live-force", help="force on /operator that equals full deflection of the joystick")]
Torque = Annotated[str, typer.Option("--live-torque", help="torque on /operator that equals full deflection of the joystick")]
FORCE, TORQUE = "20 N", "2 N*m"


def wanted(stream: str, live_in: str, force: str = FORCE, torque: str = TORQUE) -> "Wanted":
    """Return the streams that these options describe."""
    from hilt.core.units import to_si
    from hilt.stream.streams import Wanted

    numbers = []
    for option, text, unit, usual in (("--live-force", force, "N", FORCE), ("--live-torque", torque, "N·m", TORQUE)):
        try:
            number = to_si(text, unit)
        except ValueError as error:
            raise InputError(f"{option} is {text!r}: {error}") from None
        if not 0.0 < number < float("inf"):
            raise InputError(f"{option} is {text!r}; it must be greater than 0; write for example {option} '{usual}'")
        numbers.append(number)
    return Wanted.of(stream, live_in, *numbers)


def say(sentence: str) -> None:
    """Print on stderr, to keep JSON on stdout clean."""
    status.print(sentence, highlight=False, soft_wrap=True, markup=False)


def stream(
    session: Annotated[str, typer.Argument(help="name of a session, as hilt sessions lists it")],
    to: Annotated[str, typer.Argument(metavar="foxglove,ros2", help="where to: NAME[@ADDRESS[:PORT]]")] = "foxglove",
    live_in: In = "",
    live_force: Force = FORCE,
    live_torque: Torque = TORQUE,
) -> None:
    """Show a running session in Foxglove or ROS 2, until it ends or Ctrl-C."""
    from hilt.core import clock
    from hilt.live.mailbox import Watcher
    from hilt.stream.streams import streaming

    asked = wanted(to, live_in, live_force, live_torque)
    watcher = Watcher(session)
    with suppress(KeyboardInterrupt, Interrupted), streaming(session, asked, say):
        while watcher.alive:
            clock.pause(0.1)


def add(app: typer.Typer) -> None:
    """Add `hilt stream` to the other commands."""
    app.command()(stream)
