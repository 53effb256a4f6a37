"""Who armed, started, steered, changed and stopped a run, for the run's record.

The mailbox notes it as it answers, so it costs the loop no more than an answer. Names are as given by the senders.
"""

from typing import Any, NamedTuple

from hilt.core import clock
from hilt.record.letters import KINDS, SET, STEER, Request

MOST = 200  # entries; only a program would make more


class _Deed(NamedTuple):
    what: str
    who: str
    first: float | None  # [s] of the run; None before it
    last: float | None


class Deeds:
    """Entries in the order in which they began; for steering, the first and last time of each sender."""

    def __init__(self) -> None:
        self._all: dict[tuple[str, str, int], _Deed] = {}
        self._live: float | None = None

    def begin(self) -> None:
        """Note that the run is live from now on."""
        self._live = clock.now()

    def note(self, request: Request) -> None:
        """Note a request that was accepted."""
        what = KINDS[request.kind] + (f" {request.key} = {request.value:g}" if request.kind == SET else "")
        t = None if self._live is None else clock.now() - self._live
        key = (what, request.who, -1 if request.kind == STEER else len(self._all))
        known = self._all.get(key)
        if known is not None:
            self._all[key] = known._replace(last=t)
        elif len(self._all) < MOST:
            self._all[key] = _Deed(what, request.who, t, t)

    def take(self) -> list[dict[str, Any]]:
        """Everything so far; the next run starts with an empty list."""
        found = [deed._asdict() for deed in self._all.values()]
        if not any(deed["what"] == "start" for deed in found):  # started without a request: by the command itself
            found.insert(0, {"what": "start", "who": "the command line", "first": None, "last": None})
        self.__init__()  # type: ignore[misc]
        return found


def when(deed: dict[str, Any]) -> str:
    """The time of an entry in words."""
    first, last = deed["first"], deed["last"]
    if first is None or last is None:
        return "before the run"
    return f"{first:.3g} s" if first == last else f"{first:.3g} to {last:.3g} s"


def read(stored: Any) -> list[dict[str, Any]] | None:
    """The well-formed entries of a recording, which is untrusted."""
    if not isinstance(stored, list):
        return None
    return [deed for deed in stored[: MOST + 1] if _is_deed(deed)]


def _is_deed(deed: Any) -> bool:
    return (
        isinstance(deed, dict)
        and all(isinstance(deed.get(key), str) for key in ("what", "who"))
        and all(isinstance(deed.get(key), int | float | None) for key in ("first", "last"))
    )
