"""The helm: STOP, the dead man's switch and all other orders, in the small process that nothing else can block.

A socket here only carries short messages; each is checked, goes into the session's mailbox at once, and is answered when the
loop has answered. Nothing blocks, no folder is listed, no file is read but the mailbox itself.
"""

import itertools
from typing import Any, Protocol

from hilt.cockpit import keys, wire
from hilt.cockpit.controls import Controls
from hilt.cockpit.gate import Log
from hilt.cockpit.wire import without_paths
from hilt.core import clock
from hilt.core.faults import InputError
from hilt.host.shared import Segment
from hilt.live import mailbox
from hilt.live.ring import SUFFIX

KEPT = 60.0  # [s] that a session stays open after its last page has left
TELL_EVERY = 1.0  # [s] between two messages of the state if nothing has changed
MOST_SEATS = 16
PAGES, WATCHERS = 32, 24  # sockets in all, and of pages that may only watch, so that there is always room for the others
ONLY_WATCH = "this page may watch and stop, but not take the controls; open a link with controls: hilt cockpit --link"


class Line(Protocol):
    """Where a page's messages come from and go to."""

    address: str

    def send(self, message: dict[str, Any]) -> None: ...
    def close(self, code: int, why: str) -> None: ...


class Seat:
    """A session that pages attend to: its controls and its state."""

    def __init__(self, session: str) -> None:
        self.session, self.controls = session, Controls(session)
        self.pages: set[Page] = set()
        self.left = clock.now()
        self._watcher = self.controls.watcher
        self._live: list[dict[str, Any]] = self._watcher.info.get("live", [])
        self._ring: Segment | None = None
        self._ring_name, self._run = "", 0
        self.alive = True
        self.look()

    def look(self) -> None:
        """Read the loop's state and its answers."""
        self.front = self._watcher.front
        self.alive = self.alive and self._watcher.alive
        if self.front.runs != self._run:  # a new run begins with the scenario's values
            self._run = self.front.runs
            self.controls.values.clear()
        if self.front.ring != self._ring_name:
            self._follow(self.front.ring)
        self.controls.look(self.alive)

    def _follow(self, ring: str) -> None:
        if self._ring is not None:
            self._ring.close()
        self._ring, self._ring_name = None, ring
        try:
            self._ring = Segment.open(ring + SUFFIX) if ring else None
        except InputError:  # it has ended already
            return

    def state(self) -> dict[str, Any]:
        """Return the state for all pages; each adds what differs for it."""
        state = mailbox.STATES[self.front.state] if self.alive else mailbox.STATES[0]
        text = without_paths(self.front.sentence)
        values, holder = self.controls.values, self.controls.holder
        return {
            "type": "state",
            "session": self.session,
            "state": state,
            "armed": self.front.armed and self.alive,
            "run": self.front.runs,
            "sentence": text if self.alive else text or "the station's process has ended; start it again",
            # The run is over, but its recording is still being written: the station takes no requests until it is complete.
            "writing": state == "STOPPED" and self._ring is not None and self._ring.owner_alive,
            "holder": holder.name if holder is not None else None,
            "watchers": len(self.pages),
            "live": [{**each, "value": values.get(each["key"], each["value"])} for each in self._live],
        }

    def close(self) -> None:
        self.controls.close()
        if self._ring is not None:
            self._ring.close()


class Page:
    """One page at the helm, once it has shown its key."""

    def __init__(self, line: Line, role: str, number: int) -> None:
        self.line, self.role, self.last_heard = line, role, clock.now()
        self.name, self._number = f"guest {number}", number
        self.seat: Seat | None = None
        self._last_state: dict[str, Any] = {}
        self._due = 0.0

    @property
    def who(self) -> str:
        """For the run's record: the page chose the name itself; number, role and address are ours."""
        return f"{self.name} (page {self._number}, {self.role}, {self.line.address})"

    def tell(self, message: dict[str, Any]) -> None:
        self.line.send(message)

    def tell_state(self, state: dict[str, Any], holder: Any) -> None:
        """Send the state if it has changed, or from time to time."""
        now = clock.now()
        state = {**state, "you_hold": holder is self}
        if state != self._last_state or now >= self._due:
            self._last_state, self._due = state, now + TELL_EVERY
            self.tell(state)


class Helm:
    """All pages, and the sessions that they attend to."""

    def __init__(self, token: str, codes: keys.Codes, log: Log) -> None:
        self._token, self._codes, self._log = token, codes, log
        self._pages: set[Page] = set()
        self._seats: dict[str, Seat] = {}
        self._numbers = itertools.count(1)
        self.on_login = lambda: None

    def greet(self, line: Line, hello: wire.Order) -> Page | None:
        """Admit a page by its key, or by a code that it exchanges for one; None if it is refused."""
        role, new = None, None
        if isinstance(hello, wire.Hello) and hello.code:
            role = self._codes.redeem(hello.code)
            new = role and keys.key_for(self._token, role)
        elif isinstance(hello, wire.Hello) and hello.key:
            role = keys.role_of(self._token, hello.key)
        if role is None:
            self._log.once("refused a page: no key, or a wrong one")
            line.close(4403, "This page has no key; open a new link: hilt cockpit --link.")
            return None
        watching = sum(page.role == keys.WATCH for page in self._pages)
        if len(self._pages) >= PAGES or (role == keys.WATCH and watching >= WATCHERS):
            self._log.once(f"refused a page: {PAGES} are open already, or {WATCHERS} that watch")
            line.close(1013, "Too many pages are open; close one.")
            return None
        page = Page(line, role, next(self._numbers))
        self._pages.add(page)
        page.tell({"type": "welcome", "you": page.name, "role": role, **({"key": new} if new else {})})
        if new:
            self.on_login()
        return page

    def obey(self, page: Page, order: wire.Order) -> None:
        """Carry out a page's order; an InputError says why not."""
        match order:
            case wire.Ping():
                page.tell({"type": "pong", "id": order.id})
            case wire.CallMe():
                name = "".join(letter for letter in order.name if letter.isprintable())[:24].strip()
                page.name = name or page.name
            case wire.Attend():
                if page.seat is not None and page.seat.session == order.session:
                    return
                self._leave(page)
                if order.session is not None:
                    self._attend(page, order.session)
            case wire.Hold(type="take"):
                if page.role != keys.CONTROL:
                    raise InputError(ONLY_WATCH)
                self._seat(page, order.session).controls.take(page)
            case wire.Hold():
                self._seat(page, order.session).controls.release(page)
            case wire.Do(what="stop"):
                self._stop(page, order)
            case wire.Do():
                self._ask(page, order, order.what)
            case wire.Set():
                self._ask(page, order, "set", order.key, order.value, order.ramp)
            case wire.Steer():
                self._ask(page, order, "steer", order.axes, order.held)

    def _stop(self, page: Page, order: wire.Do) -> None:
        """Stop; refused only if there is nothing to stop. If in doubt, one session too many is stopped."""
        shown = self._seats.get(order.session or "")
        seats = {seat for seat in (page.seat, shown) if seat is not None}
        try:
            if not seats:
                raise InputError("no session is watched; watch one first")
            for seat in seats:
                seat.controls.ask(page, order.id, "stop")
        except InputError as error:
            _refuse(page, order.id, error)

    def _ask(self, page: Page, order: wire.Do | wire.Set | wire.Steer, what: str, *arguments: Any) -> None:
        try:
            if page.role != keys.CONTROL:
                raise InputError(ONLY_WATCH)
            self._seat(page, order.session).controls.ask(page, order.id, what, *arguments)
        except InputError as error:
            _refuse(page, order.id, error)

    def _seat(self, page: Page, meant: str | None) -> Seat:
        """Return the session that a page attends to, if it is the one the order names."""
        if page.seat is None:
            raise InputError("no session is watched; watch one first")
        if page.seat.session != meant:
            raise InputError(
                f"this was meant for {meant}, but {page.seat.session} is watched; nothing was done; look and try again"
            )
        return page.seat

    def _attend(self, page: Page, session: str) -> None:
        if session not in self._seats:
            if len(self._seats) >= MOST_SEATS:
                raise InputError(f"{MOST_SEATS} sessions are watched already; leave one")
            try:
                self._seats[session] = Seat(session)
            except InputError:
                raise InputError(f"{session} is not running; choose one from the list") from None
            except (KeyError, ValueError, TypeError, OSError) as error:
                raise InputError(f"the description of {session} cannot be read; it may be of another version") from error
        page.seat = self._seats[session]
        page.seat.pages.add(page)
        page._due = 0.0

    def _leave(self, page: Page) -> None:
        if page.seat is not None:
            page.seat.pages.discard(page)
            page.seat.controls.leave(page)
            page.seat.left = clock.now()
        page.seat = None

    def gone(self, page: Page) -> None:
        """The page's socket is closed: it releases everything."""
        self._leave(page)
        self._pages.discard(page)

    def beat(self) -> None:
        """Look at every session and report what is new; called many times a second."""
        for name, seat in list(self._seats.items()):
            try:
                seat.look()
            except Exception as error:  # one broken session must not affect the others
                self._log.once(f"session {name} cannot be attended to: {type(error).__name__}: {error}")
            state = seat.state()
            for page in list(seat.pages):
                page.tell_state(state, seat.controls.holder)
            if not seat.pages and (clock.now() - seat.left > KEPT or not seat.alive):
                seat.close()
                del self._seats[name]


def _refuse(page: Page, mark: int, error: InputError) -> None:
    page.tell({"type": "answer", "id": mark, "accepted": False, "text": without_paths(str(error))})
