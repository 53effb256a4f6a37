"""What happens to a lab during a trial: faults of network, host, devices, operator and disk, drawn from a seed.

A schedule is written as one line, from which the same trial runs again:

    cable robot 1.204 0.050; stall hilt 1.871 0.018; flip sensor>hilt 1.500 0.200 0.3

kind, whom it strikes, when [s since hilt was started], for how long [s], and how much of it.

A flipped bit is found by UDP's checksum, and the packet is lost. To try the decoders, some get past it here, but never on the
way to a robot, nor in a Franka's binary state: a wrong but possible pose cannot be told from a right one.
"""

import random
from collections.abc import Iterable
from typing import NamedTuple


class Fault(NamedTuple):
    kind: str
    target: str
    at: float  # [s] since hilt was started
    duration: float = 0.0  # [s]
    amount: float = 0.0  # as the kind has it: a probability, a delay [s], a number of choices

    def __str__(self) -> str:
        parts = [self.kind, self.target, f"{self.at:.4f}", f"{self.duration:.4f}", f"{self.amount:.4f}"]
        while parts[-1] == "0.0000" and len(parts) > 3:
            parts.pop()
        return " ".join(parts)


class Kind(NamedTuple):
    """What may be drawn of a fault, and how often compared with others."""

    weight: float
    targets: tuple[str, ...]
    duration: tuple[float, float] = (0.0, 0.0)
    amount: tuple[float, float] = (0.0, 0.0)


LINES = ("robot>hilt", "hilt>robot", "sensor>hilt", "robot2>partner", "partner>robot2", "sensor2>hilt")
HEARD = tuple(line for line in LINES if not line.endswith((">robot", ">robot2")))
DEVICES = ("robot", "sensor", "robot2", "sensor2")
KINDS = {
    "lose": Kind(4, LINES, (0.004, 0.3), (0.05, 1.0)),
    "late": Kind(3, LINES, (0.004, 0.2), (0.001, 0.03)),
    "double": Kind(1, LINES, (0.01, 0.5), (0.1, 1.0)),
    "swap": Kind(1, LINES, (0.01, 0.5), (0.1, 1.0)),
    "flip": Kind(2, HEARD, (0.01, 0.5), (0.05, 1.0)),
    "cut": Kind(1, HEARD, (0.01, 0.3), (0.05, 1.0)),
    "cable": Kind(2, DEVICES, (0.01, 0.4)),
    "stranger": Kind(1, ("hilt",), (0.01, 0.3)),
    "stall": Kind(4, ("hilt", "partner", "robot", "sensor", "robot2"), (0.001, 0.03)),
    "hang": Kind(1, ("hilt", "partner", "robot", "recorder"), (0.05, 0.5)),
    "freeze": Kind(1, ("recorder", "robot", "partner"), (0.1, 3.0)),
    "kill": Kind(2, ("robot", "sensor", "recorder", "hilt", "partner", "robot2")),
    "stop": Kind(2, ("operator",)),
    "signal": Kind(1, ("hilt",), (0.0, 0.0), (0.0, 2.99)),
    "sensor": Kind(2, ("sensor",), (0.01, 0.6), (0.0, 4.99)),
    "robot": Kind(2, ("robot",), (0.01, 0.4), (0.0, 3.99)),
    "push": Kind(1, ("robot",), (0.02, 0.3), (0.001, 0.02)),
    "restart": Kind(1, ("robot",)),
    "full": Kind(1, ("disk",), (0.0, 0.5)),
    "slow": Kind(1, ("disk",), (0.1, 1.0), (0.01, 0.5)),
    "deleted": Kind(1, ("disk",)),
    "wall": Kind(0.5, ("clock",), (0.0, 0.0), (-2.0, 2.0)),
}
SECOND = ("partner", "robot2", "sensor2")  # whom only a lab with two robots has
MOST = 4  # faults of a schedule


def draw(lab: str, seed: int, begins: float, seconds: float, roles: Iterable[str]) -> tuple[Fault, ...]:
    """Return the faults of a lab's seed, for a run that begins some time after hilt; these roles are played there."""
    chance, there = random.Random(f"{lab} {seed}"), set(roles) | {"operator", "disk", "clock"}
    kinds, weights = list(KINDS), [kind.weight for kind in KINDS.values()]
    found = []
    for _ in range(chance.choice((0, 1, 1, 1, 2, 2, 3, MOST))):
        name = chance.choices(kinds, weights)[0]
        kind = KINDS[name]
        target = chance.choice([each for each in kind.targets if set(each.split(">")) <= there])
        at = chance.uniform(0.0, begins) if chance.random() < 0.15 else chance.uniform(begins, begins + seconds)
        found.append(Fault(name, target, round(at, 4), *(round(chance.uniform(*each), 4) for each in kind[2:])))
    return tuple(sorted(found, key=lambda fault: fault.at))


def written(faults: Iterable[Fault]) -> str:
    return "; ".join(map(str, faults)) or "nothing"


def read(text: str) -> tuple[Fault, ...]:
    """Read a line as `written` writes it."""
    if text.strip() == "nothing":
        return ()
    found = []
    for part in text.split(";"):
        kind, target, *numbers = part.split()
        if kind not in KINDS:
            raise ValueError(f"{kind!r} is no kind of fault; known are {', '.join(KINDS)}")
        found.append(Fault(kind, target, *map(float, numbers)))
    return tuple(found)
