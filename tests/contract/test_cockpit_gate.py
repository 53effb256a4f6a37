"""The cockpit's gate and bounds: what must not come in does not, is said once, tells nothing, and the run goes on.

A real server on a free port and a peer that appends rows as a station does; requests go over real sockets.
"""

import contextlib
import http.client
import json
import os
import resource
import socket
import sys

import numpy as np
import pytest
import websockets.exceptions
from cockpit_peers import PATIENCE, TOKEN, server, station, wait_for

from hilt import cli_cockpit
from hilt.cockpit import connections
from hilt.cockpit import server as module
from hilt.cockpit.wire import parse
from hilt.faults import InputError
from hilt.ring import RingReader

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="shared memory as Linux has it")
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
    with station(NAME), cockpit.socket() as driver:
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
    """Whatever a test does, the server's words hold no path and no token, and each is said once."""
    yield
    said = cockpit.said()
    assert len(said) == len(set(said))
    assert TOKEN not in "".join(said)
    assert cockpit.child.poll() is None


def raw(cockpit, path, headers=None, method="GET", body=None):
    """A request as it is written here: nothing is normalised on the way."""
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


# Who asks                       query                         cookie, origin, host ("{port}" is the server's)        allowed
ASKED = {
    "nothing": ("", {}, False),
    "wrong token": ("?token=x", {}, False),
    "token in capitals": (f"?token={TOKEN.upper()}", {}, False),
    "empty token": ("?token=", {}, False),
    "two tokens": (f"?token={TOKEN}&token={TOKEN}", {}, False),
    "token and one letter": (f"?token={TOKEN}x", {}, False),
    "query": (f"?token={TOKEN}", {}, True),
    "cookie": ("", {"Cookie": f"hilt-{{port}}={TOKEN}"}, True),
    "cookie among others": ("", {"Cookie": f"a=b; hilt-{{port}}={TOKEN}; c=d"}, True),
    "cookie of another port": ("", {"Cookie": f"hilt-1={TOKEN}"}, False),
    "wrong cookie": ("", {"Cookie": "hilt-{port}=x"}, False),
    "wrong query, right cookie": ("?token=x", {"Cookie": f"hilt-{{port}}={TOKEN}"}, False),
    "own origin": (f"?token={TOKEN}", {"Origin": "http://127.0.0.1:{port}"}, True),
    "other origin": (f"?token={TOKEN}", {"Origin": "http://evil.example"}, False),
    "origin of another port": (f"?token={TOKEN}", {"Origin": "http://127.0.0.1:1"}, False),
    "no origin in particular": (f"?token={TOKEN}", {"Origin": "null"}, False),
    "origin with https": (f"?token={TOKEN}", {"Origin": "https://127.0.0.1:{port}"}, False),
    "localhost": (f"?token={TOKEN}", {"Host": "localhost:{port}"}, True),
    "other host": (f"?token={TOKEN}", {"Host": "evil.example:{port}"}, False),
    "host without port": (f"?token={TOKEN}", {"Host": "127.0.0.1"}, False),
    "host of another port": (f"?token={TOKEN}", {"Host": "127.0.0.1:1"}, False),
    "host that begins like ours": (f"?token={TOKEN}", {"Host": "127.0.0.1.evil.example:{port}"}, False),
}  # fmt: skip


@pytest.mark.parametrize("who", ASKED)
def test_who_may_ask(cockpit, folders, who):
    query, headers, allowed = ASKED[who]
    headers = {key: value.format(port=cockpit.port) for key, value in headers.items()}
    for path in ("/api/sessions", "/", "/static/index.html", "/api/recordings/link", "/nothing"):
        status, body, _ = raw(cockpit, path + query, headers)
        assert (status != 403) == allowed, (path, status)
        assert allowed or is_clean(body, folders)


@pytest.mark.parametrize("who", [who for who in ASKED if "host" not in who])
def test_who_may_open_a_socket(cockpit, who):
    query, headers, allowed = ASKED[who]
    headers = {key: value.format(port=cockpit.port) for key, value in headers.items()}
    origin = headers.pop("Origin", None)
    token = query.removeprefix("?token=") or None
    try:
        with cockpit.socket(token=token, origin=origin, additional_headers=headers) as client:
            assert client.next("welcome")["you"].startswith("guest")
            assert allowed
    except websockets.exceptions.InvalidStatus as refused:
        assert refused.response.status_code == 403
        assert not allowed


def test_the_page_sets_the_cookie_and_nothing_else_does(cockpit):
    _, _, headers = raw(cockpit, f"/?token={TOKEN}")
    assert headers["Set-Cookie"] == f"hilt-{cockpit.port}={TOKEN}; Path=/; HttpOnly; SameSite=Strict"
    assert "default-src 'self'" in headers["Content-Security-Policy"]
    assert headers["Referrer-Policy"] == "no-referrer"
    for path in (f"/api/sessions?token={TOKEN}", "/?token=x"):
        assert raw(cockpit, path)[2]["Set-Cookie"] is None


AWAY = (
    "../private/secret", "..%2fprivate%2fsecret", "%2e%2e/private/secret", "%2e%2e%2fprivate%2fsecret", "....//private/secret",
    "..%5cprivate%5csecret", "..%252fprivate%252fsecret", "%2fetc%2fpasswd", "//etc/passwd", "/etc/passwd", "link", "plain.txt",
    "plain.txt%00", "link%00.mcap", ".", "..", "%2e", "~root", "link.mcap", "a" * 400, "broken", "%ff%fe",
)  # fmt: skip


@pytest.mark.parametrize("path", AWAY)
@pytest.mark.parametrize("root", ["/static/", "/api/recordings/", "/api/report/", "/api/scenario/docking/", "/"])
def test_no_path_leads_out(cockpit, folders, root, path):
    status, body, _ = raw(cockpit, f"{root}{path}?token={TOKEN}")
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
    headers = {"Content-Type": "application/json", "Content-Length": str(len(body))}
    found, text, _ = raw(cockpit, f"{path}?token={TOKEN}", headers, "POST", body)
    checked = json.loads(text) if found == 200 else {}
    assert found == status or (path == "/api/check" and checked.get("ok") is False), text
    assert is_clean(text.replace("/etc/passwd", ""), folders)


def test_a_body_without_a_length_is_bounded(cockpit):
    connection = http.client.HTTPConnection("127.0.0.1", cockpit.port, timeout=PATIENCE)
    with contextlib.closing(connection), contextlib.suppress(ConnectionError, http.client.HTTPException):
        chunks = (b" " * 8192 for _ in range(100))
        connection.request(
            "POST", f"/api/check?token={TOKEN}", chunks, {"Content-Type": "application/json"}, encode_chunked=True
        )
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
    "missing": '{"type": "do", "what": "start"}',
    "unknown request": '{"type": "do", "what": "explode", "id": 1}',
    "not a number": '{"type": "set", "key": "a", "value": NaN, "id": 1}',
    "infinite": '{"type": "seek", "t": 1e999}',
    "deep": "[" * 4000,
    "too many axes": '{"type": "steer", "axes": [0,0,0,0,0,0,0], "held": true, "id": 1}',
    "axis beyond 1": '{"type": "steer", "axes": [2,0,0,0,0,0], "held": true, "id": 1}',
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


def test_messages_that_mean_nothing_are_refused_in_words(cockpit, folders, run):
    before = run.count
    with cockpit.socket() as client:
        for name, text in REFUSED.items():
            client.connection.send(text)
            refused = client.next("refused")
            assert refused["text"], name
            assert is_clean(refused["text"].replace("../../etc/passwd", ""), folders), name
        client.send(type="ping", id=5)
        assert client.next("pong")["id"] == 5
    wait_for(lambda: run.count > before + 100)


@pytest.mark.parametrize(("message", "code"), [("x" * 5000, 1009), (b"\x00" * 10, 1003), ("x" * 10_000_000, 1009)])
def test_messages_that_are_no_words_close_the_socket(cockpit, message, code):
    with cockpit.socket() as client:
        client.next("welcome")
        with contextlib.suppress(websockets.exceptions.ConnectionClosed, OSError):
            client.connection.send(message)
        assert client.closed() in (code, 1006)  # a peer that still sends may see the line cut


def test_a_flood_closes_the_socket_and_only_that(cockpit, run):
    with cockpit.socket() as watcher, cockpit.socket() as client:
        watcher.send(type="watch", session=NAME)
        with contextlib.suppress(websockets.exceptions.ConnectionClosed):
            for number in range(1000):
                client.send(type="ping", id=number)
        assert client.closed() == 1008
        first, _ = watcher.next("frame")
        watcher.next("frame", lambda frame: frame["tick"] > first["tick"] + 100)


def test_sockets_are_counted(cockpit, run):
    with contextlib.ExitStack() as stack:
        for _ in range(module.SOCKETS - 1):  # one is the driver's
            stack.enter_context(cockpit.socket())
        with pytest.raises(websockets.exceptions.InvalidStatus):
            cockpit.socket()
    with wait_for(lambda: _open(cockpit)) as client:
        client.next("welcome")


def _open(cockpit):
    with contextlib.suppress(websockets.exceptions.InvalidStatus):
        return cockpit.socket()


def test_a_thousand_connections_hold_nobody_up(cockpit, run):
    """Silent ones are closed, those beyond the bound at once; who watches goes on watching, and the run goes on."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 2048)), hard))
    before = run.count
    with cockpit.socket() as watcher, contextlib.ExitStack() as stack:
        watcher.send(type="watch", session=NAME)
        first, _ = watcher.next("frame")
        crowd = [stack.enter_context(socket.create_connection(("127.0.0.1", cockpit.port), PATIENCE)) for _ in range(1000)]
        watcher.next("frame", lambda frame: frame["tick"] > first["tick"] + 200)
        for each in crowd:  # every one of them is closed by the server, though nobody here closes it
            with contextlib.suppress(ConnectionResetError):
                assert each.recv(1) == b""
        watcher.next("frame", lambda frame: frame["tick"] > first["tick"] + 400)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert NAME in [session["name"] for session in cockpit.get("/api/sessions").json()]
    assert run.count > before
    assert any(f"{connections.MOST} are open" in line for line in cockpit.said())


def test_requests_are_bounded_in_number(cockpit):
    """A script that hammers is told to wait, and then may ask again."""
    statuses = []
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", cockpit.port, timeout=PATIENCE)) as connection:
        for _ in range(3000):
            connection.request("GET", f"/nothing?token={TOKEN}")
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


def test_another_address_warns_and_a_port_that_is_taken_is_one_sentence(cockpit, tmp_path, capsys):
    with pytest.raises(InputError, match=f"port {cockpit.port} of 127.0.0.1 is taken"):
        module.serve("127.0.0.1", cockpit.port, tmp_path)
    assert capsys.readouterr().err == ""
    with pytest.raises(InputError, match="cannot listen"):
        module.serve("192.0.2.1", 0, tmp_path)  # an address that nobody has
    assert "listens on 192.0.2.1" in capsys.readouterr().err
    with pytest.raises(InputError, match="is taken"):
        cli_cockpit.cockpit(port=cockpit.port, no_browser=True)


def test_a_frame_is_read_as_it_was_written():
    from hilt.cockpit.wire import frame

    for words in ("", "a", "ab", "abc", "abcdefgh"):
        data = frame({"words": words}, np.arange(5), np.array([0.5]))
        header, numbers = parse(data)
        assert header == {"words": words}
        assert (len(data) - 4 * len(numbers)) % 8 == 0
        np.testing.assert_array_equal(numbers, [0, 1, 2, 3, 4, 0.5])
