"""A line with faults on demand: packets of an emulator pass through it and may be lost, duplicated, corrupted or delayed.

Each fault has a probability per packet (`line.drop = 0.01`), and `line.next("drop", 3)` always hits the next three
packets. The line has its own random numbers: two lines with the same seed do the same to the same packets.
"""

import random
from collections import Counter
from collections.abc import Callable

FAULTS = ("drop", "duplicate", "reorder", "corrupt", "delay", "truncate")

Deliver = Callable[[bytes], object]


class Line:
    """A line of packets: they enter by `send` and leave by the caller's `deliver`, at once or when `release` finds them due."""

    def __init__(self, seed: int = 1) -> None:
        self.drop = self.duplicate = self.reorder = self.corrupt = self.delay = self.truncate = 0.0  # probabilities
        self.delay_time = 0.02  # [s], delay of a delayed packet
        self.done: Counter[str] = Counter()  # how often each fault has happened
        self._due: Counter[str] = Counter()
        self._random = random.Random(seed)
        self._swapped: list[tuple[bytes, Deliver]] = []
        self._held: list[tuple[float, bytes, Deliver]] = []

    def next(self, fault: str, count: int = 1) -> None:
        """Apply this fault to the next `count` packets."""
        self._due[fault] += count

    def clear(self) -> None:
        """Clear all faults; packets held back are still delivered."""
        self._due.clear()
        for fault in FAULTS:
            setattr(self, fault, 0.0)

    def _strikes(self, fault: str) -> bool:
        probability = getattr(self, fault)
        if self._due[fault] > 0:
            self._due[fault] -= 1
        elif probability == 0.0 or self._random.random() >= probability:
            return False
        self.done[fault] += 1
        return True

    def send(self, data: bytes, now: float, deliver: Deliver) -> None:
        if self._strikes("drop"):
            return
        if self._strikes("corrupt"):
            data = self._corrupted(data)
        if self._strikes("truncate"):
            data = data[: self._random.randrange(len(data))]
        if self._strikes("delay"):
            self._held.append((now + self.delay_time, data, deliver))
            return
        if self._strikes("reorder"):
            self._swapped.append((data, deliver))  # sent after the next one
            return
        deliver(data)
        if self._strikes("duplicate"):
            deliver(data)
        swapped, self._swapped = self._swapped, []
        for old, its_deliver in swapped:
            its_deliver(old)

    def release(self, now: float) -> None:
        """Deliver the packets whose delay is over."""
        due = [held for held in self._held if held[0] <= now]
        self._held = [held for held in self._held if held[0] > now]
        for _, data, deliver in due:
            deliver(data)

    def _corrupted(self, data: bytes) -> bytes:
        changed = bytearray(data)
        for _ in range(self._random.randint(1, 4)):
            changed[self._random.randrange(len(changed))] ^= 1 << self._random.randrange(8)
        return bytes(changed)
