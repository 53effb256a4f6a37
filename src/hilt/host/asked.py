"""A child process that answers line by line: the parent's handle, and the conversation inside the child.

    1 {"rig": …}   the first line configures it; it answers {"number": 1, "pid": …} or {"number": 1, "error": "one sentence"}
    2 status       every other line is numbered too, and the number is repeated in the answer, as JSON

It ends with its parent: at end of input, or on SIGTERM.
"""

import json
import math
import signal
import sys
from collections.abc import Callable, Iterable
from typing import Any

from hilt.core import clock
from hilt.core.faults import InputError
from hilt.host import machine

ANSWER_LIMIT = 2.0  # [s]
END_LIMIT = 5.0  # [s]


class Asked:
    """Handle of such a process; `name` is its name in messages, `advice` says what to do if it ended by itself."""

    def __init__(self, name: str, module: str, advice: str) -> None:
        self.name, self._advice = name, advice
        self._child = machine.start(module, name=name)
        self._rest, self._number = b"", 0
        self._lock = machine.lock()
        self.pid = self._child.pid

    @property
    def ended(self) -> str:
        """How the process ended, in words; empty while it runs."""
        code = self._child.poll()
        if code is None:
            return ""
        how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
        return f"the {self.name}'s process has ended {how}; {self._advice}"

    def ask(self, line: str, seconds: float = ANSWER_LIMIT) -> dict[str, Any]:
        """Return the answer to a line; an InputError if it is refused or there is no answer."""
        with self._lock:
            return self.hear(self.tell(line), seconds)

    def tell(self, line: str) -> int:
        """Send a line; returns its number."""
        self._number += 1
        try:
            self._child.tell(f"{self._number} {line}\n".encode())
        except (OSError, ValueError):
            raise InputError(self._why()) from None
        return self._number

    def hear(self, number: int, seconds: float) -> dict[str, Any]:
        """Wait for the answer to a line, by its number; other answers are skipped."""
        until = clock.now() + seconds
        while (answer := self._next(until))["number"] != number:
            pass
        if "error" in answer:
            raise InputError(answer["error"])
        return {key: value for key, value in answer.items() if key != "number"}

    def _next(self, until: float) -> dict[str, Any]:
        while b"\n" not in self._rest:
            data = self._child.read(max(until - clock.now(), 0.0))
            if data is None:
                raise InputError(f"the {self.name}'s process does not answer; check whether it was stopped")
            if not data:
                raise InputError(self._why())
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _why(self) -> str:
        """Say how it ended; its pipes are closed, so it has ended or is about to."""
        self._child.wait(END_LIMIT)
        return self.ended or f"the {self.name}'s process is ending"

    def end(self) -> None:
        """End it: by end of input, or by a signal if it does not react. Safe to call twice."""
        self._child.end_input()
        self._child.send_signal(signal.SIGCONT)  # a stopped one cannot end
        for insist in (signal.SIGTERM, signal.SIGKILL):
            if self._child.wait(END_LIMIT):
                break
            self._child.send_signal(insist)
        self._child.wait(math.inf)
        self._child.end_output()


def _say(number: str, answer: dict[str, Any]) -> None:
    machine.say(json.dumps({"number": int(number), **answer}))


def _end(*_: Any) -> None:
    machine.handle(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(0)


def converse(run: Callable[[dict[str, Any]], Any], ready: Callable[[], None] = lambda: None) -> None:
    """Run the process. `run(config)` is a context manager that yields a function from line to answer; `ready` is called once it
    is configured, before it says so."""
    machine.handle(signal.SIGTERM, _end)
    machine.switch_threads_after(2e-4)  # [s]: the device must not wait for a thread that writes a file
    number, _, line = machine.input_line().partition(" ")
    if not line:
        return
    try:
        with run(json.loads(line)) as answer:
            machine.collector().freeze()
            ready()
            _say(number, {"pid": machine.pid()})
            _answer(answer, iter(machine.input_line, ""))
            machine.handle(signal.SIGTERM, signal.SIG_IGN)  # already ending
    except (InputError, OSError) as error:
        _say(number, {"error": str(error)})
        sys.exit(2)


def _answer(answer: Callable[[str], dict[str, Any]], lines: Iterable[str]) -> None:
    for numbered in lines:
        number, _, line = numbered.strip().partition(" ")
        try:
            _say(number, answer(line))
        except InputError as error:
            _say(number, {"error": str(error)})
