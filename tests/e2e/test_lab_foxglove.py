"""A Foxglove viewer beside a run on the dry lab: it gets what is recorded, and stopping it disturbs nothing."""

import json
import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from hilt.lab.dry.facility import running_facility
from tests.e2e.lab import patient_rig, stop
from tests.peers import ROOT, node_with
from tests.stream.streamed import place, streamed, wanted

pytestmark = pytest.mark.lab

FOLDER = ROOT / "tests" / "stream" / "foxglove"
LONG = 60.0
FAR = "frames.gap='60 mm'"  # nothing is touched within these runs: a host that stalls in a contact would end them


@pytest.fixture(scope="module")
def facility():
    """With longer timeouts than the others: what is tested here is what arrives, not when."""
    node_with(FOLDER)
    rig = patient_rig(missed=100_000, lateness=20.0)
    patience = {
        "robot": {**rig.robot, "patience": 5000},
        "sensor": {**rig.sensor, "frozen": "20 s", "stale": "20 s"},
        "facility": rig.facility.model_copy(update={"late_limit": 5000}),
    }
    with running_facility(rig.model_copy(update=patience), [FAR, "loop.duration='8 s'"]) as found:
        yield found


class Viewer:
    """The public client as a process, subscribed to everything."""

    def __init__(self, here, target, subprotocol="foxglove.sdk.v1"):
        self.target = target
        command = [node_with(FOLDER), "client.mjs", f"ws://{here.address}", subprotocol, str(target)]
        self.process = subprocess.Popen(command, cwd=FOLDER, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "subscribed\n"

    def seen(self):
        self.process.communicate(timeout=LONG)
        assert self.process.returncode == 0
        return json.loads(self.target.read_text())


def run(facility, folder, here, do=lambda: None, duration="2 s"):
    settings = [FAR, "collisions=1000", f"loop.duration='{duration}'"]
    facility.control.clear()
    facility.control.live(False)
    facility.control.restart()
    with streamed(folder, "docking", "table1", settings, wanted(here), facility.rig) as (session, said):
        facility.control.live(True)
        do()
        result = session.go()
        facility.control.live(False)
    return result, said


def number(text):
    return -0.0 if text == "-0" else float(text)


def vector(found, *names):
    return [[number(each[name]) for name in names] for each in found]


def test_every_decoded_row_and_pose_is_that_of_the_recording(facility, tmp_path):
    here, viewers = place("foxglove"), []
    result, said = run(facility, tmp_path, here, lambda: viewers.append(Viewer(here, tmp_path / "seen.json")))
    seen = viewers[0].seen()
    assert result.fault is None
    assert result.timing["rows_lost"] == 0
    assert not seen["warnings"], said

    rows = result.rows
    channel = seen["topics"]["/hilt/docking"]
    assert (channel["encoding"], channel["schemaEncoding"]) == ("cdr", "ros2msg")
    messages = [each["content"] for each in channel["messages"]]
    assert [int(each["tick"]) for each in messages] == rows["tick"].tolist(), "subscribed before the run: every row"
    assert [number(each["t"]) for each in messages] == rows["t"].tolist()
    for name in ("X_WB_meas", "X_WB_cmd"):
        places = [each[name.lower()] for each in messages]
        assert np.array_equal([list(map(number, each["p"])) for each in places], rows[name]["p"])
        assert np.array_equal([list(map(number, each["q"])) for each in places], rows[name]["q"])

    some = rows[rows["tick"] % 5 == 0]  # 50 Hz of 250 Hz
    poses = [each["content"]["pose"] for each in seen["topics"]["/hilt/docking/X_WB_meas"]["messages"]]
    assert np.array_equal(vector([each["position"] for each in poses], *"xyz"), some["X_WB_meas"]["p"])
    assert np.array_equal(vector([each["orientation"] for each in poses], *"wxyz"), some["X_WB_meas"]["q"])
    forces = [each["content"]["wrench"]["force"] for each in seen["topics"]["/hilt/docking/F_So_S"]["messages"]]
    assert np.array_equal(vector(forces, *"xyz"), some["F_So_S"]["f"])
    frames = {each["child_frame_id"] for each in seen["topics"]["/tf"]["messages"][-1]["content"]["transforms"]}
    assert {"W", "S", "B_meas", "B_cmd"} <= frames


def test_a_stopped_viewer_costs_no_row(facility, tmp_path):
    here, viewers = place("foxglove"), []

    def begin():
        viewers.append(Viewer(here, tmp_path / "seen.json", "foxglove.websocket.v1"))
        stop(viewers[0].process.pid)

    result, said = run(facility, tmp_path, here, begin)
    os.kill(viewers[0].process.pid, signal.SIGCONT)
    assert result.fault is None
    assert result.timing["rows_lost"] == 0
    assert result.timing["rows"] == len(result.rows)
    assert "Foxglove: " in said[-1]
    viewers[0].process.communicate(timeout=LONG)


def streams():
    """Streams that this process has started."""
    for each in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            ours = int((each / "stat").read_text().rpartition(")")[2].split()[1]) == os.getpid()
            if ours and b"hilt.stream.foxglove" in (each / "cmdline").read_bytes():
                yield int(each.name)


@pytest.mark.parametrize(
    ("do", "words"), [(stop, "hung and was killed"), (lambda pid: os.kill(pid, signal.SIGKILL), "ended during the run")]
)
def test_a_stopped_or_killed_stream_costs_no_row(facility, tmp_path, do, words):
    result, said = run(facility, tmp_path, place("foxglove"), lambda: [do(pid) for pid in streams()], "1 s")
    assert result.fault is None
    assert result.timing["rows_lost"] == 0
    assert words in said[-1]
