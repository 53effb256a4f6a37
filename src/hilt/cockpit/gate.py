"""The gate: refuses requests that come from elsewhere, are too large, or have no key where one is needed.

    Host            must be our own address: a page elsewhere cannot make its own name point to us
    Origin          if there is one, must be our own: a page elsewhere cannot let a browser act for it
    Authorization   Bearer and a key (keys.py), for everything but the page's own files; a key to watch may read, not order.
                    A socket cannot have the header: its first message has the key

Requests are limited in size and in number, and each kind of refusal is reported once.
"""

import ipaddress
import sys
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from hilt.cockpit import keys
from hilt.core import clock

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

BODY_BYTES = 64 << 10
REQUESTS_A_SECOND, REQUESTS_AT_ONCE = 100.0, 400.0
HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
PAGE_POLICY = (
    "default-src 'self'; connect-src 'self' ws://{host}; img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; "
    "worker-src 'self' blob:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"


class Log:
    """Reports on stderr what happened, each kind once."""

    def __init__(self) -> None:
        self._said: set[str] = set()

    def once(self, what: str) -> None:
        if what not in self._said:
            self._said.add(what)
            print(f"cockpit: {what} (reported once)", file=sys.stderr, flush=True)


class Rate:
    """Limits the mean rate per second and the burst: a bucket that fills steadily and is emptied by each request."""

    def __init__(self, mean: float, burst: float) -> None:
        self._mean, self._burst, self._left, self._at = mean, burst, burst, clock.now()

    def allows(self) -> bool:
        now = clock.now()
        self._left, self._at = min(self._burst, self._left + self._mean * (now - self._at)), now
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True


class Refusal(Exception):
    """A status and one sentence."""

    def __init__(self, status: int, kind: str, sentence: str) -> None:
        super().__init__(sentence)
        self.status, self.kind, self.sentence = status, kind, sentence


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Plate:
    """The address of the server: what it is called, and which pages may call it."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port

    def check(self, hosts: list[str], origins: list[str]) -> None:
        """Raise a Refusal if a request is meant for another server, or comes from another page."""
        if len(hosts) != 1 or not self._is_own(hosts[0]):
            raise Refusal(403, "another host's name", "This address does not belong to the cockpit; use the one it printed.")
        if origins and origins != [f"http://{hosts[0]}"]:
            raise Refusal(403, "another origin", "Pages from elsewhere may not use the cockpit; open the address it printed.")

    def _is_own(self, host: str) -> bool:
        name, colon, port = host.rpartition(":")
        if not colon or port != str(self._port):
            return False
        name = name.removeprefix("[").removesuffix("]").lower()
        if is_loopback(self._host):
            return is_loopback(name)
        if self._host not in ("0.0.0.0", "::"):
            return name == self._host.lower()
        try:  # every address of this machine; a name could belong to another
            ipaddress.ip_address(name)
        except ValueError:
            return name == "localhost"
        return True


class Gate:
    """An ASGI application around the real one."""

    def __init__(self, app: App, token: str, plate: Plate, log: Log, trust: Callable[[Scope], None]) -> None:
        self._app, self._token, self._plate, self._log, self._trust = app, token, plate, log, trust
        self._rate = Rate(REQUESTS_A_SECOND, REQUESTS_AT_ONCE)
        self._files = Rate(REQUESTS_A_SECOND, REQUESTS_AT_ONCE)  # requests without a key do not use up the rate of the others

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        try:
            known = self._check(scope)
        except Refusal as refusal:
            self._log.once(f"refused a request: {refusal.kind}")
            await _refuse(scope, receive, send, refusal)
            return
        if scope["type"] == "websocket":
            await self._app(scope, receive, send)
            return
        policy = PAGE_POLICY.format(host=_values(scope, b"host")[0])
        await self._app(scope, _bounded(receive), _with_headers(send, policy, known))

    def _check(self, scope: Scope) -> bool:
        """Whether the request has a key; raises a Refusal if it is not allowed."""
        self._plate.check(_values(scope, b"host"), _values(scope, b"origin"))
        open_to_all = scope["type"] == "websocket" or _is_page(scope)
        if not open_to_all:
            self._key_check(scope)
            self._trust(scope)
        if not (self._files if open_to_all else self._rate).allows():
            raise Refusal(429, "too many at once", "Too many requests; wait a moment.")
        length = _values(scope, b"content-length") or ["0"]
        if len(length) != 1 or len(length[0]) > 9 or not length[0].isdecimal() or int(length[0]) > BODY_BYTES:
            raise Refusal(413, "too large", f"A request may have {BODY_BYTES} bytes.")
        return not open_to_all

    def _key_check(self, scope: Scope) -> None:
        given = _values(scope, b"authorization")
        role = keys.role_of(self._token, given[0].removeprefix("Bearer ")) if len(given) == 1 else None
        if role is None:
            raise Refusal(403, "no key, or a wrong one", "This page has no key; open a new link: hilt cockpit --link.")
        if role != keys.CONTROL and scope["method"] != "GET":
            raise Refusal(
                403, "an order from a page that may only watch", "This page may watch and stop, but not start anything."
            )


def _is_page(scope: Scope) -> bool:
    return scope["method"] == "GET" and (scope["path"] == "/" or scope["path"].startswith("/static/"))


def _with_headers(send: Send, policy: str, known: bool) -> Send:
    async def sending(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            extra = list(HEADERS)
            names = {name.lower() for name, _ in message["headers"]}
            if b"content-security-policy" not in names:
                extra.append((b"content-security-policy", policy.encode()))
            if b"cache-control" not in names:
                extra.append((b"cache-control", b"no-store"))
            if not known:  # a connection without a key gets one answer
                extra.append((b"connection", b"close"))
            message = {**message, "headers": [*message["headers"], *extra]}
        await send(message)

    return sending


def _values(scope: Scope, name: bytes) -> list[str]:
    headers: Iterable[tuple[bytes, bytes]] = scope["headers"]
    return [value.decode("latin-1") for key, value in headers if key.lower() == name]


def _bounded(receive: Receive) -> Receive:
    """Limit a body without a stated length to the allowed size."""
    seen = 0

    async def receiving() -> dict[str, Any]:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > BODY_BYTES:
            return {"type": "http.disconnect"}
        return message

    return receiving


async def _refuse(scope: Scope, receive: Receive, send: Send, refusal: Refusal) -> None:
    body = refusal.sentence.encode()
    if scope["type"] == "websocket":
        await receive()
        kind = "websocket.http.response"
        if kind not in scope.get("extensions", {}):
            await send({"type": "websocket.close", "code": 1008})
            return
    else:
        kind = "http.response"
    length = (b"content-length", str(len(body)).encode())
    headers = [(b"content-type", b"text/plain; charset=utf-8"), length, (b"connection", b"close"), *HEADERS]
    await send({"type": f"{kind}.start", "status": refusal.status, "headers": headers})
    await send({"type": f"{kind}.body", "body": body})
