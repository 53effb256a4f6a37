"""The cockpit's gate and bounds: unauthorised requests are refused, reported once, leak nothing, and the run goes on.

A real server on a free port and a peer that appends rows as a station does; requests go over real sockets.
"""

import contextlib
import http.client
import json
import os
import resource
import socket
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import websockets.exceptions

from hilt.cli import cockpit as cli_cockpit
from hilt.cockpit import door, helm, keys, opening
from hilt.cockpit import server as module
from hilt.cockpit.wire import parse
from hilt.core import clock
from hilt.core.faults import InputError
from hilt.host.shared import Segment
from hilt.live.ring import RingReader
from tests.cockpit.cockpit_peers import PATIENCE, TOKEN, server, station, wait_for

pytestmark = [pytest.mark.wall, pytest.mark.skipif(sys.platform != "linux", reason="shared memory as Linux has it")]
SECRET = "not for everybody"
NAME = f"gate-{os.getpid()}"


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    inside, outside = tmp_path_factory.mktemp("recordings"), tmp_path_factory.mktemp("private")
    (outside / "secret.mcap").write_text(SECRET)
    (outside / "secret.html").write_text(SECRET)
    (inside / "plain.txt").write_text(SECRET)
    (inside / "link.mcap").symlink_to(outside / "secret.mcap")
    (inside / "broken.mcap").write_bytes(b"\x89MCAP0\r\n" + b"no recording")
    return inside, outside


@pytest.fixture(scope="module")
def cockpit(folders, tmp_path_factory):
    with server(folders[0], tmp_path_factory.mktemp("log") / "stderr.txt") as found:
        yield found


@pytest.fixture(scope="module")
def run(cockpit):
    """A run that goes on through all of this; at the end it must have lost nothing."""
    with station(NAME), cockpit.socket(max_queue=None) as driver:  # nobody reads it later, and it must stay nevertheless
        driver.send(type="watch", session=NAME)
        driver.next("watching")
        driver.send(type="take")
        driver.send(type="do", what="start", id=1)
        driver.next("state", lambda state: state["state"] == "LIVE")
        ring = RingReader(f"{NAME}-run1")
        yield ring
        ring.close()


@pytest.fixture(autouse=True)
def nothing_leaks(cockpit, folders):
    """Whatever a test does, the server's messages contain no path and no token, and each is printed once."""
    yield
    said = cockpit.said()
    assert len(said) == len(set(said))
    assert TOKEN not in "".join(said)
    assert cockpit.child.poll() is None


def raw(cockpit, path, headers=None, method="GET", body=None):
    """A request exactly as written here: nothing is normalised."""
    connection = http.client.HTTPConnection("127.0.0.1", cockpit.port, timeout=PATIENCE)
    try:
        connection.putrequest(method, path, skip_host=bool(headers and "Host" in headers))
        for key, value in (headers or {}).items():
            connection.putheader(key, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        return answer.status, answer.read().decode(errors="replace"), answer.headers
    finally:
        connection.close()


def is_clean(text, folders):
    return not any(word in text for word in (SECRET, TOKEN, "root:", *map(str, folders), os.getcwd(), str(module.STATIC)))


KEY = keys.key_for(TOKEN, keys.CONTROL)
WATCHES = keys.key_for(TOKEN, keys.WATCH)
BEARER = {"Authorization": f"Bearer {KEY}"}

# Who asks: key, origin, host ("{port}" is the server's); whether it may request data, and whether it gets the page's own files
ASKED = {
    "nothing": ({}, False, True),
    "wrong key": ({"Authorization": "Bearer x"}, False, True),
    "empty key": ({"Authorization": "Bearer "}, False, True),
    "key in capitals": ({"Authorization": f"Bearer {KEY.upper()}"}, False, True),
    "key and one letter": ({"Authorization": f"Bearer {KEY}x"}, False, True),
    "key to watch, said to control": ({"Authorization": f"Bearer {WATCHES.replace('watch', 'control')}"}, False, True),
    "key of another token": ({"Authorization": f"Bearer {keys.key_for('another-token-of-a-server', 'control')}"}, False, True),
    "key": (BEARER, True, True),
    "key to watch": ({"Authorization": f"Bearer {WATCHES}"}, True, True),
    "token": ({"Authorization": f"Bearer {TOKEN}"}, True, True),
    "token as a cookie": ({"Cookie": f"hilt-{{port}}={TOKEN}"}, False, True),
    "key as a cookie": ({"Cookie": f"hilt-{{port}}={KEY}; hilt-key={KEY}"}, False, True),
    "own origin": ({**BEARER, "Origin": "http://127.0.0.1:{port}"}, True, True),
    "other origin": ({**BEARER, "Origin": "http://evil.example"}, False, False),
    "origin of another port": ({**BEARER, "Origin": "http://127.0.0.1:1"}, False, False),
    "no origin in particular": ({**BEARER, "Origin": "null"}, False, False),
    "origin with https": ({**BEARER, "Origin": "https://127.0.0.1:{port}"}, False, False),
    "localhost": ({**BEARER, "Host": "localhost:{port}"}, True, True),
    "other host": ({**BEARER, "Host": "evil.example:{port}"}, False, False),
    "host without port": ({**BEARER, "Host": "127.0.0.1"}, False, False),
    "host of another port": ({**BEARER, "Host": "127.0.0.1:1"}, False, False),
    "host that begins like ours": ({**BEARER, "Host": "127.0.0.1.evil.example:{port}"}, False, False),
}


@pytest.mark.parametrize("who", ASKED)
def test_who_may_ask(cockpit, folders, who):
    headers, allowed, page = ASKED[who]
    headers = {key: value.format(port=cockpit.port) for key, value in headers.items()}
    for path in ("/api/sessions", "/", "/static/index.html", "/api/recordings/link", "/nothing"):
        status, body, _ = raw(cockpit, path, headers)
        expected = page if path in ("/", "/static/index.html") else allowed
        assert (status != 403) == expected, (path, status)
        assert allowed or is_clean(body, folders)


@pytest.mark.parametrize("secret", [KEY, TOKEN], ids=["key", "token"])
def test_a_secret_in_an_address_opens_nothing(cockpit, secret):
    """It would be in the history of the browser."""
    for query in (f"?token={secret}", f"?key={secret}", f"?code={secret}"):
        assert raw(cockpit, f"/api/sessions{query}")[0] == 403


@pytest.mark.parametrize("path", ["/helm", "/ws"])
@pytest.mark.parametrize("who", ["own origin", "other origin", "origin of another port", "no origin in particular"])
def test_only_our_own_page_may_open_a_socket(cockpit, path, who):
    headers, allowed, _ = ASKED[who]
    try:
        with cockpit.line(path, KEY, origin=headers["Origin"].format(port=cockpit.port)) as client:
            client.next("welcome" if path == "/helm" else "shown")
            assert allowed
    except websockets.exceptions.InvalidStatus as refused:
        assert refused.response.status_code == 403
        assert not allowed


@pytest.mark.parametrize("path", ["/helm", "/ws"])
@pytest.mark.parametrize(
    "key",
    ["", "x", KEY[:-1], WATCHES.replace("watch", "control"), "control..", "." * 150],
    ids=["none", "x", "cut", "raised", "empty", "long"],  # explicit names: keys differ from process to process
)
def test_a_socket_without_a_key_is_closed(cockpit, path, key):
    with cockpit.line(path, key or None) as client:
        assert client.closed() == 4403


@pytest.mark.parametrize("path", ["/helm", "/ws"])
def test_a_socket_that_says_nothing_is_closed(cockpit, path):
    with cockpit.open(path) as connection, pytest.raises(websockets.exceptions.ConnectionClosed):
        connection.recv(timeout=PATIENCE)


def test_a_link_is_good_for_one_page_once(cockpit):
    link = cockpit.link()
    code = link.partition("#code=")[2]
    with cockpit.line("/helm", code=code) as first:
        welcome = first.next("welcome")
        assert welcome["role"] == "control"
    with cockpit.line("/helm", code=code) as second:
        assert second.closed() == 4403
    with cockpit.line("/helm", welcome["key"]) as again, cockpit.line("/ws", welcome["key"]) as room:  # a reload
        assert "key" not in again.next("welcome")
        room.next("shown")


def test_a_code_is_short_lived_and_bound_to_its_server(monkeypatch):
    codes, others = keys.Codes(), keys.Codes()
    assert codes.redeem(keys.code_for(others.secret, keys.CONTROL)) is None
    role, expiry, nonce, mac = keys.code_for(codes.secret, keys.WATCH).split(".")
    assert codes.redeem(f"control.{expiry}.{nonce}.{mac}") is None
    assert codes.redeem(f"{role}.{int(expiry) + 1}.{nonce}.{mac}") is None
    assert codes.redeem(f"{role}.{expiry}.{nonce}.{mac}") == keys.WATCH
    late = keys.code_for(codes.secret, keys.CONTROL)
    at = clock.now() + keys.CODE_LIFE + 1.0
    monkeypatch.setattr(clock, "now", lambda: at)
    assert codes.redeem(late) is None


def test_no_answer_sets_a_cookie_and_no_address_has_a_secret(cockpit):
    for path, headers in (("/", {}), ("/", BEARER), ("/api/sessions", BEARER)):
        _, body, answered = raw(cockpit, path, headers)
        assert answered["Set-Cookie"] is None
        assert answered["Referrer-Policy"] == "no-referrer"
        assert KEY not in body
    assert "default-src 'self'" in raw(cockpit, "/")[2]["Content-Security-Policy"]
    assert "?" not in cockpit.address  # a query is sent to servers and is in logs; what follows # is not


def test_no_command_line_has_a_secret(cockpit, run):
    """Every user can read the command lines of all processes."""
    card = Segment.open(f"cockpit-{cockpit.port}.card")
    found = json.loads(bytes(card.memory))
    card.close()
    processes = cockpit.processes()
    lines = b"".join(Path(f"/proc/{pid}/cmdline").read_bytes() for pid in processes)
    assert len(processes) > 1
    for secret in (TOKEN, found["codes"], cockpit.code):
        assert secret.encode() not in lines


def test_a_browser_gets_a_link_from_a_file_that_only_its_user_can_read(tmp_path, monkeypatch):
    """The browser's command line, as any user sees it: no code, no token."""
    opened = []
    monkeypatch.setattr(cli_cockpit.webbrowser, "open", opened.append)
    card = keys.Card(1)
    link = keys.link("http://127.0.0.1:1", "secret", keys.CONTROL)
    cli_cockpit._show(link, card)
    (address,) = opened
    page = Path(address.removeprefix("file://"))
    assert "code" not in address
    assert link in page.read_text()
    assert (page.stat().st_mode & 0o777, page.parent.stat().st_mode & 0o077) == (0o600, 0)
    card.remove()
    assert not page.exists()


def test_who_may_watch_may_stop_and_nothing_else(cockpit, run):
    with cockpit.socket(WATCHES) as client:
        client.send(type="watch", session=NAME)
        assert client.helm.next("welcome")["role"] == "watch"
        client.next("frame")
        client.send(type="take")
        assert "watch and stop" in client.next("refused")["text"]
        orders = [{"type": "do", "what": what} for what in ("arm", "start", "reset", "home", "quit")]
        orders += [{"type": "steer", "axes": [0.0] * 6, "held": True}, {"type": "set", "key": "wall.stiffness", "value": 1.0}]
        for number, order in enumerate(orders):
            client.send(**order, id=number)
            answer = client.next("answer", lambda answer, number=number: answer["id"] == number)
            assert not answer["accepted"]
            assert "watch and stop" in answer["text"]
    order = {"system": "freefloat", "scenario": "wall"}
    for path in ("/api/stations", "/api/check"):
        assert cockpit.request("POST", path, key=WATCHES, json=order).status_code == 403
    with station(f"{NAME}-watched"), cockpit.socket() as driver, cockpit.socket(WATCHES) as client:
        for each in (driver, client):
            each.send(type="watch", session=f"{NAME}-watched")
        driver.send(type="take")
        driver.send(type="do", what="start", id=1)
        client.next("state", lambda state: state["state"] == "LIVE")
        client.send(type="do", what="stop", id=2)
        assert client.next("answer")["accepted"]
        client.next("state", lambda state: state["state"] == "STOPPED")


AWAY = (
    "../private/secret",
    "..%2fprivate%2fsecret",
    "%2e%2e/private/secret",
    "%2e%2e%2fprivate%2fsecret",
    "....//private/secret",
    "..%5cprivate%5csecret",
    "..%252fprivate%252fsecret",
    "%2fetc%2fpasswd",
    "//etc/passwd",
    "/etc/passwd",
    "link",
    "plain.txt",
    "plain.txt%00",
    "link%00.mcap",
    ".",
    "..",
    "%2e",
    "~root",
    "link.mcap",
    "a" * 400,
    "broken",
    "%ff%fe",
)


@pytest.mark.parametrize("path", AWAY)
@pytest.mark.parametrize("root", ["/static/", "/api/recordings/", "/api/report/", "/api/scenario/docking/", "/"])
def test_no_path_leads_out(cockpit, folders, root, path):
    status, body, _ = raw(cockpit, f"{root}{path}", BEARER)
    assert status == 404, body
    assert is_clean(body, folders)


@pytest.mark.parametrize("link", ["out", "folder/file"])
def test_a_link_in_the_page_leads_nowhere(tmp_path, monkeypatch, link):
    (tmp_path / "static").mkdir()
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "file").write_text(SECRET)
    (tmp_path / "static" / "out").symlink_to(tmp_path / "private" / "file")
    (tmp_path / "static" / "folder").symlink_to(tmp_path / "private")
    (tmp_path / "static" / "own").write_text("page")
    monkeypatch.setattr(module, "STATIC", tmp_path / "static")
    assert module._static(link).status_code == 404
    assert module._static("own").status_code == 200


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 422),
        (b"[]", 422),
        (b'{"system": 1}', 422),
        (b'{"system": "docking", "scenario": "/etc/passwd"}', 404),
        (b'{"system": "docking", "scenario": "../../x.toml"}', 404),
        (b'{"system": "/etc/x.toml", "scenario": "table1"}', 404),
        (b'{"system": "docking", "scenario": "table1", "rig": "/etc/passwd"}', 422),
        (b'{"system": "docking", "scenario": "table1", "rig": "rigs/../rigs/dry-lab.toml"}', 422),
        (b'{"system": "docking", "scenario": "table1", "more": 1}', 422),
        (b"[" * 30_000, 400),
        (b" " * 70_000, 413),
    ],
)
@pytest.mark.parametrize("path", ["/api/check", "/api/stations"])
def test_a_bad_order_is_refused(cockpit, folders, path, body, status):
    headers = {**BEARER, "Content-Type": "application/json", "Content-Length": str(len(body))}
    found, text, _ = raw(cockpit, path, headers, "POST", body)
    checked = json.loads(text) if found == 200 else {}
    assert found == status or (path == "/api/check" and checked.get("ok") is False), text
    assert is_clean(text.replace("/etc/passwd", ""), folders)


def test_a_body_without_a_length_is_bounded(cockpit):
    connection = http.client.HTTPConnection("127.0.0.1", cockpit.port, timeout=PATIENCE)
    with contextlib.closing(connection), contextlib.suppress(ConnectionError, http.client.HTTPException):
        chunks = (b" " * 8192 for _ in range(100))
        connection.request("POST", "/api/check", chunks, {**BEARER, "Content-Type": "application/json"}, encode_chunked=True)
        assert connection.getresponse().status >= 400
    assert cockpit.get("/api/sessions").status_code == 200


REFUSED = {
    "nothing": "",
    "no JSON": "stop",
    "half": '{"type": "ping"',
    "a list": "[]",
    "no type": "{}",
    "unknown type": '{"type": "format"}',
    "type of another kind": '{"type": 7}',
    "missing": '{"type": "do", "what": "start", "session": "a"}',
    "an order to nobody": '{"type": "do", "what": "arm", "id": 1}',
    "unknown request": '{"type": "do", "what": "explode", "session": "a", "id": 1}',
    "not a number": '{"type": "set", "key": "a", "value": NaN, "session": "a", "id": 1}',
    "infinite": '{"type": "seek", "t": 1e999}',
    "deep": "[" * 4000,
    "too many axes": '{"type": "steer", "axes": [0,0,0,0,0,0,0], "held": true, "session": "a", "id": 1}',
    "axis beyond 1": '{"type": "steer", "axes": [2,0,0,0,0,0], "held": true, "session": "a", "id": 1}',
    "too many signals": json.dumps({"type": "signals", "names": ["t"] * 25}),
    "unknown signal": '{"type": "signals", "names": ["__class__"]}',
    "too many points": '{"type": "range", "id": 1, "names": ["t"], "from": 0, "to": 1, "points": 4001}',
    "no points": '{"type": "range", "id": 1, "names": ["t"], "from": 0, "to": 1, "points": 0}',
    "two things to watch": '{"type": "watch", "session": "a", "recording": "b"}',
    "a session that is none": '{"type": "watch", "session": "../../etc/passwd"}',
    "a link": '{"type": "watch", "recording": "link"}',
    "away": '{"type": "watch", "recording": "../private/secret"}',
    "no recording": '{"type": "watch", "recordings": ["broken", "broken"]}',
    "speed backwards": '{"type": "play", "speed": -1}',
    "play without a recording": '{"type": "play", "speed": 1}',
}


def test_meaningless_messages_are_refused_with_a_message(cockpit, folders, run):
    before = run.count
    for path, greeting in (("/helm", "welcome"), ("/ws", "shown")):
        with cockpit.line(path) as client:
            client.next(greeting)
            for name, text in REFUSED.items():
                if path == "/helm" and '"watch", "recording' in text:  # not a command for the helm
                    continue
                client.connection.send(text)
                refused = client.next("refused")
                assert refused["text"], name
                assert is_clean(refused["text"].replace("../../etc/passwd", ""), folders), name
            client.send(type="ping", id=5)
            assert client.next("pong")["id"] == 5
    wait_for(lambda: run.count > before + 100)


@pytest.mark.parametrize(("path", "greeting"), [("/helm", "welcome"), ("/ws", "shown")])
@pytest.mark.parametrize(("message", "code"), [("x" * 5000, 1009), (b"\x00" * 10, 1003), ("x" * 10_000_000, 1009)])
def test_messages_that_are_not_text_close_the_socket(cockpit, path, greeting, message, code):
    with cockpit.line(path) as client:
        client.next(greeting)
        with contextlib.suppress(websockets.exceptions.ConnectionClosed, OSError):
            client.connection.send(message)
        assert client.closed() in (code, 1006)  # a peer that still sends may see the line cut


@pytest.mark.parametrize("path", ["/helm", "/ws"])
def test_a_flood_closes_the_socket_and_only_that(cockpit, run, path):
    with cockpit.socket() as watcher, cockpit.line(path) as client:
        watcher.send(type="watch", session=NAME)
        with contextlib.suppress(websockets.exceptions.ConnectionClosed):
            for number in range(1000):
                client.send(type="ping", id=number)
        assert client.closed() == 1008
        first, _ = watcher.next("frame")
        watcher.next("frame", lambda frame: frame["tick"] > first["tick"] + 100)


def test_sockets_are_counted_and_watchers_leave_room(cockpit, run):
    with contextlib.ExitStack() as stack:
        for _ in range(helm.WATCHERS):
            stack.enter_context(cockpit.line("/helm", WATCHES, max_queue=None)).next("welcome")
        with cockpit.line("/helm", WATCHES) as one_more:
            assert one_more.closed() == 1013
        for _ in range(helm.PAGES - helm.WATCHERS - 1):  # one is the driver's
            stack.enter_context(cockpit.line("/helm", max_queue=None)).next("welcome")
        with cockpit.line("/helm") as one_more:
            assert one_more.closed() == 1013
    with contextlib.ExitStack() as stack:
        for _ in range(module.SOCKETS - 1):
            stack.enter_context(cockpit.line("/ws", max_queue=None)).next("shown")
        with cockpit.line("/ws") as one_more:
            assert one_more.closed() == 1013
    wait_for(lambda: _opens(cockpit))


def _opens(cockpit):
    with contextlib.suppress(websockets.exceptions.ConnectionClosed), cockpit.socket() as client:
        client.next("welcome")
        return client.room.next("shown")


@contextlib.contextmanager
def crowd(cockpit, count):
    """`count` connections without a key."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 2048)), hard))
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(socket.create_connection(("127.0.0.1", cockpit.port), PATIENCE)) for _ in range(count)]
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_thousand_connections_block_no_one(cockpit, run):
    """Silent ones are closed, those beyond the bound at once; watchers keep watching, and the run goes on."""
    before = run.count
    with cockpit.socket() as watcher:
        watcher.send(type="watch", session=NAME)
        first, _ = watcher.next("frame")
        with crowd(cockpit, 1000) as strangers:
            watcher.next("frame", lambda frame: frame["tick"] > first["tick"] + 200)
            for each in strangers:  # each of them is closed by the server; this test closes none
                with contextlib.suppress(ConnectionResetError):
                    assert each.recv(1) == b""
        watcher.next("frame", lambda frame: frame["tick"] > first["tick"] + 400)
    assert NAME in [session["name"] for session in cockpit.get("/api/sessions").json()]
    assert run.count > before
    assert any(f"{door.DOORSTEP} are waiting" in line for line in cockpit.said())


def test_connections_that_send_a_byte_now_and_then_are_dropped_and_closed(cockpit, run):
    """300 of them, each kept alive: a client with a key is still answered, and they are closed in time."""
    host = f"Host: 127.0.0.1:{cockpit.port}\r\n".encode()
    begun = (b"G", b"GET / HTTP/1.1\r\n" + host + b"X: ", b"GET /helm HTTP/1.1\r\n")
    with crowd(cockpit, 300) as strangers:
        for number, each in enumerate(strangers):
            with contextlib.suppress(OSError):
                each.send(begun[number % len(begun)])
        with cockpit.socket() as client:  # while they are there
            client.send(type="watch", session=NAME)
            client.send(type="do", what="reset", id=1)
            assert "hold the controls" in client.next("answer")["text"]
            client.next("frame")
        assert cockpit.get("/api/sessions").status_code == 200
        waiting, until = set(strangers), time.monotonic() + PATIENCE
        while waiting and time.monotonic() < until:
            time.sleep(0.2)
            for each in list(waiting):
                try:
                    each.send(b"x")
                except OSError:
                    waiting.discard(each)
        assert not waiting


def test_requests_are_bounded_in_number(cockpit):
    """A client that sends too many requests has to wait, and may then send again."""
    statuses = []
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", cockpit.port, timeout=PATIENCE)) as connection:
        for _ in range(3000):
            connection.request("GET", "/nothing", headers=BEARER)
            answer = connection.getresponse()
            answer.read()
            statuses.append(answer.status)
            if answer.status == 429:
                break
    assert statuses[-1] in (404, 429)  # a slow machine never comes to the bound
    wait_for(lambda: cockpit.get("/api/sessions").status_code == 200)


def test_the_run_has_lost_nothing(cockpit, run):
    """After all of this: the rows of the last seconds are whole and in order, and watched as they come."""
    rows, _ = run.read(20_000)
    assert len(rows)
    np.testing.assert_array_equal(np.diff(rows["tick"]), 1)
    with cockpit.socket() as client:
        client.send(type="watch", session=NAME)
        client.next("watching")
        header, _ = client.next("frame", lambda frame: frame["tick"] > rows["tick"][-1])
        assert header["state"] == "LIVE"


def test_another_address_warns_and_a_port_that_is_taken_is_one_sentence(cockpit, tmp_path, capsys, monkeypatch):
    with pytest.raises(InputError, match=f"port {cockpit.port} of 127.0.0.1 is in use"):
        opening.serve("127.0.0.1", cockpit.port, tmp_path)
    assert capsys.readouterr().err == ""
    with pytest.raises(InputError, match="cannot listen"):
        opening.serve("192.0.2.1", 0, tmp_path)  # an address that is not used
    assert "listens on 192.0.2.1" in capsys.readouterr().err
    monkeypatch.setattr(cli_cockpit, "_built", lambda: True)  # the page may not be there: the server need not serve one here
    with pytest.raises(InputError, match="is in use"):
        cli_cockpit.cockpit(port=cockpit.port, no_browser=True)


def test_a_frame_is_read_as_it_was_written():
    from hilt.cockpit.wire import frame

    for words in ("", "a", "ab", "abc", "abcdefgh"):
        data = frame({"words": words}, np.arange(5), np.array([0.5]))
        header, numbers = parse(data)
        assert header == {"words": words}
        assert (len(data) - 4 * len(numbers)) % 8 == 0
        np.testing.assert_array_equal(numbers, [0, 1, 2, 3, 4, 0.5])
