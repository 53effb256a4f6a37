"""The gate: nothing behind it hears of a request that has not the token, comes from elsewhere or is too large.

    Host     must be our own address: a page elsewhere cannot make its own name point to us
    Origin   if there is one, must be our own: a page elsewhere cannot let a browser act for it
    token    in the query, or in the cookie that the page's address sets; compared in constant time

Requests are bounded in size and in number, and what is refused is said once of each kind.
"""

import hmac
import ipaddress
import sys
from collections.abc import Awaitable, Callable, Iterable
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

from hilt import clock

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

BODY_BYTES = 64 << 10
QUERY_BYTES = 1024
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


class Log:
    """Says on stderr what happened, once of each kind."""

    def __init__(self) -> None:
        self._said: set[str] = set()

    def once(self, what: str) -> None:
        if what not in self._said:
            self._said.add(what)
            print(f"cockpit: {what} (said once)", file=sys.stderr, flush=True)


class Rate:
    """So many a second in the mean, so many at once: a bucket that fills steadily and is emptied by each."""

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


class Gate:
    """An ASGI application around the real one."""

    def __init__(self, app: App, token: str, host: str, port: int, log: Log) -> None:
        self._app, self._token, self._host, self._port, self._log = app, token.encode(), host, port, log
        self._cookie = f"hilt-{port}"
        self._rate = Rate(REQUESTS_A_SECOND, REQUESTS_AT_ONCE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        try:
            by_query = self._check(scope)
        except Refusal as refusal:
            self._log.once(f"refused a request: {refusal.kind}")
            await _refuse(scope, receive, send, refusal)
            return
        if scope["type"] == "websocket":
            await self._app(scope, receive, send)
            return
        policy = PAGE_POLICY.format(host=self._only(scope, b"host"))
        cookie = by_query and scope["path"] == "/"
        await self._app(scope, _bounded(receive), self._with_headers(send, policy, cookie))

    def _check(self, scope: Scope) -> bool:
        """Whether the token was in the query; raises a Refusal if the request may not come in."""
        host = self._only(scope, b"host")
        if host is None or not self._is_own(host):
            raise Refusal(403, "another host's name", "This address does not belong to the cockpit; use the one it printed.")
        origin = self._only(scope, b"origin")
        if _values(scope, b"origin") and origin != f"http://{host}":
            raise Refusal(403, "another origin", "Pages from elsewhere may not use the cockpit; open the address it printed.")
        by_query = self._token_check(scope)
        if not self._rate.allows():
            raise Refusal(429, "too many at once", "Too many requests; wait a moment.")
        length = self._only(scope, b"content-length") or "0"
        if not length.isdecimal() or int(length) > BODY_BYTES:
            raise Refusal(413, "too large", f"A request may have {BODY_BYTES} bytes.")
        return by_query

    def _token_check(self, scope: Scope) -> bool:
        wrong = Refusal(403, "no token, or a wrong one", "The token is missing or wrong; open the address that hilt printed.")
        query = scope.get("query_string", b"")
        if len(query) > QUERY_BYTES:
            raise Refusal(403, "a query that is too long", f"A query may have {QUERY_BYTES} bytes.")
        given = parse_qs(query.decode("latin-1")).get("token", [])
        if given:
            if len(given) == 1 and hmac.compare_digest(given[0].encode(), self._token):
                return True
            raise wrong
        for header in _values(scope, b"cookie"):
            try:
                morsel = SimpleCookie(header).get(self._cookie)
            except CookieError:
                continue
            if morsel is not None and hmac.compare_digest(morsel.value.encode(), self._token):
                return False
        raise wrong

    @staticmethod
    def _only(scope: Scope, name: bytes) -> str | None:
        """The header, if it is there once."""
        found = _values(scope, name)
        return found[0] if len(found) == 1 else None

    def _is_own(self, host: str) -> bool:
        name, colon, port = host.rpartition(":")
        if not colon or port != str(self._port):
            return False
        name = name.removeprefix("[").removesuffix("]").lower()
        if is_loopback(self._host):
            return is_loopback(name)
        if self._host not in ("0.0.0.0", "::"):
            return name == self._host.lower()
        try:  # every address of this machine; a name could be anybody's
            ipaddress.ip_address(name)
        except ValueError:
            return name == "localhost"
        return True

    def _with_headers(self, send: Send, policy: str, cookie: bool) -> Send:
        async def sending(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                extra = list(HEADERS)
                names = {name.lower() for name, _ in message["headers"]}
                if b"content-security-policy" not in names:
                    extra.append((b"content-security-policy", policy.encode()))
                if b"cache-control" not in names:
                    extra.append((b"cache-control", b"no-store"))
                if cookie:
                    value = f"{self._cookie}={self._token.decode()}; Path=/; HttpOnly; SameSite=Strict"
                    extra.append((b"set-cookie", value.encode()))
                message = {**message, "headers": [*message["headers"], *extra]}
            await send(message)

        return sending


def _values(scope: Scope, name: bytes) -> list[str]:
    headers: Iterable[tuple[bytes, bytes]] = scope["headers"]
    return [value.decode("latin-1") for key, value in headers if key.lower() == name]


def _bounded(receive: Receive) -> Receive:
    """Of a body without a length only as much as is allowed."""
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
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode()), *HEADERS]
    await send({"type": f"{kind}.start", "status": refusal.status, "headers": headers})
    await send({"type": f"{kind}.body", "body": body})
