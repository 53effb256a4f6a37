"""One live session per core.

A loop on devices has a core to itself: no second loop, simulation or measurement shares it. Sessions of one user find each
other by their claims. Those of other users, and other real-time programs, are found by checking which processes are bound to a
core with a real-time priority. This misses two users who start at the same instant, and a user without real-time rights; then
lateness stops the run.

At least one core is left to everything else.
"""

import os
from contextlib import suppress
from pathlib import Path

from hilt.core.faults import InputError
from hilt.host import claims, realtime
from hilt.host.claims import Claims
from hilt.live import mailbox

_PROC = Path("/proc")
_KERNEL_THREAD = 0x00200000  # PF_KTHREAD
_FLAGS = 6  # index in /proc/PID/stat, counted after the name
_REAL_TIME = (os.SCHED_FIFO, os.SCHED_RR)


def _claim(core: int) -> str:
    return f"core {core}"


def usable() -> list[int]:
    """Return the cores for live loops, best first: isolated ones, then from the last down (the first has most interrupts)."""
    present = set(range(os.cpu_count() or 1))
    isolated = realtime.isolated_cores() & present
    ordinary = sorted(os.sched_getaffinity(0) - isolated, reverse=True)
    return [*sorted(isolated, reverse=True), *(ordinary[:-1] if len(ordinary) > 1 or isolated else ordinary)]


def _bound_to(process: Path) -> int | None:
    """Return the only core that a process with a real-time priority may run on; None for other processes."""
    with suppress(OSError, ValueError, IndexError):
        number = int(process.name)
        if os.sched_getscheduler(number) & ~os.SCHED_RESET_ON_FORK in _REAL_TIME:
            bound = os.sched_getaffinity(number)
            flags = int((process / "stat").read_text().rpartition(")")[2].split()[_FLAGS])
            if len(bound) == 1 and not flags & _KERNEL_THREAD:
                return next(iter(bound))
    return None


def _bound() -> dict[int, int]:
    """Return the real-time process bound to each core, of any user; not ourselves."""
    found = {}
    for process in _PROC.glob("[0-9]*"):
        core = _bound_to(process)
        if core is not None and int(process.name) != os.getpid():
            found[core] = int(process.name)
    return found


def live() -> dict[int, str]:
    """Return the owner of each live core, in words."""
    found = {core: f"process {number}" for core, number in _bound().items()}
    names = {_claim(core): core for core in range(os.cpu_count() or 1)}
    return found | {names[claim]: _owner(claim) for claim in claims.taken(names)}


def _owner(claim: str) -> str:
    """Return who has claimed a core, in words."""
    for name in mailbox.sessions():
        with suppress(InputError):
            watcher = mailbox.Watcher(name)
            found = claim in watcher.info.get("claims", ())
            watcher.close()
            if found:
                return f"session {name}"
    return "another hilt command"


def take(ours: Claims) -> int | None:
    """Take a core for this process alone; None if there is only one. If none is free, an InputError says what uses them."""
    bound, allowed = _bound(), os.sched_getaffinity(0)
    for core in usable():
        if core not in bound and ours.take(_claim(core)):
            return core if allowed != {core} else None
    who = ", ".join(f"core {core}: {name}" for core, name in sorted(live().items()))
    raise InputError(
        f"no core is free for another loop on devices ({who}; one is left to everything else); wait until one ends "
        "(hilt sessions, hilt ask), or set lab.realtime = false in the rig file"
    )


def others() -> set[int]:
    """Return the cores for a process without devices: not a live one, nor the one that the next live loop takes."""
    allowed = os.sched_getaffinity(0)
    return allowed - set(live()) - set(usable()[:1]) or allowed - set(live()) or allowed


def free() -> set[int]:
    """Return the cores for a process that is stopped before the next live loop starts: all that are not live."""
    allowed = os.sched_getaffinity(0)
    return allowed - set(live()) or allowed


def step_aside() -> None:
    """Move a process without devices away from live cores, permanently."""
    with suppress(OSError):
        os.sched_setaffinity(0, others())


def check_nobody_live() -> None:
    """Refuse to measure next to a live loop: the measurement has the same priority and would use its core."""
    if found := live():
        core, who = min(found.items())
        raise InputError(f"{who} is live on core {core}, and measuring would disturb it; wait until it ends (hilt sessions)")
