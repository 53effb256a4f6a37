"""Claims: things that only one process may have at a time, such as the core of a live loop.

A claim is a lock that the kernel holds for its owner and frees when the owner ends, however it ends. It is on one byte of
shared memory that all our processes use; the claim's name determines the byte. Nothing is left behind to clean up, and a
process that only checks a claim does not block one that takes it.

Other users have their own memory: their claims are not visible here. For cores, see cores.py.
"""

import hashlib
from collections.abc import Iterable

from hilt.host.shared import Segment

_MEETING = "claims"
_BYTES = 7  # of a hash: an offset in a file has 63 bits


def _place(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:_BYTES], "little")


class Claims:
    """The claims of this process; `close` releases them all."""

    def __init__(self) -> None:
        self._meeting: Segment | None = None
        self.names: list[str] = []

    def take(self, name: str) -> bool:
        """Take a claim; returns whether it is ours now. Never waits."""
        if self._meeting is None:
            self._meeting = Segment.join(_MEETING, 1)
        if not self._meeting.claim(_place(name)):
            return False
        self.names.append(name)
        return True

    def close(self) -> None:
        """Release all claims. Safe to call twice."""
        if self._meeting is not None:
            self._meeting.close()
        self._meeting, self.names = None, []


def taken(names: Iterable[str]) -> list[str]:
    """Return those of the claims that some process holds now, without taking any."""
    meeting = Segment.join(_MEETING, 1)
    try:
        return [name for name in names if meeting.claimed(_place(name))]
    finally:
        meeting.close()
