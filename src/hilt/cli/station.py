"""The command line for running sessions: list them, and send requests to one."""

import json
import sys
from typing import Annotated

import typer

from hilt.cli.console import console
from hilt.core.faults import InputError
from hilt.host.interrupts import Interrupted

AsJson = Annotated[bool, typer.Option("--json", help="one JSON object on stdout and nothing else")]
REQUESTS = ("arm", "start", "stop", "reset", "home", "quit")
ANSWER = 5.0  # s
HOLD = 0.05  # s between two signals of the dead man's switch


def sessions(as_json: AsJson = False) -> None:
    """List the sessions running on this machine and their state."""
    from hilt.live import mailbox

    found = []
    for name in mailbox.sessions():
        try:
            watcher = mailbox.Watcher(name)
        except InputError as error:  # it has just ended or has another version: the others are still listed
            print(f"hilt: {error}", file=sys.stderr)
            continue
        front, info = watcher.front, watcher.info
        watcher.close()
        about = {key: info.get(key) for key in ("system", "scenario", "rig")}
        state = {"state": mailbox.STATES[front.state], "armed": front.armed, "runs": front.runs, "sentence": front.sentence}
        found.append({"name": name, **about, **state})
    if as_json:
        print(json.dumps(found))
        return
    for each in found:
        armed = ", armed" if each["armed"] else ""
        console.print(f"{each['name']}  {each['state']}{armed}  {each['sentence']}".rstrip(), highlight=False, soft_wrap=True)
    if not found:
        console.print("No session is running here; start one with hilt run --rig, or hilt cockpit.")


def ask(
    session: Annotated[str, typer.Argument(help="name of a session, as hilt sessions lists it")],
    request: Annotated[str, typer.Argument(help="arm, start, stop, reset, home, quit, set, or hold (the dead man's switch)")],
    setting: Annotated[str | None, typer.Argument(metavar="KEY=VALUE", help="with set: a live value, in SI units")] = None,
    ramp: Annotated[float, typer.Option(help="seconds in which the value changes")] = 0.0,
) -> None:
    """Send a request to a running session; prints its answer, with exit code 3 if it refuses."""
    from hilt.core import clock
    from hilt.live import mailbox

    sender = mailbox.Sender(session)
    try:
        if request == "hold":
            console.print("Holding the dead man's switch; Ctrl-C releases it.")
            try:
                while sender.alive:
                    sender.wait(sender.steer((0.0,) * 6, held=True), ANSWER)
                    clock.pause(HOLD)
            except (KeyboardInterrupt, Interrupted):
                sender.wait(sender.steer((0.0,) * 6, held=False), ANSWER)
            return
        if request == "set":
            key, _, text = (setting or "").partition("=")
            try:
                number = sender.set(key, float(text), ramp)
            except ValueError:
                raise InputError(f"{setting!r} is not KEY=NUMBER; write for example limits.speed=0.05") from None
        elif request in REQUESTS:
            number = getattr(sender, request)()
        else:
            raise InputError(f"{request!r} is not a request; choose one of {', '.join(REQUESTS)}, set, hold")
        answer = sender.wait(number, ANSWER)
    finally:
        sender.close()
    console.print(answer.text, highlight=False, soft_wrap=True)
    if not answer.accepted:
        raise typer.Exit(3)


def add(app: typer.Typer) -> None:
    """Add these commands to the others."""
    for command in (sessions, ask):
        app.command()(command)
