"""Supervision of a live loop from outside its tick: signals, requests from the mailbox, dead man's switch, recorder.

stop    ends the run softly              set    changes a live value, along a ramp (tuning.py)
steer   moves the operator's joystick; while the switch is held it must be repeated

A path has no live values and no recorder; outside a session it has no mailbox.
"""

import signal
from typing import Any

import numpy as np

from hilt.core import clock, faults
from hilt.core.tuning import Change, Tuning
from hilt.live.mailbox import SET, STEER, STOP, Mailbox, Request
from hilt.live.scribe import Scribe
from hilt.plant.joystick import PATIENCE as RELEASED

LOOK_EVERY = 32  # ticks between two checks of the recorder
DEAD_MAN = 0.3  # s without a signal while the switch is held


class Overseer:
    """Supervises a run: `look` is called before every tick, and never waits."""

    def __init__(
        self,
        lab: Any,
        box: Mailbox | None = None,
        tuning: Tuning | None = None,
        scribe: Scribe | None = None,
        steered: bool = False,
    ) -> None:
        self._box, self._tuning, self._scribe = box, tuning, scribe
        self._stops, self._must_hold = lab.recorder == "stop", lab.dead_man and box is not None
        self._steered = steered  # whether the operator has a joystick
        self.notes: list[str] = []
        self.interrupted = 0  # by this signal
        self._reported = ""
        self._held = self._must_hold
        self._last_signal = clock.now()

    @property
    def changes(self) -> list[Change]:
        """Live values that were changed."""
        return self._tuning.changes if self._tuning is not None else []

    def interrupt(self, number: int) -> None:
        """Note a signal; the next tick sees it."""
        self.interrupted = number

    def look(self, row: np.ndarray) -> int:
        code = self._hear(row)
        if self._tuning is not None and self._tuning.ramps:  # also in the last tick: a replay repeats the changes of all ticks
            self._tuning.step(int(row["tick"][0]))
        if code:
            return code
        silence = clock.now() - self._last_signal
        if self._steered and self._held and silence > RELEASED:
            row["joystick"][0] = 0.0
        if self._held and silence > DEAD_MAN:
            faults.trip(row[0], faults.DEAD_MAN, -1, silence, DEAD_MAN)
            return self._end(row, "dead-man signal lost", faults.DEAD_MAN)
        return self._look_at_recorder(row) if row["tick"][0] % LOOK_EVERY == 0 else faults.NONE

    def _hear(self, row: np.ndarray) -> int:
        """Handle signals and requests."""
        if self.interrupted:
            return self._end(row, f"interrupted by {signal.Signals(self.interrupted).name}", faults.REQUESTED)
        box = self._box
        if box is None or box.bell[0] == box.served:
            return faults.NONE
        for request in box.poll():
            if request.kind == STOP:
                box.answer(request, True, "stopping softly")
                return self._end(row, "a stop was requested", faults.REQUESTED)
            box.answer(request, *self._obey(request, row))
        return faults.NONE

    def _end(self, row: np.ndarray, what: str, code: int) -> int:
        self.notes.append(f"{what} at t = {row['t'][0]:.4g} s")
        return code

    def _obey(self, request: Request, row: np.ndarray) -> tuple[bool, str]:
        if request.kind == STEER:
            return self._steer(request, row)
        if request.kind == SET and self._tuning is not None:
            accepted, text = self._tuning.ask(int(row["tick"][0]), request.key, request.value, request.ramp)
            if accepted:
                self.notes.append(f"at t = {row['t'][0]:.4g} s: {text}")
            return accepted, text
        return (
            False,
            "the loop is live; it takes stop, set and steer" if self._tuning else "the robot is driven home; it takes stop",
        )

    def _steer(self, request: Request, row: np.ndarray) -> tuple[bool, str]:
        """Move the joystick. A release is signalled and centres the stick; silence while the switch is held is a fault."""
        held = request.value > 0.5
        if not (self._steered or self._must_hold):
            return False, "steering is not possible: operator.kind is not live"
        self._held = held or self._must_hold
        if held:
            self._last_signal = clock.now()
        if self._steered:
            row["joystick"][0] = np.clip(request.axes, -1.0, 1.0) if held else 0.0
        return True, "held" if held else "released"

    def _look_at_recorder(self, row: np.ndarray) -> int:
        trouble = self._scribe.recorder.trouble() if self._scribe is not None else ""
        if trouble and trouble != self._reported:
            self._reported = trouble
            self.notes.append(f"at t = {row['t'][0]:.4g} s: {trouble}")
        return faults.RECORDER if trouble and self._stops else faults.NONE
