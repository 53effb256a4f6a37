"""Trials of a range of seeds in a process that may hang, crash or eat memory: `python -m tests.fuzz.worker FIRST LAST`.

One line of JSON before each seed and one after it: they show which seed killed this process.
"""

import faulthandler
import json
import os
import resource
import signal
import sys
import tempfile
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

from numba.core import event

CPU_SECONDS = 5.0  # of one input; CPU time, since the machine may be busy
STUCK = 300.0  # s, in code that no signal reaches
MEMORY = 1 << 30  # bytes more than before the first input


class Hang(BaseException):
    """An input took too long."""


def _hang(*_: Any) -> None:
    raise Hang


class Uncounted(event.Listener):  # type: ignore[misc]
    """Stops the clock of an input while code is compiled or loaded: a combination of blocks that no shipped scenario has is
    compiled for the first input with it."""

    depth, left = 0, 0.0

    def on_start(self, event: Any) -> None:
        if self.depth == 0:
            self.left = signal.setitimer(signal.ITIMER_PROF, 0.0)[0]
        self.depth += 1

    def on_end(self, event: Any) -> None:
        self.depth -= 1
        if self.depth == 0 and self.left > 0.0:
            signal.setitimer(signal.ITIMER_PROF, self.left)


def vm_size() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def say(**words: Any) -> None:
    print(json.dumps(words), file=sys.__stdout__, flush=True)


def some_recordings(folder: Path) -> list[bytes]:
    from hilt import job
    from hilt.core import registry

    found = []
    for name in registry.names("systems"):
        result = job.run(*job.find(name, None, ["loop.duration=0.1 s"]), folder)
        assert result.recording is not None
        found.append(result.recording.read_bytes())
        result.recording.unlink()
    return found


def main(first: int, last: int) -> None:
    from benchmarks.memory import highest
    from hilt.core import registry
    from tests.fuzz import trials

    with tempfile.TemporaryDirectory() as home:
        os.chdir(home)
        folder = Path(home)
        recordings = some_recordings(folder)
        for system in registry.systems().values():  # what is compiled, loaded and cached does not count against an input
            trials.compute(*trials.job.find(system.name, None, []))
            for name in system.scenario_files:
                trials.compute(*trials.job.find(system.name, name, ["loop.duration=50 ms"]))
        signal.signal(signal.SIGPROF, _hang)
        event.register("numba:compile", Uncounted())
        resource.setrlimit(resource.RLIMIT_AS, (vm_size() + MEMORY, resource.RLIM_INFINITY))
        outcomes: Counter[str] = Counter()
        for seed in range(first, last):
            say(start=seed)
            faulthandler.dump_traceback_later(STUCK, exit=True)
            signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
            try:
                outcomes[trials.trial(seed, folder, recordings)] += 1
            except (Exception, Hang):
                say(seed=seed, error=traceback.format_exc())
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0.0)
            (folder / "odd.toml").unlink(missing_ok=True)
            if left := sorted(str(path) for path in folder.rglob("*")):
                say(seed=seed, error=f"left behind: {left}")
                break
        faulthandler.cancel_dump_traceback_later()
        say(outcomes=outcomes, memory=highest())


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
