"""The controls of one session: one client at a time holds them, anybody may stop.

Requests go into the station's mailbox and are answered there; `look` brings the answers back. Stopping has a lane of its own:
whatever is stuck before the loop, a stop is not behind it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from hilt.cockpit.wire import without_paths
from hilt.core import clock
from hilt.core.faults import InputError
from hilt.live.mailbox import Answer, Sender, Watcher

SILENCE = 10.0  # [s] after which somebody else may take the controls
PATIENCE = 5.0  # [s] for an answer
REPEAT = 1.0  # [s] between two refusals of steering in the same words


class Holder(Protocol):
    name: str
    heard: float

    @property
    def who(self) -> str:
        """For the run's record."""
        ...

    def tell(self, message: dict[str, Any]) -> None: ...


class _Letter(NamedTuple):
    sender: Sender
    number: int
    client: Holder
    mark: int  # the client's own number of it
    what: str
    arguments: tuple[Any, ...]
    posted: float


class Controls:
    """Who steers, and what has been asked and not answered yet."""

    def __init__(self, session: str) -> None:
        self.holder: Holder | None = None
        self.values: dict[str, float] = {}  # live values that the loop has accepted
        self._lanes = {lane: Sender(session) for lane in ("stop", "rest")}  # now: a stop has nothing to open
        self._open: list[_Letter] = []
        self._refused = ("", 0.0)

    def take(self, client: Holder) -> None:
        """Hold the controls; not while somebody else does who has been heard of lately."""
        holder = self.holder
        if holder is not None and holder is not client and clock.now() - holder.heard < SILENCE:
            raise InputError(f"{holder.name} holds the controls; ask for them")
        self.holder = client

    def release(self, client: Holder) -> None:
        if self.holder is client:
            self.holder = None

    def leave(self, client: Holder) -> None:
        """A client has gone: its steering ends here, and the station's dead man does the rest."""
        self.release(client)
        self._open = [letter for letter in self._open if letter.client is not client]

    def ask(self, client: Holder, mark: int, what: str, *arguments: Any) -> None:
        """Post a request: `stop` from anybody, everything else from the holder."""
        if what != "stop" and self.holder is not client:
            raise InputError("you do not hold the controls; take them first")
        sender = self._lanes["stop" if what == "stop" else "rest"]
        sender.who = client.who
        post: Callable[..., int] = getattr(sender, what)
        number = post(*arguments)
        self._open.append(_Letter(sender, number, client, mark, what, arguments, clock.now()))

    def look(self, alive: bool = True) -> None:
        """Pass answers on; of steering that the loop has taken only the number."""
        waiting = []
        for letter in self._open:
            answer = letter.sender.answer(letter.number)
            if answer is None and alive and clock.now() - letter.posted < PATIENCE:
                waiting.append(letter)
                continue
            found = answer or Answer(False, "the station did not answer" if alive else "the station's process has ended")
            if letter.what == "steer" and found.accepted:
                letter.client.tell({"type": "steered", "id": letter.mark})
            elif letter.what != "steer" or self._is_news(found.text):
                message = {"type": "answer", "id": letter.mark, "accepted": found.accepted, "text": without_paths(found.text)}
                letter.client.tell(message)
            if letter.what == "set" and found.accepted:
                self.values[letter.arguments[0]] = letter.arguments[1]
        self._open = waiting

    def _is_news(self, text: str) -> bool:
        """Steering is refused many times a second; in the same words once in a while is enough."""
        told, at = self._refused
        if text == told and clock.now() - at < REPEAT:
            return False
        self._refused = (text, clock.now())
        return True

    def close(self) -> None:
        for sender in self._lanes.values():
            sender.close()

    @property
    def watcher(self) -> Watcher:
        return self._lanes["stop"]
