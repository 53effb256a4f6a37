"""What makes a process real-time: a core, a priority, locked memory, no garbage collector.

Each right is taken as far as the host permits; a refusal is explained, with what to do about it, and goes into the report of
the run. Nothing here fails: a loop without rights may be late, and its lateness is recorded.
"""

import os
import resource
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hilt.host import machine

PRIORITY = 80  # of 1 to 99: above the kernel's threads for interrupts (50), below its watchdogs (99)
HOLDING = PRIORITY + 1  # of the thread that answers a robot while the session prepares or reports a run
_MCL_CURRENT, _MCL_FUTURE = 1, 2
_CAP_IPC_LOCK = 14


@dataclass
class Rights:
    """What was granted and what was refused, each as one sentence; `release` returns everything."""

    core: int | None
    granted: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    _undo: list[Callable[[], Any]] = field(default_factory=list, repr=False)

    def release(self) -> None:
        """Become an ordinary process again. Never raises; safe to call twice."""
        while self._undo:
            with suppress(OSError):
                self._undo.pop()()

    def as_json(self) -> dict[str, Any]:
        return {"core": self.core, "granted": dict(self.granted), "refused": dict(self.refused)}


def percentiles(values: np.ndarray) -> dict[str, float]:
    """Return p50, p99, p999 and max. A percentile is a measured value, not interpolated between two."""
    found = np.percentile(values, [50, 99, 99.9, 100], method="inverted_cdf")
    return {name: round(float(value), 1) for name, value in zip(("p50", "p99", "p999", "max"), found, strict=True)}


def isolated_cores() -> set[int]:
    """Return the cores that the scheduler leaves alone."""
    return cores_in(machine.isolated_cores())


def cores_in(text: str) -> set[int]:
    """Parse a list of cores as the kernel writes it, such as `0-2,5`."""
    found: set[int] = set()
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def take_rights(core: int | None = None, priority: int = PRIORITY) -> Rights:
    """Make the calling thread real-time, as far as the host permits. None leaves it on any core."""
    rights = Rights(core)
    if core is not None:
        _pin(rights, core)
    _raise_priority(rights, priority)
    _lock_memory(rights)
    _stop_collector(rights)
    return rights


def prepare() -> Rights:
    """Lock memory and stop the garbage collector, for a thread that becomes real-time later: this takes too long for a process
    that must answer a robot."""
    rights = Rights(None)
    _lock_memory(rights)
    _stop_collector(rights)
    return rights


def prioritise(priority: int = PRIORITY) -> Rights:
    """Give the calling thread a real-time priority, which takes no time. Threads do not inherit it."""
    rights = Rights(None)
    _raise_priority(rights, priority)
    return rights


def stay_ordinary(cores: set[int]) -> Rights:
    """Keep a loop without devices off the cores of loops with devices, and without rights that would disturb them."""
    rights = Rights(None, refused={"all": "not requested: a simulation leaves priority, locked memory and cores to devices"})
    before = machine.scheduling().sched_getaffinity(0)
    with suppress(OSError):
        machine.scheduling().sched_setaffinity(0, cores)
        rights._undo.append(lambda: machine.scheduling().sched_setaffinity(0, before))
    _stop_collector(rights)
    return rights


def _pin(rights: Rights, core: int) -> None:
    before = machine.scheduling().sched_getaffinity(0)
    try:
        machine.scheduling().sched_setaffinity(0, {core})
    except (OSError, ValueError) as error:
        rights.refused["core"] = f"core {core} was refused ({_why(error)}); available are cores {_listed(before)}"
        rights.core = None
    else:
        rights.granted["core"] = f"on core {core}" + (", isolated" if core in isolated_cores() else "")
        rights._undo.append(lambda: machine.scheduling().sched_setaffinity(0, before))


def _raise_priority(rights: Rights, priority: int) -> None:
    policy, parameters = machine.scheduling().sched_getscheduler(0), machine.scheduling().sched_getparam(0)
    try:
        # Not inherited: a child that starts at this priority would occupy the loop's core.
        machine.scheduling().sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(priority))
    except OSError as error:
        rights.refused["priority"] = (
            f"SCHED_FIFO {priority} was refused ({_why(error)}); "
            f"add '@realtime - rtprio {priority}' to /etc/security/limits.conf and yourself to that group"
        )
    else:
        rights.granted["priority"] = f"SCHED_FIFO {priority}"
        rights._undo.append(lambda: _lower_priority(policy, parameters))


def _lower_priority(policy: int, parameters: os.sched_param) -> None:
    try:
        machine.scheduling().sched_setscheduler(0, policy, parameters)
    except PermissionError:  # only a privileged process may clear the reset-on-fork flag
        machine.scheduling().sched_setscheduler(0, policy | os.SCHED_RESET_ON_FORK, parameters)


def _may_lock_everything() -> bool:
    """Whether there is no limit, or we are exempt (CAP_IPC_LOCK). Otherwise locking future memory could make an allocation
    fail in the loop."""
    if resource.getrlimit(resource.RLIMIT_MEMLOCK)[0] == resource.RLIM_INFINITY:
        return True
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("CapEff:"):
            return bool(int(line.split()[1], 16) >> _CAP_IPC_LOCK & 1)
    return False


def _lock_memory(rights: Rights) -> None:
    advice = "add '@realtime - memlock unlimited' to /etc/security/limits.conf and yourself to that group"
    if not _may_lock_everything():
        limit = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
        rights.refused["memory"] = f"memory is not locked: only {limit / 1e6:.1f} MB may be; {advice}"
    elif error := machine.lock_memory(_MCL_CURRENT | _MCL_FUTURE):
        rights.refused["memory"] = f"memory is not locked ({os.strerror(error)}); {advice}"
    else:
        rights.granted["memory"] = "memory locked"
        rights._undo.append(machine.unlock_memory)


def _stop_collector(rights: Rights) -> None:
    collector = machine.collector()
    collector.collect()
    if collector.isenabled():
        collector.disable()
        rights._undo.append(collector.enable)
    collector.freeze()
    rights._undo.append(collector.unfreeze)
    rights.granted["collector"] = "garbage collector off"


def _why(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def _listed(cores: set[int]) -> str:
    return ", ".join(map(str, sorted(cores)))
