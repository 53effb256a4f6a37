"""Upper bounds of the time, memory and disk of a run, computed before it starts: announced if large, refused if impossible.

Rows and the time of a tick come from the system itself; the rest is one small table of cautious guesses. A run that ends by
itself, after its collisions or by a fault, takes less.
"""

import math
import shutil
from dataclasses import dataclass
from pathlib import Path

from hilt.core.faults import InputError
from hilt.core.scenario import Scenario
from hilt.core.system import System
from hilt.metrics.survey import KEPT_BYTES

COMPILED = 0.5  # of a system's tick_time, in the compiled loop alone
EACH = 0.02  # s per run, for its set-up and metrics
ON_DISK = 1.1  # of a row's bytes: at worst nothing compresses, and every message has a header
KEPT = 2.0  # copies of the rows in memory while metrics are computed
MOST_TICKS = 10**9
MOST_SECONDS = 30 * 86400.0
LONG, LARGE = 60.0, 1e9  # s and bytes, above which a run is announced
ROOM = 0.9  # of what is free


@dataclass(frozen=True)
class Estimate:
    """Upper bounds: ticks, seconds on this machine, bytes of its memory and of its disk."""

    ticks: float
    seconds: float
    memory: float
    disk: float

    @property
    def remarkable(self) -> bool:
        return self.seconds > LONG or max(self.memory, self.disk) > LARGE

    @property
    def sentence(self) -> str:
        parts = [f"up to {self.ticks:,.0f} ticks", f"about {duration(self.seconds)}"]
        parts += [f"{size(self.memory)} of memory"] if self.memory else []
        parts += [f"{size(self.disk)} of disk"] if self.disk else []
        return f"this will take {', '.join(parts)}"


def duration(seconds: float) -> str:
    for unit, length in (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2.0 * length:
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds:.2g} s"


def size(count: float) -> str:
    return f"{count / 1e9:.2g} GB" if count >= 1e8 else f"{count / 1e6:.2g} MB"


def estimate(system: System, values: Scenario, runs: int = 1, recorded: bool = True, kept: bool = True) -> Estimate:
    """Estimate `runs` runs, one after the other; `kept`: the rows of one run at a time are held in memory."""
    ticks = values.loop.duration / values.loop.period + 1.0
    row = system.row.itemsize
    pace = system.tick_time * (1.0 if recorded else COMPILED)
    return Estimate(
        ticks=ticks * runs,
        seconds=runs * (ticks * pace + EACH),
        memory=KEPT * min(ticks * row, KEPT_BYTES if recorded else math.inf) if kept else 0.0,
        disk=ON_DISK * runs * ticks * row if recorded else 0.0,
    )


def check(found: Estimate, folder: Path | None = None) -> None:
    """Refuse, in one sentence and before anything is written, what this machine cannot do."""
    advice = "shorten loop.duration or lengthen loop.period"
    if not found.ticks <= MOST_TICKS:
        raise InputError(f"this would take {found.ticks:.3g} ticks, and the limit is {MOST_TICKS:g}; {advice}")
    if not found.seconds <= MOST_SECONDS:
        raise InputError(
            f"this would take about {duration(found.seconds)}, and the limit is {duration(MOST_SECONDS)}; {advice}, "
            "or run fewer"
        )
    free = free_memory() if found.memory > LARGE else math.inf
    if found.memory > ROOM * free:
        raise InputError(f"this would take {size(found.memory)} of memory, and {size(free)} are free; {advice}")
    if folder is not None and found.disk > ROOM * (left := free_disk(folder)):
        raise InputError(
            f"this would take {size(found.disk)} of disk, and {size(left)} are free at {folder}; {advice}, "
            "or choose another folder"
        )


def free_memory() -> float:
    """Bytes of memory still available on this machine; infinite if unknown."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(1024.0 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError, IndexError):
        return math.inf


def free_disk(folder: Path) -> float:
    try:
        existing = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
        return float(shutil.disk_usage(existing).free)
    except (OSError, StopIteration):
        return math.inf
