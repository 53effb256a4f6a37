"""Estimates what a sweep will take before it starts: scenarios, time and bytes; refuses what no machine can do.

The paces are cautious guesses for each kind of engine; the progress bar of a running sweep shows the measured rate.
"""

import math
from dataclasses import dataclass
from pathlib import Path

from hilt.core.faults import InputError
from hilt.core.scenario import Scenario
from hilt.core.system import System
from hilt.preflight import LONG, MOST_SECONDS, ROOM, duration, free_disk

PACES = {"plain": (2e-2, 1e-6), "cuda": (1e-6, 2e-9)}  # s for each scenario, s for each tick
PACE = (5e-5, 1e-7)
MOST = 10**9  # scenarios
COLUMN = 8.0  # bytes of a value
_SIZES = {"TB": 1e12, "GB": 1e9, "MB": 1e6, "kB": 1e3}


@dataclass(frozen=True)
class Estimate:
    scenarios: int
    seconds: float
    disk: float  # bytes

    @property
    def remarkable(self) -> bool:
        return self.seconds > LONG

    @property
    def sentence(self) -> str:
        return f"{_many(self.scenarios)} scenarios: at most {_long(self.seconds)} and {_size(self.disk)} of disk"


def estimate(system: System, base: Scenario, count: int, keys: int, engine: str = "threads") -> Estimate:
    """Estimate runs of full duration; a run that ends early takes less."""
    each, tick = PACES.get(engine, PACE)
    ticks = base.loop.duration / base.loop.period + 1.0
    columns = keys + 3 + 3 * len(system.metric_words)  # a metric may be a list: a column for each entry
    return Estimate(count, count * (each + tick * ticks), count * columns * COLUMN)


def check(found: Estimate, folder: Path | None = None) -> None:
    """Refuse what this machine cannot do, in one sentence, before anything is written."""
    advice = "give fewer values to the axes, or draw from them with --draws"
    if found.scenarios > MOST or found.seconds > MOST_SECONDS:
        raise InputError(
            f"this would be {found.sentence}; the limits are {_many(MOST)} scenarios and {duration(MOST_SECONDS)}; {advice}"
        )
    if folder is not None and found.disk > ROOM * (left := free_disk(folder)):
        raise InputError(
            f"this would take {_size(found.disk)} of disk, but only {_size(left)} are free at {folder}; {advice}, "
            "or choose another folder with --out"
        )


def _many(count: int) -> str:
    return f"{count:,}" if count < 10**9 else f"{float(count):.3g}"


def _long(seconds: float) -> str:
    years = seconds / (365.25 * 86400.0)
    return f"{years:.3g} years" if years >= 2.0 else duration(seconds)


def _size(count: float) -> str:
    for unit, length in _SIZES.items():
        if count >= length:
            return f"{count / length:.3g} {unit}"
    return f"{math.ceil(count)} bytes"
