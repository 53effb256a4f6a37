"""A stream is a child process: it reads its task from its input, says when it is ready, and ends when that input ends.

    parent ── {"session": …, "place": …} ──► child          one line, then nothing until the end
    parent ◄── {"ready": …} or {"error": …}, {"account": …} ── child

The parent never waits for it while a run goes on. A child that hangs at the end is killed.
"""

import json
import os
import select
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from hilt.core import clock
from hilt.core.faults import InputError
from hilt.host.child import command
from hilt.live import cores

START = 60.0  # s until it is ready: it may have to share the machine with a compiler
END = 4.0  # s for its account at the end
NICENESS = 10


class Line:
    """The child's end."""

    def __init__(self) -> None:
        self.config: dict[str, Any] = json.loads(self._first_line())
        self._over = False

    @staticmethod
    def _first_line() -> bytes:
        text = b""
        while not text.endswith(b"\n") and (more := os.read(0, 1)):  # byte by byte: nothing may stay in a buffer
            text += more
        return text or b"{}"

    @classmethod
    @contextmanager
    def open(cls) -> Iterator["Line"]:
        """Run away from live loops and at low priority; bad input is reported to the parent in one sentence."""
        with suppress(OSError):
            os.nice(NICENESS)
        cores.step_aside()
        line = cls()
        try:
            yield line
        except InputError as error:
            line.tell(error=str(error))
            raise SystemExit(2) from None

    @property
    def over(self) -> bool:
        """Whether the parent has closed its end, or is dead."""
        if not self._over and select.select([0], [], [], 0.0)[0]:
            self._over = not os.read(0, 1024)
        return self._over

    def tell(self, **message: str) -> None:
        with suppress(OSError):
            os.write(1, json.dumps(message).encode() + b"\n")


class Child:
    """The parent's end. Call `ready` before a run and `end` after it; nothing in between."""

    def __init__(self, module: str, config: dict[str, Any]) -> None:
        # In its own session: the terminal's interrupt goes to the loop. Its messages go straight to the terminal.
        self._process = subprocess.Popen(
            command(module), stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, start_new_session=True
        )
        self._name = module.rpartition(".")[2]
        self._received = b""
        with suppress(OSError):
            self._pipe.write(json.dumps(config).encode() + b"\n")

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def _pipe(self) -> Any:
        return self._process.stdin

    def ready(self) -> str:
        """Return where it can be reached, in words; an InputError if it could not start."""
        message = self._hear(START)
        if "ready" in message:
            return str(message["ready"])
        ended = self._process.poll() is not None
        self.end()
        why = "ended before it was ready" if ended else f"was not ready within {START:g} s; check the machine's load"
        raise InputError(message.get("error") or f"the stream {self._name} {why}")

    def _hear(self, seconds: float) -> dict[str, Any]:
        """Return its next line; nothing if it has ended or is silent."""
        output: Any = self._process.stdout
        until = clock.now() + seconds
        while b"\n" not in self._received:
            if not select.select([output], [], [], max(0.0, until - clock.now()))[0] or not (more := output.read(4096)):
                return {}
            self._received += more
        line, _, self._received = self._received.partition(b"\n")
        with suppress(ValueError):
            message: dict[str, Any] = json.loads(line)
            return message
        return {}

    def end(self) -> str:
        """Close its input and return its account, in words. Safe to call twice."""
        code = self._process.poll()
        with suppress(OSError):
            self._pipe.close()
        account = str(self._hear(END).get("account", "")) if not self._process.stdout.closed else ""  # type: ignore[union-attr]
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(0.5 if not account else END)
        hung = self._process.poll() is None
        if hung:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()  # type: ignore[union-attr]
        if account:
            return account
        what = "hung and was killed" if hung else f"ended during the run (exit code {code})"
        return f"the stream {self._name} {what}; the run and its recording are not affected"
