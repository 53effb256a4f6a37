"""A schedule that breaks a law, made smaller: fewer faults, shorter, weaker, as long as the same law is broken."""

from collections.abc import Callable, Iterator

from hilt.lab.trials.schedule import Fault

SHORTEST = 0.002  # [s]
Faults = tuple[Fault, ...]


def shrunk(faults: Faults, fails: Callable[[Faults], bool], most: int = 60) -> Faults:
    """Return the smallest schedule that was found within so many trials; `fails` runs one."""
    left = most
    again = True
    while again:
        again = False
        for smaller in _smaller(faults):
            if left == 0:
                return faults
            left -= 1
            if fails(smaller):
                faults, again = smaller, True
                break
    return faults


def _smaller(faults: Faults) -> Iterator[Faults]:
    """Yield simpler schedules, the simplest first."""
    for i in range(len(faults)):
        yield (*faults[:i], *faults[i + 1 :])
    for i, fault in enumerate(faults):
        changed = []
        if fault.duration > SHORTEST:
            changed.append(fault._replace(duration=round(fault.duration / 2.0, 4)))
        if fault.amount > 0.1:  # a probability, or the number of a choice
            changed.append(fault._replace(amount=round(fault.amount / 2.0, 4)))
        if len(f"{fault.at:.4f}".rstrip("0")) > 4:
            changed.append(fault._replace(at=round(fault.at, 2)))
        for each in changed:
            yield (*faults[:i], each, *faults[i + 1 :])
