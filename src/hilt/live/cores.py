"""One live session per core.

A loop on devices has a core to itself: no second loop, simulation or measurement shares it. Sessions of one user find each
other by their claims. Those of other users, and other real-time programs, are found by checking which processes are bound to a
core with a real-time priority. This misses two users who start at the same instant, and a user without real-time rights; then
lateness stops the run.

At least one core is left to everything else.
"""

from contextlib import suppress

from hilt.core.faults import InputError
from hilt.host import claims, machine, realtime
from hilt.host.claims import Claims
from hilt.live import mailbox


def _claim(core: int) -> str:
    return f"core {core}"


def usable() -> list[int]:
    """Return the cores for live loops, best first: isolated ones, then from the last down (the first has most interrupts)."""
    present = set(range(_present()))
    isolated = realtime.isolated_cores() & present
    ordinary = sorted(_allowed() - isolated, reverse=True)
    return [*sorted(isolated, reverse=True), *(ordinary[:-1] if len(ordinary) > 1 or isolated else ordinary)]


def _present() -> int:
    count: int | None = machine.scheduling().cpu_count()
    return count or 1


def _allowed() -> set[int]:
    """Return the cores that this process may run on."""
    found: set[int] = machine.scheduling().sched_getaffinity(0)
    return found


def live() -> dict[int, str]:
    """Return the owner of each live core, in words."""
    found = {core: f"process {number}" for core, number in machine.real_time_processes().items()}
    names = {_claim(core): core for core in range(_present())}
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
    bound, allowed = machine.real_time_processes(), _allowed()
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
    allowed = _allowed()
    return allowed - set(live()) - set(usable()[:1]) or allowed - set(live()) or allowed


def free() -> set[int]:
    """Return the cores for a process that is stopped before the next live loop starts: all that are not live."""
    allowed = _allowed()
    return allowed - set(live()) or allowed


def step_aside() -> None:
    """Move a process without devices away from live cores, permanently."""
    with suppress(OSError):
        machine.scheduling().sched_setaffinity(0, others())


def check_nobody_live() -> None:
    """Refuse to measure next to a live loop: the measurement has the same priority and would use its core."""
    if found := live():
        core, who = min(found.items())
        raise InputError(f"{who} is live on core {core}, and measuring would disturb it; wait until it ends (hilt sessions)")
