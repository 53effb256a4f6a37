"""What only one process may have at a time, such as the core of a live loop.

A claim is a lock that the kernel holds for its owner and frees when the owner ends, however it ends. It lies on one byte of
shared memory that all our processes meet in; the claim's name says which byte. So nothing is left behind that would have to be
cleared away, and nobody who only asks gets in the way of somebody who takes.

Other users meet elsewhere: what they have is not seen here. For cores, see cores.py.
"""

import hashlib
from collections.abc import Iterable

from hilt.host.shared import Segment

_MEETING = "claims"
_BYTES = 7  # of a hash: an offset in a file has 63 bits


def _place(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:_BYTES], "little")


class Claims:
    """What this process has; `close` gives it all back."""

    def __init__(self) -> None:
        self._meeting: Segment | None = None
        self.names: list[str] = []

    def take(self, name: str) -> bool:
        """Whether it is ours now. Never waits."""
        if self._meeting is None:
            self._meeting = Segment.join(_MEETING, 1)
        if not self._meeting.claim(_place(name)):
            return False
        self.names.append(name)
        return True

    def close(self) -> None:
        """Safe to call twice."""
        if self._meeting is not None:
            self._meeting.close()
        self._meeting, self.names = None, []


def taken(names: Iterable[str]) -> list[str]:
    """Those that a process has at this moment; nothing is taken by asking."""
    meeting = Segment.join(_MEETING, 1)
    try:
        return [name for name in names if meeting.claimed(_place(name))]
    finally:
        meeting.close()
