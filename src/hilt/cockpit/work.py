"""Work that may take long or fail is done by processes beside the server: checking forms, reading files.

Each does one task at a time, within limits of time and memory; one that exceeds them is killed and replaced. The answer is
JSON, or a sentence.

    server ── {"task": "check", "with": [...]} ──► worker          ◄── {"done": ...}, {"error": sentence}
"""

import asyncio
import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from hilt.core.faults import InputError
from hilt.host import child

MEMORY = 2 << 30  # [B] that a worker may take
NICENESS = 5  # lower priority than the pages
ANSWER_BYTES = 64 << 20
MOST_WAITING = 32
FORM_TIME, LIST_TIME, SYSTEMS_TIME = 5.0, 60.0, 60.0  # [s] for a form, a list or a file, and the systems


class Overrun(InputError):
    """A task that exceeded its time or memory."""


class Workbench:
    """One worker, and the requests waiting for it. For the server's loop only."""

    def __init__(self, out: Path) -> None:
        self._out = out
        self._worker: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()
        self._waiting = 0

    async def do(self, seconds: float, task: str, *arguments: Any) -> Any:
        """Return the result of a task; an InputError if it fails or takes too long."""
        if self._waiting >= MOST_WAITING:
            raise InputError("the server is too busy; try again in a moment")
        self._waiting += 1
        try:
            async with self._turn:
                answer = await self._ask(seconds, json.dumps({"task": task, "with": arguments}))
        finally:
            self._waiting -= 1
        if "error" in answer:
            raise (Overrun if answer.get("overrun") else InputError)(answer["error"])
        return answer["done"]

    async def _ask(self, seconds: float, line: str) -> dict[str, Any]:
        worker = await self._start()
        assert worker.stdin is not None
        assert worker.stdout is not None
        answer = b""
        try:
            worker.stdin.write(line.encode() + b"\n")
            answer = await asyncio.wait_for(worker.stdout.readline(), seconds)
        except TimeoutError:
            answer = json.dumps({"error": f"not done within {seconds:g} s; undo the last change", "overrun": True}).encode()
            self.close()
        except (OSError, ValueError):
            self.close()
        except asyncio.CancelledError:  # the client has gone: nobody will read the answer
            self.close()
            raise
        if not answer:
            self.close()
            return {"error": "it ran out of memory, or failed; undo the last change", "overrun": True}
        found: dict[str, Any] = json.loads(answer)
        return found

    async def _start(self) -> asyncio.subprocess.Process:
        if self._worker is None or self._worker.returncode is not None:
            self._worker = await asyncio.create_subprocess_exec(
                *child.command("hilt.cockpit.work", str(self._out)),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                limit=ANSWER_BYTES,
            )
            assert self._worker.stdout is not None
            await self._worker.stdout.readline()  # once it has imported what it needs, which is not the task's time
        return self._worker

    def close(self) -> None:
        """End the worker; the next task gets a new one."""
        if self._worker is not None and self._worker.returncode is None:
            with suppress(ProcessLookupError):
                self._worker.kill()
        self._worker = None


def _tasks(out: Path) -> dict[str, Callable[..., Any]]:
    from hilt.cockpit import desk, sweep_order
    from hilt.cockpit.charts import Charts
    from hilt.cockpit.library import Library
    from hilt.core import registry

    registry.systems()  # now: on a busy machine their imports alone would overrun the first task's time
    library, charts = Library(out), Charts(out)
    return {
        "systems": desk.systems,
        "rigs": desk.rigs,
        "sheet": desk.sheet,
        "check": lambda order: desk.check(desk.Order(**order)),
        "list": library.list,
        "summary": library.summary,
        "check_sweep": lambda order: sweep_order.check(sweep_order.SweepOrder(**order), out),
        "sweeps": charts.list,
        "chart": charts.view,
    }


def _answer(tasks: dict[str, Callable[..., Any]], request: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"done": tasks[request["task"]](*request["with"])}
    except InputError as error:
        return {"error": str(error)}
    except (MemoryError, RecursionError):
        return {"error": "it runs out of memory; undo the last change", "overrun": True}


def main() -> None:
    """Run the worker until its server ends."""
    from hilt.job import plain

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    os.nice(NICENESS)
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        os.dup2(2, 1)  # anything else that is printed is not an answer
        tasks = _tasks(Path(sys.argv[1]))
        answers.write("\n")
        answers.flush()
        for line in sys.stdin:
            answers.write(json.dumps(plain(_answer(tasks, json.loads(line)))) + "\n")
            answers.flush()


if __name__ == "__main__":
    main()
