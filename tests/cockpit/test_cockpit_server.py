"""The cockpit's server: what it shows of sessions and recordings, who has control, and that it survives what it watches.

Real processes throughout: the server, and a peer that speaks through mailbox and ring as a station does.
"""

import itertools
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import websockets.exceptions

from hilt import job
from hilt.cockpit import desk, differences, film, presets, unpack
from hilt.cockpit.columns import column, columns_of, describe
from hilt.cockpit.film import Film
from hilt.cockpit.player import Player
from hilt.cockpit.wire import without_paths
from hilt.core import registry
from hilt.core.faults import InputError
from hilt.live import mailbox
from hilt.record import recording
from hilt.record.recording import load
from hilt.systems.freefloat.views.presets import PRESETS
from tests.cockpit.cockpit_peers import kill, server, station, wait_for
from tests.cockpit.test_cockpit_history import assert_extremes

pytestmark = [
    pytest.mark.long,
    pytest.mark.wall,
    pytest.mark.skipif(sys.platform != "linux", reason="shared memory as Linux has it"),
]
_number = itertools.count()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two recordings of one scenario: the second touches the wall later."""
    found = tmp_path_factory.mktemp("recordings")
    for change in ("body.velocity=[0.01, 0, 0]", "body.velocity=[0.008, 0, 0]"):
        job.run(*job.find("freefloat", "wall", [change, "loop.duration=8"]), found)
    return found


@pytest.fixture(scope="module")
def cockpit(folder, tmp_path_factory):
    with server(folder, tmp_path_factory.mktemp("log") / "stderr.txt") as found:
        yield found


@pytest.fixture
def name():
    return f"cockpit-{os.getpid()}-{next(_number)}"


def names_of(folder):
    return sorted(path.stem for path in folder.glob("*.mcap"))


def begin(client, name):
    """Watch, take the controls, start."""
    client.send(type="watch", session=name)
    watching = client.next("watching")
    client.send(type="take")
    client.next("state", lambda state: state["you_hold"])
    client.send(type="do", what="start", id=1)
    assert client.next("answer")["accepted"]
    return watching


def plots_of(header, numbers):
    """Times, smallest and largest of each name."""
    count, names = header["plots"]["n"], header["plots"]["names"]
    rest = numbers[8 * header["nodes"] + 7 * header["arrows"] :]
    assert len(rest) == count * (1 + 2 * len(names))
    table = rest[count:].reshape(len(names), 2, count)
    return rest[:count] + header["plots"]["t0"], table[:, 0], table[:, 1]


def test_a_run_is_seen_as_it_goes(cockpit, name):
    with station(name), cockpit.socket() as client:
        watching = begin(client, name)
        assert {each["name"] for each in watching["signals"]} == set(columns_of(registry.system("freefloat").row))
        assert watching["info"]["system"] == "freefloat"
        assert len(watching["scene"]["views"]) == 4
        client.send(type="signals", names=["F_So_S.f.0", "tick"])
        first, _ = client.next("frame", lambda frame: frame["plots"]["names"])
        times, low, high, frames, begun = [], [], [], 0, time.monotonic()
        while sum(map(len, times)) < 100:
            header, numbers = client.next("frame")
            assert header["nodes"] == len(watching["scene"]["nodes"])
            assert header["arrows"] == len(watching["scene"]["arrows"])
            for kept, found in zip((times, low, high), plots_of(header, numbers), strict=True):
                kept.append(found)
            frames += 1
        assert frames / (time.monotonic() - begun) > 10  # 40 on an idle machine
        times, low, high = np.concatenate(times), np.concatenate(low, axis=1), np.concatenate(high, axis=1)
        # The peer's force is its tick, so a bucket of 17 rows spans 16, and the next one begins where it ended.
        np.testing.assert_array_equal(low[0], low[1])
        np.testing.assert_array_equal(high[0] - low[0], 16)
        np.testing.assert_array_equal(low[0][1:], high[0][:-1] + 1)
        np.testing.assert_allclose(times, (low[0] + 8) * 1e-3, atol=1e-6)
        client.send(type="range", id=7, names=["tick"], **{"from": 0.05, "to": 0.15, "points": 200})
        header, numbers = client.next("range")
        assert header["id"] == 7
        assert header["full"]
        np.testing.assert_array_equal(numbers[header["n"] : 2 * header["n"]], np.arange(50, 151))
        ledger, timing = client.next("ledger"), client.next("timing", lambda timing: timing["rows"] > 100)
        assert {port["name"] for port in ledger["ports"]} >= {"environment", "delay"}
        assert timing["lost"] == 0
        assert timing["lateness_us"]["p50"] == timing["lateness_us"]["max"] == pytest.approx(20, abs=0.2)
        assert sum(timing["lateness_us"]["counts"]) == timing["rows"]
        assert first["state"] == "LIVE"


def test_a_new_run_begins_anew(cockpit, name):
    with station(name), cockpit.socket() as client:
        begin(client, name)
        client.next("frame", lambda frame: frame["run"] == 1 and frame["t"] > 0.3)
        client.send(type="do", what="stop", id=2)
        state = client.next("state", lambda state: state["state"] == "STOPPED")
        assert state["sentence"] == "stopped; the file is run.mcap"  # its path is private
        began = time.monotonic()
        client.send(type="do", what="start", id=3)
        frame, _ = client.next("frame", lambda frame: frame["run"] == 2)
        assert frame["t"] < time.monotonic() - began
        client.send(type="range", id=1, names=["tick"], **{"from": 0.0, "to": 100.0, "points": 4000})
        header, numbers = client.next("range")
        assert header["t0"] == 0.0
        assert (np.diff(numbers[: header["n"]]) > 0).all()


def test_one_holds_the_controls_and_anyone_may_stop(cockpit, name):
    with station(name), cockpit.socket() as driver, cockpit.socket() as guest:
        begin(driver, name)
        guest.send(type="name", name="visitor")
        guest.send(type="watch", session=name)
        guest.send(type="take")
        assert "holds the controls" in guest.next("refused")["text"]
        guest.send(type="do", what="start", id=4)
        answer = guest.next("answer")
        assert (answer["id"], answer["accepted"]) == (4, False)
        guest.send(type="steer", axes=[1, 0, 0, 0, 0, 0], held=True, id=5)
        assert not guest.next("answer")["accepted"]
        driver.send(type="steer", axes=[1, 0, 0, 0, 0, 0], held=True, id=60)
        driver.next("steered", lambda taken: taken["id"] == 60)
        driver.send(type="set", key="wall.stiffness", value=4.0, ramp=0.5, id=61)
        assert driver.next("answer")["accepted"]
        state = guest.next("state", lambda state: state["live"][0]["value"] == 4.0)
        assert state["holder"] is not None
        assert not state["you_hold"]
        assert state["watchers"] == 2
        guest.send(type="do", what="stop", id=6)
        assert guest.next("answer")["accepted"]
        driver.next("state", lambda state: state["state"] == "STOPPED")
        driver.send(type="steer", axes=[1, 0, 0, 0, 0, 0], held=True, id=62)
        assert driver.next("answer", lambda answer: answer["id"] == 62)["text"].endswith("look into file.txt")
        driver.send(type="release")
        guest.next("state", lambda state: state["holder"] is None)
        guest.send(type="take")
        assert driver.next("state", lambda state: state["holder"])["holder"] == "visitor"


ORDERS = (
    {"type": "take"},
    *({"type": "do", "what": what, "id": 1} for what in ("arm", "start", "reset", "home", "quit")),
    {"type": "set", "key": "wall.stiffness", "value": 4.0, "id": 1},
    {"type": "steer", "axes": [1, 0, 0, 0, 0, 0], "held": True, "id": 1},
)


def test_an_order_that_names_another_session_reaches_neither_and_stop_reaches_both(cockpit, name):
    """As when the page has moved on to a new session and the user still means the old one, or the reverse."""
    new = f"{name}-new"
    with station(name), station(new), cockpit.socket() as client:
        begin(client, name)
        client.next("state", lambda state: state["state"] == "LIVE")
        client.send(type="watch", session=new)
        client.next("state", lambda state: state["session"] == new)
        for order in ORDERS:
            client.send(**order, session=name)
            found = client.next("refused" if order["type"] == "take" else "answer")
            assert f"meant for {name}, but {new} is watched" in found["text"]
        both = [mailbox.Watcher(each) for each in (name, new)]
        assert [each.front.armed for each in both] == [False, False]
        assert [each.front.state for each in both] == [mailbox.LIVE, mailbox.READY]
        client.send(type="do", what="stop", id=2, session=name)
        wait_for(lambda: [each.front.state for each in both] == [mailbox.STOPPED, mailbox.STOPPED])
        for each in both:
            each.close()


def test_a_socket_that_closes_releases_the_controls(cockpit, name):
    with station(name), cockpit.socket() as guest:
        guest.send(type="watch", session=name)
        with cockpit.socket() as driver:
            begin(driver, name)
            driver.send(type="steer", axes=[1, 0, 0, 0, 0, 0], held=True, id=1)
            guest.next("state", lambda state: state["holder"] and state["state"] == "LIVE")
        state = guest.next("state", lambda state: state["holder"] is None)
        assert state["state"] == "LIVE"  # whether it goes on is up to the station's dead-man switch
        guest.send(type="take")
        guest.next("state", lambda state: state["you_hold"])


def test_a_station_that_dies_is_survived(cockpit, name):
    with station(name) as child, cockpit.socket() as client:
        begin(client, name)
        client.next("frame", lambda frame: frame["t"] > 0.1)
        kill(child)
        state = client.next("state", lambda state: state["state"] == "OFF")
        assert "has ended" in state["sentence"]
        client.send(type="range", id=1, names=["tick"], **{"from": 0.0, "to": 0.05, "points": 100})
        assert client.next("range")[0]["n"] == 51  # what was shown is still there
        client.send(type="do", what="stop", id=2)
        assert "ended" in client.next("answer")["text"]
    assert name not in [session["name"] for session in cockpit.get("/api/sessions").json()]


def test_a_killed_server_does_not_disturb_the_run(folder, tmp_path, name):
    with station(name) as child:
        with server(folder, tmp_path / "first.txt") as first:
            with first.socket() as client:
                begin(client, name)
                before, _ = client.next("frame", lambda frame: frame["t"] > 0.1)
            kill(first.child)
        with server(folder, tmp_path / "second.txt") as second, second.socket() as client:
            (found,) = [each for each in second.get("/api/sessions").json() if each["name"] == name]
            assert found["state"] == "LIVE"
            client.send(type="watch", session=name)
            after, _ = client.next("frame", lambda frame: frame["tick"] > before["tick"])
            assert after["run"] == before["run"]
            client.send(type="range", id=1, names=["tick"], **{"from": 0, "to": 0.01, "points": 100})
            assert client.next("range")[0]["n"] == 11  # the ring still had the beginning
        assert child.poll() is None


def test_recordings_are_listed_and_described(cockpit, folder):
    listed = cockpit.get("/api/recordings").json()
    assert sorted(each["name"] for each in listed) == names_of(folder)
    for each in listed:
        rows = load(folder / f"{each['name']}.mcap").rows
        assert (each["rows"], each["seconds"]) == (len(rows), pytest.approx(rows["t"][-1]))
        assert (each["system"], each["scenario"], each["rate_hz"]) == ("freefloat", "wall", 1000.0)
        assert not each["running"]
        described = cockpit.get(f"/api/recordings/{each['name']}").json()
        assert described["first_contact"] == rows["t"][np.flatnonzero(rows["contact"])[0]]
        assert described["result"]["recording"] == each["name"]
        assert str(folder) not in str(described)


def test_a_cut_recording_is_listed(cockpit, folder):
    whole = folder / f"{names_of(folder)[0]}.mcap"
    cut = folder / "freefloat-wall-20000101-000000.mcap"
    cut.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    (found,) = [each for each in cockpit.get("/api/recordings").json() if each["name"] == cut.stem]
    assert found["scenario"] == "wall"
    assert found["rows"] == pytest.approx(len(load(cut).rows), abs=1)
    cut.unlink()


def test_a_recording_is_scrubbed(cockpit, folder):
    name = names_of(folder)[0]
    rows = load(folder / f"{name}.mcap").rows
    with cockpit.socket() as client:
        client.send(type="watch", recording=name)
        watching = client.next("watching")
        assert watching["span"] == [rows["t"][0], rows["t"][-1]]
        for t in (rows["t"][-1], 0.0, 1.2345):
            client.send(type="seek", t=t)
            header, _ = client.next("frame", lambda frame, t=t: frame["t"] == t)
            assert header["tick"] == int(t / 1e-3 + 1e-6)
        assert client.next("ledger", lambda ledger: ledger["t"] == pytest.approx(1.234))["ports"]
        client.send(type="play", speed=20)
        client.next("frame", lambda frame: frame["t"] > 2.0)
        client.send(type="pause")
        client.next("frame", lambda frame: frame["state"] == "PAUSED")
        client.send(type="range", id=1, names=["F_So_S.f.0"], **{"from": 1.0, "to": 1.5, "points": 1000})
        header, numbers = client.next("range")
        assert header["full"]
        inside = rows[(rows["t"] >= 1.0) & (rows["t"] <= 1.5)]
        np.testing.assert_array_equal(numbers[header["n"] : 2 * header["n"]], column(inside, "F_So_S.f.0"))


def test_two_recordings_are_aligned_at_the_first_contact(cockpit, folder):
    names = names_of(folder)[:2]
    with cockpit.socket() as client:
        client.send(type="watch", recordings=names, align="first-contact")
        watching = client.next("watching")
        contacts = [about["first_contact"] for about in watching["info"]]
        assert contacts[0] != contacts[1]
        assert watching["span"][0] == -max(contacts)
        assert len(watching["presets"][0]["plots"][0]["signals"]) == 2 * len(PRESETS["body"][0][2])
        client.send(type="range", id=1, names=["1/contact", "2/contact"], **{"from": -0.2, "to": 0.2, "points": 4000})
        header, numbers = client.next("range")
        times = numbers[: header["n"]] + header["t0"]
        for largest in numbers[header["n"] :].reshape(2, 2, -1)[:, 1]:
            touched = times[np.flatnonzero(largest > 0)[0]]
            assert abs(touched) < 1.5e-3
        client.send(type="seek", t=0.1)
        nodes, frame = watching["scene"]["nodes"], client.next("frame")
        assert len({node["id"] for node in nodes}) == len(nodes) == frame[0]["nodes"]
        shown = dict(zip((node["id"] for node in nodes), frame[1][7 : 8 * len(nodes) : 8], strict=True))
        assert (shown["1/walls"], shown["2/walls"]) == (1.0, 0.0)  # they are listed once
        assert shown["1/body"] == shown["2/body"] == 1.0
        client.send(type="watch", recordings=names, align="start")
        assert client.next("watching")["span"][0] == 0.0


def test_a_report_is_made_on_request(cockpit, folder):
    page = cockpit.get(f"/api/report/{names_of(folder)[0]}")
    assert page.status_code == 200
    assert "Energy ledger" in page.text
    assert "unsafe-inline" in page.headers["content-security-policy"]
    assert "script" not in page.headers["content-security-policy"]


@pytest.fixture(scope="module")
def long(folder):
    """A recording opened like one that is too long to be read beside a run: by a child process."""
    path = folder / f"{names_of(folder)[0]}.mcap"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unpack, "SHORT_BYTES", 0)
        found = Film(path)
    np.testing.assert_array_equal(found.rows, load(path).rows)
    return found


@pytest.mark.parametrize("points", [1, 7, 50, 300, 4000])
@pytest.mark.parametrize(("begin", "end"), [(0.3, 2.9), (-9.0, 99.0), (1.0, 1.0), (2.0, 1.0)])
def test_every_point_of_a_recording_has_the_extremes_of_its_rows(long, points, begin, end):
    """The tick says which rows a point stands for: they join without gap or overlap and cover the request."""
    shown = long.range(["tick", "X_WB_cmd.p.0", "contact"], begin, end, points)
    first, last = assert_extremes(shown, long.rows, ("X_WB_cmd.p.0", "contact"), points, 1e-9)
    inside = long.rows["tick"][(long.rows["t"] >= begin) & (long.rows["t"] <= end)]
    assert (len(inside) == 0) == (len(first) == 0)
    assert not len(inside) or first[0] <= inside[0] < first[0] + film.BUCKET
    assert not len(inside) or last[-1] >= inside[-1] > last[-1] - film.BUCKET
    assert not len(inside) or shown.full == bool((first == last).all())


def test_seeking_in_ten_minutes_at_1_khz_is_fast(tmp_path):
    """The budget is 300 ms; a slow machine gets ten times that of its own time. No run: rows as a recorder writes them."""
    system, values, _ = job.find("docking", "table1", [])
    rows = np.zeros(600_000, system.row)
    rows[:] = system.set_up(values).row[0]
    rows["tick"] = np.arange(len(rows))
    rows["t"] = rows["tick"] * 1e-3
    rows["contact"][1234] = 1
    path = tmp_path / "long.mcap"
    short = recording.Recording(path, recording.origin_of(system, values), rows, None)
    with pytest.MonkeyPatch.context() as patch:  # a minute of unpacking is not tested here
        patch.setattr(unpack, "load", lambda _: short)
        player = Player([Film(path)])
    assert player.films[0].first_contact == 1.234
    signals = list(player.films[0].columns)[:24]
    player.range(signals, 0.0, 600.0, 2000)
    worst = 0.0
    for t in (599.999, 0.0, 300.0, 123.4567, 45.6):
        begun = time.process_time()  # others may use the machine, too
        player.seek(t, 0.0)
        assert player.frame()[0]["tick"] == int(t * 1e3 + 1e-6)
        assert len(player.range(signals, t - 60.0, t + 60.0, 2000).times) <= 2000
        worst = max(worst, time.process_time() - begun)
    assert worst < 3.0


MANY = "9" * 16_000
TOO_LONG = {
    "a number": f'"loop.period": {"9" * 4000}',
    "a unit": f'"loop.period": "1 m^{MANY}"',
    "words": f'"loop.period": "{MANY} s"',
    "a key": f'"loop.{"x" * 200}": 1',
    "a list": f'"approach.direction": [{",".join(["1"] * 5000)}]',
    "a list in lists": f'"approach.direction": {"[" * 50}1{"]" * 50}',
}


@pytest.mark.parametrize("what", TOO_LONG)
@pytest.mark.parametrize("path", ["/api/check", "/api/stations"])
def test_a_form_is_bounded_before_it_is_read(cockpit, what, path):
    body = f'{{"system": "docking", "scenario": "table1", "settings": {{{TOO_LONG[what]}}}}}'
    answer = cockpit.request("POST", path, content=body, headers={"content-type": "application/json"})
    (error,) = answer.json()["errors"]
    assert "too long or too deeply nested" in error["sentence"]
    assert len(answer.text) < 1000
    number = f'{{"system": "docking", "scenario": "table1", "settings": {{"loop.period": {MANY}}}}}'
    assert cockpit.request("POST", path, content=number, headers={"content-type": "application/json"}).status_code in (400, 422)


def workers(cockpit):
    return [pid for pid in cockpit.processes() if b"hilt.cockpit.work" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def test_a_form_that_takes_too_long_is_given_up_and_the_next_one_is_checked(cockpit):
    order = {"system": "freefloat", "scenario": "wall", "settings": {"loop.duration": "1 s"}}
    assert cockpit.request("POST", "/api/check", json=order).json() == {"ok": True}
    before = workers(cockpit)
    for pid in before:
        os.kill(pid, signal.SIGSTOP)
    answer = cockpit.request("POST", "/api/check", json=order).json()
    assert "not done within" in answer["errors"][0]["sentence"]
    assert cockpit.request("POST", "/api/check", json=order).json() == {"ok": True}
    for pid in set(before) & set(workers(cockpit)):
        os.kill(pid, signal.SIGCONT)


def test_a_worker_that_is_killed_is_replaced(cockpit):
    cockpit.get("/api/recordings")
    for pid in workers(cockpit):
        os.kill(pid, signal.SIGKILL)
    wait_for(lambda: cockpit.get("/api/recordings").status_code == 200)
    assert cockpit.get("/api/rigs").status_code in (200, 404)


def test_stop_and_the_dead_man_switch_need_only_the_door(folder, tmp_path, name):
    """Everything behind the door is frozen: a command, steering and STOP get through, and the page is informed."""
    with station(name), server(folder, tmp_path / "said.txt") as cockpit, cockpit.socket() as client:
        begin(client, name)
        client.next("frame", lambda frame: frame["t"] > 0.1)
        cockpit.get("/api/recordings")
        behind = cockpit.processes()[1:]
        assert behind
        for pid in behind:
            os.kill(pid, signal.SIGSTOP)
        helm = client.helm
        helm.send(type="steer", axes=[1, 0, 0, 0, 0, 0], held=True, id=7)
        helm.next("steered", lambda taken: taken["id"] == 7)
        helm.send(type="do", what="stop", id=8)
        assert helm.next("answer", lambda answer: answer["id"] == 8)["accepted"]
        helm.next("state", lambda state: state["state"] == "STOPPED")
        with cockpit.line("/helm") as other:  # a new client can connect, too
            other.send(type="watch", session=name)
            other.next("state", lambda state: state["state"] == "STOPPED")
        for pid in behind:
            os.kill(pid, signal.SIGCONT)
        os.kill(behind[0], signal.SIGKILL)  # and when it is killed it is restarted
        helm.send(type="ping", id=9)
        assert helm.next("pong")["id"] == 9
        wait_for(lambda: _shown(cockpit))


def _shown(cockpit):
    with suppress(websockets.exceptions.WebSocketException, OSError), cockpit.line("/ws") as room:
        return room.next("shown")


WRONG = {
    "a value out of range": ({"loop.period": -1}, ["loop.period"]),
    "a unit that does not fit": ({"robot.delay": "3 kg"}, ["robot.delay"]),
    "an unknown key": ({"robot.dealy": 1}, ["robot.dealy"]),
    "a word that is no choice": ({"compensate.method": "magic"}, ["compensate.method"]),
    "several at once": ({"seed": -4, "loop.duration": "x", "collisions": 0}, ["collisions", "loop.duration", "seed"]),
    "values that do not fit together": ({"frames.gap": "1 mm", "rod.radius": "2 mm"}, ["frames.gap"]),
    "nothing where something is needed": ({"servicer.mass": None}, ["servicer.mass"]),
    "nothing where nothing is": ({"detect.threshold": None}, []),
    "words with a unit": ({"robot.delay": "20 ms", "compensate.method": "none"}, []),
    "numbers and lists": ({"approach.direction": [1, 0, 0], "rod.radius": 0, "dof": 6}, []),
    "a list as words": ({"approach.direction": "[1, 0, 0]"}, []),
    "a line too many": ({"seed": "3\nseed = 4"}, ["seed"]),
}


@pytest.mark.parametrize("what", WRONG)
def test_an_error_is_shown_beside_its_field(cockpit, what):
    settings, keys = WRONG[what]
    order = {"system": "docking", "scenario": "table1", "settings": settings}
    answer = cockpit.request("POST", "/api/check", json=order).json()
    assert sorted(error["key"] for error in answer.get("errors", [])) == keys
    assert answer["ok"] == (not keys)
    assert all(error["key"] in error["sentence"] for error in answer.get("errors", []))
    if keys:
        assert cockpit.request("POST", "/api/stations", json=order).status_code == 422


def test_every_system_is_a_form(cockpit):
    for system in cockpit.get("/api/systems").json():
        assert system["default"] in [each["name"] for each in system["scenarios"]]
        name, each = system["name"], system["default"]
        sheet = cockpit.get(f"/api/scenario/{name}/{each}").json()
        assert set(sheet["values"]) == set(sheet["schema"]["properties"])
        assert sheet["text"] == registry.system(name).scenario_files[each].read_text()
        untouched = desk.Order(system=name, scenario=each, settings=_flat(sheet["values"]))
        assert desk.check(untouched) == []


def _flat(tree, prefix=""):
    found = {}
    for key, value in tree.items():
        found.update(_flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value})
    return found


@pytest.mark.parametrize("name", ["docking", "freefloat", "payload", "aerial"])
def test_presets_show_what_there_is(name):
    units = {each["name"]: each["unit"] for each in describe(registry.system(name).row)}
    for preset in presets.of([registry.system(name)], [""], [""]):
        assert 4 <= len(preset["plots"]) <= 6
        for plot in preset["plots"]:
            assert plot["signals"]
            for name in plot["signals"]:
                assert plot["unit"] in units.get(name, "no such signal").split(", "), name


def test_a_station_is_started_run_and_reported(cockpit, folder):
    """All steps with a real station: order, arm, start, frames, result, quit."""
    order = {"system": "freefloat", "scenario": "wall", "settings": {"loop.duration": "0.3 s"}, "rig": None}
    answer = cockpit.request("POST", "/api/stations", json=order)
    assert answer.status_code == 200, answer.text
    session = answer.json()["session"]
    with cockpit.socket() as client:
        client.send(type="watch", session=session)
        client.next("watching")
        client.send(type="take")
        client.send(type="do", what="arm", id=1)
        client.next("state", lambda state: state["armed"])
        client.send(type="do", what="start", id=2)
        client.next("frame", lambda frame: frame["t"] == pytest.approx(0.3))
        result = client.next("result")
        assert result["metrics"].keys() <= result["words"].keys()
        who = load(folder / f"{result['recording']}.mcap").result["who"]
        assert [deed["what"] for deed in who] == ["arm", "start"]
        assert all(deed["who"].startswith("guest") and "control, 127.0.0.1" in deed["who"] for deed in who)
        assert result["recording"] in names_of(folder)
        client.send(type="do", what="quit", id=3)
        client.next("state", lambda state: state["state"] == "OFF")
    wait_for(lambda: session not in [each["name"] for each in cockpit.get("/api/sessions").json()])
    report = cockpit.get(f"/api/report/{result['recording']}").text
    assert "Who did what" in report
    assert "control, 127.0.0.1" in report


def test_paths_of_this_machine_are_not_revealed():
    assert without_paths("see /home/me/runs/a.mcap: 176 N/mm, 3 m/s") == "see a.mcap: 176 N/mm, 3 m/s"
    assert without_paths({"a": ["/dev/shm/hilt-x"], "b": 1}) == {"a": ["hilt-x"], "b": 1}


def test_a_recording_that_never_touches_has_no_first_contact(tmp_path):
    result = job.run(*job.find("freefloat", "wall", ["loop.duration=0.05"]), tmp_path)
    with pytest.raises(InputError, match="first contact"):
        Player([Film(result.recording)] * 2, "first-contact")


def test_the_list_has_verdict_method_and_what_was_changed(cockpit, folder):
    listed = {each["name"]: each for each in cockpit.get("/api/recordings").json()}
    for name in names_of(folder)[:2]:  # the fixture's; other tests may have recorded since
        found, result = listed[name], load(folder / f"{name}.mcap").result
        assert found["verdict"] == {key: result["verdict"][key] for key in ("kind", "sentence")}
        assert found["method"] == "passive"
        assert {change["key"] for change in found["overrides"]} == {"body.velocity", "loop.duration"}
        assert {"key": "loop.duration", "was": "30 s", "value": "8 s"} in found["overrides"]


def test_differences_are_of_keys_that_all_have_and_read_as_people_write_them():
    _, shipped, _ = job.find("docking", "table1", [])
    _, other, _ = job.find("docking", "table1", ["robot.delay=12 ms", "servicer.mass=150 kg", "compensate.method=none"])
    trees = [each.model_dump(mode="json") for each in (shipped, other)]
    assert dict(differences.between("docking", trees)) == {
        "servicer.mass": ["300 kg", "150 kg"],
        "robot.delay": ["20 ms", "12 ms"],
        "compensate.method": ["pida", "none"],
    }
    assert differences.between("docking", [trees[0], {**trees[1], "robot": {}}])[0][0] == "servicer.mass"
    assert differences.overrides("docking", "table1", trees[0]) == []
    assert differences.overrides("docking", "my-own", trees[0]) is None
    strange = {**trees[0], "seed": 10**5000, "collisions": [1, [2]], "contact": None}
    assert {key for key, _ in differences.between("docking", [trees[0], strange])} == {"seed", "collisions"}
    assert differences.method(trees[1]) == "none"
