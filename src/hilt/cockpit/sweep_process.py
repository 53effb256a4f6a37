"""The process that computes a sweep, or one of its runs, for the cockpit, with lower priority than everything else.

It is niced, avoids the cores of a live loop, and ends with its server, which stops it (SIGSTOP) while a robot may move.

    server ── {"folder", "order"}, or without one to continue ──► a sweep    ◄── {"done", "new"} scenarios, {"over": true}
           ── {"folder", "number", "out"}                     ──► one run    ◄── {"recording": name}
                                                                             ◄── {"error": sentence}
"""

import ctypes
import json
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from hilt import job
from hilt.cockpit.sweep_order import SweepOrder, plan_of
from hilt.core.faults import InputError
from hilt.host import interrupts
from hilt.host.interrupts import Interrupted
from hilt.live import cores
from hilt.sweeps import engines
from hilt.sweeps import sweep as sweeps
from hilt.sweeps.table import Table

NICENESS = 10  # at least
_PR_SET_PDEATHSIG = 1
Say = Callable[[dict[str, Any]], None]


def _step_back(server: int) -> None:
    """Lower our priority, and end with the server: only the server can resume a paused process."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != server:
        raise SystemExit(1)
    os.setpriority(os.PRIO_PROCESS, 0, max(NICENESS, os.getpriority(os.PRIO_PROCESS, 0)))
    with suppress(OSError):
        os.sched_setaffinity(0, cores.free())


def _sweep(request: dict[str, Any], say: Say) -> None:
    folder, order = Path(request["folder"]), request.get("order")
    plan = Table.open(folder).plan if order is None else plan_of(SweepOrder(**order))
    table = Table(folder, plan)
    there = sum(len(plan.numbers(k)) for k in table.written())
    done = 0

    def watch(scenarios: int) -> None:
        nonlocal done
        done += scenarios
        say({"done": done, "new": max(0, done - there)})

    say({"count": plan.space.count})
    sweeps.run(plan, engines.named(engines.DEFAULT), folder, order is None, watch)
    say({"over": True})


def _open(request: dict[str, Any], say: Say) -> None:
    """Run and record one scenario of a sweep, as `hilt run` would."""
    space = Table.open(request["folder"]).space
    if not 0 <= request["number"] < space.count:
        raise InputError(f"there is no scenario {request['number']}; their numbers are 0 to {space.count - 1}")
    result = job.run(space.system, space.scenario(request["number"]), space.name, Path(request["out"]))
    assert result.recording is not None
    say({"recording": result.recording.stem})


def main() -> None:
    request = json.loads(sys.stdin.readline())
    _step_back(request["server"])
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers, suppress(Interrupted), interrupts.raising():
        os.dup2(2, 1)  # anything else that is printed is not an answer

        def say(message: dict[str, Any]) -> None:
            answers.write(json.dumps(message) + "\n")
            answers.flush()

        try:
            (_open if "number" in request else _sweep)(request, say)
        except InputError as error:
            say({"error": str(error)})
        except Exception as error:  # the page gets a sentence, whatever it was
            say({"error": f"it failed: {type(error).__name__}: {error}"})


if __name__ == "__main__":
    main()
