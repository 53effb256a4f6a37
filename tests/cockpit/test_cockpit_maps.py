"""The tab Maps, from a page's side of the socket: sweeps that fill, are cancelled, continued and opened; and who may do so.

Real processes throughout: the server, the sweep's own, and a station.
"""

import itertools
import os
import signal
import sys
from pathlib import Path

import numpy as np
import pytest

from hilt import job
from hilt.cockpit import charts, keys, sweep_order
from hilt.cockpit.charts import Charts
from hilt.live import mailbox
from hilt.report.colours import MADE, MEASURED
from hilt.sweeps import columns, engines, making, sweep
from hilt.sweeps.making import Request, over_of
from hilt.sweeps.table import Plan, Table
from tests.cockpit.cockpit_peers import TOKEN, descendants, kill, server, station, wait_for

pytestmark = [
    pytest.mark.long,
    pytest.mark.wall,
    pytest.mark.skipif(sys.platform != "linux", reason="shared memory as Linux has it"),
]
_number = itertools.count()
MASS, SPEED = {"key": "body.mass", "values": "20..80 kg:4"}, {"key": "body.velocity.0", "values": "5,10,20 mm/s"}
COMPILED = 200.0  # [s] for the answer of a process that has to be compiled first, after everything else
SHORT = {"loop.duration": "2 s"}
LONG = [{"key": "body.mass", "values": "20..80 kg:40"}, {"key": "wall.stiffness", "values": "1..50 N/mm:100 log"}]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def cockpit(folder, tmp_path_factory):
    with server(folder, tmp_path_factory.mktemp("log") / "stderr.txt") as found:
        yield found


def order(*over, **rest):
    return {"system": "freefloat", "scenario": "wall", "settings": SHORT, "over": list(over), **rest}


def start(cockpit, *over, **rest):
    answer = cockpit.request("POST", "/api/maps", json=order(*over, **rest))
    assert answer.status_code == 200, answer.text
    return answer.json()["map"]


def chart(cockpit, name, **asked):
    return cockpit.get(f"/api/maps/{name}", params=asked).json()


def whole(cockpit, name):
    wait_for(lambda: chart(cockpit, name)["state"] == "whole", COMPILED)
    return chart(cockpit, name)


def said_to(cockpit, path, body=None):
    """The one sentence of a refusal."""
    answer = cockpit.request("POST", path, json=body or {})
    assert answer.status_code in (404, 422), answer.text
    (error,) = answer.json()["errors"]
    return error["sentence"]


def computing(cockpit):
    """The processes of sweeps."""
    found = []
    for pid in descendants(cockpit.child.pid):
        if b"hilt.cockpit.sweep_process" in Path(f"/proc/{pid}/cmdline").read_bytes():
            found.append(pid)
    return found


def test_a_sweep_is_estimated_fills_and_every_point_opens_the_run_of_its_row(cockpit, folder):
    estimate = cockpit.request("POST", "/api/maps/check", json=order(MASS, SPEED, seeds=2)).json()["estimate"]
    assert estimate["scenarios"] == 24
    assert estimate["seconds"] > 0.0
    assert estimate["bytes"] > 24 * 8
    assert "24 scenarios" in estimate["sentence"]
    name = start(cockpit, MASS, SPEED, seeds=2)
    found = whole(cockpit, name)
    assert found["done"] == found["count"] == 24
    mass, speed = found["axes"]
    assert (mass["key"], mass["unit"], mass["values"]) == ("body.mass", "kg", [20.0, 40.0, 60.0, 80.0])
    assert (speed["unit"], speed["values"]) == ("mm/s", [5.0, 10.0, 20.0])
    assert found["averaged"] == {"count": 2, "what": "seeds"}
    number = mass["numbers"][3] + speed["numbers"][1]
    row = Table.open(folder / name).arrow().slice(number, 1).to_pylist()[0]
    assert (row["body.mass"], row["body.velocity.0"], row["seed"]) == (80.0, pytest.approx(0.01), 1)
    opened = cockpit.request("POST", f"/api/maps/{name}/open", json={"number": number}).json()["recording"]
    assert (folder / f"{opened}.mcap").is_file()
    opened_run = cockpit.get(f"/api/recordings/{opened}").json()
    assert {each["key"] for each in opened_run["overrides"]} >= {"body.mass", "loop.duration"}
    system = job.find("freefloat", None, [])[0]
    flat = columns.flat(system, opened_run["metrics"])
    compared = {key: value for key, value in row.items() if key in flat}
    assert len(compared) >= 5
    assert compared == {key: flat[key] for key in compared}  # the same numbers, not nearly the same
    again = cockpit.request("POST", f"/api/maps/{name}/open", json={"number": number}).json()["recording"]
    assert again == opened  # a second click makes no second recording
    assert "there is no scenario 24" in said_to(cockpit, f"/api/maps/{name}/open", {"number": 24})


def test_a_chart_shows_the_mean_of_the_seeds_and_the_range_of_a_curve(cockpit, folder):
    name = start(cockpit, MASS, seeds=3)
    found = whole(cockpit, name)
    metric = found["metric"]
    values = Table.open(folder / name).columns([metric])[metric].astype(float).reshape(4, 3)
    scale = found["values"][0] / values[0].mean()
    assert found["values"] == pytest.approx(scale * values.mean(axis=1), rel=1e-5)
    assert found["low"] == pytest.approx(scale * values.min(axis=1), rel=1e-5)
    assert found["high"] == pytest.approx(scale * values.max(axis=1), rel=1e-5)
    assert found["axes"][0]["here"] == job.find("freefloat", "wall", [])[1].body.mass
    other = chart(cockpit, name, metric=found["metrics"][1]["name"])
    assert other["metric"] == found["metrics"][1]["name"]
    same = chart(cockpit, name, metric=metric, seen=found["seen"])
    assert "values" not in same  # a page that has seen all of it is not sent it again
    assert "is not a column of this sweep" in cockpit.get(f"/api/maps/{name}", params={"metric": "nonsense"}).text


def _known(value):
    return isinstance(value, float)


def test_a_sweep_is_seen_while_it_goes_on_cancelled_and_continued(cockpit, folder):
    name = start(cockpit, *LONG, seeds=5)
    partly = wait_for(
        lambda: (found := chart(cockpit, name)).get("done") and any(map(_known, found["values"])) and found, COMPILED
    )
    assert partly["state"] == "running"
    assert 0 < partly["done"] < partly["count"] == 20_000
    assert not all(map(_known, partly["values"]))  # some are not computed yet
    assert "is being computed" in said_to(cockpit, "/api/maps", order(MASS))
    later = wait_for(lambda: (found := chart(cockpit, name)).get("rate") and found["done"] > partly["done"] and found)
    assert later["left"] == pytest.approx((later["count"] - later["done"]) / later["rate"])
    assert cockpit.request("POST", f"/api/maps/{name}/cancel").status_code == 200
    over = wait_for(lambda: (found := chart(cockpit, name))["state"] == "unfinished" and found)
    assert over["sentence"].startswith("Cancelled: ")
    assert over["sentence"].endswith("Continue computes the rest.")
    assert "is not finished and has no report yet" in cockpit.get(f"/api/maps/{name}/report").text
    assert 0 < over["done"] < over["count"]
    assert not computing(cockpit)
    assert "nothing to cancel" in said_to(cockpit, f"/api/maps/{name}/cancel")
    done = len(Table.open(folder / name).written())
    assert cockpit.request("POST", f"/api/maps/{name}/continue").status_code == 200
    wait_for(lambda: len(Table.open(folder / name).written()) > done, COMPILED)
    os.kill(computing(cockpit)[0], signal.SIGKILL)  # and one that dies says that it can be continued
    over = wait_for(lambda: (found := chart(cockpit, name))["state"] == "unfinished" and found)
    assert over["sentence"].startswith("Its process ended unexpectedly: ")
    assert len(Table.open(folder / name).written()) > done


def test_a_sweep_waits_while_a_robot_is_in_use(cockpit):
    name, session = start(cockpit, *LONG, seeds=10), f"rig-{os.getpid()}-{next(_number)}"
    wait_for(lambda: chart(cockpit, name).get("done"), COMPILED)
    (pid,) = computing(cockpit)
    assert os.getpriority(os.PRIO_PROCESS, pid) >= 10

    def stopped():
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] == "T"

    with station(session, rig="a robot"):
        sender = mailbox.Sender(session)
        assert not stopped()
        sender.wait(sender.arm(), 5.0)
        wait_for(stopped)
        found = wait_for(lambda: (found := chart(cockpit, name))["state"] == "waiting" and found)
        assert found["sentence"] == f"Waiting: {session} is armed on a robot."
        assert session in said_to(cockpit, f"/api/maps/{name}/open", {"number": 0})
        sender.wait(sender.reset(), 5.0)  # no longer armed; as far as others can see it may be starting
        wait_for(lambda: "disarmed, or starting, on a robot" in chart(cockpit, name)["sentence"])
        assert stopped()
        sender.wait(sender.start(), 5.0)
        done = chart(cockpit, name)["done"]
        wait_for(lambda: "is live on a robot" in chart(cockpit, name)["sentence"])
        assert stopped()
        assert chart(cockpit, name)["done"] == done
        sender.wait(sender.stop(), 5.0)
        wait_for(lambda: not stopped())
        wait_for(lambda: chart(cockpit, name)["done"] > done)
        sender.close()
    cockpit.request("POST", f"/api/maps/{name}/cancel")
    wait_for(lambda: not computing(cockpit))


def test_a_sweep_ends_with_its_server_and_the_next_one_can_continue_it(tmp_path):
    with server(tmp_path / "runs", tmp_path / "first.txt") as first:
        name = start(first, *LONG, seeds=50)  # long enough for a busy machine
        wait_for(lambda: chart(first, name).get("done"), COMPILED)
        (pid,) = computing(first)
        os.kill(pid, signal.SIGSTOP)  # as while a robot is in use: it cannot see by itself that the server has gone
        kill(first.child)
        wait_for(lambda: not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2])
    with server(tmp_path / "runs", tmp_path / "second.txt") as second:
        (listed,) = second.get("/api/maps").json()
        assert (listed["name"], listed["state"]) == (name, "unfinished")
        assert chart(second, name)["sentence"] == "It is not finished. Continue computes the rest."
        assert second.request("POST", f"/api/maps/{name}/continue").status_code == 200
        wait_for(lambda: chart(second, name)["state"] == "running")


WRONG = [
    ([{"key": "robot.dely", "values": "2..40 ms:39"}], {}, "robot.dely", "did you mean robot.delay?"),
    ([{"key": "body.mass", "values": "2..40 ms:39"}], {}, "body.mass", "kg"),
    ([{"key": "body.mass", "values": "40..20 kg:3"}], {}, "body.mass", "write the smaller end first"),
    ([{"key": "body.mass", "values": "20..40 kg"}], {}, "body.mass", "does not say how many values"),
    ([{"key": "body.mass", "values": ""}], {}, "body.mass", "has no values"),
    ([{"key": " ", "values": "1,2"}], {}, "", "no key"),
    ([], {}, "", "there is no axis"),
    ([MASS, MASS], {}, "body.mass", "is given twice"),
    ([{"key": "body.mass", "values": "1..2 kg:1000000"}, {"key": "seed", "values": "1..1000000:1000000"}], {}, "", "1e+12"),
    ([{"key": "body.mass", "values": "1..2 kg:300000"}], {}, "", "the cockpit computes at most 200,000"),
    ([{"key": "body.mass", "values": "-1..2 kg:3"}], {}, "body.mass", "greater than 0"),
    ([MASS], {"settings": {"body.mass": "12 ms"}}, "body.mass", "kg"),
    ([MASS], {"settings": {"body.mass": "1" * 3000}}, "body.mass", "too long or too deeply nested"),
    ([MASS], {"seeds": 0}, "seeds", "greater than or equal to 1"),
    ([MASS], {"seeds": 10**9}, "seeds", "less than or equal to 1000"),
    ([MASS, SPEED, MASS], {}, "over", "at most 2 items"),
    ([{"key": "body.mass", "values": "1," * 2000}], {}, "over.0.values", "at most 2000 characters"),
    ([{"key": "k" * 200, "values": "1,2"}], {}, "over.0.key", "at most 100 characters"),
]


@pytest.mark.parametrize(("over", "rest", "key", "words"), WRONG)
def test_bad_input_is_one_sentence_and_nothing_is_written(cockpit, folder, over, rest, key, words):
    before = sorted(folder.iterdir())
    for path in ("/api/maps/check", "/api/maps"):
        answer = cockpit.request("POST", path, json=order(*over, **rest)).json()
        (error,) = answer["errors"]
        assert error["key"] == key
        assert words in error["sentence"]
        assert "\n" not in error["sentence"]
    assert sorted(folder.iterdir()) == before


def test_a_watcher_sees_maps_and_starts_nothing(cockpit, folder):
    name = made("robot.delay=2..40 ms:4", folder=folder / "to-watch").name
    watch = keys.key_for(TOKEN, keys.WATCH)
    assert name in [each["name"] for each in cockpit.get("/api/maps", key=watch).json()]
    assert cockpit.get(f"/api/maps/{name}", key=watch).json()["done"] == 4
    before = sorted(folder.iterdir())
    orders = (
        "/api/maps",
        "/api/maps/check",
        f"/api/maps/{name}/cancel",
        f"/api/maps/{name}/continue",
        f"/api/maps/{name}/open",
    )
    for path in orders:
        assert cockpit.request("POST", path, key=watch, json={"number": 0}).status_code == 403
        assert cockpit.request("POST", path, key=None, json={"number": 0}).status_code == 403
    assert cockpit.get("/api/maps", key=None).status_code == 403
    assert sorted(folder.iterdir()) == before


def test_sweeps_of_the_folder_are_listed_and_nothing_outside_it_opens(cockpit, folder, tmp_path):
    made("compensate.method=none,pida", "robot.delay=2..40 ms:5", folder=folder / "by-hand")
    listed = {each["name"]: each for each in cockpit.get("/api/maps").json()}
    assert listed["by-hand"]["state"] == "whole"
    assert "10 scenarios" in cockpit.get("/api/maps/by-hand/report").text
    assert listed["by-hand"]["axes"] == [{"keys": ["compensate.method"], "count": 2}, {"keys": ["robot.delay"], "count": 5}]
    made("robot.delay=2..40 ms:5", folder=tmp_path / "outside")
    (folder / "link").symlink_to(tmp_path / "outside")
    (folder / "broken").mkdir()
    (folder / "broken" / "sweep.json").write_text("{")
    names = [each["name"] for each in cockpit.get("/api/maps").json()]
    assert "by-hand" in names
    assert "link" not in names
    assert "broken" not in names
    for name in ("link", "nowhere", "..%2Foutside", "broken"):
        assert cockpit.get(f"/api/maps/{name}").status_code == 404
        for what in ("continue", "open"):
            assert cockpit.request("POST", f"/api/maps/{name}/{what}", json={"number": 0}).status_code in (404, 422)


class Formula:
    """Results known by formula: the delay in milliseconds, with a sign that depends on the method."""

    name = "plain"

    def run(self, space, chunks):
        for numbers in chunks:
            at = space.columns(numbers)
            sign = np.where(at.get("compensate.method", np.array(["none"])) == "pida", -1.0, 1.0)
            delay = at.get("robot.delay", np.full(len(numbers), 0.02))
            yield (
                numbers,
                {
                    "force_lead_s": sign * delay + 1e-3 * (at.get("seed", 1) - 1),
                    "diverged": delay > 0.03,
                    "ticks": np.full(len(numbers), 10),
                    "fault": np.zeros(len(numbers), np.int32),
                },
            )


def made(*over, folder, chunk=1000, engine=None, **rest):
    space = making.find("docking", "table1", [], Request(over_of(over), **rest))
    sweep.run(Plan(space, None, chunk), engine or Formula(), folder)
    return folder


def test_every_point_of_a_chart_has_its_number_and_value(tmp_path):
    """Axes in any order, lists that are not sorted, words, seeds: the number of a point is that of its scenario."""
    folder = made(
        "compensate.method=none,pida",
        "robot.delay=8,2,40 ms",
        "contact.stiffness=10..300 N/mm:4 log",
        folder=tmp_path / "a",
        seeds=2,
    )
    found = Charts(tmp_path).view("a", "force_lead_s", "")
    space = Table.open(folder).space
    delay, stiffness, method = found["axes"]
    assert (delay["values"], delay["here"]) == ([2.0, 8.0, 40.0], 20.0)
    assert (stiffness["unit"], stiffness["log"], stiffness["here"]) == ("N/mm", True, 176.275)
    assert method["values"] == ["none", "pida"]
    assert method["colours"] == [MADE, MEASURED]
    assert method["here"] == (space.base.compensate.method if space.base.compensate.method in method["values"] else None)
    assert found["unit"] == "ms"
    points = itertools.product(range(3), range(4), range(2))
    for at, (value, share, (d, s, m)) in enumerate(zip(found["values"], found["diverged"], points, strict=True)):
        assert at == d * 8 + s * 2 + m
        settings = dict(space.settings(delay["numbers"][d] + stiffness["numbers"][s] + method["numbers"][m]))
        assert 1e3 * settings["robot.delay"] == pytest.approx(delay["values"][d])
        assert 1e-3 * settings["contact.stiffness"] == pytest.approx(stiffness["values"][s], rel=1e-5)
        assert settings["compensate.method"] == method["values"][m]
        sign = -1.0 if method["values"][m] == "pida" else 1.0
        assert value == pytest.approx(sign * delay["values"][d] + 0.5)  # the mean of two seeds
        assert share == (delay["values"][d] > 30.0)


def test_a_long_axis_is_thinned_and_its_ends_are_kept(tmp_path):
    made("robot.delay=2..40 ms:300", "contact.stiffness=10..300 N/mm:300", folder=tmp_path / "a", chunk=10_000)
    found = Charts(tmp_path).view("a", "", "")
    assert len(found["values"]) <= charts.CELLS
    for axis, ends in zip(found["axes"], ([2.0, 40.0], [10.0, 300.0]), strict=True):
        assert [axis["values"][0], axis["values"][-1]] == ends
        assert 100 < len(axis["values"]) < 300


WITHOUT_NUMBERS = [
    ([], 5, "seed"),
    (["compensate.method=none,pida"], None, "compensate.method"),
    (["robot.delay=normal(20,2) ms:6"], None, "robot.delay"),
]


@pytest.mark.parametrize(("over", "seeds", "key"), WITHOUT_NUMBERS)
def test_a_sweep_without_numbers_has_a_chart_over_what_it_has(tmp_path, over, seeds, key):
    made(*over, folder=tmp_path / "a", seeds=seeds)
    found = Charts(tmp_path).view("a", "", "")
    assert [axis["key"] for axis in found["axes"]] == [key]
    assert len(found["values"]) == len(found["axes"][0]["values"])
    assert all(isinstance(value, float) for value in found["values"])


def test_a_damaged_chunk_is_left_open_and_reported(tmp_path):
    folder, shown = made("robot.delay=2..40 ms:20", folder=tmp_path / "a", chunk=5), Charts(tmp_path)
    assert shown.view("a", "force_lead_s", "")["damaged"] == 0
    Table.open(folder).path(1).write_bytes(b"nonsense")  # while the page shows it
    found = shown.view("a", "force_lead_s", "")
    assert found["damaged"] == 1
    assert [value is False for value in found["values"]] == [n // 5 == 1 for n in range(20)]


def test_the_page_asks_for_the_same_sweep_as_the_command_line():
    """One check, one plan: the same axes, settings and chunk size, so the same bytes."""
    order_of = sweep_order.SweepOrder(**order(MASS, SPEED, seeds=2))
    space = making.find(
        "freefloat",
        "wall",
        ["loop.duration=2 s"],
        Request(over_of(["body.mass=20..80 kg:4", "body.velocity.0=5,10,20 mm/s"]), 2),
    )
    assert sweep_order.plan_of(order_of).as_json == Plan(space, None, sweep.chunk_size(space.count)).as_json
    assert engines.DEFAULT == "threads"
