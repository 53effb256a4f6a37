"""A station: a session in its own process that executes requests from its mailbox, until it receives `quit`.

    READY ── arm ──► READY, armed ── start ──► LIVE ── end, stop or fault ──► STOPPED ── reset ──► READY

The process that started it may die: the station continues, and can be found by its name. `home` drives the robot of an armed
station back to the start of the scenario. Arming expires if no start follows, and a station without requests ends.
"""

import json
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any

from hilt import job
from hilt.core import clock, faults
from hilt.core.faults import InputError
from hilt.device import own, rigfile
from hilt.host import interrupts, machine
from hilt.host.interrupts import Interrupted
from hilt.host.machine import Child
from hilt.live.mailbox import ARM, HOME, LIVE, QUIT, READY, RESET, START, STOP, STOPPED, Request
from hilt.live.session import Session

LOOK = 0.01  # s between two checks of the mailbox
ARMED = 60.0  # s after which arming expires
IDLE = 1800.0  # s without a request after which it ends
START_LIMIT = 180.0  # s until it answers: it may have to compile


class Station:
    """The states of a session, and what is allowed in each."""

    def __init__(self, session: Session) -> None:
        self._session, self._box = session, session.box
        self._armed_at = self._asked_at = clock.now()
        self._over = self._go = False

    def serve(self, go: bool = False) -> None:
        """Run until quit, an interrupt or a long silence. `go`: the first run is armed and started by the parent."""
        self._go = go
        while not self._over and not interrupts.came() and clock.now() - self._asked_at < IDLE:
            for request in self._box.poll():
                self._asked_at = clock.now()
                self._box.answer(request, *self._obey(request))
            if self._go:
                self._run()
            self._look()
            clock.pause(LOOK)

    def _look(self) -> None:
        front, trouble = self._box.front, self._session.rig.trouble
        if front.armed and (trouble or clock.now() - self._armed_at > ARMED):
            self._box.show(armed=False)
        sentence = f"the rig is not ready: {faults.explain(trouble)}" if trouble else ""
        if front.state == READY and sentence != front.sentence:
            self._box.show(sentence=sentence)

    def _obey(self, request: Request) -> tuple[bool, str]:
        try:
            return True, self._do(request.kind)
        except InputError as error:
            return False, str(error)

    def _do(self, kind: int) -> str:
        front = self._box.front
        if kind == STOP:
            self._box.show(armed=False)
            return "nothing moves"
        if kind == QUIT:
            self._over = True
            return "ending"
        if kind == RESET:
            self._box.show(state=READY, armed=False, sentence="")
            return "ready"
        if kind == ARM:
            return self._arm(front.state)
        if kind in (START, HOME):
            if not front.armed:
                raise InputError("it is not armed; arm it first")
            self._box.show(armed=False)
            return self._start() if kind == START else self._home()
        raise InputError("the loop is not live; start it first")

    def _arm(self, state: int) -> str:
        if state != READY:
            raise InputError("it has stopped; reset it first" if state == STOPPED else "it is not ready")
        if trouble := self._session.rig.trouble:
            raise InputError(f"the rig is not ready: {faults.explain(trouble)}")
        self._armed_at = clock.now()
        self._box.show(armed=True)
        return f"armed for {ARMED:g} s"

    def _start(self) -> str:
        self._session.check_start()
        self._go = True
        return "starting"

    def _home(self) -> str:
        self._box.show(state=LIVE)
        try:
            self._session.home()
        finally:
            self._box.show(state=READY)
        return "home"

    def _run(self) -> None:
        self._go = False
        try:
            self._session.run()
        except InputError as error:
            self._box.show(sentence=str(error))
        self._asked_at = clock.now()


def open_session(config: dict[str, Any]) -> Session:
    """Return an open session from the arguments of `launch`."""
    rig, target, name = config.get("rig"), config["system"], config.get("scenario")
    own.allow(*config.get("drivers", ()))
    file = None if rig is None else rigfile.load(Path(rig))
    system, _, _ = job.find(target, name, [])
    settings = [*(file.settings(system.name) if file else ()), *config.get("settings", ())]
    session = Session(*job.find(target, name, settings), Path(config.get("out", "runs")), file)
    session.open()
    return session


def launch(config: dict[str, Any]) -> str:
    """Start a station; returns its name, or raises its InputError. Keys: system, scenario, settings, rig, out, go."""
    child = machine.start("hilt.live.station", errors=False)
    started = machine.own("stations", list[Child])  # to be reaped when they have ended
    started[:] = [child, *(each for each in started if each.poll() is None)]
    try:
        child.tell(json.dumps({"drivers": own.allowed(), **config}).encode() + b"\n")
        answer, until = b"", clock.now() + START_LIMIT
        while not answer.endswith(b"\n"):
            more = child.read(until - clock.now())
            if more is None:
                child.send_signal(signal.SIGKILL)
                raise InputError(f"the station did not start within {START_LIMIT:g} s; check the machine's load")
            if not more:
                break
            answer += more
    finally:
        child.end_input()
        child.end_output()
    found: dict[str, Any] = json.loads(answer or b'{"error": "the station ended before it was ready; try hilt run"}')
    if "error" in found:
        raise InputError(found["error"], *found.get("keys", ()))
    return str(found["name"])


def main() -> None:
    with interrupts.raising():
        try:
            config = json.loads(machine.input_line())
            session = open_session(config)
        except (InputError, Interrupted) as error:
            answer = {"error": getattr(error, "sentence", str(error)), "keys": getattr(error, "keys", ())}
            machine.say(json.dumps(answer))
            raise SystemExit(2) from None
        try:
            machine.say(json.dumps({"name": session.box.name}))
            machine.say_no_more()
            with suppress(Interrupted):  # an orderly end: the robot is released
                Station(session).serve(bool(config.get("go")))
        finally:
            session.close()


if __name__ == "__main__":
    main()
