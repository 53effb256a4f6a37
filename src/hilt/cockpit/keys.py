"""Access to the cockpit: keys for pages, and the codes in links that are exchanged for one.

    token   the server's secret (HILT_COCKPIT_TOKEN, or random); never leaves its processes unless its owner passes it on
    key     held by a page, role.nonce.mac: made from the token, so a server restarted with the same token accepts it
    code    in a link, role.expiry.nonce.mac: can be exchanged for one key, once, within CODE_LIFE

Cookies are not used: a browser sends a host's cookies to every port, so to every other server there. The page keeps its key
where only its own origin, port included, can read it.
"""

import base64
import hmac
import json
import secrets

from hilt.core import clock
from hilt.core.faults import InputError
from hilt.host.shared import Segment

CONTROL, WATCH = "control", "watch"
ROLES = (CONTROL, WATCH)
CODE_LIFE = 300.0  # [s]
LONGEST = 200  # characters of a key or code


def _mac(secret: str, *parts: str) -> str:
    found = hmac.digest(secret.encode(), "|".join(parts).encode(), "sha256")
    return base64.urlsafe_b64encode(found).decode().rstrip("=")


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(), other.encode())


def key_for(token: str, role: str) -> str:
    """Return a new key."""
    nonce = secrets.token_urlsafe(9)
    return f"{role}.{nonce}.{_mac(token, 'key', role, nonce)}"


def role_of(token: str, key: str) -> str | None:
    """Return the role of a key; the token itself allows everything. None if it is neither."""
    if len(key) > LONGEST:
        return None
    if _same(key, token):
        return CONTROL
    role, _, rest = key.partition(".")
    nonce, _, mac = rest.partition(".")
    return role if role in ROLES and _same(mac, _mac(token, "key", role, nonce)) else None


def code_for(secret: str, role: str) -> str:
    """Return a new code, for a link."""
    expiry, nonce = str(int(clock.now() + CODE_LIFE)), secrets.token_urlsafe(12)
    return f"{role}.{expiry}.{nonce}.{_mac(secret, 'code', role, expiry, nonce)}"


class Codes:
    """The codes in links; each is accepted once."""

    def __init__(self) -> None:
        self.secret = secrets.token_urlsafe(24)  # of this server only: a code does not outlive it
        self._used: dict[str, float] = {}

    def redeem(self, code: str) -> str | None:
        """Return the role of a code and mark it as used; None if it is invalid, expired or used."""
        parts = code.split(".")
        if len(code) > LONGEST or len(parts) != 4 or not _same(parts[3], _mac(self.secret, "code", *parts[:3])):
            return None
        now, expiry = clock.now(), float(parts[1])
        self._used = {nonce: until for nonce, until in self._used.items() if until > now}
        if now > expiry or parts[2] in self._used:
            return None
        self._used[parts[2]] = expiry
        return parts[0]


def link(address: str, secret: str, role: str, session: str = "") -> str:
    """Return an address that works once. The part after # is not sent to any server, nor in a Referer."""
    return f"{address}/#code={code_for(secret, role)}" + (f"&session={session}" if session else "")


class Card:
    """What a server leaves for its owner's next command: its address and the secret of its codes, in our folder in memory.

    Nobody else can enter that folder (runtime.py), and its content disappears when the server ends, however it ends.
    """

    def __init__(self, port: int) -> None:
        self._name, self._page_name = f"cockpit-{port}.card", f"cockpit-{port}.html"
        self._card: Segment | None = None
        self._page: Segment | None = None

    def write(self, address: str, secret: str) -> None:
        self._card = _left(self._name, json.dumps({"address": address, "codes": secret}))

    def link(self, role: str) -> str:
        """Return a new link to the server that left this card."""
        try:
            card = Segment.open(self._name)
            content = json.loads(bytes(card.memory)) if card.owner_alive else {}
            card.close()
            return link(content["address"], content["codes"], role)
        except (InputError, ValueError, KeyError):
            raise InputError("none of your cockpits listens on that port; start one, or give its --port") from None

    def page(self, address: str) -> str:
        """Write a file that redirects a browser to a link, to keep the link off the command line; return its address."""
        self.forget_page()
        script = f"<script>location.replace({json.dumps(address)})</script>"
        self._page = _left(self._page_name, f"<!doctype html><meta charset=utf-8><title>hilt</title>{script}")
        return self._page.path.as_uri()

    def forget_page(self) -> None:
        """Remove that file once it is used."""
        if self._page is not None:
            self._page.close()
        self._page = None

    def remove(self) -> None:
        self.forget_page()
        if self._card is not None:
            self._card.close()


def _left(name: str, text: str) -> Segment:
    found = Segment.create(name, len(text.encode()))
    found.memory[:] = text.encode()
    found.publish()
    return found
