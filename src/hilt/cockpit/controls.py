"""The controls of one session: one client at a time holds them, anyone may stop.

Requests go into the station's mailbox and are answered there; `look` brings the answers back. Stopping has its own lane, so
that a stop never waits behind another request.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from hilt.cockpit.wire import without_paths
from hilt.core import clock
from hilt.core.faults import InputError
from hilt.live.mailbox import Answer, Sender, Watcher

SILENCE = 10.0  # [s] after which another client may take the controls
PATIENCE = 5.0  # [s] for an answer
REPEAT = 1.0  # [s] between two refusals of steering in the same words


class Holder(Protocol):
    name: str
    last_heard: float

    @property
    def who(self) -> str:
        """Name for the run's record."""
        ...

    def tell(self, message: dict[str, Any]) -> None: ...


class _Request(NamedTuple):
    sender: Sender
    number: int
    client: Holder
    mark: int  # the client's own number for it
    what: str
    arguments: tuple[Any, ...]
    posted: float


class Controls:
    """Who holds the controls, and the requests that are not answered yet."""

    def __init__(self, session: str) -> None:
        self.holder: Holder | None = None
        self.values: dict[str, float] = {}  # live values that the loop has accepted
        self._lanes = {lane: Sender(session) for lane in ("stop", "rest")}  # opened now, so that a stop need not
        self._open: list[_Request] = []
        self._refused = ("", 0.0)

    def take(self, client: Holder) -> None:
        """Take the controls, unless another client holds them and was active recently."""
        holder = self.holder
        if holder is not None and holder is not client and clock.now() - holder.last_heard < SILENCE:
            raise InputError(f"{holder.name} holds the controls; ask for them")
        self.holder = client

    def release(self, client: Holder) -> None:
        if self.holder is client:
            self.holder = None

    def leave(self, client: Holder) -> None:
        """A client has gone: its steering ends here, and the station's dead-man switch does the rest."""
        self.release(client)
        self._open = [request for request in self._open if request.client is not client]

    def ask(self, client: Holder, mark: int, what: str, *arguments: Any) -> None:
        """Post a request: `stop` from anyone, everything else from the holder."""
        if what != "stop" and self.holder is not client:
            raise InputError("you do not hold the controls; take them first")
        sender = self._lanes["stop" if what == "stop" else "rest"]
        sender.who = client.who
        post: Callable[..., int] = getattr(sender, what)
        number = post(*arguments)
        self._open.append(_Request(sender, number, client, mark, what, arguments, clock.now()))

    def look(self, alive: bool = True) -> None:
        """Pass answers on; for accepted steering only the number."""
        waiting = []
        for request in self._open:
            answer = request.sender.answer(request.number)
            if answer is None and alive and clock.now() - request.posted < PATIENCE:
                waiting.append(request)
                continue
            found = answer or Answer(False, "the station did not answer" if alive else "the station's process has ended")
            if request.what == "steer" and found.accepted:
                request.client.tell({"type": "steered", "id": request.mark})
            elif request.what != "steer" or self._is_news(found.text):
                message = {"type": "answer", "id": request.mark, "accepted": found.accepted, "text": without_paths(found.text)}
                request.client.tell(message)
            if request.what == "set" and found.accepted:
                self.values[request.arguments[0]] = request.arguments[1]
        self._open = waiting

    def _is_news(self, text: str) -> bool:
        """Whether to report a refusal: steering is refused many times a second, and the same sentence is repeated rarely."""
        last, at = self._refused
        if text == last and clock.now() - at < REPEAT:
            return False
        self._refused = (text, clock.now())
        return True

    def close(self) -> None:
        for sender in self._lanes.values():
            sender.close()

    @property
    def watcher(self) -> Watcher:
        return self._lanes["stop"]
